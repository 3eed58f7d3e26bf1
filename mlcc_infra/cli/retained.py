"""``mlcc-infra retained``: what a stack leaves in the account on purpose."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from mlcc_infra.cli.stack_argument import StackName, profile_of


def retained(
    stack: StackName,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list instead of lines.")] = False,
) -> None:
    """List the resources that destroy leaves in the account, read from the account itself."""
    from mlcc_infra.targets.retention import read_retained

    lines = read_retained(profile_of(stack)).lines()
    if as_json:
        typer.echo(json.dumps([{"kind": kind, "name": name} for kind, name in lines], indent=2))
        return
    if not lines:
        typer.echo(f"{stack} has left nothing in the account.")
        return
    width = max(len(kind) for kind, _ in lines)
    typer.echo(f"{stack} keeps these {len(lines)} in the account on purpose; the next `up` takes them over:")
    for kind, name in lines:
        typer.echo(f"  {kind:<{width}}  {name}")
    typer.echo(f"To get rid of them too: mlcc-infra destroy {stack} --force-delete")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(retained)
