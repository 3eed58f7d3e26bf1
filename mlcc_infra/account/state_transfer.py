"""A stack's state out of its backend and back, by the Pulumi CLI.

Secrets are encrypted in what is exported, unless they are asked for, and then they stay in memory: an import
reads from the standard input, and what it gets in the clear it encrypts.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from mlcc_infra.errors import UserError

TIMEOUT_SECONDS = 60.0


class NoSuchStackError(UserError):
    """The backend has no stack of that name."""


def export_state(stack: str, cwd: str | None = None, *, show_secrets: bool = False) -> dict[str, Any]:
    """`pulumi stack export`. With `show_secrets` what it answers must never be written anywhere.

    Raises `UserError` when the CLI is missing or the export fails: deciding without the state would
    import what the state already holds.
    """
    command = ["export", "--stack", stack, *(["--show-secrets"] if show_secrets else [])]
    said = _run(
        command,
        cwd,
        what=f"The state of {stack} could not be read",
        remedy=f"Run `pulumi stack export --stack {stack}` and mend what it reports.",
    )
    found: dict[str, Any] = json.loads(said)
    return found


def import_state(stack: str, export: Mapping[str, Any], cwd: str | None = None) -> None:
    """`pulumi stack import`, from memory. `UserError` in the CLI's words when it refuses."""
    _run(
        ["import", "--stack", stack],
        cwd,
        given=json.dumps(export),
        what=f"The state of {stack} could not be written",
        remedy="It is as it was. Wait for other runs on the stack, or see what is reported above.",
    )


def pulumi_cli() -> str:
    """The `pulumi` on PATH. Raises `UserError` when there is none."""
    found = shutil.which("pulumi")
    if found is None:
        raise UserError(
            "The `pulumi` command is not on PATH, so the stack's state cannot be reached.",
            remedy="Run `make setup` (outside a checkout `python -m mlcc_infra.engine install`): "
            "`mlcc-infra` finds that engine by itself.",
        )
    return found


def _run(
    arguments: Sequence[str], cwd: str | None, *, what: str, remedy: str, given: str | None = None
) -> str:
    command = [pulumi_cli(), "stack", *arguments, "--non-interactive"]
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            input=given,
            stdin=None if given is not None else subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UserError(
            f"{what}: it took longer than {TIMEOUT_SECONDS:.0f} s.",
            remedy="Check that the state backend answers: `pulumi whoami -v`.",
        ) from None
    if done.returncode != 0:
        if "no stack named" in done.stderr:  # the CLI's words (pulumi pkg/cmd/pulumi/stack/io.go)
            raise NoSuchStackError(f"{what}: {done.stderr.strip()}", remedy=remedy)
        raise UserError(f"{what}: {done.stderr.strip() or done.stdout.strip()}", remedy=remedy)
    return done.stdout
