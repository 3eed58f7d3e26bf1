"""Stack mlcc-demo where its roles exist already, in the wrong shape; add-ons are changed and fail.

Usage: adoption_life.py FILE. Field reports, groups B, D and I: one life for the rows that need the engine.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import boto3

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.engine.scripts.hyperpod_acts import ACCOUNT, NO_GPU, Play, advance, faults, issuer, trust

VANILLA, HYPERPOD = "mlcc-demo-eks", "mlcc-demo-hp-eks"
OLD_ISSUER = "oidc.eks.us-west-2.amazonaws.com/id/00000000000000000000000000000000"
FOREIGN = "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"
EXECUTION_ROLE = "SageMakerHyperPodInference-demo"
ALB_ROLE = "mlcc-demo-eks-alb-controller-role"
# Roles that a predecessor or a colleague made: the service that they trust, and what is attached.
THERE = {
    "mlcc-demo-eks-cluster-role": ("eks.amazonaws.com", "AmazonEKSClusterPolicy"),
    "mlcc-demo-eks-node-role": ("ec2.amazonaws.com", "AmazonS3ReadOnlyAccess"),
    "mlcc-demo-fargate-pod-exec-role": ("eks-fargate-pods.amazonaws.com", ""),
    "mlcc-demo-hyperpod-instance-role": (
        "sagemaker.amazonaws.com",
        "AmazonSageMakerClusterInstanceRolePolicy",
    ),
    ALB_ROLE: ("ec2.amazonaws.com", ""),
}
# Older versions first, so that a later run changes nothing but versions.
OLDER = {
    "mlcc:eks.addons.coredns.version": "v1.13.2-eksbuild.31",
    "mlcc:eks.addons.vpc-cni.version": "v1.21.2-eksbuild.2",
    "mlcc:eks.addons.kube-proxy.version": "v1.35.3-eksbuild.2",
    "mlcc:operator.addons.metrics-server.version": "v0.8.1-eksbuild.5",
    "mlcc:operator.addons.aws-mountpoint-s3-csi-driver.version": "v2.2.0-eksbuild.1",
}
PARAMETERS = {"/mlcc/demo/eks/VpcId": "demo", "/mlcc/demo/hyperpod/EksClusterName": "demo"}


def statement(principal: dict[str, str], action: str, **more: Any) -> dict[str, Any]:
    return {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Principal": principal, "Action": action, **more}],
    }


def prepare() -> None:
    iam, ssm = boto3.client("iam"), boto3.client("ssm")
    for name, (service, policy) in THERE.items():
        document = json.dumps(statement({"Service": service}, "sts:AssumeRole"))
        iam.create_role(RoleName=name, AssumeRolePolicyDocument=document)
        if policy:
            iam.attach_role_policy(RoleName=name, PolicyArn=f"arn:aws:iam::aws:policy/{policy}")
    provider = f"arn:aws:iam::{ACCOUNT}:oidc-provider/{OLD_ISSUER}"
    old = statement({"Federated": provider}, "sts:AssumeRoleWithWebIdentity")
    iam.create_role(RoleName=EXECUTION_ROLE, AssumeRolePolicyDocument=json.dumps(old))
    for name, profile in PARAMETERS.items():
        tags = {"mlcc:managed-by": "mlcc-infra", "mlcc:profile": profile, "mlcc:region": "us-west-2"}
        ssm.put_parameter(
            Name=name,
            Value="of-an-earlier-run",
            Type="String",
            Tags=[{"Key": key, "Value": value} for key, value in tags.items()],
        )


def role(name: str) -> dict[str, Any]:
    iam = boto3.client("iam")
    attached = iam.list_attached_role_policies(RoleName=name)["AttachedPolicies"]
    inline = iam.list_role_policies(RoleName=name)["PolicyNames"]
    documents = [iam.get_role_policy(RoleName=name, PolicyName=each)["PolicyDocument"] for each in inline]
    return {
        "trust": trust(name),
        "attached": sorted(policy["PolicyName"] for policy in attached),
        "inline": documents,
    }


def roles() -> dict[str, Any]:
    return {name: role(name) for name in (*THERE, EXECUTION_ROLE)}


def addon_updates() -> dict[str, list[dict[str, str]]]:
    """What each add-on was updated with, by its name, as EKS recorded it."""
    eks = boto3.client("eks")
    found: dict[str, list[dict[str, str]]] = {}
    for cluster in (VANILLA, HYPERPOD):
        for addon in eks.list_addons(clusterName=cluster)["addons"]:
            for update in eks.list_updates(name=cluster, addonName=addon)["updateIds"]:
                shown = eks.describe_update(name=cluster, addonName=addon, updateId=update)["update"]
                found.setdefault(addon, []).append({each["type"]: each["value"] for each in shown["params"]})
    return found


def addon(name: str, cluster: str = VANILLA) -> dict[str, Any]:
    return dict(boto3.client("eks").describe_addon(clusterName=cluster, addonName=name)["addon"])


def fail_addon() -> str:
    """Leave coredns in CREATE_FAILED, as an add-on laid over somebody's own one does; its ARN."""
    eks = boto3.client("eks")
    eks.delete_addon(clusterName=VANILLA, addonName="coredns", preserve=True)
    advance(600)
    eks.create_addon(clusterName=VANILLA, addonName="coredns", resolveConflicts="NONE")
    advance(600)
    failed = addon("coredns")
    assert failed["status"] == "CREATE_FAILED", failed
    return str(failed["addonArn"])


def destroyed(play: Play, name: str, *flags: str) -> None:
    """`mlcc-infra destroy`, and how it went."""
    done = subprocess.run(
        [sys.executable, "-m", "mlcc_infra.cli", "destroy", "mlcc-demo", "--yes", *flags],
        capture_output=True,
        text=True,
        check=False,
    )
    play.note(name, {"code": done.returncode, "output": done.stdout + done.stderr})
    print(f"{name}: exit code {done.returncode}", flush=True)


def left(*names: str) -> list[str]:
    found = {
        each["RoleName"]
        for page in boto3.client("iam").get_paginator("list_roles").paginate()
        for each in page["Roles"]
    }
    return sorted(found.intersection(names))


def main() -> None:
    play = Play("mlcc-demo", sys.argv[1])
    with play.written():
        faults(*NO_GPU)
        prepare()
        play.set("mlcc:eks.fargateNamespaces[0]", "apps")
        for key, version in OLDER.items():
            play.set(key, version)
        play.up("up")
        play.note("roles", roles())
        play.note("issuers", {name: issuer(name) for name in (VANILLA, HYPERPOD)})
        for key in OLDER:
            play.unset(key)
        play.up("bump")
        play.note("addon updates", addon_updates())
        play.note("s3 driver", addon("aws-mountpoint-s3-csi-driver", HYPERPOD))
        play.note("failed", fail_addon())
        play.up("after a failed add-on")
        play.note("mended", addon("coredns"))
        play.act("nothing to do", "up", "--yes", "--skip-preview", "--expect-no-changes")
        iam = boto3.client("iam")
        iam.attach_role_policy(RoleName="mlcc-demo-keda-operator-role", PolicyArn=FOREIGN)
        play.set("mlcc:forceDelete", "true")
        destroyed(play, "forced without up")
        play.unset("mlcc:forceDelete")
        play.set("mlcc:own[0]", "role")
        destroyed(play, "owned without up")
        play.unset("mlcc:own")
        destroyed(play, "destroy")
        play.note("left by destroy", left("mlcc-demo-keda-operator-role"))
        destroyed(play, "forced", "--force-delete")
        play.note("left when forced", left(*THERE, EXECUTION_ROLE, "mlcc-demo-keda-operator-role"))


if __name__ == "__main__":
    main()
