"""What a controller's log says about its watcher."""

from __future__ import annotations

import pytest

from mlcc_infra.account.watcher_log import read_log, words

ARN = "arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghijkl"
OLDER = "arn:aws:sagemaker:us-west-2:123456789012:cluster/zzzzzzzzzzzz"
TRUST = (
    f"failed to enable inference watcher for HyperPod cluster {ARN}: operation error SageMaker: "
    "UpdateClusterInference, get identity: get credentials: failed to refresh cached credentials, "
    "operation error STS: AssumeRoleWithWebIdentity, https response error StatusCode: 403, "
    "RequestID: 0f0e0d0c-1111-2222-3333-44445555666{}, api error AccessDenied: Not authorized"
)
DRAINING = (
    f"failed to enable inference watcher for HyperPod cluster {ARN}: ValidationException: "
    "Underlying watcher service is being deleted"
)
ENABLED = f"watcher enabled successfully for HyperPod cluster {ARN}"


def log(*lines: str, level: str = "INFO") -> str:
    return "".join(f"2026-11-30T08:00:0{at}Z\t{level}\tsetup\t{line}\n" for at, line in enumerate(lines))


@pytest.mark.parametrize(
    "line",
    [
        ENABLED,
        f"inference watcher already enabled for {ARN}",
        'Desired watcher status reached\t{"status": "Enabled"}',
    ],
)
def test_each_of_the_three_words_of_success_counts(line: str) -> None:
    reading = read_log(log("starting manager", line), ARN)
    assert reading.active
    assert reading.line == line.replace("\t", " ")


def test_nothing_about_the_watcher_is_silence() -> None:
    reading = read_log(log("starting manager", "Starting workers"), ARN)
    assert reading.silent
    assert not reading.active


def test_failures_are_told_in_their_words_each_once() -> None:
    reading = read_log(log(TRUST.format(1), TRUST.format(2), level="ERROR"), ARN)
    assert not reading.active
    assert reading.failures == (TRUST.format(2),)


def test_the_last_word_counts() -> None:
    assert read_log(log(TRUST.format(1), ENABLED), ARN).active
    assert read_log(log(TRUST.format(1), ENABLED), ARN).failures == ()
    assert not read_log(log(ENABLED, TRUST.format(1)), ARN).active


def test_a_watcher_that_is_still_being_deleted_is_no_failure() -> None:
    reading = read_log(log("starting manager", DRAINING), ARN)
    assert reading.draining
    assert reading.failures == ()
    assert not read_log(log(DRAINING, ENABLED), ARN).draining


def test_success_of_an_earlier_cluster_of_the_same_name_does_not_count() -> None:
    assert not read_log(log(ENABLED.replace(ARN, OLDER)), ARN).active


def test_what_models_meet_later_is_not_about_the_watcher() -> None:
    later = "operation error STS: AssumeRoleWithWebIdentity, api error AccessDenied: Not authorized"
    assert read_log(log(ENABLED, later), ARN).active
    assert read_log(log(later), ARN).failures == (later,)
    assert read_log(log("unable to start manager: HYPERPOD_CLUSTER_ARN is empty"), ARN).failures


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("2026-11-30T08:00:00Z\tINFO\tsetup\ta message", "a message"),
        ("2026-11-30T08:00:00Z\tERROR\ta message of several words", "a message of several words"),
        (
            '{"level":"error","msg":"failed to enable","error":"AccessDenied"}',
            "failed to enable: AccessDenied",
        ),
        ("{no json", "{no json"),
        ("plain", "plain"),
    ],
)
def test_times_levels_and_loggers_are_left_out(line: str, said: str) -> None:
    assert words(line) == said
