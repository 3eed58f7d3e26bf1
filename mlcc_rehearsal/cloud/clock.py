"""Modelled time: what takes minutes at AWS takes minutes here, divided by the speed of the rehearsal."""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

log = logging.getLogger(__name__)


@dataclass(order=True)
class Event:
    """Something that happens at a modelled moment; ``cancel`` keeps it from happening.

    :ivar work: seconds of work that AWS has done once it happened, along the longest chain of things that
        waited for one another; None when nobody waits for it.
    """

    due: float
    order: int
    callback: Callable[[], None] = field(compare=False)
    work: float | None = field(default=None, compare=False)
    cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        """Keep the event from happening; without effect when it has happened."""
        self.cancelled = True


class ModelledClock:
    """Modelled seconds since the cloud was started, and what is to happen at which of them.

    Events run under ``lock`` in the order of their moments, and :meth:`now` answers the event's own moment
    while it runs, so that what one event schedules is counted from there and not from when a thread found
    the time.  A background thread runs them when due; every request runs those that are due before it is
    answered, so a client never sees a state that should have passed.

    :param speed: modelled seconds per real second.
    :param lock: held while events run; the same lock that requests are answered under.
    """

    def __init__(self, speed: float, lock: AbstractContextManager[object]) -> None:
        self.speed = speed
        self._lock = lock
        self._started_monotonic = time.monotonic()
        self._started_wall = datetime.now(UTC)
        self._advanced = 0.0
        self._events: list[Event] = []
        self._order = itertools.count()
        self._running: Event | None = None
        self._running_thread: int | None = None
        self._work_done = 0.0
        self._wake = threading.Condition()
        self._stopped = False
        self._thread = threading.Thread(target=self._tick, name="rehearsal-clock", daemon=True)

    def start(self) -> None:
        """Begin to count, and to run events when they are due."""
        self._started_monotonic = time.monotonic()
        self._started_wall = datetime.now(UTC)
        self._thread.start()

    def stop(self) -> None:
        """Run no further event; returns when the background thread has ended."""
        with self._wake:
            self._stopped = True
            self._wake.notify_all()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(timeout=5)

    def now(self) -> float:
        """Modelled seconds since the start."""
        running = self._running_here()
        return self._elapsed() if running is None else running.due

    def behind(self) -> float:
        """Modelled seconds by which the event that runs here is late; 0 outside events."""
        running = self._running_here()
        return 0.0 if running is None else max(0.0, self._elapsed() - running.due)

    def timestamp(self) -> datetime:
        """The modelled moment as an aware datetime: the real start plus modelled seconds."""
        return self._started_wall + timedelta(seconds=self.now())

    def advance(self, seconds: float) -> float:
        """Let ``seconds`` of modelled time pass at once and run what falls due; answers :meth:`now`.

        :raises ValueError: for a negative number of seconds.
        """
        if seconds < 0:
            raise ValueError(f"time cannot go back ({seconds} seconds)")
        with self._lock:
            self._advanced += seconds
            self.run_due()
        with self._wake:
            self._wake.notify_all()
        return self.now()

    def working(self) -> float:
        """Modelled seconds that one would have waited for AWS so far, if everything else took no time.

        Programs here take real time, which the speed multiplies: what AWS does for one of them while another
        computes would be counted beside it, not with it.  So work is counted along chains: what an event
        schedules comes after that event, what a request begins comes after all that had happened by then,
        and the longest chain is what counts.
        """
        with self._wake:
            now = self._elapsed()
            under_way = (
                event.work - max(0.0, event.due - now)
                for event in self._events
                if event.work is not None and not event.cancelled
            )
            return max(self._work_done, *under_way, 0.0)

    def after(self, seconds: float, callback: Callable[[], None], *, background: bool = False) -> Event:
        """Run ``callback`` once, ``seconds`` modelled seconds from now, under the cloud's lock.

        :param background: nobody waits for it, so it does not count as AWS's work.
        """
        event = Event(self.now() + seconds, next(self._order), callback)
        with self._wake:
            if not background:
                running = self._running_here()
                before = running.work if running is not None else None
                event.work = (self._work_done if before is None else before) + max(0.0, seconds)
            heapq.heappush(self._events, event)
            self._wake.notify_all()
        return event

    def real_sleep(self, seconds: float) -> None:
        """Hold the calling thread for ``seconds`` modelled seconds; never called under the lock."""
        time.sleep(max(0.0, seconds) / self.speed)

    def run_due(self) -> None:
        """Run every event whose moment has come, earliest first; none once the clock is stopped."""
        with self._lock:
            if self._running is not None:
                return
            while (event := self._pop_due()) is not None:
                self._running_thread = threading.get_ident()
                self._running = event
                try:
                    event.callback()
                except Exception:
                    # One broken event must not stop time for the rest; the log names it.
                    log.exception("an event of the rehearsal cloud failed")
                finally:
                    self._running = None

    def _running_here(self) -> Event | None:
        """The event that this thread runs now."""
        return self._running if self._running_thread == threading.get_ident() else None

    def _elapsed(self) -> float:
        return (time.monotonic() - self._started_monotonic) * self.speed + self._advanced

    def _pop_due(self) -> Event | None:
        with self._wake:
            if self._stopped:
                return None
            while self._events and (self._events[0].cancelled or self._events[0].due <= self._elapsed()):
                event = heapq.heappop(self._events)
                if not event.cancelled:
                    self._work_done = max(self._work_done, event.work or 0.0)
                    return event
        return None

    def _tick(self) -> None:
        while True:
            with self._wake:
                if self._stopped:
                    return
                wait = None
                if self._events:
                    wait = max(0.0, (self._events[0].due - self._elapsed()) / self.speed)
                if wait is None or wait > 0:
                    self._wake.wait(wait)
                if self._stopped:
                    return
            self.run_due()
