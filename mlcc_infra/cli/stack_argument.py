"""The STACK argument of commands: a stack's name, and the profile in its file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlcc_infra.cli.processes import use_engine

if TYPE_CHECKING:
    from mlcc_infra.profile import Profile


def _with_engine(stack: str) -> str:
    """Commands on a stack reach its state through `pulumi`."""
    use_engine()
    return stack


StackName = Annotated[
    str, typer.Argument(metavar="STACK", help="A stack's name, such as mlcc-demo.", callback=_with_engine)
]


def profile_of(stack: str) -> Profile:
    """The validated profile of a stack of the project here or above. Raises `ProfileError`."""
    from mlcc_infra.cli.profile import stack_file
    from mlcc_infra.profile import load_stack_file

    return load_stack_file(stack_file(stack, Path.cwd()), os.environ)
