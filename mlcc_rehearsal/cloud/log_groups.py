"""Log groups that services write to: they come back when deleted, as long as somebody writes.

Source: facts/hyperpod_native.md rule 19; AWS Lambda and Amazon EKS user guides (log groups are made on the
first write).
"""

from __future__ import annotations

from collections.abc import Callable

from moto.logs.models import logs_backends

from mlcc_rehearsal.cloud import durations
from mlcc_rehearsal.cloud.account import RehearsedAccount


def write(account: RehearsedAccount, region: str, name: str) -> None:
    """Write to a log group: it is made when it is not there."""
    logs = logs_backends[account.account_id][region]
    if name not in logs.groups:
        logs.create_log_group(name, {})


def keep_writing(account: RehearsedAccount, region: str, name: str, alive: Callable[[], bool]) -> None:
    """Write now and every ``logs.write`` seconds, for as long as ``alive`` says so."""
    write(account, region, name)

    def again() -> None:
        if alive():
            keep_writing(account, region, name, alive)

    account.clock.after(durations.seconds("logs.write"), again, background=True)


def write_last(account: RehearsedAccount, region: str, name: str) -> None:
    """Write once more ``logs.late`` seconds from now: the last lines of a writer that ends come late."""
    account.clock.after(durations.seconds("logs.late"), lambda: write(account, region, name), background=True)
