"""Every row of the field reports has a test, or a line in the README that says why it cannot."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROWS = {
    "a": (1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12),
    "b": (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
    "c": (1, 2, 4, 5, 6, 7, 8, 9, 10),
    "d": (1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12),
    "i": (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16),
}
"""Numbers of the rows by group."""
IDS = [f"{group}{number}" for group, numbers in ROWS.items() for number in numbers]


def tested() -> set[str]:
    """Ids in the names of tests; one test may judge several rows."""
    found: set[str] = set()
    for path in HERE.glob("test_*.py"):
        for match in re.finditer(r"^def test_((?:[a-j][0-9]+_)+)", path.read_text(), re.MULTILINE):
            found |= set(match[1].strip("_").split("_"))
    return found


def excused() -> set[str]:
    """Ids in the README's table of rows that cannot apply."""
    section = (HERE / "README.md").read_text().split("## Rows that cannot apply")[1].split("\n## ")[0]
    return {match[1].lower() for match in re.finditer(r"^\| ([A-J][0-9]+) \| \S", section, re.MULTILINE)}


@pytest.mark.parametrize("row", IDS)
def test_every_row_has_a_test_or_a_reason(row: str) -> None:
    assert row in tested() | excused()


def test_what_is_excused_is_a_row() -> None:
    assert excused() <= set(IDS)
