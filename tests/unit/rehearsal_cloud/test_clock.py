"""Modelled time: what falls due when, and how long AWS had work."""

from __future__ import annotations

import threading

import pytest

from mlcc_rehearsal.cloud.clock import ModelledClock


@pytest.fixture
def clock() -> ModelledClock:
    # So slow that no modelled time passes but by advance().
    return ModelledClock(1e-6, threading.RLock())


def nothing() -> None:
    """An event without consequences."""


def test_events_run_in_the_order_of_their_moments(clock: ModelledClock) -> None:
    seen: list[str] = []
    clock.after(20, lambda: seen.append("second"))
    clock.after(10, lambda: seen.append("first"))
    clock.advance(30)
    assert seen == ["first", "second"]


def test_a_stopped_clock_ends_a_leap_of_time_at_the_next_event(clock: ModelledClock) -> None:
    seen: list[float] = []

    def again() -> None:
        seen.append(clock.now())
        clock.after(10, again)
        if len(seen) == 3:
            clock.stop()

    clock.after(10, again)
    clock.advance(1000)
    assert seen == pytest.approx([10, 20, 30], abs=0.1)


def test_an_event_knows_how_late_it_is(clock: ModelledClock) -> None:
    late: list[float] = []
    clock.after(100, lambda: late.append(clock.behind()))
    clock.advance(350)
    assert late == [pytest.approx(250, abs=0.1)]
    assert clock.behind() == 0.0


def test_work_side_by_side_counts_once(clock: ModelledClock) -> None:
    clock.after(600, nothing)
    clock.after(120, nothing)
    clock.advance(700)
    assert clock.working() == pytest.approx(600, abs=0.1)


def test_idle_time_between_work_does_not_count(clock: ModelledClock) -> None:
    clock.after(100, nothing)
    clock.advance(1000)
    clock.after(50, nothing)
    clock.advance(1000)
    assert clock.working() == pytest.approx(150, abs=0.1)


def test_work_that_is_not_over_counts_up_to_now(clock: ModelledClock) -> None:
    clock.after(600, nothing)
    clock.advance(200)
    assert clock.working() == pytest.approx(200, abs=0.1)


def test_what_nobody_waits_for_does_not_count(clock: ModelledClock) -> None:
    clock.after(3600, nothing, background=True)
    clock.advance(3600)
    assert clock.working() == 0.0


def test_chains_side_by_side_count_as_the_longer_one_whenever_their_steps_begin(clock: ModelledClock) -> None:
    def second() -> None:
        clock.after(100, third)

    def third() -> None:
        clock.after(100, nothing)

    clock.after(100, second)
    clock.after(50, nothing)
    clock.advance(140)
    clock.after(150, nothing)  # a program was slow to ask: it could have had this from second 50 on
    clock.advance(1000)
    assert clock.working() == pytest.approx(300, abs=0.1)


def test_a_request_comes_after_all_that_had_happened_by_then(clock: ModelledClock) -> None:
    clock.after(100, nothing)
    clock.advance(500)
    clock.after(30, nothing, background=True)
    clock.after(20, nothing)
    clock.advance(500)
    assert clock.working() == pytest.approx(120, abs=0.1)


def test_what_was_cancelled_does_not_count(clock: ModelledClock) -> None:
    clock.after(600, nothing).cancel()
    clock.advance(1000)
    assert clock.working() == 0.0
