"""A run of mlcc-hyperpod that is killed while CloudFormation makes the stack, and the runs after it.

Usage: killed_stack.py FILE. The engine with all its plugins gets SIGKILL when the EKS cluster is being made;
the lock it leaves is taken away as a user would, with `pulumi cancel`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import boto3
from botocore.exceptions import ClientError

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.engine.scripts.hyperpod_acts import Play, advance, clock, control, faults, meanwhile

STACK, EKS = "mlcc-hyperpod-hp", "mlcc-hyperpod-hp-eks"
LIMIT_SECONDS = 240.0
# The chart's stack takes longer than killing a run and starting another; the script ends it when the next run
# has been seen waiting.
CHART_SECONDS = 60000
LOOKS = 20


def status() -> str:
    try:
        return str(
            boto3.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"][0]["StackStatus"]
        )
    except ClientError:
        return ""


def stacks() -> list[tuple[str, str]]:
    """(id, status) of all stacks of the name, deleted ones included."""
    pages = boto3.client("cloudformation").get_paginator("list_stacks").paginate()
    return [
        (stack["StackId"], stack["StackStatus"])
        for page in pages
        for stack in page["StackSummaries"]
        if stack["StackName"] == STACK
    ]


def killed(play: Play) -> None:
    """`pulumi up` in a group of its own, killed when the EKS cluster is there and not ready."""
    run = subprocess.Popen(
        ["pulumi", "up", "--yes", "--skip-preview", "-s", play.stack, "--color", "never"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + LIMIT_SECONDS
    while EKS not in boto3.client("eks").list_clusters()["clusters"]:
        if run.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the run ended, or made no cluster: {run.poll()}")
        time.sleep(0.2)
    os.killpg(run.pid, signal.SIGKILL)
    play.note("killed", {"code": run.wait(), "stack": status()})


def waits(since: float) -> bool:
    """Whether somebody has looked at the stack again and again; then its creation goes on."""
    looks = [
        call for call in control("calls") if call["operation"] == "DescribeStacks" and call["time"] > since
    ]
    if len(looks) < LOOKS:
        return False
    advance(CHART_SECONDS)
    return True


def main() -> None:
    play = Play("mlcc-hyperpod", sys.argv[1])
    with play.written():
        delay = {"effect": "delay", "seconds": CHART_SECONDS}
        faults({"service": "cloudformation-resource", "operation": "HelmChartStack", **delay})
        killed(play)
        play.act("cancel", "cancel", "--yes")
        began = clock()["now"]
        with meanwhile(lambda: waits(began)):
            play.up("next")
        play.note("stacks", stacks())
        play.up("third", "--expect-no-changes")
        play.destroy("destroy")


if __name__ == "__main__":
    main()
