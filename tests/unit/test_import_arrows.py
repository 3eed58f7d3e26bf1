"""Who may import whom (section 2 of the design), read from the sources."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PULUMI = ("pulumi", "pulumi_aws", "pulumi_eks", "pulumi_kubernetes")
AWS = ("boto3", "botocore")
PURE = (
    "addon_configuration",
    "operator_configuration",
    "policies",
    "naming",
    "tagging",
    "versions",
    "clock",
    "template",
    "profile",
    "regions",
    "instance_types",
)


def imports_of(path: Path, *, at_the_top: bool = False) -> set[str]:
    """Names that a module imports; with `at_the_top`, without those imported inside functions."""
    found: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body if at_the_top else ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.level:
                package = ".".join(path.relative_to(ROOT).parent.parts[: -node.level + 1 or None])
                found.add(f"{package}.{node.module}")
            else:
                found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def modules(package: str) -> list[Path]:
    folder = ROOT / package
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]


def offenders(package: str, forbidden: tuple[str, ...], *, at_the_top: bool = False) -> list[str]:
    return [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules(package)
        for name in sorted(imports_of(path, at_the_top=at_the_top))
        if any(name == banned or name.startswith(f"{banned}.") for banned in forbidden)
    ]


@pytest.mark.parametrize("module", PURE)
def test_pure_modules_know_neither_the_engine_nor_aws(module: str) -> None:
    layers = tuple(
        f"mlcc_infra.{layer}" for layer in ("account", "components", "targets", "engine", "automation", "cli")
    )
    assert offenders(f"mlcc_infra/{module}", (*PULUMI, *AWS, *layers)) == []


def test_the_account_layer_knows_aws_and_not_the_engine() -> None:
    layers = tuple(
        f"mlcc_infra.{layer}" for layer in ("components", "targets", "engine", "automation", "cli")
    )
    assert offenders("mlcc_infra/account", (*PULUMI, *layers)) == []


def test_decisions_are_pure() -> None:
    assert offenders("mlcc_infra/account/decisions", (*PULUMI, *AWS, "mlcc_infra.account.session")) == []


def test_components_do_not_know_targets_or_what_sits_on_top() -> None:
    layers = tuple(f"mlcc_infra.{layer}" for layer in ("targets", "engine", "automation", "cli"))
    assert offenders("mlcc_infra/components", layers) == []
    # A dynamic provider imports what it needs of AWS inside its calls.
    assert offenders("mlcc_infra/components", AWS, at_the_top=True) == []


def test_targets_do_not_know_what_sits_on_top() -> None:
    layers = tuple(f"mlcc_infra.{layer}" for layer in ("engine", "automation", "cli"))
    assert offenders("mlcc_infra/targets", layers) == []


def test_the_library_never_imports_the_rehearsal() -> None:
    assert offenders("mlcc_infra", ("mlcc_rehearsal",)) == []


def test_getting_the_engine_needs_the_standard_library_alone() -> None:
    program = (
        "import sys; import mlcc_infra.engine; "
        "print([name for name in sys.modules if name.split('.')[0] in "
        "('pulumi', 'boto3', 'pydantic', 'typer', 'rich', 'grpc', 'yaml')])"
    )
    answer = subprocess.run(
        [sys.executable, "-S", "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"


def test_only_the_clock_sleeps_in_the_library() -> None:
    allowed = {"mlcc_infra/clock.py"}
    sleepers = [
        str(path.relative_to(ROOT))
        for path in modules("mlcc_infra")
        if "time.sleep" in path.read_text(encoding="utf-8")
    ]
    engine = [name for name in sleepers if name.startswith("mlcc_infra/engine/")]
    assert set(sleepers) - allowed - set(engine) == set(), "waits go through mlcc_infra.clock"
