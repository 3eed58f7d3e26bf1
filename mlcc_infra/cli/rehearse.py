"""``mlcc-infra rehearse``: run a command on a rehearsed AWS account."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

import mlcc_infra
from mlcc_infra.cli.errors import CommandError
from mlcc_infra.cli.exit_codes import ExitCode
from mlcc_infra.cli.life import DEMO_SPEED, DEMO_STACK

#: Modelled seconds in a real one when a command is rehearsed.
SPEED = 60.0
#: What the extra `rehearsal` adds, by import name: without any of these no rehearsal starts.
_REQUIRED = ("mlcc_rehearsal", "moto", "flask", "grpc", "cryptography")


def missing_requirements() -> list[str]:
    """The packages of the extra `rehearsal` that are not installed."""
    return [name for name in _REQUIRED if importlib.util.find_spec(name) is None]


def rehearsal_command(arguments: list[str]) -> list[str]:
    """The command line that rehearses; the package itself is never imported here.

    CommandError when the extra is not installed, with the command that installs it.
    """
    missing = missing_requirements()
    if missing:
        raise CommandError(
            f"rehearsals need packages that are not installed ({', '.join(missing)})",
            remedy=f"{Path(sys.executable).name} -m pip install 'mlcc-infra[rehearsal]'",
            code=ExitCode.MISSING,
        )
    # Python looks in the current folder first, which must not decide which version of the package runs.
    beside_us = Path(mlcc_infra.__file__).resolve().parents[1] == Path.cwd().resolve()
    return [sys.executable, *([] if beside_us else ["-P"]), "-m", "mlcc_rehearsal", *arguments]


def become(command: list[str]) -> NoReturn:
    """Replace this process by `command`: its signals, terminal and exit code are then nobody else's."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(command[0], command)


def rehearse_life(stack: str, options: list[str]) -> NoReturn:
    """Become a rehearsal in which the whole life of `stack` is played."""
    from mlcc_infra.cli.stack_argument import profile_of

    profile_of(stack)  # what is wrong with it is said before anything is started
    become(rehearsal_command([*options, "--", sys.executable, "-m", "mlcc_infra.cli", "demo", "-s", stack]))


def rehearse(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[-- COMMAND…]", help="The command and its arguments.")
    ] = None,
    stack: Annotated[
        str | None,
        typer.Option(
            "--stack", "-s", help=f"Without COMMAND: the stack whose life is played ({DEMO_STACK})."
        ),
    ] = None,
    speed: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            help=f"Modelled seconds that pass in a real one ({SPEED:g}, without COMMAND {DEMO_SPEED:g}).",
        ),
    ] = None,
    faults: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Faults of the account, as YAML or JSON.")
    ] = None,
    api_log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write one JSON object for each AWS call.")
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Use DIR for the rehearsal, and keep state and logs in it."),
    ] = None,
    real_plugins: Annotated[
        bool, typer.Option("--real-plugins", help="Use installed Pulumi plugins (experimental).")
    ] = False,
) -> None:
    """Run a command on a rehearsed AWS account: nothing it does reaches AWS.

    The environment leads to an AWS API on this machine, with made-up keys; `pulumi` works on a private copy
    of the stack files, with a private backend in which every stack of the project exists. Exit code and
    output are the command's own.

    Without a command the whole life of a stack is played: up, nothing to do, drift, repair, destroy, and
    what is left. The exit code is 0 when each act did what it is there to show.
    """
    if command and stack:
        raise CommandError(
            "--stack says whose life is played when there is no command; this one has a command",
            remedy="leave --stack out, and name the stack in the command",
            code=ExitCode.USAGE,
        )
    options = ["--speed", str(speed or (SPEED if command else DEMO_SPEED))]
    for name, value in (("--faults", faults), ("--api-log", api_log), ("--keep", keep)):
        options += [name, str(value)] if value is not None else []
    options += ["--real-plugins"] if real_plugins else []
    if command:
        become(rehearsal_command([*options, "--", *command]))
    else:
        rehearse_life(stack or DEMO_STACK, options)


def register(app: typer.Typer) -> None:
    """Add the command."""
    # Options end at the first word of COMMAND, so that `rehearse pulumi up --yes` means what it says.
    app.command(context_settings={"allow_interspersed_args": False})(rehearse)
