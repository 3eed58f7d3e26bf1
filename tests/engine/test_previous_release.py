"""Stacks with the state that a release left: this version previews them without loss, and destroys them.

One stack by default, the one that has everything in it; MLCC_EVERY_SEED=1 plays all four of every release.
"""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

import mlcc_infra
from tests.engine.hyperpod_lives import Life, play_life
from tests.record_names import RELEASES, STACKS
from tests.recorded_states import recorded_state

AT_REST = {"same", "read", "refresh"}
TAKES_AWAY = {
    "delete",
    "replace",
    "delete-replaced",
    "create-replacement",
    "discard",
    "remove-pending-replace",
}
# Played with the life of mlcc-demo; of the others there are lives on request.
ALWAYS = (RELEASES[-1], "mlcc-demo")
EVERYTHING = [(release, stack) for release in RELEASES for stack in STACKS]
PLAYED = EVERYTHING if os.environ.get("MLCC_EVERY_SEED") else [ALWAYS]


@pytest.fixture(params=PLAYED, ids="-".join)
def release_life(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Life:
    if request.param == ALWAYS:
        played: Life = request.getfixturevalue("vanilla_life")
        return played
    release, stack = request.param
    return play_life(
        tmp_path_factory,
        "release_life",
        {"MLCC_RELEASE": release, "MLCC_RELEASE_STACK": stack},
        name=f"release-{release}-{stack}",
    )


@pytest.fixture
def release(request: pytest.FixtureRequest) -> tuple[str, str]:
    found: tuple[str, str] = request.node.callspec.params["release_life"]
    return found


def steps(life: Life) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(life.acts["release's preview"]["stdout"])["steps"]
    return found


def test_the_recorded_state_is_what_the_stack_then_has(release_life: Life, release: tuple[str, str]) -> None:
    recorded = {found["urn"] for found in recorded_state(*release)["deployment"]["resources"]}
    assert {found["urn"] for found in release_life.resources("release's state")} == recorded


def test_a_preview_takes_nothing_away(release_life: Life) -> None:
    assert release_life.acts["release's preview"]["code"] == 0
    assert [(step["op"], step["urn"]) for step in steps(release_life) if step["op"] in TAKES_AWAY] == []


def test_a_preview_of_this_versions_own_state_changes_nothing(
    release_life: Life, release: tuple[str, str]
) -> None:
    if release[0] != mlcc_infra.__version__:
        pytest.skip("of another version: it may change things")
    assert [(step["op"], step["urn"]) for step in steps(release_life) if step["op"] not in AT_REST] == []


def test_destroy_finishes_and_leaves_what_is_retained(release_life: Life) -> None:
    assert release_life.acts["release's destroy"]["code"] == 0
    retained = [
        found for found in release_life.acts["retained at last"] if not found["kind"].startswith("bucket ")
    ]
    left = release_life.new("release's destroy", "theirs" if "theirs" in release_life.acts else "start")
    assert sorted(left) == sorted(f"{found['kind']} {found['name']}" for found in retained)
