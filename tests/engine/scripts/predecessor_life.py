"""A predecessor's profile is moved over (mlcc-demo), played inside a rehearsal.

Usage: predecessor_life.py FILE. Its stacks live, then they are gone; the cluster is made anew under its name;
everything is destroyed, once without and once with mlcc:own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import boto3

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.engine.account_listing import list_account
from tests.engine.scripts.hyperpod_acts import Play, clock, issuer, trust, until
from tests.engine.scripts.predecessor import (
    CLUSTER,
    HYPERPOD,
    KUBERNETES,
    Network,
    make_cluster,
    make_hyperpod,
    make_network,
    make_stacks,
    release_stacks,
)

ROLES = (
    "eks-cluster-role",
    "eks-node-role",
    "fargate-pod-exec-role",
    "alb-controller-role",
    "keda-operator-role",
)
FOREIGN_POLICY = "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"


def adopt(play: Play, name: str, *flags: str, columns: int = 80) -> None:
    """`mlcc-infra adopt`, as an act."""
    began = clock()["now"]
    done = subprocess.run(
        [sys.executable, "-m", "mlcc_infra.cli", "adopt", play.stack, *flags],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": str(columns)},
    )
    play.note(
        name,
        {
            "code": done.returncode,
            "output": done.stdout + done.stderr,
            "stdout": done.stdout,
            "began": began,
            "ended": clock()["now"],
        },
    )


def look_at_roles() -> dict[str, Any]:
    iam = boto3.client("iam")
    found = {}
    for name in ROLES:
        role = iam.get_role(RoleName=f"mlcc-demo-{name}")["Role"]
        attached = iam.list_attached_role_policies(RoleName=role["RoleName"])["AttachedPolicies"]
        found[name] = {
            "path": role["Path"],
            "trust": role["AssumeRolePolicyDocument"],
            "boundary": (role.get("PermissionsBoundary") or {}).get("PermissionsBoundaryArn"),
            "attached": sorted(policy["PolicyName"] for policy in attached),
            "tags": {tag["Key"]: tag["Value"] for tag in role.get("Tags", [])},
        }
    return found


def look(play: Play, name: str) -> None:
    described = boto3.client("eks").describe_cluster(name=CLUSTER)["cluster"]
    play.note(
        name,
        {
            "roles": look_at_roles(),
            "issuer": issuer(CLUSTER),
            "execution trust": trust("SageMakerHyperPodInference-demo"),
            "cluster": {key: described.get(key) for key in ("version", "createdAt", "tags", "accessConfig")},
        },
    )


def remake_cluster(play: Play, network: Network) -> None:
    """Somebody deletes both clusters and makes them again under the same names."""
    eks, sagemaker = boto3.client("eks"), boto3.client("sagemaker")
    sagemaker.delete_cluster(ClusterName=HYPERPOD)
    until(lambda: not sagemaker.list_clusters()["ClusterSummaries"])
    for group in eks.list_nodegroups(clusterName=CLUSTER)["nodegroups"]:
        eks.delete_nodegroup(clusterName=CLUSTER, nodegroupName=group)
    until(lambda: not eks.list_nodegroups(clusterName=CLUSTER)["nodegroups"])
    eks.delete_cluster(name=CLUSTER)
    until(lambda: CLUSTER not in eks.list_clusters()["clusters"])
    make_cluster(network)
    play.set("mlcc:operator.cluster.hyperPodClusterArn", make_hyperpod(network))


def configure(play: Play, network: Network, hyperpod_arn: str) -> None:
    """The stack file as docs/move-from-the-predecessor.md has it."""
    settings = {
        "mlcc:targets[1]": "operator-only",
        "mlcc:eks.version": KUBERNETES,
        "mlcc:network.vpcId": network.vpc,
        **{f"mlcc:network.privateSubnetIds[{n}]": each for n, each in enumerate(network.private)},
        **{f"mlcc:network.publicSubnetIds[{n}]": each for n, each in enumerate(network.public)},
        "mlcc:operator.cluster.eksClusterName": CLUSTER,
        "mlcc:operator.cluster.hyperPodClusterArn": hyperpod_arn,
    }
    play.unset("mlcc:hyperpod")
    play.unset("mlcc:eks.loadBalancerController")
    for path, value in settings.items():
        play.set(path, value)


def main() -> None:
    play = Play("mlcc-demo", sys.argv[1])
    with play.written():
        make_stacks()
        network = make_network()
        make_cluster(network)
        configure(play, network, make_hyperpod(network))
        play.note("theirs", {"account": list_account(), "created": look_at_cluster()})

        adopt(play, "adopt while owned")
        play.up("while owned")
        release_stacks()
        adopt(play, "adopt", "--json")
        adopt(play, "adopt table", columns=80)
        adopt(play, "adopt wide", columns=120)
        play.up("taken over")
        look(play, "after taking over")
        play.up("no-op up", "--expect-no-changes")
        adopt(play, "adopt nothing")

        boto3.client("iam").attach_role_policy(RoleName="mlcc-demo-eks-node-role", PolicyArn=FOREIGN_POLICY)
        play.set("mlcc:exclusive", "true")
        remake_cluster(play, network)
        play.up("remade")
        look(play, "after remaking")

        play.destroy("destroy")
        play.note("kept", look_at_roles())
        play.set("mlcc:own[0]", "cluster")
        play.set("mlcc:own[1]", "role")
        play.up("owned")
        play.destroy("destroy owned")


def look_at_cluster() -> str:
    return json.dumps(boto3.client("eks").describe_cluster(name=CLUSTER)["cluster"]["createdAt"], default=str)


if __name__ == "__main__":
    main()
