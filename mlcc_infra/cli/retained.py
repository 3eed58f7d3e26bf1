"""``mlcc-infra retained``: what a stack leaves in the account on purpose."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from mlcc_infra.cli.stack_argument import StackName, profile_of

if TYPE_CHECKING:
    from mlcc_infra.account.recorded_state import RecordedState


def retained(
    stack: StackName,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list instead of lines.")] = False,
) -> None:
    """List the resources that destroy leaves in the account, read from the account itself."""
    from mlcc_infra.targets.retention import read_retained

    found = read_retained(profile_of(stack), _recorded(stack))
    lines = found.lines()
    if as_json:
        typer.echo(json.dumps([{"kind": kind, "name": name} for kind, name in lines], indent=2))
        return
    show_retained(stack, lines, found.foreign(), found.place)


def _recorded(stack: str) -> RecordedState:
    """The state, for its account; nothing where the stack is not there any more."""
    from mlcc_infra.account.recorded_state import RecordedState, read_recorded_state
    from mlcc_infra.account.state_transfer import NoSuchStackError

    try:
        return read_recorded_state(stack)
    except NoSuchStackError:
        return RecordedState()


def show_retained(stack: str, lines: list[tuple[str, str]], foreign: frozenset[str], place: str) -> None:
    """Say what is kept on purpose, with what hangs on it, and how one gets rid of it.

    `foreign` are names of policies that somebody else put on the roles, `place` is where was looked.
    """
    if not lines:
        typer.echo(f"{stack} keeps nothing in {place}.")
        return
    typer.echo(f"{stack} keeps these {len(lines)} on purpose; the next `up` takes them over:")
    for kind, name in lines:
        mark = " (not ours)" if kind in ("attachment", "inline policy") and name in foreign else ""
        typer.echo(f"  {_short(kind, name)}{mark}")
    typer.echo(f"To get rid of them too: mlcc-infra destroy {stack} --force-delete")


def _short(kind: str, name: str) -> str:
    """One line: a role or bucket by its name, what hangs on it below it by its own."""
    if kind == "attachment":
        return f"  with {name.rpartition('/')[2]}"
    if kind == "inline policy":
        return f"  with inline policy {name.partition(':')[2]}"
    if kind.startswith("bucket "):
        return f"  with {kind.removeprefix('bucket ')}"
    return f"{kind} {name}"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(retained)
