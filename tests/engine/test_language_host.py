"""The language host under the real engine: where programs run, what the user sees, how everything ends."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

Environment = Callable[..., dict[str, str]]
# Seconds. The host looks at its parent every 0.3 s; that the engine's address is dead it sees after 2.1 s.
SHORTLY = 2.0

PULUMI_YAML = """
name: probe
runtime:
  name: python
  options:
    virtualenv: {virtualenv}
main: {main}
"""

DYNAMIC = """
import pathlib, time
from pulumi.dynamic import CreateResult, Resource, ResourceProvider

class Note(ResourceProvider):
    def create(self, props):
        time.sleep(props["wait"])
        pathlib.Path(props["file"]).write_text("written")
        return CreateResult("note", props)
    def delete(self, id, props):
        pathlib.Path(props["file"]).unlink()

class WrittenNote(Resource):
    def __init__(self, name, file, wait=0):
        super().__init__(Note(), name, {"file": file, "wait": wait})
"""


class Project:
    """A small Pulumi project with one stack, `dev`."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.environment = environment

    def write(self, program: str, *, virtualenv: str = sys.prefix, main: str = ".", **files: str) -> None:
        """Write Pulumi.yaml, the program and further modules."""
        (self.folder / "Pulumi.yaml").write_text(PULUMI_YAML.format(virtualenv=virtualenv, main=main))
        programs = self.folder / main
        programs.mkdir(exist_ok=True)
        for name, text in {"__main__": program, **files}.items():
            (programs / f"{name}.py").write_text(textwrap.dedent(text))

    def pulumi(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run one command to its end."""
        return subprocess.run(
            ["pulumi", *arguments, "--non-interactive", "--color=never"],
            cwd=cwd or self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def up(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """`pulumi up` of the stack."""
        return self.pulumi("up", "--stack=dev", "--yes", "--skip-preview", *arguments, cwd=cwd)

    def outputs(self) -> dict[str, Any]:
        """The stack's outputs."""
        found: dict[str, Any] = json.loads(self.pulumi("stack", "output", "--stack=dev", "--json").stdout)
        return found

    def start_up(self) -> subprocess.Popen[bytes]:
        """`pulumi up` in the background."""
        return subprocess.Popen(
            ["pulumi", "up", "--stack=dev", "--yes", "--skip-preview", "--non-interactive"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


@pytest.fixture
def project(tmp_path: Path, engine_environment: Environment) -> Project:
    """An empty project whose stack is there."""
    folder = tmp_path / "project"
    folder.mkdir()
    made = Project(folder, engine_environment())
    made.write("")
    created = made.pulumi("stack", "init", "dev")
    assert created.returncode == 0, created.stderr
    return made


@pytest.fixture
def marked() -> Iterator[str]:
    """A variable's value that finds all processes of a test again; none may be left after it."""
    mark = f"probe-{os.getpid()}-{time.monotonic_ns()}"
    yield mark
    left = processes_with(mark)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, "processes outlived their test"


def processes_with(mark: str) -> list[int]:
    """The processes whose environment holds the mark."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and mark.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue  # it ended, or is not ours
    return found


def wait_until(what: Callable[[], object], seconds: float = 60.0) -> bool:
    """Whether something comes true in time."""
    deadline = time.monotonic() + seconds
    while not what():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_program_runs_in_the_virtualenv_of_pulumi_yaml_whatever_the_current_folder_is(
    project: Project,
) -> None:
    (project.folder / ".venv").symlink_to(sys.prefix)
    program = """
        import os, sys, pulumi
        pulumi.export("python", sys.executable)
        pulumi.export("active", os.environ["VIRTUAL_ENV"])
        pulumi.export("folder", os.getcwd())
    """
    project.write(program, virtualenv=".venv", main="program")
    elsewhere = project.folder / "program" / "deeper"
    elsewhere.mkdir()
    result = project.up(cwd=elsewhere)
    assert result.returncode == 0, result.stdout
    assert project.outputs() == {
        "python": str(project.folder / ".venv/bin/python"),
        "active": str(project.folder / ".venv"),
        "folder": str(project.folder / "program"),
    }


def test_missing_virtualenv_is_named_with_the_way_out(project: Project) -> None:
    project.write("", virtualenv="not-there")
    result = project.up()
    assert result.returncode != 0
    assert "'not-there'" in result.stdout + result.stderr
    assert "does not exist. Create it with its packages: `make setup`" in result.stdout + result.stderr


def test_unknown_toolchain_is_refused_instead_of_ignored(project: Project) -> None:
    text = (project.folder / "Pulumi.yaml").read_text()
    (project.folder / "Pulumi.yaml").write_text(
        text.replace("    virtualenv", "    toolchain: uv\n    virtualenv")
    )
    result = project.up()
    assert result.returncode != 0
    assert "The 'toolchain' option in Pulumi.yaml is 'uv'" in result.stdout + result.stderr


def test_configuration_and_secrets_reach_the_program(project: Project) -> None:
    project.pulumi("config", "set", "--stack=dev", "plain", "1")
    project.pulumi("config", "set", "--stack=dev", "--secret", "hidden", "s3cret")
    project.write("""
        import pulumi
        config = pulumi.Config()
        pulumi.export("plain", config.require_int("plain"))
        pulumi.export("hidden", config.require_secret("hidden"))
        pulumi.export("where", [pulumi.get_project(), pulumi.get_stack()])
    """)
    result = project.up()
    assert result.returncode == 0, result.stdout
    assert "s3cret" not in result.stdout
    assert project.outputs() == {"plain": 1, "hidden": "[secret]", "where": ["probe", "dev"]}


def test_an_exception_is_shown_with_its_place_and_said_once(project: Project) -> None:
    project.write("""
        def break_it():
            raise LookupError("no such shelf")
        break_it()
    """)
    result = project.up()
    assert result.returncode != 0
    assert result.stdout.count("LookupError: no such shelf") == 1
    assert "in break_it" in result.stdout
    assert "exit code" not in result.stdout


def test_a_run_error_is_shown_without_a_traceback(project: Project) -> None:
    project.write('import pulumi; raise pulumi.RunError("set mlcc:targets")')
    result = project.up()
    assert result.returncode != 0
    assert "set mlcc:targets" in result.stdout
    assert "Traceback" not in result.stdout


def test_exit_code_of_a_program_is_reported(project: Project) -> None:
    project.write("import os; os._exit(7)")
    result = project.up()
    assert result.returncode != 0
    assert "program exited with non-zero exit code: 7" in result.stdout


def test_output_of_a_program_is_shown(project: Project) -> None:
    project.write("""
        import sys
        print("on the one hand")
        print("on the other", file=sys.stderr)
    """)
    shown = project.up().stdout
    assert "on the one hand" in shown
    assert "on the other" in shown


def test_engine_is_told_the_interpreter_and_the_plugins_of_the_installed_packages(project: Project) -> None:
    project.write("")
    about = json.loads(project.pulumi("about", "--json").stdout)
    assert about["runtime"]["executable"] == f"{sys.prefix}/bin/python"
    assert about["runtime"]["version"] == ".".join(str(part) for part in sys.version_info[:3])
    plugins = {plugin["name"]: plugin["version"] for plugin in about["plugins"]}
    wanted = {
        "aws": version("pulumi-aws"),
        "eks": version("pulumi-eks"),
        "kubernetes": version("pulumi-kubernetes"),
    }
    assert plugins.items() >= wanted.items()


def test_dynamic_resource_of_an_importable_module_lives_its_whole_life(
    project: Project, tmp_path: Path
) -> None:
    note = tmp_path / "note"
    project.write(f"from notes import WrittenNote\nWrittenNote('note', {str(note)!r})", notes=DYNAMIC)
    up = project.up()
    assert up.returncode == 0, up.stdout
    assert note.read_text() == "written"
    again = project.up("--expect-no-changes")
    assert again.returncode == 0, again.stdout
    destroyed = project.pulumi("destroy", "--stack=dev", "--yes", "--skip-preview")
    assert destroyed.returncode == 0, destroyed.stdout
    assert not note.exists()


def test_no_warning_is_shown_about_which_plugins_are_used(project: Project, tmp_path: Path) -> None:
    project.write(
        f"from notes import WrittenNote\nWrittenNote('note', {str(tmp_path / 'n')!r})", notes=DYNAMIC
    )
    result = project.up()
    assert "warning" not in (result.stdout + result.stderr).lower()


def waiting_project(project: Project, mark: str, tmp_path: Path) -> tuple[subprocess.Popen[bytes], list[int]]:
    """An `up` whose program waits for a dynamic resource; the engine and the other processes."""
    ready = tmp_path / "ready"
    project.environment["PROBE_MARK"] = mark
    project.write(
        f"""
        import pathlib
        from notes import WrittenNote
        WrittenNote("note", {str(tmp_path / "note")!r}, wait=300)
        pathlib.Path({str(ready)!r}).touch()
        """,
        notes=DYNAMIC,
    )
    engine = project.start_up()

    def provider_is_up() -> bool:
        return any("pulumi.dynamic" in command_of(pid) for pid in processes_with(mark))

    assert wait_until(lambda: ready.exists() and provider_is_up())
    return engine, [pid for pid in processes_with(mark) if pid != engine.pid]


def command_of(pid: int) -> str:
    """A process's command line, "" when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def test_host_program_and_dynamic_provider_end_when_their_engine_is_killed(
    project: Project, marked: str, tmp_path: Path
) -> None:
    engine, others = waiting_project(project, marked, tmp_path)
    assert len(others) >= 4, "host, program, dynamic provider and its parent"
    engine.kill()
    engine.wait()
    assert wait_until(lambda: not processes_with(marked), SHORTLY), [command_of(pid) for pid in others]


def test_interrupting_the_engine_ends_the_program(project: Project, marked: str, tmp_path: Path) -> None:
    engine, _ = waiting_project(project, marked, tmp_path)
    for _ in range(2):  # the first asks for an orderly end, which waits for the resource; the second insists
        engine.send_signal(signal.SIGINT)
        time.sleep(1.0)
    assert wait_until(lambda: engine.poll() is not None, 30.0)
    assert wait_until(lambda: not processes_with(marked), SHORTLY)


def test_sigterm_to_the_host_is_passed_to_the_program(project: Project, marked: str, tmp_path: Path) -> None:
    caught = tmp_path / "caught"
    ready = tmp_path / "ready"
    project.environment["PROBE_MARK"] = marked
    project.write(f"""
        import pathlib, signal, sys, time
        def stop(number, frame):
            pathlib.Path({str(caught)!r}).write_text(signal.Signals(number).name)
            sys.exit(1)
        signal.signal(signal.SIGTERM, stop)
        pathlib.Path({str(ready)!r}).touch()
        time.sleep(300)
    """)
    engine = project.start_up()
    assert wait_until(ready.exists)
    hosts = [pid for pid in processes_with(marked) if "language-host" in command_of(pid)]
    assert len(hosts) == 1
    os.kill(hosts[0], signal.SIGTERM)
    assert wait_until(caught.exists, SHORTLY)
    assert caught.read_text() == "SIGTERM"
    assert wait_until(lambda: engine.poll() is not None, 30.0)


def test_pulumi_yaml_of_the_checkout_is_honoured_key_by_key(
    engine_environment: Environment, tmp_path: Path
) -> None:
    text = (Path(__file__).parents[2] / "Pulumi.yaml").read_text()
    # The CLI takes ~ from the password database, not from HOME: a test must not follow it.
    assert "  url: file://~\n" in text
    state = tmp_path / "home-state"
    state.mkdir()
    folder = tmp_path / "checkout"
    (folder / "stacks").mkdir(parents=True)
    (folder / "Pulumi.yaml").write_text(text.replace("file://~", f"file://{state}"))
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / "stacks" / "Pulumi.dev.yaml").write_text("config:\n  mlcc:wish: fulfilled\n")
    environment = engine_environment()
    del environment["PULUMI_BACKEND_URL"]
    here = Project(folder, environment)
    (folder / "notes.py").write_text(DYNAMIC)
    (folder / "__main__.py").write_text(
        "import sys, pulumi\n"
        "pulumi.export('wish', pulumi.Config('mlcc').get('wish'))\n"
        "pulumi.export('python', sys.executable)\n"
        "from notes import WrittenNote\n"
        f"WrittenNote('note', {str(tmp_path / 'note')!r})\n"
    )
    assert here.pulumi("stack", "init", "dev").returncode == 0
    up = here.up()
    assert up.returncode == 0, up.stdout
    assert here.outputs() == {"wish": "fulfilled", "python": str(folder / ".venv/bin/python")}
    assert (state / ".pulumi" / "stacks" / "mlcc" / "dev.json").is_file(), "backend.url"
    left = {file.name for file in folder.iterdir()} - {"__pycache__"}
    assert left == {"Pulumi.yaml", ".venv", "stacks", "__main__.py", "notes.py"}, "stackConfigDir"
    assert "refresh" in here.up().stdout, "options.refresh: always"
