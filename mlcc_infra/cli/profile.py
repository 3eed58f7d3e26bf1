"""``mlcc-infra profile``: the configuration of a stack, without an engine and without an account."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from mlcc_infra.cli.errors import CommandError
from mlcc_infra.cli.exit_codes import ExitCode

_PROJECT_FILE = "Pulumi.yaml"
#: In a rehearsal, ``<project>:<folder>``: the folder has the project's stack files as the engine sees them.
_VIEW_VARIABLE = "MLCC_PROJECT_VIEW"


def stack_file(stack: str, start: Path) -> Path:
    """The file of `stack` in the project at or above `start`. CommandError when there is no project."""
    import yaml

    for folder in (start, *start.parents):
        if (folder / _PROJECT_FILE).is_file():
            project = yaml.safe_load((folder / _PROJECT_FILE).read_text()) or {}
            root, _, view = os.environ.get(_VIEW_VARIABLE, "").partition(os.pathsep)
            base = Path(view) if view and Path(root) == folder else folder
            return base / str(project.get("stackConfigDir") or ".") / f"Pulumi.{stack}.yaml"
    raise CommandError(
        f"there is no {_PROJECT_FILE} here or above",
        remedy="run this in the checkout of a project, or give the path of a stack file",
        code=ExitCode.USAGE,
    )


def project_name() -> str:
    """The name of the project here or above. CommandError when there is none."""
    import yaml

    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / _PROJECT_FILE).is_file():
            return str((yaml.safe_load((folder / _PROJECT_FILE).read_text()) or {}).get("name", ""))
    raise CommandError(f"there is no {_PROJECT_FILE} here or above", code=ExitCode.USAGE)


def schema() -> None:
    """Print the JSON Schema of stack files, for editors that complete and check them."""
    from mlcc_infra.profile.schema import profile_schema

    typer.echo(json.dumps(profile_schema(), indent=2))


def check(
    stack: Annotated[str, typer.Argument(metavar="STACK", help="A stack's name, or the path of its file.")],
) -> None:
    """Check a profile, without an account: everything wrong with it at once, each with the way out.

    Exit code 3 when it is refused.
    """
    from mlcc_infra.profile import load_stack_file

    path = Path(stack) if stack.endswith((".yaml", ".yml")) else stack_file(stack, Path.cwd())
    profile = load_stack_file(path, os.environ)
    for warning in profile.warnings:
        typer.echo(f"warning: {warning}", err=True)
    targets = ", ".join(profile.targets)
    typer.echo(
        f"{profile.stack}: profile {profile.name} in {profile.region}, {targets}: nothing to object to"
    )


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(no_args_is_help=True, help="The configuration of a stack.")
    group.command()(schema)
    group.command()(check)
    app.add_typer(group, name="profile")
