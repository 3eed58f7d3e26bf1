"""docs/rules.md lists the files that have tests named after each numbered rule."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
RULES = range(1, 23)


def named_tests() -> dict[int, set[str]]:
    """Files with tests of each rule, relative to tests/."""
    found: dict[int, set[str]] = {rule: set() for rule in RULES}
    for path in (ROOT / "tests").rglob("test_*.py"):
        for number in re.findall(
            r"^\s*def test_rule_(\d\d)_", path.read_text(encoding="utf-8"), re.MULTILINE
        ):
            found[int(number)].add(path.relative_to(ROOT / "tests").as_posix())
    return found


def index() -> dict[int, set[str]]:
    rows = re.findall(r"^\| (\d+) \|[^|]*\|([^|]*)\|", (ROOT / "docs/rules.md").read_text(), re.MULTILINE)
    return {int(number): set(files.strip().split(", ")) for number, files in rows}


def test_every_rule_has_a_test_named_after_it() -> None:
    assert [rule for rule, files in named_tests().items() if not files] == []


def test_the_index_names_exactly_the_files_that_have_them() -> None:
    assert index() == named_tests()
