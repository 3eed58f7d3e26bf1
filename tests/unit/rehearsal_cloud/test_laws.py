"""The registry of laws: each has a source, is used where it applies, and has a test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mlcc_rehearsal.cloud import laws, laws_hyperpod, laws_operator
from mlcc_rehearsal.cloud.__main__ import main
from mlcc_rehearsal.cloud.durations import DURATIONS

PACKAGE = Path(laws.__file__).parent
_LISTS = ("laws.py", "laws_operator.py", "laws_hyperpod.py")
CODE = "\n".join(path.read_text() for path in PACKAGE.rglob("*.py") if path.name not in _LISTS)
TESTS = "\n".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
CONSTANTS = {
    name: (module.__name__.rpartition(".")[2], law)
    for module in (laws, laws_operator, laws_hyperpod)
    for name, law in vars(module).items()
    if isinstance(law, laws.Law)
}


@pytest.mark.parametrize("name", sorted(CONSTANTS))
def test_a_law_has_a_source_is_applied_and_is_tested(name: str) -> None:
    module, law = CONSTANTS[name]
    assert law.source.strip()
    assert law.statement.endswith(".")
    assert laws.LAWS[law.name] is law
    applied = f"{module}.{name}" in CODE or f'"{law.name}"' in CODE
    assert applied, f"{law.name} is listed and nowhere applied"
    assert law.name in TESTS, f"{law.name} has no test"


def test_every_duration_is_used_and_has_a_source() -> None:
    for name, duration in DURATIONS.items():
        assert duration.seconds > 0
        assert duration.source.strip()
        assert f'"{name}"' in re.sub(r"\s+", "", CODE.replace("DURATIONS", "")), name


def test_laws_and_durations_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["laws"]) == 0
    assert main(["durations"]) == 0
    printed = capsys.readouterr().out
    assert all(law.name in printed for law in laws.LAWS.values())
    assert all(name in printed for name in DURATIONS)
    assert main(["laws", "--json"]) == 0
    assert '"unverified"' in capsys.readouterr().out
