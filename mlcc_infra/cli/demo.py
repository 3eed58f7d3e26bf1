"""``mlcc-infra demo``: what `make demo` runs, a profile's life on a rehearsed account with its story told."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from mlcc_infra.cli.exit_codes import ExitCode
from mlcc_infra.cli.rehearse import become, rehearsal_command

DEMO_STACK = "mlcc-demo"
#: Quick enough for somebody who watches, slow enough for the product's time limits on a busy machine.
DEMO_SPEED = 100.0
#: Set in the environment of every rehearsed command.
REHEARSAL_VARIABLE = "MLCC_REHEARSAL"


def _play(stack: str) -> int:
    from rich.console import Console

    from mlcc_infra.cli.acts import Act, play, summary

    ours = (sys.executable, "-m", "mlcc_infra.cli")
    acts = [
        Act(
            title="up",
            story=f"Everything the profile in stacks/Pulumi.{stack}.yaml asks for: service roles, a network, "
            "an EKS cluster with nodes, add-ons and access, and the outputs that other tools read.",
            command=("pulumi", "up", "-s", stack, "--yes"),
        ),
        Act(
            title="up again",
            story="The same command once more: it compares account and profile, and finds nothing to do.",
            command=("pulumi", "up", "-s", stack, "--yes", "--expect-no-changes"),
        ),
        Act(
            title="destroy",
            story="Everything goes, in reverse order, but for what is retained on purpose.",
            command=("pulumi", "destroy", "-s", stack, "--yes"),
        ),
        Act(
            title="what is left",
            story="The account is asked what of ours is still there, and how one gets rid of it.",
            command=(*ours, "retained", stack),
            shown=f"mlcc-infra retained {stack}",
        ),
    ]
    console = Console(highlight=False)
    console.print(
        "[bold]A cluster's life, rehearsed.[/] The real Pulumi engine works on an AWS account that exists "
        "only on this machine. Nothing is billed and nothing leaves it."
    )
    outcomes = play(acts, console)
    console.print()
    console.print(summary(acts, outcomes, f"The life of {stack}, rehearsed"))
    failed = next((outcome for outcome in outcomes if outcome.code), None)
    if failed is None:
        console.print(
            f"On a real account it is the same commands, without the rehearsal: pulumi up -s {stack}",
            soft_wrap=True,
        )
        return ExitCode.OK
    interrupted = failed.code in (ExitCode.INTERRUPTED, -2)
    return ExitCode.INTERRUPTED if interrupted else ExitCode.FAILED


def demo(
    stack: Annotated[str, typer.Option("--stack", "-s", help="The stack whose life is shown.")] = DEMO_STACK,
    speed: Annotated[
        float, typer.Option(min=0.001, help="Modelled seconds that pass in a real one.")
    ] = DEMO_SPEED,
) -> None:
    """Show a profile's life on a rehearsed account: up, nothing to do, destroy, and what is left."""
    if os.environ.get(REHEARSAL_VARIABLE) == "1":
        raise typer.Exit(_play(stack))
    inside = [sys.executable, "-m", "mlcc_infra.cli", "demo", "--stack", stack]
    become(rehearsal_command(["--speed", str(speed), "--", *inside]))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(demo)
