"""The root of the `mlcc-infra` command."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from typing import Annotated

import typer

import mlcc_infra
from mlcc_infra import cli
from mlcc_infra.cli.errors import exit_code_of, show
from mlcc_infra.cli.exit_codes import ExitCode


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"mlcc-infra {mlcc_infra.__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """EKS and SageMaker HyperPod infrastructure for ml-container-creator, on Pulumi."""


def make_app() -> typer.Typer:
    """The application, with what every module of this package adds to it.

    Modules import what they need inside their commands, so that this costs next to nothing.
    """
    app = typer.Typer(
        name="mlcc-infra",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for module in sorted(pkgutil.iter_modules(cli.__path__), key=lambda found: found.name):
        if module.name in ("main", "__main__"):
            continue
        register = getattr(importlib.import_module(f"{cli.__name__}.{module.name}"), "register", None)
        if register is not None:
            register(app)
    return app


def run(arguments: list[str]) -> int:
    """Run the command and answer its exit code; nothing but KeyboardInterrupt and SystemExit is raised."""
    try:
        answer = make_app()(args=arguments, prog_name="mlcc-infra", standalone_mode=False)
    except typer.Abort:
        return ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the border to the user: everything becomes one clear block
        if (show_usage := getattr(error, "show", None)) is not None:  # a wrong call, in the parser's words
            show_usage()
            return ExitCode.USAGE
        show(error)
        return exit_code_of(error)
    return answer if isinstance(answer, int) else ExitCode.OK


def main() -> None:
    """The entry point of the installed script."""
    try:
        code = run(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe has seen enough; the interpreter must not try to flush again.
        sys.stdout = None
        code = ExitCode.OK
    sys.exit(int(code))
