"""The life of the demo stack, played inside a rehearsal.

Usage: vanilla_eks_life.py FILE. Acts run the pulumi commands a user would type; at last the stack gets the
state that the latest release left.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import boto3

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.engine.scripts.hyperpod_acts import Play
from tests.engine.scripts.release_life import live_on_with_state_of
from tests.record_names import RELEASES

ROLE = "mlcc-demo-eks-node-role"
CLUSTER = "mlcc-demo-eks"
WANTED_POLICY = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
FOREIGN_POLICY = "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"
ELB_TAG = "kubernetes.io/role/internal-elb"


def drift() -> str:
    """What people do to an account behind a stack's back; the subnet that has lost its tag."""
    iam, ec2, eks = boto3.client("iam"), boto3.client("ec2"), boto3.client("eks")
    trust = {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
        ],
    }
    iam.update_assume_role_policy(RoleName=ROLE, PolicyDocument=json.dumps(trust))
    iam.detach_role_policy(RoleName=ROLE, PolicyArn=WANTED_POLICY)
    iam.attach_role_policy(RoleName=ROLE, PolicyArn=FOREIGN_POLICY)
    eks.delete_addon(clusterName=CLUSTER, addonName="coredns")
    ours = [{"Name": "tag-key", "Values": [ELB_TAG]}, {"Name": "tag:mlcc:module", "Values": ["eks"]}]
    subnets = ec2.describe_subnets(Filters=ours)["Subnets"]
    ec2.delete_tags(Resources=[subnets[0]["SubnetId"]], Tags=[{"Key": ELB_TAG}])
    # The add-on takes its modelled minute to go.
    eks.get_waiter("addon_deleted").wait(
        clusterName=CLUSTER, addonName="coredns", WaiterConfig={"Delay": 1, "MaxAttempts": 60}
    )
    return str(subnets[0]["SubnetId"])


def look_after_repair(subnet_id: str) -> dict[str, Any]:
    iam, ec2, eks = boto3.client("iam"), boto3.client("ec2"), boto3.client("eks")
    subnet = ec2.describe_subnets(SubnetIds=[subnet_id])["Subnets"][0]
    return {
        "trust": iam.get_role(RoleName=ROLE)["Role"]["AssumeRolePolicyDocument"],
        "attached": [
            policy["PolicyArn"]
            for policy in iam.list_attached_role_policies(RoleName=ROLE)["AttachedPolicies"]
        ],
        "addon": eks.describe_addon(clusterName=CLUSTER, addonName="coredns")["addon"]["status"],
        "subnet_tags": {tag["Key"]: tag["Value"] for tag in subnet["Tags"]},
    }


def main() -> None:
    play = Play("mlcc-demo", sys.argv[1])
    with play.written():
        play.act("up", "up", "--yes")
        play.up("no-op up", "--expect-no-changes")
        subnet = drift()
        play.act("repair", "up", "--yes")
        play.note("repaired", look_after_repair(subnet))
        boto3.client("iam").detach_role_policy(RoleName=ROLE, PolicyArn=FOREIGN_POLICY)
        play.up("after repair", "--expect-no-changes")
        play.act("destroy", "destroy", "--yes")
        play.note("retained", play.retained())
        play.up("second up")
        live_on_with_state_of(RELEASES[-1], play)


if __name__ == "__main__":
    main()
