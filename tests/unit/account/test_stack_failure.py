"""Why a stack could not be made, from the events of its nested stacks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from mlcc_infra.account.session import AccountSession
from mlcc_infra.account.stack_failure import first_cause, watch_creation

NESTED = "AWS::CloudFormation::Stack"


def event(stack: str, name: str, status: str, reason: str = "", at: int = 0, **more: str) -> dict[str, Any]:
    return {
        "Timestamp": datetime(2026, 11, 30, tzinfo=UTC) + timedelta(seconds=at),
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
    # Made after a first failure, changed, and at last not to be deleted.
    "old": [
        event("old", "demo", "DELETE_FAILED", "The following resource(s) failed", 90, physical="old"),
        event("old", "VPC", "DELETE_FAILED", "Embedded stack failed", 80, kind=NESTED, physical="network"),
        event("old", "demo", "DELETE_IN_PROGRESS", "User Initiated", 70, physical="old"),
        event("old", "demo", "UPDATE_ROLLBACK_COMPLETE", at=60, physical="old"),
        event("old", "Group", "UPDATE_FAILED", "no such zone", 50),
        event("old", "demo", "UPDATE_IN_PROGRESS", "User Initiated", 40, physical="old"),
        event("old", "demo", "CREATE_COMPLETE", at=30, physical="old"),
        event("old", "demo", "CREATE_IN_PROGRESS", "User Initiated", 0, physical="old"),
    ],
    "network": [
        event("network", "Subnet", "DELETE_FAILED", "has dependencies and cannot be deleted", 79),
        event("network", "network", "DELETE_IN_PROGRESS", at=71, physical="network"),
        event("network", "network", "CREATE_IN_PROGRESS", at=1, physical="network"),
    ],
    # A creation that failed, and a rollback that could not take a nested stack away.
    "stuck": [
        event("stuck", "demo", "ROLLBACK_FAILED", "The following resource(s) failed", 60, physical="stuck"),
        event("stuck", "EKS", "DELETE_FAILED", "Embedded stack failed", 50, kind=NESTED, physical="eks"),
        event("stuck", "demo", "ROLLBACK_IN_PROGRESS", "failed", 30, physical="stuck"),
        event("stuck", "EKS", "CREATE_FAILED", "Embedded stack failed", 20, kind=NESTED, physical="eks"),
        event("stuck", "demo", "CREATE_IN_PROGRESS", "User Initiated", 0, physical="stuck"),
    ],
    "eks": [
        event("eks", "Addon", "DELETE_FAILED", "an interface is in use", 49),
        event("eks", "eks", "DELETE_IN_PROGRESS", at=40, physical="eks"),
        event("eks", "Addon", "CREATE_FAILED", "no such version", 19),
        event("eks", "eks", "CREATE_IN_PROGRESS", at=5, physical="eks"),
    ],
    # OnFailure DELETE: the deletion is under way, and it is the creation that failed.
    "going": [
        event("going", "demo", "DELETE_IN_PROGRESS", "Delete requested by user", 20, physical="going"),
        event("going", "Role", "CREATE_FAILED", "the name is taken", 10),
        event("going", "demo", "CREATE_IN_PROGRESS", "User Initiated", 0, physical="going"),
    ],
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


def test_a_deletion_that_fails_is_not_told_by_what_failed_long_before(session: Any) -> None:
    cause = first_cause(session(CloudFormation()), "old")
    assert cause == "VPC/Subnet: has dependencies and cannot be deleted"


def test_what_a_rollback_could_not_delete_is_not_why_it_was_rolled_back(session: Any) -> None:
    assert first_cause(session(CloudFormation()), "stuck") == "EKS/Addon: no such version"


def test_a_deletion_that_follows_a_failed_creation_is_told_by_the_creation(session: Any) -> None:
    assert first_cause(session(CloudFormation()), "going") == "Role: the name is taken"


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
