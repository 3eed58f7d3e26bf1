"""Errors meant for the person who runs the tool: they carry what to do next, and no traceback is shown."""

from __future__ import annotations


class UserError(Exception):
    """Something the user can mend.

    `message` says what was found; `remedy` says what would work, with the command to run.
    """

    def __init__(self, message: str, *, remedy: str = "") -> None:
        self.message = message
        self.remedy = remedy
        super().__init__(f"{message}\n  {remedy}" if remedy else message)
