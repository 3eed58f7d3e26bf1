"""A first create that fails, the `up` after it, and groups where HyperPod drops what an update leaves out."""

from __future__ import annotations

import pytest

from tests.engine.hyperpod_lives import Life


@pytest.mark.parametrize("act", ["mended", "third", "other groups", "after the change"])
def test_every_act_after_the_failure_succeeds(recovery_life: Life, act: str) -> None:
    assert recovery_life.acts[act]["code"] == 0, recovery_life.acts[act]["output"]


def test_a_first_create_that_fails_leaves_a_dead_stack(recovery_life: Life) -> None:
    assert recovery_life.acts["failed"]["code"] != 0
    assert [status for _, status in recovery_life.acts["failed stacks"]] == ["ROLLBACK_COMPLETE"]


def test_the_failure_names_its_first_real_cause(recovery_life: Life) -> None:
    cause = "First cause: HyperPodClusterStack/NewHyperPodCluster: Resource handler returned message: "
    assert f'{cause}"{recovery_life.acts["cause"]}' in recovery_life.words("failed")


def test_the_next_up_says_what_it_found_and_does(recovery_life: Life) -> None:
    (line,) = [line for line in recovery_life.warnings("mended") if "ROLLBACK_COMPLETE" in line]
    assert recovery_life.acts["cause"] in line
    assert line.endswith("it is deleted and made anew")


def test_the_next_up_replaces_the_dead_stack_once(recovery_life: Life) -> None:
    (dead, _), *_ = recovery_life.acts["failed stacks"]
    sent = [
        call["operation"] for call in recovery_life.during("mended") if call["service"] == "cloudformation"
    ]
    assert sent == ["DeleteStack", "CreateStack"]
    stacks = dict(recovery_life.acts["mended stacks"])
    assert stacks.pop(dead) == "DELETE_COMPLETE"
    assert list(stacks.values()) == ["CREATE_COMPLETE"]
    assert recovery_life.only("mended", "OperatorReady")["outputs"]["state"] == "active"


def test_what_was_made_before_the_failure_is_kept(recovery_life: Life) -> None:
    operations = {call["operation"] for call in recovery_life.during("mended")}
    assert not operations & {"DeleteRole", "DeleteBucket", "DeleteParameter"}


@pytest.mark.parametrize("act", ["third", "after the change"])
def test_the_up_after_that_changes_nothing(recovery_life: Life, act: str) -> None:
    assert recovery_life.during(act) == []


def test_the_groups_are_those_of_the_profile_where_omitted_ones_would_go(recovery_life: Life) -> None:
    assert recovery_life.acts["groups"] == {"default-worker": [2, 2], "gpu": [1, 1]}
    assert [call["operation"] for call in recovery_life.during("other groups")] == ["UpdateCluster"]
    changed = {"default-worker": [2, 2], "more": [1, 1], "cpu": [1, 1]}
    assert recovery_life.acts["changed groups"] == changed
