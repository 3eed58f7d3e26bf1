"""What is kept and what is replaced, played inside a rehearsal (the vanilla cluster of mlcc-demo).

Usage: kept_and_replaced.py FILE. Two of its roles were made by somebody else before. Then a tag changes, then
what replaces the cluster: refused while it is protected, done when it is not. Field reports, groups C and I.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import boto3

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.engine.scripts.hyperpod_acts import Play, cluster, issuer, trust

STACK = "mlcc-demo"
CLUSTER = "mlcc-demo-eks"
NODE_ROLE = "mlcc-demo-eks-node-role"
CONTROLLER_ROLE = "mlcc-demo-eks-alb-controller-role"
SERVICE_CIDR = "192.168.0.0/16"


def foreign_trust(service: str) -> str:
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def make_roles() -> None:
    """Two roles as somebody made them: other trust, no tags."""
    iam = boto3.client("iam")
    for role in (NODE_ROLE, CONTROLLER_ROLE):
        iam.create_role(RoleName=role, AssumeRolePolicyDocument=foreign_trust("lambda.amazonaws.com"))


def role(name: str) -> dict[str, Any]:
    found = boto3.client("iam").get_role(RoleName=name)["Role"]
    tags = {tag["Key"]: tag["Value"] for tag in found.get("Tags", [])}
    return {"path": found["Path"], "tags": tags, "trust": trust(name)}


def in_cluster() -> list[str]:
    """What runs in the cluster's system namespace."""
    with cluster(CLUSTER) as api:
        return sorted(
            item["metadata"]["name"] for item in api.items("/apis/apps/v1/namespaces/kube-system/deployments")
        )


def protect_cluster(play: Play, word: str) -> None:
    """`pulumi state protect`, or `unprotect`, on the cluster."""
    urn = next(
        found["urn"]
        for found in play.acts["tag"]["state"]["deployment"]["resources"]
        if found["type"] == "aws:eks/cluster:Cluster"
    )
    command = ["pulumi", "state", word, urn, "-s", STACK, "--yes"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    play = Play(STACK, sys.argv[1])
    with play.written():
        play.unset("mlcc:targets[1]")
        make_roles()
        play.up("adopting")
        play.note("adopted", {name: role(name) for name in (NODE_ROLE, CONTROLLER_ROLE)})
        play.up("second", "--expect-no-changes")
        play.up("third", "--expect-no-changes")

        play.set("mlcc:tags.team", "inference")
        play.up("tag")
        play.note("issuer", issuer(CLUSTER))
        play.note("in the cluster", in_cluster())

        play.set("mlcc:eks.serviceCidr", SERVICE_CIDR)
        protect_cluster(play, "protect")
        play.act("refused preview", "preview")
        play.act("refused", "up", "--yes")
        protect_cluster(play, "unprotect")
        play.up("replacing")
        play.note("new issuer", issuer(CLUSTER))
        play.note("in the new cluster", in_cluster())
        play.up("after replacing", "--expect-no-changes")

        play.destroy("destroy")
        play.note("left", {name: role(name) for name in (NODE_ROLE, CONTROLLER_ROLE)})
        play.note("retained", play.retained())


if __name__ == "__main__":
    main()
