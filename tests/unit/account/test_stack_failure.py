"""Why a stack could not be made, from the events of its nested stacks."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from mlcc_infra.account.session import AccountSession
from mlcc_infra.account.stack_failure import first_cause, watch_creation

NESTED = "AWS::CloudFormation::Stack"


def event(stack: str, name: str, status: str, reason: str = "", **more: str) -> dict[str, str]:
    return {
        "StackId": stack,
        "LogicalResourceId": name,
        "ResourceType": more.get("kind", "AWS::IAM::Role"),
        "PhysicalResourceId": more.get("physical", ""),
        "ResourceStatus": status,
        "ResourceStatusReason": reason,
    }


# As DescribeStackEvents answers: the newest first.
EVENTS = {
    "outer": [
        event("outer", "demo", "ROLLBACK_IN_PROGRESS", "The following resource(s) failed", physical="outer"),
        event("outer", "Helm", "CREATE_FAILED", "Resource creation cancelled", kind=NESTED, physical="helm"),
        event("outer", "HyperPod", "CREATE_FAILED", "Embedded stack failed", kind=NESTED, physical="inner"),
        event("outer", "VPC", "CREATE_COMPLETE", kind=NESTED, physical="vpc"),
    ],
    "inner": [
        event("inner", "Second", "CREATE_FAILED", "a consequence"),
        event("inner", "Cluster", "CREATE_FAILED", "the role is invalid", kind="AWS::SageMaker::Cluster"),
    ],
    "silent": [
        event("silent", "HyperPod", "CREATE_FAILED", "Embedded stack failed", kind=NESTED, physical="none")
    ],
    "none": [],
}


class CloudFormation:
    def __init__(self, *statuses: str, error: str = "ValidationError") -> None:
        self.statuses = list(statuses)
        self.error = error

    def get_paginator(self, operation: str) -> Any:
        assert operation == "describe_stack_events"
        return self

    def paginate(self, StackName: str) -> list[dict[str, Any]]:  # noqa: N803 - AWS's name
        return [{"StackEvents": EVENTS[StackName]}]

    def describe_stacks(self, StackName: str) -> dict[str, Any]:  # noqa: N803 - AWS's name
        status = self.statuses.pop(0)
        if not status:
            raise ClientError({"Error": {"Code": self.error, "Message": "no"}}, "DescribeStacks")
        stack, _, state = status.partition(" ")
        return {"Stacks": [{"StackName": StackName, "StackId": stack, "StackStatus": state}]}


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MLCC_CLOCK_SPEED", "100000")

    def make(client: CloudFormation) -> AccountSession:
        monkeypatch.setattr(AccountSession, "client", lambda _self, _service: client)
        return AccountSession(region="us-west-2")

    return make


def test_the_first_cause_lies_in_the_nested_stack_that_failed_first(session: Any) -> None:
    assert first_cause(session(CloudFormation()), "outer") == "HyperPod/Cluster: the role is invalid"


def test_a_nested_stack_without_reasons_speaks_for_itself(session: Any) -> None:
    assert first_cause(session(CloudFormation()), "silent") == "HyperPod: Embedded stack failed"


def test_a_stack_without_failures_has_no_cause(session: Any) -> None:
    assert first_cause(session(CloudFormation()), "none") == ""


def watched(session: Any, *statuses: str, error: str = "ValidationError") -> list[str]:
    said: list[str] = []
    watch_creation(session(CloudFormation(*statuses, error=error)), "demo", said.append, besides="old")
    return said


def test_a_stack_that_fails_is_told_of_once_with_the_cause(session: Any) -> None:
    said = watched(
        session, "", "old DELETE_IN_PROGRESS", "outer CREATE_IN_PROGRESS", "outer ROLLBACK_COMPLETE"
    )
    assert said == ["Stack demo could not be made. First cause: HyperPod/Cluster: the role is invalid"]


def test_of_a_stack_that_is_made_nothing_is_said(session: Any) -> None:
    assert watched(session, "outer CREATE_IN_PROGRESS", "outer CREATE_COMPLETE") == []


def test_what_cannot_be_read_is_said_and_ends_the_watch(session: Any) -> None:
    (line,) = watched(session, "", error="AccessDenied")
    assert "cannot be watched" in line
    assert "AccessDenied" in line
