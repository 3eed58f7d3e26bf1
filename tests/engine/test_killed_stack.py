"""A run that is killed while CloudFormation makes the stack: the next one waits, and goes on with it."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.engine.hyperpod_lives import Life

KEPT = ("role mlcc-hyperpod-hyperpod-instance-role", "attachment ", "inline policy ", "bucket hyperpod-tls-")


def test_the_run_was_killed_while_the_stack_was_made(killed_stack_life: Life) -> None:
    assert killed_stack_life.acts["killed"] == {"code": -9, "stack": "CREATE_IN_PROGRESS"}


@pytest.mark.parametrize("act", ["cancel", "next", "third", "destroy"])
def test_every_act_after_it_succeeds(killed_stack_life: Life, act: str) -> None:
    assert killed_stack_life.acts[act]["code"] == 0, killed_stack_life.acts[act]["output"]


def test_the_next_up_waits_for_the_stack_and_takes_it_over(killed_stack_life: Life) -> None:
    during = killed_stack_life.during("next", mutating=False)
    first_change = next(at for at, call in enumerate(during) if call["mutating"])
    looks = [call for call in during[:first_change] if call["operation"] == "DescribeStacks"]
    assert len(looks) >= 20, "it looked at the stack again and again before it changed anything"
    assert (
        "Taking over 1 existing, all as the profile has them: stack mlcc-hyperpod-hp"
        in killed_stack_life.words("next")
    )
    [(stack, status)] = killed_stack_life.acts["stacks"]
    assert status == "CREATE_COMPLETE"
    assert killed_stack_life.only("next", "aws:cloudformation/stack")["id"] == stack
    assert killed_stack_life.only("next", "OperatorReady")["outputs"]["state"] == "active"


def test_nothing_is_made_twice(killed_stack_life: Life) -> None:
    made = Counter(
        (call["service"], call["operation"], call["resource"])
        for call in killed_stack_life.calls
        if call["mutating"] and call["operation"].startswith("Create") and not call["error"]
    )
    assert made["cloudformation", "CreateStack", "mlcc-hyperpod-hp"] == 1
    assert [each for each, times in made.items() if times > 1] == []
    assert not [call for call in killed_stack_life.during("next") if call["operation"].startswith("Delete")]


def test_the_up_after_that_changes_nothing(killed_stack_life: Life) -> None:
    assert killed_stack_life.during("third") == []


def test_a_stack_that_was_taken_over_so_is_ours_and_goes_with_destroy(killed_stack_life: Life) -> None:
    left = [line for line in killed_stack_life.new("destroy") if not line.startswith(KEPT)]
    assert left == []
