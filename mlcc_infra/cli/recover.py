"""``mlcc-infra recover``: a stack whose run was killed becomes usable again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlcc_infra.cli.dead_clusters import drop_what_died
from mlcc_infra.cli.errors import CommandError
from mlcc_infra.cli.processes import run_pulumi
from mlcc_infra.cli.profile import project_name
from mlcc_infra.cli.stack_argument import StackName, profile_of

if TYPE_CHECKING:
    from mlcc_infra.account.dead_cluster_state import Dropped
    from mlcc_infra.recovery.recover import Recovery


def recover(
    stack: StackName,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object instead of lines.")] = False,
) -> None:
    """Make a stack usable again after a run that was killed; safe to run at any time.

    Shows who holds the lock and cancels it when that process is dead on this host (else exit code 4). Looks
    up what each interrupted creation made and clears it from the state; the next `up` takes over what exists
    and makes the rest. Exit code 1 when something could not be looked up: then nothing is cleared. What lay
    in a cluster that EKS says is gone is dropped from the state.
    """
    from mlcc_infra.recovery.recover import recover as run

    profile = profile_of(stack)
    done = run(profile, project_name(), run_pulumi, _silent if as_json else typer.echo)
    dropped = None
    try:
        if done.settled:
            dropped = drop_what_died(profile, _silent if as_json else typer.echo)
    finally:  # what was done is told, whatever a cluster says
        if as_json:
            typer.echo(json.dumps(_told(stack, done, dropped), indent=2))
    if not done.settled:
        raise CommandError(
            f"not all that was begun could be looked up, so nothing was cleared from the state of {stack}",
            remedy="mend what is said above and run this again; what you have looked up yourself: "
            f"pulumi refresh --clear-pending-creates --stack {stack}",
        )
    if not as_json:
        typer.echo(f"Next: pulumi up --stack {stack}")


def _silent(_text: str) -> None:
    """With --json only the object is printed."""


def _told(stack: str, done: Recovery, dropped: Dropped | None) -> dict[str, Any]:
    return {
        "stack": stack,
        "locks": [
            {
                "holder": held.holder.value,
                "user": held.lock.user,
                "host": held.lock.host,
                "pid": held.lock.pid,
                "since": held.lock.since.isoformat(),
            }
            for held in done.locks
        ],
        "operations": [
            {
                "urn": finding.pending.urn,
                "operation": finding.pending.operation,
                "outcome": finding.outcome.value,
                "found": finding.words,
            }
            for finding in done.findings
        ],
        "settled": done.settled,
        "dropped": {
            "because": list(dropped.because) if dropped else [],
            "urns": list(dropped.resources) if dropped else [],
        },
    }


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(recover)
