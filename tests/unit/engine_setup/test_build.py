"""The build from Go modules, with a `go` that only pretends."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mlcc_infra.engine import build
from mlcc_infra.engine.model import SourceUnavailableError
from tests.unit.engine_setup import fakes


def test_build_is_pinned_static_and_stamped_with_its_version(tmp_path: Path) -> None:
    environ = fakes.go(tmp_path)
    lines: list[str] = []
    build.build(tmp_path / "cli", environ, lines.append)
    command = Path(environ["FAKE_LOG"]).read_text()
    assert "-mod=readonly" in command
    assert "common/version.Version=v3.276.0" in command
    assert sorted(file.name for file in (tmp_path / "cli").iterdir()) == ["pulumi", build.EXECUTOR]
    assert lines[-1] == "built: 0:00 min, 1 modules downloaded, 1 packages compiled"


def test_progress_is_shown_while_it_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "PROGRESS_EVERY", 0.2)
    lines: list[str] = []
    build.build(tmp_path / "cli", fakes.go(tmp_path) | {"FAKE_SECONDS": "1"}, lines.append)
    assert sum(line.startswith("building: 0:0") for line in lines) >= 3


def test_failed_build_shows_what_go_said_and_leaves_nothing(tmp_path: Path) -> None:
    environ = fakes.go(tmp_path) | {"FAKE_FAILURE": "verifying module: checksum mismatch"}
    with pytest.raises(SourceUnavailableError, match="checksum mismatch"):
        build.build(tmp_path / "cli", environ, print)
    assert not (tmp_path / "cli").exists()


def test_missing_go_is_said_with_what_helps(tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailableError, match="no `go` on PATH: install Go"):
        build.check_go({"PATH": str(tmp_path)})


@pytest.mark.parametrize(
    ("version", "toolchain", "usable"),
    [
        ("go1.27.0", "local", True),
        ("go1.26.6", "local", True),
        ("go1.24.1", "auto", True),  # fetches the toolchain that cli.mod asks for
        ("go1.24.1", "local", False),
        ("go1.19.8", "auto", False),
    ],
)
def test_go_must_be_new_enough_or_able_to_update_itself(
    tmp_path: Path, version: str, toolchain: str, usable: bool
) -> None:
    environ = fakes.go(tmp_path) | {"FAKE_GO_VERSION": version, "FAKE_GO_TOOLCHAIN": toolchain}
    if usable:
        assert build.check_go(environ) == str(tmp_path / "go-bin" / "go")
    else:
        with pytest.raises(SourceUnavailableError, match=r"building needs Go 1\.26\.6"):
            build.check_go(environ)


def test_interrupted_set_up_takes_its_compiler_with_it(tmp_path: Path) -> None:
    environ = fakes.go(tmp_path) | {"FAKE_SECONDS": "300"}
    process = subprocess.Popen(
        [sys.executable, "-m", "mlcc_infra.engine", "install", "--source", "built"],
        cwd=Path(__file__).parents[3],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(200):
        if fakes.builds(environ):
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert errors == "engine: interrupted; what was complete is kept\n"
    home = tmp_path / "cache" / "engine" / "3.276.0"
    assert [file.name for file in home.iterdir()] == [".lock"]
    assert not [folder for folder in Path("/proc").iterdir() if str(tmp_path) in command_of(folder)]


def command_of(folder: Path) -> str:
    """The command line in a folder of /proc, "" when it is no process, or one that is gone."""
    try:
        return (folder / "cmdline").read_text()
    except OSError:
        return ""
