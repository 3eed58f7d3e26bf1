"""``mlcc-infra orphans``: what a stack has left in the account, on purpose and otherwise."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from mlcc_infra.cli.exit_codes import ExitCode
from mlcc_infra.cli.retained import show_retained
from mlcc_infra.cli.stack_argument import StackName, profile_of

if TYPE_CHECKING:
    from mlcc_infra.account.orphans import Thing, Unreadable


@dataclass(frozen=True, kw_only=True)
class Report:
    """What is kept on purpose, (kind, name) each; what is left over; what could not be looked at.

    `foreign` are those of the kept that somebody else made, by name; `place` is where was looked.
    """

    place: str
    kept: list[tuple[str, str]]
    foreign: frozenset[str]
    left_over: tuple[Thing, ...]
    unreadable: tuple[Unreadable, ...]

    @property
    def clean(self) -> bool:
        """Nothing is left over, and that is known of every service."""
        return not self.left_over and not self.unreadable


def find(stack: str) -> Report:
    """Look into the account and the state. Raises `UserError` when either cannot be read at all."""
    from mlcc_infra.account.orphan_reads import READS
    from mlcc_infra.account.orphans import find_left_over
    from mlcc_infra.account.recorded_state import read_recorded_state
    from mlcc_infra.targets.retention import read_retained

    profile = profile_of(stack)
    state = read_recorded_state(stack)
    retained = read_retained(profile, state)
    recorded = {found.id for found in state.resources.values()}
    # What the state holds is in use, not kept.
    kept = [
        line
        for item in (*retained.roles, *retained.buckets)
        if item.name not in recorded
        for line in item.lines()
    ]
    names = profile.names(retained.identity.account)
    found = find_left_over(retained.reader, names, READS, recorded=recorded, kept=retained.lines())
    return Report(
        place=retained.place,
        kept=kept,
        foreign=retained.foreign(),
        left_over=found.things,
        unreadable=found.unreadable,
    )


def report(stack: str) -> Report:
    """`find`, and say what was found."""
    from mlcc_infra.account.orphans import lines

    found = find(stack)
    for service in found.unreadable:
        typer.echo(f"{service.service} could not be read, so nobody knows what is left there:")
        typer.echo(f"    {service.reason}")
    if found.left_over:
        typer.echo(f"{stack} has left {len(found.left_over)} over, which its state does not hold:")
        for line in lines(found.left_over):
            typer.echo(f"  {line}")
    elif not found.unreadable:
        typer.echo(f"{stack} has left nothing over in {found.place}.")
    show_retained(stack, found.kept, found.foreign, found.place)
    return found


def orphans(
    stack: StackName,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object instead of lines.")] = False,
) -> None:
    """List what is in the account of a stack and not in its state, read from the account itself.

    What destroy keeps on purpose is listed apart. Exit code 1 when anything else is left over, or when a
    service could not be read.
    """
    if as_json:
        found = find(stack)
        typer.echo(
            json.dumps(
                {
                    "left_over": [
                        {"kind": thing.kind, "id": thing.id, "what": thing.what, "delete": thing.delete}
                        for thing in found.left_over
                    ],
                    "kept": [{"kind": kind, "name": name} for kind, name in found.kept],
                    "unreadable": [asdict(service) for service in found.unreadable],
                },
                indent=2,
            )
        )
    else:
        found = report(stack)
    if not found.clean:
        raise typer.Exit(ExitCode.FAILED)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(orphans)
