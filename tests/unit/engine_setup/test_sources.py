"""The order of the sources, and what is said when one falls through."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mlcc_infra.engine import Engine, EngineError, download, find_engine, host, install_engine
from mlcc_infra.engine.model import Say, SourceUnavailableError
from tests.unit.engine_setup import fakes


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """No release can be had, unless a test says otherwise."""

    def fail(_target: Path, _environ: object, _say: Say) -> None:
        raise SourceUnavailableError("no way out")

    monkeypatch.setattr(download, "download", fail)


@pytest.fixture(autouse=True)
def no_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host's environment is made without its packages."""

    def make(target: Path, _environ: object, _say: Say) -> None:
        fakes.executable(target / "bin", "python", "")

    monkeypatch.setattr(host, "_install_python", make)


def test_engine_on_path_comes_first_and_nothing_is_installed(tmp_path: Path) -> None:
    pulumi = fakes.pulumi(tmp_path / "bin")
    environ = fakes.go(tmp_path)
    environ["PATH"] = f"{tmp_path / 'bin'}{os.pathsep}{environ['PATH']}"
    lines: list[str] = []
    engine = install_engine(environ=environ, say=lines.append)
    assert engine == Engine(pulumi, (tmp_path / "bin",), "3.276.0", "path")
    assert find_engine(environ=environ) == engine
    assert lines == []
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("version", "language_host", "reason"),
    [
        ("v3.259.0", True, "is 3.259.0, older than 3.276.0"),
        ("v4.0.0", True, "4.0.0 and newer are not known yet"),
        ("nonsense", True, "does not answer `pulumi version`"),
        ("v3.276.0", False, "has no pulumi-language-python beside it or on PATH"),
    ],
)
def test_unusable_engine_on_path_is_named_in_one_line_and_the_next_source_is_used(
    tmp_path: Path, version: str, language_host: bool, reason: str
) -> None:
    fakes.pulumi(tmp_path / "bin", version, language_host=language_host)
    environ = fakes.go(tmp_path)
    environ["PATH"] = f"{tmp_path / 'bin'}{os.pathsep}{environ['PATH']}"
    lines: list[str] = []
    engine = install_engine(environ=environ, say=lines.append)
    assert engine.source == "built"
    assert lines[0].startswith("not from PATH: ")
    assert reason in lines[0]
    assert lines[1] == "not from the official release: no way out"


def test_language_host_in_another_folder_of_path_is_found(tmp_path: Path) -> None:
    fakes.pulumi(tmp_path / "bin", language_host=False)
    fakes.executable(tmp_path / "elsewhere", "pulumi-language-python", "")
    path = os.pathsep.join(str(tmp_path / name) for name in ("bin", "elsewhere"))
    assert find_engine(environ={"PATH": path, "HOME": str(tmp_path)}).bin_dirs == (
        tmp_path / "bin",
        tmp_path / "elsewhere",
    )


def test_symlinked_engine_finds_the_language_host_beside_its_target(tmp_path: Path) -> None:
    pulumi = fakes.pulumi(tmp_path / "opt")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "pulumi").symlink_to(pulumi)
    engine = find_engine(environ={"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)})
    assert engine.bin_dirs == (tmp_path / "bin", tmp_path / "opt")


def test_official_release_comes_before_a_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def succeed(target: Path, _environ: object, _say: Say) -> None:
        fakes.pulumi(target / "bin")

    monkeypatch.setattr(download, "download", succeed)
    environ = fakes.go(tmp_path)
    engine = install_engine(environ=environ, say=lambda _: None)
    assert engine.source == "installer"
    assert fakes.builds(environ) == 0
    assert find_engine(environ=environ) == engine


def test_built_engine_is_built_once_and_found_from_then_on(tmp_path: Path) -> None:
    environ = fakes.go(tmp_path)
    lines: list[str] = []
    engine = install_engine(environ=environ, say=lambda _: None)
    again = install_engine(environ=environ, say=lines.append)
    assert engine == again == find_engine(environ=environ)
    assert fakes.builds(environ) == 1
    assert lines == ["not from PATH: no `pulumi` there"]


def test_changed_language_host_is_replaced_without_another_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = fakes.go(tmp_path)
    before = install_engine(environ=environ, say=lambda _: None)
    changed = tmp_path / "changed"
    changed.mkdir()
    for file in host.CODE.glob("*.py"):
        (changed / file.name).write_bytes(file.read_bytes() + b"\n# changed\n")
    monkeypatch.setattr(host, "CODE", changed)
    with pytest.raises(EngineError):
        find_engine(environ=environ)
    after = install_engine(environ=environ, say=lambda _: None)
    assert after.pulumi != before.pulumi
    assert before.pulumi.samefile(after.pulumi), "a hard link, no copy"
    assert before.pulumi.is_file(), "the other checkout's host stays"
    assert fakes.builds(environ) == 1


def test_engine_whose_interpreter_is_gone_is_repaired_without_another_build(tmp_path: Path) -> None:
    environ = fakes.go(tmp_path)
    engine = install_engine(environ=environ, say=lambda _: None)
    home = tmp_path / "cache" / "engine" / "3.276.0"
    host.interpreter(home).unlink()
    with pytest.raises(EngineError):
        find_engine(environ=environ)
    assert install_engine(environ=environ, say=lambda _: None) == engine
    assert fakes.builds(environ) == 1


def test_two_set_ups_at_once_build_once(tmp_path: Path) -> None:
    environ = fakes.go(tmp_path) | {"FAKE_SECONDS": "0.7"}
    engines: list[Engine] = []

    def set_up() -> None:
        engines.append(install_engine(environ=environ, say=lambda _: None))

    threads = [threading.Thread(target=set_up) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(engines) == 3
    assert len(set(engines)) == 1
    assert fakes.builds(environ) == 1


def test_no_source_at_all_says_what_would_work(tmp_path: Path) -> None:
    environ = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    lines: list[str] = []
    with pytest.raises(EngineError) as error:
        install_engine(environ=environ, say=lines.append)
    assert [line.split(":")[0] for line in lines] == [
        "not from PATH",
        "not from the official release",
        "not from Go modules",
    ]
    for way in ("Pulumi 3.276.0 or newer on PATH", "MLCC_PULUMI_RELEASES", "Go 1.26.6"):
        assert way in str(error.value)


def test_finding_none_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"make setup"):
        find_engine(environ={"PATH": str(tmp_path), "HOME": str(tmp_path)})


def test_environment_puts_the_engine_first_on_path_and_changes_nothing_else() -> None:
    engine = Engine(Path("/e/pulumi"), (Path("/e"), Path("/h")), "3.276.0", "path")
    base = {"PATH": "/usr/bin:/h:/e", "OTHER": "kept"}
    assert engine.environment(base) == {"PATH": "/e:/h:/usr/bin", "OTHER": "kept"}
    assert base["PATH"] == "/usr/bin:/h:/e"


def test_set_up_needs_nothing_but_the_standard_library(tmp_path: Path) -> None:
    script = "import mlcc_infra.engine.__main__, sys; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-S", "-c", script],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not {"pulumi", "grpc", "boto3", "pydantic"} & set(result.stdout.split())
