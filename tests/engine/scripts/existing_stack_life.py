"""mlcc-hyperpod over a stack that somebody made as the console does, played inside a rehearsal.

Usage: existing_stack_life.py FILE. The stack made its own buckets, role and lifecycle scripts. It is taken
over, left alone by a destroy, and at last owned and destroyed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import boto3

sys.path.insert(0, str(Path(__file__).parents[3]))

from mlcc_infra.profile import load_profile
from mlcc_infra.template import CAPABILITIES, profile_template_url
from tests.engine.account_listing import list_account
from tests.engine.scripts.hyperpod_acts import REGION, Play, hyperpod, until

STACK, PREFIX = "console-made", "console"
EKS, HYPERPOD = "console-eks", "console-hyperpod"
GROUP = '[{"InstanceGroupName":"workers","InstanceType":"ml.c5.4xlarge","InstanceCount":2}]'
PARAMETERS = {
    "ResourceNamePrefix": PREFIX,
    "AvailabilityZoneIds": "usw2-az1,usw2-az2",
    "KubernetesVersion": "1.34",
    "HyperPodClusterName": HYPERPOD,
    "NodeProvisioningMode": "Continuous",
    "InstanceGroupSettings1": GROUP,
    "CreateFsxStack": "false",
    "EnableHPInferenceFeature": "false",
}


def make_stack() -> None:
    client = boto3.client("cloudformation")
    profile = load_profile({"aws:region": REGION, "mlcc:targets": '["hyperpod-eks"]'}, "theirs", environ={})
    client.create_stack(
        StackName=STACK,
        TemplateURL=profile_template_url(profile),
        Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in PARAMETERS.items()],
        Capabilities=list(CAPABILITIES),
    )
    until(lambda: status() != "CREATE_IN_PROGRESS")
    if status() != "CREATE_COMPLETE":
        raise RuntimeError(f"their stack is {status()}")
    until(lambda: all(group["CurrentCount"] == 2 for group in hyperpod(HYPERPOD)["InstanceGroups"]))


def status() -> str:
    return str(boto3.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"][0]["StackStatus"])


def look(play: Play, name: str) -> None:
    eks, stack = (
        boto3.client("eks"),
        boto3.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"][0],
    )
    described: dict[str, Any] = hyperpod(HYPERPOD)
    play.note(
        name,
        {
            "status": stack["StackStatus"],
            "tags": stack.get("Tags", []),
            "parameters": {
                entry["ParameterKey"]: entry.get("ParameterValue", "") for entry in stack["Parameters"]
            },
            "marks": eks.describe_cluster(name=EKS)["cluster"].get("tags", {}),
            "groups": {
                group["InstanceGroupName"]: group["CurrentCount"] for group in described["InstanceGroups"]
            },
        },
    )


def main() -> None:
    play = Play("mlcc-hyperpod", sys.argv[1])
    with play.written():
        make_stack()
        play.note("theirs", {"account": list_account()})
        look(play, "before")
        play.unset("mlcc:hyperpod.instanceGroups")
        play.unset("mlcc:hyperpod.kubernetesVersion")
        play.set("mlcc:hyperpod.existingStack", "no-such-stack")
        play.up("no such stack")
        play.set("mlcc:hyperpod.existingStack", STACK)
        play.up("taken over")
        look(play, "after")
        play.up("no-op up", "--expect-no-changes")
        play.destroy("destroy")
        look(play, "kept")
        play.set("mlcc:own[0]", f"stack/{STACK}")
        play.up("owned")
        play.destroy("destroy owned")


if __name__ == "__main__":
    main()
