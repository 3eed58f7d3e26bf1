"""Waits, retries and words of AWS calls, without AWS."""

import time
from typing import Any

import botocore.exceptions
import pytest

from mlcc_rehearsal.plugins.aws.calling import (
    AwsError,
    Call,
    Clients,
    UnexpectedStateError,
    WaitTimeoutError,
    aws_error,
    go_duration,
)
from mlcc_rehearsal.plugins.serving import Cancellation, CancelledError


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLCC_CLOCK_SPEED", "1000")


@pytest.fixture
def call() -> Call:
    import boto3

    session = boto3.Session("made-up", "made-up", region_name="us-west-2")
    return Call(Clients(session, {}), region="us-west-2", account_id="123456789012")


def client(call: Call, service: str) -> Any:
    return call.clients.client(service, call.region)


def refused(operation: str, code: str, message: str, status: int) -> botocore.exceptions.ClientError:
    response: Any = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status, "RequestId": "id-1"},
    }
    return botocore.exceptions.ClientError(response, operation)


def test_errors_carry_aws_words_as_the_sdk_for_go_puts_them(call: Call) -> None:
    error = aws_error(
        refused("CreateRole", "EntityAlreadyExists", "Role with name x already exists.", 409),
        client(call, "iam"),
    )
    assert error.message == (
        "operation error IAM: CreateRole, https response error StatusCode: 409, RequestID: id-1, "
        "EntityAlreadyExists: Role with name x already exists."
    )
    error = aws_error(
        refused("DeleteSubnet", "DependencyViolation", "has dependencies", 400), client(call, "ec2")
    )
    assert error.message.endswith("api error DependencyViolation: has dependencies")


def test_a_wait_ends_with_the_thing_once_it_is_in_a_wanted_state(call: Call) -> None:
    states = iter(["CREATING", "CREATING", "ACTIVE"])
    found = call.wait(lambda: ({"n": 1}, next(states)), pending=("CREATING",), target=("ACTIVE",))
    assert found == {"n": 1}


def test_a_wait_that_meets_another_state_names_it_and_the_cause(call: Call) -> None:
    with pytest.raises(UnexpectedStateError) as caught:
        call.wait(
            lambda: ({}, "CREATE_FAILED"),
            pending=("CREATING",),
            target=("ACTIVE",),
            reason=lambda _: "i-1: NoCapacity",
        )
    assert caught.value.message == (
        "unexpected state 'CREATE_FAILED', wanted target 'ACTIVE'. last error: i-1: NoCapacity"
    )


def test_a_wait_that_takes_too_long_names_the_last_state_and_its_limit(call: Call) -> None:
    with pytest.raises(WaitTimeoutError) as caught:
        call.wait(lambda: ({}, "DEGRADED"), pending=("DEGRADED",), target=("ACTIVE",), timeout=1200)
    assert caught.value.message == (
        "timeout while waiting for state to become 'ACTIVE' (last state: 'DEGRADED', timeout: 20m0s)"
    )


def test_a_wait_for_the_end_of_a_thing_ends_when_it_is_gone(call: Call) -> None:
    answers: Any = iter([({}, "DELETING"), (None, "")])
    assert call.wait(lambda: next(answers), pending=("DELETING",), target=()) is None


def test_a_thing_that_never_shows_is_given_up_on(call: Call) -> None:
    with pytest.raises(UnexpectedStateError, match="couldn't find resource"):
        call.wait(lambda: (None, ""), target=("found",), timeout=10_000)


def test_a_cancelled_peer_stops_waiting_at_once(monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    import threading

    monkeypatch.setenv("MLCC_CLOCK_SPEED", "1")
    call.cancellation = Cancellation()
    threading.Timer(0.1, call.cancellation.cancel).start()
    started = time.monotonic()
    with pytest.raises(CancelledError):
        call.wait(lambda: ({}, "CREATING"), pending=("CREATING",), target=("ACTIVE",))
    assert time.monotonic() - started < 2


def test_a_retry_goes_on_while_the_error_is_one_to_retry_and_then_gives_that_error(call: Call) -> None:
    attempts: list[int] = []

    def action() -> str:
        attempts.append(1)
        if len(attempts) < 3:
            raise AwsError("text", "MalformedPolicyDocument", "Invalid principal in policy")
        return "done"

    assert call.retry(action, lambda error: "Invalid principal" in error.aws_message) == "done"
    assert len(attempts) == 3

    def never() -> str:
        raise AwsError("text", "AccessDenied", "no")

    with pytest.raises(AwsError):
        call.retry(never, lambda error: error.aws_code == "Other")


def test_durations_are_written_as_go_writes_them() -> None:
    assert [go_duration(seconds) for seconds in (45, 1200, 5400)] == ["45s", "20m0s", "1h30m0s"]
