"""What the preflight says of a template and its stack."""

from __future__ import annotations

import io
from typing import Any

import pytest
from botocore.exceptions import ClientError

from mlcc_infra.account import hyperpod_checks
from mlcc_infra.account.preflight import Verdict
from mlcc_infra.account.reader import Reader
from mlcc_infra.account.session import AccountSession
from tests.unit.profile_support import hyperpod, load

STACK = "mlcc-demo-hp"
PARAMETERS = {"KubernetesVersion": "1.35", "NodeRecovery": "Automatic"}


class CloudFormation:
    """DescribeStacks as CloudFormation answers it."""

    def __init__(self, *statuses: str, parameters: dict[str, str] | None = None) -> None:
        self.statuses = list(statuses)
        self.parameters = PARAMETERS if parameters is None else parameters

    def get_paginator(self, operation: str) -> Any:
        assert operation == "describe_stack_events"
        return self

    def paginate(self, StackName: str) -> list[dict[str, Any]]:  # noqa: N803 - AWS's name
        reason = {"ResourceStatus": "CREATE_FAILED", "ResourceStatusReason": "the role is invalid"}
        about = {
            "StackId": StackName,
            "LogicalResourceId": "Cluster",
            "ResourceType": "AWS::SageMaker::Cluster",
        }
        return [{"StackEvents": [{**about, **reason}]}]

    def describe_stacks(self, StackName: str) -> dict[str, Any]:  # noqa: N803 - AWS's name
        status = self.statuses.pop(0) if len(self.statuses) > 1 else (self.statuses or [""])[0]
        if not status:
            message = f"Stack with id {StackName} does not exist"
            raise ClientError({"Error": {"Code": "ValidationError", "Message": message}}, "DescribeStacks")
        listed = [{"ParameterKey": key, "ParameterValue": value} for key, value in self.parameters.items()]
        return {
            "Stacks": [
                {
                    "StackName": StackName,
                    "StackId": "arn:stack/1",
                    "StackStatus": status,
                    "Parameters": listed,
                }
            ]
        }


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Any:
    def make(client: CloudFormation) -> Reader:
        monkeypatch.setattr(AccountSession, "client", lambda _self, _service: client)
        return Reader(AccountSession(region="us-west-2"), profile="demo")

    return make


def check(reader: Reader, *, recorded: bool = True) -> list[hyperpod_checks.CheckResult]:
    return hyperpod_checks.check_stack(reader, STACK, PARAMETERS, recorded=recorded, stack="mlcc-demo")


def test_no_stack_is_nothing_to_say(reader: Any) -> None:
    assert check(reader(CloudFormation())) == []


def test_a_stack_as_the_profile_wants_it_is_fine(reader: Any) -> None:
    assert [result.verdict for result in check(reader(CloudFormation("CREATE_COMPLETE")))] == [Verdict.OK]


def test_a_frozen_difference_is_a_warning_that_names_the_parameter(reader: Any) -> None:
    live = CloudFormation("CREATE_COMPLETE", parameters={**PARAMETERS, "KubernetesVersion": "1.34"})
    (result,) = check(reader(live))
    assert result.verdict is Verdict.WARNING
    assert "KubernetesVersion" in result.found


@pytest.mark.parametrize("status", sorted(hyperpod_checks.DEAD_STATES))
def test_a_dead_stack_is_replaced_when_recorded_and_refused_when_not(reader: Any, status: str) -> None:
    (known,) = check(reader(CloudFormation(status)))
    (foreign,) = check(reader(CloudFormation(status)), recorded=False)
    assert (known.verdict, foreign.verdict) == (Verdict.WARNING, Verdict.REFUSED)
    assert "Cluster: the role is invalid" in known.found
    assert "Cluster: the role is invalid" in foreign.found
    assert f"delete-stack --stack-name {STACK}" in foreign.remedy


def test_a_rollback_that_failed_is_refused_with_the_way_out(reader: Any) -> None:
    (result,) = check(reader(CloudFormation("UPDATE_ROLLBACK_FAILED")))
    assert result.verdict is Verdict.REFUSED
    assert "continue-update-rollback" in result.remedy


def test_only_a_dead_stacks_id_is_a_reason_to_replace(reader: Any) -> None:
    assert hyperpod_checks.dead_stack_id(reader(CloudFormation("ROLLBACK_COMPLETE")), STACK) == "arn:stack/1"
    assert hyperpod_checks.dead_stack_id(reader(CloudFormation("CREATE_COMPLETE")), STACK) is None


def test_the_address_of_a_template_gives_bucket_and_key() -> None:
    url = "https://aws-sagemaker-hyperpod-cluster-setup-us-west-2-prod.s3.us-west-2.amazonaws.com/templates/a.yaml"
    assert hyperpod_checks.split_url(url) == (
        "aws-sagemaker-hyperpod-cluster-setup-us-west-2-prod",
        "templates/a.yaml",
    )


class S3:
    """An object in AWS's bucket that is not this release's template."""

    def get_object(self, **_asked: str) -> dict[str, Any]:
        return {"Body": io.BytesIO(b"another template")}


@pytest.mark.parametrize(
    ("made", "pinned", "verdict"),
    [
        (False, None, Verdict.WARNING),
        (True, None, Verdict.OK),
        (True, "0" * 64, Verdict.WARNING),
    ],
)
def test_another_template_is_worth_a_warning_while_a_stack_is_made_from_it(
    monkeypatch: pytest.MonkeyPatch, made: bool, pinned: str | None, verdict: Verdict
) -> None:
    monkeypatch.setattr(AccountSession, "client", lambda _self, _service: S3())
    reader = Reader(AccountSession(region="us-west-2"), profile="demo")
    profile = load(hyperpod({"template": {"digest": pinned}} if pinned else {}))
    url = "https://bucket.s3.us-west-2.amazonaws.com/templates/main.yaml"
    [result] = hyperpod_checks.check_template(reader, profile, url, made=made)
    assert result.verdict is verdict
    assert "a template with digest" in result.found
