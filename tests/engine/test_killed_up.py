"""`up` killed at seeded moments, `recover`, and the next `up`: what the account and the state hold then."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.engine.hyperpod_lives import Life

LIVES = (0, 1)


def kills(life: Life) -> list[dict[str, Any]]:
    return [kill for number in LIVES for kill in life.acts[f"kills {number}"]]


def begun(life: Life) -> set[str]:
    """Types of what was being created when a run was killed."""
    told = [kill["pending"] for kill in kills(life) if not isinstance(kill["pending"], str)]
    operations = [line for pending in told for line in pending]
    return {line.split("::")[2].split("$")[-1] for line in operations if line.startswith("creating ")}


def test_ten_runs_and_one_more_were_killed_before_they_had_ended(killed_life: Life) -> None:
    told = kills(killed_life)
    assert [kill["kill"]["killed"] for kill in told] == [True] * 11
    steps = [kill["kill"]["moment"] for kill in told if isinstance(kill["kill"]["moment"], int)]
    assert len(set(steps)) == 10


def test_things_were_being_made_when_they_were(killed_life: Life) -> None:
    found = begun(killed_life)
    assert len(found) >= 5, found
    assert "kubernetes:helm.sh/v3:Release" in found


def test_nothing_runs_on_after_a_kill(killed_life: Life) -> None:
    assert [kill["kill"]["alive"] for kill in kills(killed_life)] == [0] * 11


def test_a_plain_up_stops_at_the_dead_ones_lock(killed_life: Life) -> None:
    assert "currently locked by 1 lock(s)" in killed_life.acts["locked"]


def test_recover_says_whose_lock_it_was_and_that_it_is_cancelled(killed_life: Life) -> None:
    for kill in kills(killed_life):
        assert kill["recover"]["code"] == 0, kill
        assert "which does not run any more" in kill["recover"]["output"]
        assert "its lock is cancelled" in kill["recover"]["output"]


def test_recover_says_of_each_thing_begun_what_became_of_it_and_leaves_none_pending(
    killed_life: Life,
) -> None:
    for kill in kills(killed_life):
        assert kill["left"] == []
        if isinstance(kill["pending"], str):  # a kill while the state's attributes were written
            assert "EOF" in kill["pending"]
            assert "is removed" in kill["recover"]["output"]
            continue
        for line in kill["pending"]:
            name = line.rsplit("::", 1)[-1]
            assert f" {name}: " in kill["recover"]["output"]


def test_some_of_it_exists_and_is_taken_over_and_none_is_cleared_unseen(killed_life: Life) -> None:
    told = " ".join(kill["recover"]["output"] for kill in kills(killed_life))
    assert "exists; the next `up` takes it over" in told


def test_a_second_recover_finds_nothing_to_do(killed_life: Life) -> None:
    for number in LIVES:
        again = killed_life.acts[f"again {number}"]
        assert again["code"] == 0
        assert json.loads(again["stdout"]) == {
            "stack": "mlcc-demo",
            "locks": [],
            "operations": [],
            "settled": True,
            "dropped": {"because": [], "urns": []},
        }


@pytest.mark.parametrize("number", LIVES)
def test_the_next_up_converges_and_the_one_after_has_nothing_to_do(killed_life: Life, number: int) -> None:
    for act in (f"up {number}", f"no-op {number}"):
        assert killed_life.acts[act]["code"] == 0, killed_life.acts[act]["output"]
        assert not killed_life.acts[act]["state"]["deployment"].get("pending_operations")
    assert killed_life.during(f"no-op {number}") == []


@pytest.mark.parametrize("number", LIVES)
def test_nothing_is_there_twice_and_nothing_is_missing(killed_life: Life, number: int) -> None:
    assert killed_life.acts[f"shape {number}"] == killed_life.acts["untouched shape"]
    assert killed_life.acts["untouched shape"]["Vpcs eks-network/vpc"] == 1
    assert killed_life.acts["untouched shape"]["EKS cluster mlcc-demo-eks"] == 1


@pytest.mark.parametrize("number", LIVES)
def test_what_was_half_made_counts_as_made_by_the_stack_and_goes_with_it(
    killed_life: Life, number: int
) -> None:
    assert killed_life.acts[f"destroy {number}"]["code"] == 0
    kept = killed_life.new("untouched destroy")
    assert killed_life.new(f"destroy {number}") == kept
    assert {line.split(" ")[0] for line in kept} == {"role", "attachment"}
