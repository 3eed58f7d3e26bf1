"""``mlcc-infra demo``: what `make demo` runs, the whole life of a stack on a rehearsed account."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from mlcc_infra.cli.acts import REHEARSAL_VARIABLE
from mlcc_infra.cli.life import DEMO_SPEED, DEMO_STACK, play_life
from mlcc_infra.cli.rehearse import rehearse_life


def demo(
    stack: Annotated[str, typer.Option("--stack", "-s", help="The stack whose life is shown.")] = DEMO_STACK,
    speed: Annotated[
        float, typer.Option(min=0.001, help="Modelled seconds that pass in a real one.")
    ] = DEMO_SPEED,
) -> None:
    """Show a stack's whole life on a rehearsed account: `mlcc-infra rehearse` without a command."""
    if os.environ.get(REHEARSAL_VARIABLE) == "1":
        raise typer.Exit(play_life(stack))
    rehearse_life(stack, ["--speed", str(speed)])


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(demo)
