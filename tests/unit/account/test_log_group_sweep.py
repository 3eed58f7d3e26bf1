"""Log groups that come back after they were deleted."""

from __future__ import annotations

from typing import Any

import pytest

from mlcc_infra import clock
from mlcc_infra.account.log_group_sweep import find_log_groups, sweep_log_groups
from mlcc_infra.account.session import AccountSession

NAMES = ("/aws/lambda/mlcc-demo-hphpfunc", "/aws/sagemaker/Clusters/mlcc-demo-hyperpod/*")


class Logs:
    """CloudWatch Logs as far as the sweep needs it."""

    def __init__(self, *groups: str) -> None:
        self.groups = set(groups)

    def get_paginator(self, operation: str) -> Logs:
        assert operation == "describe_log_groups"
        return self

    def paginate(self, logGroupNamePrefix: str) -> list[dict[str, Any]]:  # noqa: N803 - AWS's name
        found = sorted(group for group in self.groups if group.startswith(logGroupNamePrefix))
        return [{"logGroups": [{"logGroupName": group} for group in found]}]

    def delete_log_group(self, logGroupName: str) -> None:  # noqa: N803 - AWS's name
        self.groups.remove(logGroupName)


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> Logs:
    made = Logs(
        "/aws/lambda/mlcc-demo-hphpfunc",
        "/aws/lambda/mlcc-demo-hphpfunc-of-somebody-else",
        "/aws/sagemaker/Clusters/mlcc-demo-hyperpod/abc123",
        "/aws/sagemaker/Clusters/another/abc123",
    )
    monkeypatch.setattr(AccountSession, "client", lambda _self, _service: made)
    return made


@pytest.fixture
def session(logs: Logs) -> AccountSession:
    return AccountSession(region="us-west-2")


def test_exact_names_and_prefixes_are_told_apart(session: AccountSession) -> None:
    assert find_log_groups(session, NAMES) == [
        "/aws/lambda/mlcc-demo-hphpfunc",
        "/aws/sagemaker/Clusters/mlcc-demo-hyperpod/abc123",
    ]


def test_what_comes_back_within_a_minute_is_deleted_too(
    session: AccountSession, logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    def write_again(seconds: float) -> None:
        waited.append(seconds)
        logs.groups.add("/aws/lambda/mlcc-demo-hphpfunc")

    monkeypatch.setattr(clock, "sleep", write_again)
    said: list[str] = []
    assert len(sweep_log_groups(session, NAMES, said.append)) == 3
    assert waited == [60.0]
    assert logs.groups == {
        "/aws/lambda/mlcc-demo-hphpfunc-of-somebody-else",
        "/aws/sagemaker/Clusters/another/abc123",
    }
    assert all(line.startswith("Deleting the log group ") for line in said)


def test_nothing_to_delete_is_not_waited_for(
    session: AccountSession, logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs.groups.clear()

    def sleep(_seconds: float) -> None:
        raise AssertionError("there was nothing to wait for")

    monkeypatch.setattr(clock, "sleep", sleep)
    assert sweep_log_groups(session, NAMES, print) == []
