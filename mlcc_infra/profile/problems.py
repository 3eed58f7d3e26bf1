"""What is wrong with a profile, as data: the key, its value, what was found and what would work."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from mlcc_infra.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing that is refused, or that is only worth a warning.

    Attributes:
        key: the path in the stack file, such as ``mlcc:network.zones[0]``.
        value: the value found there; ``None`` when it is missing.
        found: what is wrong with it.
        remedy: what would work, with the command to run where there is one.
    """

    key: str
    value: object
    found: str
    remedy: str

    def __str__(self) -> str:
        shown = "" if self.value is None else f" = {_shown(self.value)}"
        return f"{self.key}{shown}\n    found: {self.found}\n    do:    {self.remedy}"


class ProfileError(UserError):
    """A profile that would fail, with everything that is wrong with it at once.

    Attributes:
        problems: what was found, in the order of the keys in the profile.
        stack: the stack whose profile it is.
    """

    def __init__(self, problems: Iterable[Problem], *, stack: str) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        self.stack = stack
        count = len(self.problems)
        things = "1 setting" if count == 1 else f"{count} settings"
        lines = [f"The profile of stack {stack} has {things} that cannot work:"]
        lines += [f"\n  {_indented(problem)}" for problem in self.problems]
        super().__init__("\n".join(lines))


def closest(word: str, known: Sequence[str]) -> str:
    """``" (did you mean 'x'?)"`` for the most similar known word, or nothing."""
    matches = get_close_matches(word, known, n=1, cutoff=0.6)
    if not matches:
        lowered = {entry.lower(): entry for entry in known}
        near = get_close_matches(
            word.lower().replace("_", "").replace("-", ""), list(lowered), n=1, cutoff=0.6
        )
        matches = [lowered[entry] for entry in near]
    return f" (did you mean {matches[0]!r}?)" if matches else ""


def set_command(key: str, value: str, *, stack: str) -> str:
    """The command that sets a key of the stack file."""
    if any(character in key for character in ".["):
        return f"pulumi config set --path {_quoted(key)} {_quoted(value)} -s {stack}"
    return f"pulumi config set {_quoted(key)} {_quoted(value)} -s {stack}"


def remove_command(key: str, *, stack: str) -> str:
    """The command that removes a key from the stack file."""
    if any(character in key for character in ".["):
        return f"pulumi config rm --path {_quoted(key)} -s {stack}"
    return f"pulumi config rm {_quoted(key)} -s {stack}"


def _quoted(text: str) -> str:
    plain = text.replace("-", "").replace("_", "").replace(":", "").replace(".", "").replace("/", "")
    if plain.isalnum() and plain.isascii():
        return text
    return "'" + text.replace("'", "'\\''") + "'"


def _shown(value: object) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:117]}…"


def _indented(problem: Problem) -> str:
    return str(problem)
