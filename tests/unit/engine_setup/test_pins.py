"""The pins agree with each other: what is tested is what is declared and what the language host gets."""

import re
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from mlcc_infra.engine.host import PINS
from mlcc_infra.engine.versions import PINNED, show

CHECKOUT = Path(__file__).parents[3]
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]


def pins(file: Path) -> dict[str, str]:
    """Name and version of each line."""
    lines = [line.split("#")[0].strip() for line in file.read_text().splitlines()]
    return {
        canonicalize_name(name): version
        for name, _, version in (line.partition("==") for line in lines if line)
    }


def declared() -> list[Requirement]:
    """What pyproject.toml declares, extras included."""
    texts = [
        *PROJECT["dependencies"],
        *(text for extra in PROJECT["optional-dependencies"].values() for text in extra),
    ]
    return [Requirement(text) for text in texts if not text.startswith("mlcc-infra")]


def test_every_line_of_requirements_is_an_exact_pin() -> None:
    for line in (CHECKOUT / "requirements.txt").read_text().splitlines():
        assert not line or line.startswith("#") or re.match(r"[A-Za-z0-9._-]+==[^ ]+( +# .+)?$", line), line


@pytest.mark.parametrize("requirement", declared(), ids=str)
def test_pins_lie_in_the_declared_ranges_and_those_are_bounded(requirement: Requirement) -> None:
    version = pins(CHECKOUT / "requirements.txt")[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(version)
    assert any(part.operator == ">=" for part in requirement.specifier)


def test_runtime_dependencies_have_an_upper_bound() -> None:
    for text in PROJECT["dependencies"]:
        assert any(part.operator == "<" for part in Requirement(text).specifier), text


def test_every_direct_pin_gives_its_reason() -> None:
    direct = {canonicalize_name(requirement.name) for requirement in declared()}
    for line in (CHECKOUT / "requirements.txt").read_text().splitlines():
        if canonicalize_name(line.partition("==")[0]) in direct:
            assert "  # " in line or " # " in line, line


def test_language_host_gets_the_same_versions_as_the_tests() -> None:
    everything = pins(CHECKOUT / "requirements.txt")
    host = pins(PINS)
    assert host.items() <= everything.items()


def test_language_host_gets_all_that_the_sdk_needs() -> None:
    host = pins(PINS)
    for name in host:
        for requirement in map(Requirement, requires(name) or []):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                assert canonicalize_name(requirement.name) in host, f"{name} needs {requirement}"


def test_build_is_of_the_pinned_version() -> None:
    text = (CHECKOUT / "mlcc_infra" / "engine" / "cli.mod").read_text()
    assert f"github.com/pulumi/pulumi/pkg/v3 v{show(PINNED)}" in text
    assert f"github.com/pulumi/pulumi/sdk/v3 v{show(PINNED)}" in text
