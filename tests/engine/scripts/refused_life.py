"""Stack mlcc-demo on an account that will not have it, for several reasons at once.

Usage: refused_life.py FILE. Nothing may be changed: every call is looked at.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import boto3

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.engine.scripts.hyperpod_acts import Play


def prepare(play: Play) -> None:
    iam, ssm = boto3.client("iam"), boto3.client("ssm")
    denial = {"Effect": "Deny", "Action": "sagemaker:AddTags", "Resource": "*"}
    (user,) = iam.list_users()["Users"]
    iam.put_user_policy(
        UserName=user["UserName"],
        PolicyName="guard",
        PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [denial]}),
    )
    tags = {"mlcc:managed-by": "mlcc-infra", "mlcc:profile": "other", "mlcc:region": "us-west-2"}
    ssm.put_parameter(
        Name="/mlcc/demo/eks/VpcId",
        Value="theirs",
        Type="String",
        Tags=[{"Key": key, "Value": value} for key, value in tags.items()],
    )
    play.set("mlcc:eks.addons.coredns.configuration.replicas", "3")
    play.set("mlcc:eks.addons.vpc-cni.version", "v1.9.9-eksbuild.1")


def main() -> None:
    play = Play("mlcc-demo", sys.argv[1])
    with play.written():
        prepare(play)
        play.up("up")


if __name__ == "__main__":
    main()
