"""The rehearsal's `pulumi`: the real CLI, in a view of the checkout's projects, as called elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mlcc_rehearsal.runner.commands import yaml_path
from mlcc_rehearsal.runner.pulumi_command import SETTINGS, absolute_paths, parse_call

HERE = Path("/home/user/project")


@pytest.mark.parametrize(
    "arguments",
    [["-C", "sub", "up"], ["-Csub", "up"], ["--cwd", "sub", "up"], ["--cwd=sub", "up"], ["up", "-C", "sub"]],
)
def test_the_working_folder_option_is_understood_in_every_spelling(arguments: list[str]) -> None:
    call = parse_call(arguments, HERE)
    assert call.folder == HERE / "sub"
    assert call.arguments == ("up",)


def test_without_the_option_the_call_is_as_it_was() -> None:
    call = parse_call(["config", "set", "mlcc:key", "value", "-s", "one"], HERE)
    assert (call.folder, call.arguments[0], len(call.arguments)) == (HERE, "config", 6)


def test_an_absolute_folder_is_taken_as_it_is() -> None:
    assert parse_call(["-C", "/elsewhere", "up"], HERE).folder == Path("/elsewhere")


def test_what_follows_a_double_dash_is_left_alone() -> None:
    call = parse_call(["config", "set", "key", "--", "-C"], HERE)
    assert call.arguments == ("config", "set", "key", "--", "-C")
    assert absolute_paths(("config", "set", "--", "--file", "x"), HERE) == [
        "config",
        "set",
        "--",
        "--file",
        "x",
    ]


def test_paths_are_meant_from_where_the_user_stands() -> None:
    arguments = (
        "stack",
        "export",
        "--file",
        "state.json",
        "--save-plan=plan.json",
        "--config-file",
        "/abs.yaml",
    )
    assert absolute_paths(arguments, HERE) == [
        "stack", "export", "--file", f"{HERE}/state.json", f"--save-plan={HERE}/plan.json", "--config-file",
        "/abs.yaml",
    ]  # fmt: skip


def test_the_standard_streams_and_addresses_are_no_paths() -> None:
    assert absolute_paths(("--file", "-"), HERE) == ["--file", "-"]
    assert absolute_paths(("--event-log", "tcp://127.0.0.1:1"), HERE) == ["--event-log", "tcp://127.0.0.1:1"]


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A rehearsal's folder whose `pulumi` is a script that tells where and how it was called."""
    fake = tmp_path / "real-pulumi"
    fake.write_text(
        f"#!{sys.executable} -IS\n"
        "import json, os, sys\n"
        "told = {'cwd': os.getcwd(), 'pwd': os.environ['PWD'], 'arguments': sys.argv[1:]}\n"
        "print(json.dumps({**told, 'receiver': os.environ.get('PULUMI_LOG_OTLP_ENDPOINT')}))\n"
    )
    fake.chmod(0o755)
    run = tmp_path / "run"
    run.mkdir()
    settings = {"pulumi": str(fake), "checkout": str(tmp_path / "checkout"), "python_path": yaml_path()}
    (run / SETTINGS).write_text(json.dumps(settings))
    project = tmp_path / "checkout"
    (project / "deep" / "down").mkdir(parents=True)
    (project / "Pulumi.yaml").write_text("name: mlcc\nruntime: python\n")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "Pulumi.yaml").write_text("name: other\nruntime: python\n")
    return run


def call(run: Path, cwd: Path, *arguments: str) -> dict[str, object]:
    script = Path(__file__).parents[3] / "mlcc_rehearsal" / "runner" / "pulumi_command.py"
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(script), str(run), *arguments],
        cwd=cwd,
        env={**os.environ, "PWD": str(cwd)},
        capture_output=True,
        text=True,
        check=True,
    )
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("where", [".", "deep", "deep/down"])
def test_inside_the_checkout_the_cli_works_in_the_view(run_folder: Path, where: str) -> None:
    answer = call(run_folder, run_folder.parent / "checkout" / where, "up", "--plan", "p.json")
    assert str(answer["cwd"]).startswith(str(run_folder / "projects" / "checkout-"))
    assert answer["pwd"] == answer["cwd"]
    assert answer["arguments"] == ["up", "--plan", str(run_folder.parent / "checkout" / where / "p.json")]


def test_the_working_folder_option_reaches_into_the_checkout(run_folder: Path) -> None:
    answer = call(run_folder, run_folder.parent, "-C", "checkout/deep", "preview")
    assert str(answer["cwd"]).startswith(str(run_folder / "projects" / "checkout-"))
    assert answer["arguments"] == ["preview"]


def test_a_project_elsewhere_is_run_untouched(run_folder: Path) -> None:
    elsewhere = run_folder.parent / "elsewhere"
    answer = call(run_folder, elsewhere, "-C", ".", "up", "--plan", "p.json")
    assert answer["cwd"] == str(elsewhere)
    assert answer["arguments"] == ["-C", ".", "up", "--plan", "p.json"]


def test_a_project_nested_in_the_checkout_gets_a_view_of_its_own(run_folder: Path) -> None:
    nested = run_folder.parent / "checkout" / "deep" / "Pulumi.yaml"
    nested.write_text("name: nested\nruntime: python\n")
    answer = call(run_folder, nested.parent / "down", "up")
    assert Path(str(answer["cwd"])).name.startswith("deep-")


def test_a_cli_called_by_a_program_does_not_connect_to_the_outer_engine(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULUMI_LOG_OTLP_ENDPOINT", "localhost:1")
    assert call(run_folder, run_folder.parent, "stack", "export")["receiver"] is None


def test_nothing_appears_in_the_checkout(run_folder: Path) -> None:
    checkout = run_folder.parent / "checkout"
    before = sorted(checkout.rglob("*"))
    call(run_folder, checkout, "up")
    assert sorted(checkout.rglob("*")) == before
