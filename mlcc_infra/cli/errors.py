"""Errors as the user sees them: one clear block, and a traceback only for those who ask for it."""

from __future__ import annotations

import os
import sys
import traceback

from mlcc_infra.cli.exit_codes import ExitCode
from mlcc_infra.errors import UserError

DEBUG_VARIABLE = "MLCC_DEBUG"


class CommandError(UserError):
    """A failure with an exit code of its own."""

    def __init__(self, message: str, *, remedy: str = "", code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(message, remedy=remedy)
        self.code = code


def exit_code_of(error: Exception) -> ExitCode:
    """The exit code that an error ends the command with."""
    if isinstance(error, CommandError):
        return error.code
    if isinstance(error, UserError):
        from mlcc_infra.account.preflight import PreflightRefusedError
        from mlcc_infra.profile import ProfileError
        from mlcc_infra.recovery.locks import StackLockedError

        if isinstance(error, StackLockedError):
            return ExitCode.LOCKED
        refused = isinstance(error, (ProfileError, PreflightRefusedError))
        return ExitCode.REFUSED if refused else ExitCode.FAILED
    return ExitCode.FAILED


def show(error: Exception) -> None:
    """Print an error on the standard error stream; with MLCC_DEBUG=1 where it came from, too."""
    if os.environ.get(DEBUG_VARIABLE, "") not in ("", "0"):
        traceback.print_exception(error, file=sys.stderr)
    elif isinstance(error, UserError):
        print(f"mlcc-infra: {error}", file=sys.stderr)
    else:
        text = " ".join(str(error).split()) or "no message"
        print(
            f"mlcc-infra: {type(error).__name__}: {text}\n"
            f"  {DEBUG_VARIABLE}=1 shows where it came from, for a bug report",
            file=sys.stderr,
        )
