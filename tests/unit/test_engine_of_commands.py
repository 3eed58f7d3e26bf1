"""Commands on a stack find the installed engine where no `pulumi` is on PATH."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mlcc_infra import engine
from mlcc_infra.account import recorded_state
from mlcc_infra.cli.main import make_app
from mlcc_infra.engine import Engine, EngineError
from mlcc_infra.errors import UserError


def installed(folder: Path) -> Engine:
    """An engine in a folder that is not on PATH."""
    folder.mkdir()
    program = folder / "pulumi"
    program.write_text("#!/bin/sh\necho '{\"deployment\": {}}'\n")
    program.chmod(0o755)
    return Engine(source="built", version="3.276.0", pulumi=program, bin_dirs=(folder,))


@pytest.fixture
def no_pulumi(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("PATH", os.fspath(tmp_path / "nothing"))
    return tmp_path


def test_the_installed_engine_reads_the_state(no_pulumi: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = installed(no_pulumi / "engine")
    monkeypatch.setattr(engine, "find_engine", lambda: found)
    answer = CliRunner().invoke(make_app(), ["identity", "mlcc-demo"])
    assert "stores no identity" in str(answer.exception), answer.output
    assert os.environ["PATH"].split(os.pathsep)[0] == os.fspath(found.pulumi.parent)


def test_a_pulumi_on_path_is_left_to_be_found(no_pulumi: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = installed(no_pulumi / "own").pulumi.parent
    monkeypatch.setenv("PATH", os.fspath(folder))
    monkeypatch.setattr(engine, "find_engine", lambda: pytest.fail("the installed engine was looked for"))
    CliRunner().invoke(make_app(), ["identity", "mlcc-demo"])
    assert os.environ["PATH"] == os.fspath(folder)


def test_without_any_engine_what_needs_it_says_how_to_get_one(
    no_pulumi: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> Engine:
        raise EngineError("No Pulumi engine is set up.")

    monkeypatch.setattr(engine, "find_engine", none)
    answer = CliRunner().invoke(make_app(), ["identity", "mlcc-demo"])
    assert "not on PATH" in str(answer.exception)
    with pytest.raises(UserError, match="not on PATH") as refused:
        recorded_state.read_recorded_state("mlcc-demo")
    assert "make setup" in refused.value.remedy
