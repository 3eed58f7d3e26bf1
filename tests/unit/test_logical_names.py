"""Logical names are stable API: the state of a stack finds its resources by them.

`tests/releases/<version>/names` holds the types and logical names that the four stacks register. One that
disappears would be deleted and made anew in everybody's account; a rename comes with an alias, and then the
record of the releases before it stays as it is. What is new is recorded by

    python -m tests.record_names

The names inside published components are the components' own and are not recorded here.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import mlcc_infra
from tests.graph import rehearsed_account
from tests.record_names import RELEASES, STACKS, names_of, recorded_names


@pytest.fixture(scope="module")
def account() -> Iterator[None]:
    with rehearsed_account():
        yield


@pytest.mark.parametrize("stack", STACKS)
def test_the_logical_names_of_a_stack_are_those_of_the_record(account: None, stack: str) -> None:
    found, recorded = names_of(stack), recorded_names(mlcc_infra.__version__, stack)
    assert sorted(recorded - found) == [], "these would be deleted in every account: rename with an alias"
    assert sorted(found - recorded) == [], "new: record them with `python -m tests.record_names`"


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("version", RELEASES)
def test_no_name_of_a_release_has_been_lost_without_an_alias(account: None, version: str, stack: str) -> None:
    assert sorted(recorded_names(version, stack) - names_of(stack, aliases=True)) == []
