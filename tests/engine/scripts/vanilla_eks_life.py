"""The life of the demo stack, played inside a rehearsal; what was seen goes into a JSON file.

Usage: vanilla_eks_life.py FILE. Every act runs the plain pulumi command a user would type.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import boto3

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.engine.account_listing import list_account

STACK = "mlcc-demo"
ROLE = "mlcc-demo-eks-node-role"
CLUSTER = "mlcc-demo-eks"
WANTED_POLICY = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
FOREIGN_POLICY = "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"
ELB_TAG = "kubernetes.io/role/internal-elb"

acts: dict[str, dict[str, Any]] = {}


def act(name: str, *command: str) -> None:
    done = subprocess.run(
        ["pulumi", *command, "-s", STACK, "--color", "never"], capture_output=True, text=True, check=False
    )
    acts[name] = {
        "code": done.returncode,
        "output": done.stdout + done.stderr,
        "account": list_account(),
        "state": state() if command[0] != "destroy" else None,
    }
    print(f"{name}: exit code {done.returncode}", flush=True)
    if done.returncode:
        print(done.stdout + done.stderr, flush=True)


def state() -> Any:
    done = subprocess.run(
        ["pulumi", "stack", "export", "-s", STACK], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def drift() -> None:
    """What people do to an account behind a stack's back."""
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
    acts["drift"] = {"subnet": subnets[0]["SubnetId"]}
    # The add-on takes its modelled minute to go.
    eks.get_waiter("addon_deleted").wait(
        clusterName=CLUSTER, addonName="coredns", WaiterConfig={"Delay": 1, "MaxAttempts": 60}
    )


def look_after_repair() -> None:
    iam, ec2, eks = boto3.client("iam"), boto3.client("ec2"), boto3.client("eks")
    subnet = ec2.describe_subnets(SubnetIds=[acts["drift"]["subnet"]])["Subnets"][0]
    acts["repaired"] = {
        "trust": iam.get_role(RoleName=ROLE)["Role"]["AssumeRolePolicyDocument"],
        "attached": [
            policy["PolicyArn"]
            for policy in iam.list_attached_role_policies(RoleName=ROLE)["AttachedPolicies"]
        ],
        "addon": eks.describe_addon(clusterName=CLUSTER, addonName="coredns")["addon"]["status"],
        "subnet_tags": {tag["Key"]: tag["Value"] for tag in subnet["Tags"]},
    }


def retained() -> list[dict[str, str]]:
    done = subprocess.run(
        [sys.executable, "-m", "mlcc_infra.cli", "retained", STACK, "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    answer: list[dict[str, str]] = json.loads(done.stdout)
    return answer


def main() -> None:
    acts["start"] = {"account": list_account()}
    act("up", "up", "--yes")
    acts["cluster"] = boto3.client("eks").describe_cluster(name=CLUSTER)["cluster"]["accessConfig"]
    act("no-op up", "up", "--yes", "--expect-no-changes")
    drift()
    act("repair", "up", "--yes")
    look_after_repair()
    boto3.client("iam").detach_role_policy(RoleName=ROLE, PolicyArn=FOREIGN_POLICY)
    act("after repair", "up", "--yes", "--expect-no-changes")
    act("destroy", "destroy", "--yes")
    acts["retained"] = {"listed": retained()}
    act("second up", "up", "--yes")
    act("second destroy", "destroy", "--yes")
    Path(sys.argv[1]).write_text(json.dumps(acts, default=str))


if __name__ == "__main__":
    main()
