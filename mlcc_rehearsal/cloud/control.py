"""The control address ``/_rehearsal``: time, state, journal and faults of a running cloud.

======================  ==========================================================================
``GET time``            ``{"now": modelled seconds, "working": those in which AWS had work under way,
                        "timestamp": ISO 8601, "speed": n}``
``POST advance``        body ``{"seconds": n}``: lets modelled time pass, answers like ``time``
``GET state``           summary of what exists in the account
``GET calls``           the journal, a list; entries that a law refused have the key ``law``
``GET faults``          faults in force, each with the number of calls it has seen
``POST faults``         adds faults (the form of a fault file); ``{"clear": true}`` removes all
``GET laws``            the laws that this cloud keeps
======================  ==========================================================================
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from mlcc_rehearsal.cloud.account import RehearsedAccount
from mlcc_rehearsal.cloud.faults import Faults
from mlcc_rehearsal.cloud.journal import Journal
from mlcc_rehearsal.cloud.laws import LAWS
from mlcc_rehearsal.cloud.state import summarize

PREFIX = "/_rehearsal"


class Control:
    """Answers requests to the control address."""

    def __init__(self, account: RehearsedAccount, faults: Faults, journal: Journal) -> None:
        self._account = account
        self._faults = faults
        self._journal = journal
        self._answers: dict[tuple[str, str], Callable[[Any], Any]] = {
            ("GET", "time"): lambda _: self._time(),
            ("POST", "advance"): self._advance,
            ("GET", "state"): lambda _: self._state(),
            ("GET", "calls"): lambda _: self._journal.calls(),
            ("GET", "faults"): lambda _: self._faults.summary(),
            ("POST", "faults"): self._add_faults,
            ("GET", "laws"): lambda _: [law.as_dict() for law in LAWS.values()],
        }

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        """Status and JSON value for a request to ``path`` (the part after the prefix)."""
        handler = self._answers.get((method, path.strip("/")))
        if handler is None:
            known = ", ".join(f"{m} {PREFIX}/{p}" for m, p in self._answers)
            return 404, {"error": f"no {method} {PREFIX}/{path.strip('/')} here; there is {known}"}
        try:
            return 200, handler(json.loads(body) if body else {})
        except (ValueError, KeyError, TypeError) as wrong:
            return 400, {"error": str(wrong)}

    def _time(self) -> dict[str, Any]:
        clock = self._account.clock
        return {
            "now": clock.now(),
            "working": clock.working(),
            "timestamp": clock.timestamp().isoformat(),
            "speed": clock.speed,
        }

    def _advance(self, body: Any) -> dict[str, Any]:
        self._account.clock.advance(float(body["seconds"]))
        return self._time()

    def _state(self) -> dict[str, Any]:
        with self._account.lock:
            return summarize(self._account)

    def _add_faults(self, body: Any) -> dict[str, Any]:
        with self._account.lock:
            if isinstance(body, dict) and body.get("clear"):
                self._faults.clear()
                return {"faults": 0}
            self._faults.add(body)
            return {"faults": len(self._faults.summary())}
