"""The clock: modelled seconds, sleeping, deadlines, waiting."""

from __future__ import annotations

import time

import pytest

from mlcc_infra import clock


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand modelled seconds in a real one."""
    monkeypatch.setenv("MLCC_CLOCK_SPEED", "1000")


@pytest.mark.parametrize(("text", "expected"), [("", 1.0), ("60", 60.0), (" 0.5 ", 0.5)])
def test_the_speed_comes_from_the_environment_and_is_one_by_default(
    monkeypatch: pytest.MonkeyPatch, text: str, expected: float
) -> None:
    monkeypatch.setenv("MLCC_CLOCK_SPEED", text)
    assert clock.speed() == expected


@pytest.mark.parametrize("text", ["0", "-1", "fast", "nan", "inf"])
def test_a_speed_that_is_no_positive_number_is_refused_with_the_value(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("MLCC_CLOCK_SPEED", text)
    with pytest.raises(ValueError, match=f"MLCC_CLOCK_SPEED.*{text}"):
        clock.speed()


def test_sleeping_takes_the_modelled_time_divided_by_the_speed() -> None:
    started_real, started = time.monotonic(), clock.now()
    clock.sleep(50)
    assert time.monotonic() - started_real >= 0.04
    assert clock.now() - started >= 50


def test_sleeping_no_time_or_less_does_not_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    clock.sleep(0)
    clock.sleep(-10)
    assert slept == []


def test_a_deadline_runs_out_and_never_goes_below_zero() -> None:
    deadline = clock.Deadline(30)
    assert not deadline.expired()
    assert 0 < deadline.remaining() <= 30
    clock.sleep(40)
    assert deadline.expired()
    assert deadline.remaining() == 0.0
    assert deadline.elapsed() >= 40


def test_waiting_ends_with_the_first_true_answer() -> None:
    answers = iter([None, "", "there"])
    assert clock.wait_until(lambda: next(answers), timeout=600, interval=1) == "there"


def test_waiting_asks_once_even_without_any_time() -> None:
    assert clock.wait_until(lambda: "there", timeout=0, interval=5) == "there"


def test_waiting_ends_with_an_error_that_names_the_limit() -> None:
    with pytest.raises(TimeoutError, match="20 s"):
        clock.wait_until(lambda: None, timeout=20, interval=6)


def test_a_success_during_the_last_sleep_is_still_seen() -> None:
    started = clock.now()
    assert clock.wait_until(lambda: clock.now() - started >= 20, timeout=20, interval=1000)


def test_an_interval_that_would_ask_without_end_is_refused() -> None:
    with pytest.raises(ValueError, match="interval"):
        clock.wait_until(lambda: None, timeout=1, interval=0)
