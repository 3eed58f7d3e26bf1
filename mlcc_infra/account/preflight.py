"""Checks before the first write: what is bound to fail is said at once, with the way out.

Results are data. `unknown` (denied, throttled) never blocks, and neither does a fact marked unverified.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum

from botocore.exceptions import BotoCoreError, ClientError

from mlcc_infra.account.cluster_client import ClusterRefusedError, ClusterUnreachableError
from mlcc_infra.account.reader import error_code
from mlcc_infra.errors import UserError

WORKERS = 8


class Verdict(StrEnum):
    """The outcome of one check. Only `refused` stops a run."""

    OK = "ok"
    WARNING = "warning"
    UNKNOWN = "unknown"
    REFUSED = "refused"


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """One thing that was checked: what was found, what is needed, and what to do about it."""

    name: str
    verdict: Verdict
    found: str = ""
    needed: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.found}"]
        if self.needed:
            lines.append(f"    needed: {self.needed}")
        if self.remedy:
            lines.append(f"    do:     {self.remedy}")
        return "\n".join(lines)


@dataclass(frozen=True, kw_only=True)
class Check:
    """A check by name. `run` returns its results; what AWS refuses to tell becomes one `unknown`."""

    name: str
    run: Callable[[], Sequence[CheckResult]]

    def results(self) -> Sequence[CheckResult]:
        """Run it; never raises for what AWS or the network answers."""
        try:
            return self.run()
        except ClientError as error:
            found = f"could not be read: {error.operation_name}: {error_code(error)}"
        except (BotoCoreError, ClusterUnreachableError, ClusterRefusedError) as error:
            found = f"could not be read: {error}"
        return [CheckResult(name=self.name, verdict=Verdict.UNKNOWN, found=found)]


def run_checks(checks: Sequence[Check]) -> tuple[CheckResult, ...]:
    """Run all checks in parallel; results keep the order of the checks."""
    with ThreadPoolExecutor(WORKERS, thread_name_prefix="preflight") as pool:
        return tuple(result for results in pool.map(Check.results, checks) for result in results)


class PreflightRefusedError(UserError):
    """At least one check refuses; the message holds every one that does, and what would work."""

    def __init__(self, results: Sequence[CheckResult], *, stack: str) -> None:
        self.results = tuple(result for result in results if result.verdict is Verdict.REFUSED)
        self.stack = stack
        count = len(self.results)
        things = "1 thing stands" if count == 1 else f"{count} things stand"
        body = "\n".join(f"\n  {result}" for result in self.results)
        super().__init__(f"Nothing was changed: {things} in the way of stack {stack}.\n{body}")


def refuse_if_any(results: Sequence[CheckResult], *, stack: str) -> None:
    """Raise `PreflightRefusedError` when a result refuses."""
    if any(result.verdict is Verdict.REFUSED for result in results):
        raise PreflightRefusedError(results, stack=stack)
