"""The laws of CloudFormation and HyperPod: each is applied, or named where it holds, and has a test."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlcc_rehearsal.cloud import laws, laws_hyperpod

PACKAGE = Path(laws.__file__).parent
CODE = "\n".join(path.read_text() for path in PACKAGE.rglob("*.py") if path.name != "laws_hyperpod.py")
TESTS = "\n".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
CONSTANTS = {name: law for name, law in vars(laws_hyperpod).items() if isinstance(law, laws.Law)}


@pytest.mark.parametrize("name", sorted(CONSTANTS))
def test_a_law_has_a_source_is_applied_and_is_tested(name: str) -> None:
    law = CONSTANTS[name]
    assert law.source.strip()
    assert law.statement.endswith(".")
    assert laws.LAWS[law.name] is law
    applied = f"laws_hyperpod.{name}" in CODE or f'"{law.name}"' in CODE
    assert applied, f"{law.name} is listed and nowhere applied"
    assert law.name in TESTS, f"{law.name} has no test"
