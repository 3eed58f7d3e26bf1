"""Waiting for what AWS is still at work on, which a run can neither take over nor change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mlcc_infra import clock
from mlcc_infra.account.decisions import Fact, ResourceKey, Wanted

# The longest is a stack of AWS's HyperPod template.
WAIT_SECONDS = 150 * 60.0
POLL_SECONDS = 20.0


def wait_until_at_rest(
    items: Sequence[Wanted],
    read: Callable[[Sequence[Wanted]], Mapping[ResourceKey, Fact]],
    say: Callable[[str], None],
) -> None:
    """Wait until AWS is done with all of `items`, which it was at work on when they were last read.

    In modelled time, at most 150 minutes; then it goes on, and AWS says what it has against it. Each is said
    with AWS's word for what it is doing, and again when that changes.
    """
    deadline = clock.Deadline(WAIT_SECONDS)
    said: set[tuple[ResourceKey, str]] = set()
    while True:
        facts = read(items)
        items = [item for item in items if facts[item.key].under_way]
        for item in items:
            word = facts[item.key].under_way
            if (item.key, word) not in said:
                said.add((item.key, word))
                say(f"{item.kind} {item.physical} is {word}; waiting for it.")
        if not items or deadline.expired():
            return
        clock.sleep(POLL_SECONDS)
