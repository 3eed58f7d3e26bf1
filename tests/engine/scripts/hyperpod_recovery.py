"""A first create that fails, and groups where HyperPod drops what an update leaves out (mlcc-hyperpod).

Usage: hyperpod_recovery.py FILE. Run with MLCC_REHEARSAL_OMITTED_GROUPS=go.
"""

from __future__ import annotations

import sys
from pathlib import Path

import boto3

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.engine.scripts.hyperpod_acts import Play, advance, faults, hyperpod

HYPERPOD = "mlcc-hyperpod-hyperpod"
STACK = "mlcc-hyperpod-hp"
# What SageMaker says when the instance role lacks its policies.
CAUSE = "execution role permissions are invalid for role mlcc-hyperpod-hyperpod-instance-role"


def stacks() -> list[tuple[str, str]]:
    """(id, status) of all stacks of the name, deleted ones included."""
    found = boto3.client("cloudformation").get_paginator("list_stacks").paginate()
    return [
        (stack["StackId"], stack["StackStatus"])
        for page in found
        for stack in page["StackSummaries"]
        if stack["StackName"] == STACK
    ]


def groups() -> dict[str, tuple[int, int]]:
    return {
        group["InstanceGroupName"]: (group["CurrentCount"], group["TargetCount"])
        for group in hyperpod(HYPERPOD)["InstanceGroups"]
    }


def main() -> None:
    play = Play("mlcc-hyperpod", sys.argv[1])
    with play.written():
        play.note("cause", CAUSE)
        faults(
            {
                "service": "sagemaker",
                "operation": "CreateCluster",
                "calls": [1],
                "effect": "error",
                "code": "ValidationException",
                "message": CAUSE,
                "status": 400,
            }
        )
        play.up("failed")
        play.note("failed stacks", stacks())
        play.up("mended")
        play.note("mended stacks", stacks())
        play.up("third", "--expect-no-changes")
        advance(1200)
        play.note("groups", groups())

        play.set("mlcc:hyperpod.instanceGroups[1].name", "more")
        play.set("mlcc:hyperpod.instanceGroups[1].instanceType", "ml.g6.4xlarge")
        play.set("mlcc:hyperpod.instanceGroups[2].name", "cpu")
        play.set("mlcc:hyperpod.instanceGroups[2].instanceType", "ml.m5.xlarge")
        play.set("mlcc:hyperpod.instanceGroups[2].instanceCount", "1")
        play.up("other groups")
        advance(1200)
        play.note("changed groups", groups())
        play.up("after the change", "--expect-no-changes")


if __name__ == "__main__":
    main()
