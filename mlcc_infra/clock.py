"""The one place of the library that sleeps and reads time.

All durations are in *modelled* seconds. ``MLCC_CLOCK_SPEED`` (default 1) says how many modelled seconds
pass in a real one, so that a rehearsal of half an hour takes half a minute and no caller has to know.
Nothing else in ``mlcc_infra`` may call ``time.sleep`` or ``time.monotonic`` for waiting; limits are always
given in modelled seconds.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")

SPEED_VARIABLE = "MLCC_CLOCK_SPEED"


def speed() -> float:
    """How many modelled seconds pass in one real second: ``MLCC_CLOCK_SPEED``, 1 when unset or empty.

    Read at every call, because a plugin process learns it from its environment and tests change it.

    Raises:
        ValueError: when the variable is not a finite number greater than zero.
    """
    text = os.environ.get(SPEED_VARIABLE, "").strip()
    if not text:
        return 1.0
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value <= 0:
        raise ValueError(f"{SPEED_VARIABLE} must be a number greater than 0, found {text!r}")
    return value


def now() -> float:
    """Modelled seconds since an arbitrary fixed moment; only differences mean something."""
    return time.monotonic() * speed()


def sleep(seconds: float) -> None:
    """Let ``seconds`` modelled seconds pass (``seconds / speed()`` real ones); nothing when not positive."""
    if seconds > 0:
        time.sleep(seconds / speed())


@dataclass
class Deadline:
    """A limit ``seconds`` modelled seconds after it was made."""

    seconds: float
    started: float = field(default_factory=now)

    def elapsed(self) -> float:
        """Modelled seconds since the deadline was set."""
        return now() - self.started

    def remaining(self) -> float:
        """Modelled seconds left, never negative."""
        return max(0.0, self.seconds - self.elapsed())

    def expired(self) -> bool:
        """Whether nothing is left."""
        return self.remaining() <= 0.0


def wait_until(predicate: Callable[[], T | None], timeout: float, interval: float) -> T:
    """Ask ``predicate`` until it answers something true, and give that back.

    It is asked at least once, and once more when the limit is reached, so that a slow last sleep cannot
    turn a success into a failure.

    Args:
        predicate: what is waited for; ``None``, ``False`` and other false values mean "not yet".
        timeout: the limit in modelled seconds.
        interval: modelled seconds between two questions; the last wait is shortened to the limit.

    Raises:
        TimeoutError: when the limit passes without a true answer.
        ValueError: when ``interval`` is not positive.
    """
    if interval <= 0:
        raise ValueError(f"interval must be greater than 0, found {interval!r}")
    deadline = Deadline(timeout)
    while True:
        last = deadline.expired()
        answer = predicate()
        if answer:
            return answer
        if last:
            raise TimeoutError(f"not reached within {timeout:g} s")
        sleep(min(interval, deadline.remaining()))
