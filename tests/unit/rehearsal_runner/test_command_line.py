"""The `mlcc-infra` command: its shape, its exit codes and how it tells errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

import mlcc_infra
from mlcc_infra.cli import main, rehearse
from mlcc_infra.cli.acts import Act, duration, play, summary
from mlcc_infra.cli.errors import CommandError, exit_code_of, show
from mlcc_infra.cli.exit_codes import ExitCode
from mlcc_infra.errors import UserError
from mlcc_infra.profile import KEYS, Problem, ProfileError
from mlcc_infra.profile.schema import profile_schema

PROJECT = Path(__file__).parents[3]


def test_exit_codes_never_change() -> None:
    assert {code.name: int(code) for code in ExitCode} == {
        "OK": 0, "FAILED": 1, "USAGE": 2, "REFUSED": 3, "LOCKED": 4, "MISSING": 5, "INTERRUPTED": 130,
    }  # fmt: skip


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--version"]) == ExitCode.OK
    assert capsys.readouterr().out.strip() == f"mlcc-infra {mlcc_infra.__version__}"


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["rehearse"],
        ["rehearse", "--speed", "0", "--", "true"],
        ["profile", "check"],
        ["demo", "--x"],
    ],
)
def test_a_wrong_call_is_a_usage_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(arguments) == ExitCode.USAGE
    assert "Traceback" not in capsys.readouterr().err


def test_a_refused_profile_has_an_exit_code_of_its_own() -> None:
    problem = Problem(key="mlcc:x", value=1, found="nothing good", remedy="try something else")
    assert exit_code_of(ProfileError([problem], stack="mlcc-demo")) == ExitCode.REFUSED
    assert exit_code_of(UserError("no")) == ExitCode.FAILED
    assert exit_code_of(CommandError("no", code=ExitCode.LOCKED)) == ExitCode.LOCKED
    assert exit_code_of(RuntimeError("no")) == ExitCode.FAILED


@pytest.mark.parametrize("error", [UserError("found this", remedy="do that"), RuntimeError("two\nlines")])
def test_errors_are_one_block_without_a_traceback(
    error: Exception, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLCC_DEBUG", raising=False)
    show(error)
    shown = capsys.readouterr().err
    assert shown.startswith("mlcc-infra: ")
    assert "Traceback" not in shown
    assert len(shown.strip().splitlines()) == 2


def test_who_asks_for_it_sees_where_an_error_came_from(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLCC_DEBUG", "1")
    try:
        raise RuntimeError("deep down")
    except RuntimeError as error:
        show(error)
    assert "test_command_line.py" in capsys.readouterr().err


def test_a_missing_stack_is_refused_with_those_that_exist(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PROJECT)
    assert main.run(["profile", "check", "mlcc-nonsense"]) == ExitCode.REFUSED
    assert "Pulumi.mlcc-nonsense.yaml" in capsys.readouterr().err


@pytest.mark.parametrize("stack", ["mlcc-demo", "mlcc-eks"])
def test_the_stacks_of_the_checkout_pass(
    stack: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PROJECT / "tests")
    assert main.run(["profile", "check", stack]) == ExitCode.OK
    assert capsys.readouterr().out.startswith(f"{stack}: ")


def test_outside_a_project_a_stack_name_says_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main.run(["profile", "check", "mlcc-demo"]) == ExitCode.USAGE
    assert "Pulumi.yaml" in capsys.readouterr().err


def test_the_schema_of_stack_files_has_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["profile", "schema"]) == ExitCode.OK
    config = json.loads(capsys.readouterr().out)["properties"]["config"]
    assert {f"mlcc:{key}" for key in KEYS} | {"aws:region"} == set(config["properties"])
    assert config["required"] == ["mlcc:targets"]


def test_references_of_the_schema_lead_somewhere() -> None:
    schema = profile_schema()
    text = json.dumps(schema)
    names = {part.split('"')[0] for part in text.split("#/$defs/")[1:]}
    assert names <= set(schema["$defs"])


def test_the_stack_files_of_the_checkout_follow_the_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    yaml = pytest.importorskip("yaml")
    for file in sorted((PROJECT / "stacks").glob("Pulumi.*.yaml")):
        jsonschema.validate(yaml.safe_load(file.read_text()), profile_schema())


def test_without_the_extra_the_remedy_is_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearse, "_REQUIRED", ("json", "a_package_nobody_has"))
    with pytest.raises(CommandError, match=r"pip install 'mlcc-infra\[rehearsal\]'") as raised:
        rehearse.rehearsal_command(["--", "true"])
    assert raised.value.code == ExitCode.MISSING


def test_the_rehearsal_is_started_by_this_interpreter(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    command = rehearse.rehearsal_command(["--", "true"])
    assert command[1:] == ["-P", "-m", "mlcc_rehearsal", "--", "true"]


def test_options_of_the_rehearsed_command_are_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    monkeypatch.setattr(rehearse, "become", seen.append)
    main.run(["rehearse", "--speed", "10", "pulumi", "up", "--yes", "--speed", "x"])
    main.run(["rehearse", "--", "ls", "--help"])
    assert seen[0][-5:] == ["pulumi", "up", "--yes", "--speed", "x"]
    assert seen[1][-3:] == ["--", "ls", "--help"]


def act(title: str, *command: str) -> Act:
    return Act(title=title, story=f"what {title} shows", command=command)


def no_account() -> float:
    """The clock of no account at all."""
    return 0.0


def test_a_life_ends_with_the_first_act_that_fails() -> None:
    console = Console(record=True, width=100)
    acts = [act("up", "true"), act("destroy", "sh", "-c", "exit 7"), act("orphans", "true")]
    outcomes = play(acts, console, no_account)
    assert [outcome.code for outcome in outcomes] == [0, 7]
    console.print(summary(acts, outcomes, "a life"))
    text = console.export_text()
    assert "failed (exit code 7)" in text
    assert "not reached" in text


@pytest.mark.parametrize(
    ("seconds", "text"), [(8.24, "8.2 s"), (845.0, "14 min 05 s"), (3780.0, "1 h 03 min")]
)
def test_durations_are_told_as_people_do(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_an_interrupted_act_is_left_to_put_things_right() -> None:
    (outcome,) = play(
        [act("up", "sh", "-c", "kill -INT $PPID; sleep 0.5; exit 3")], Console(record=True), no_account
    )
    assert outcome.code == 3


def test_an_acts_modelled_time_is_that_in_which_aws_had_work() -> None:
    working = iter([100.0, 640.0])
    (outcome,) = play([act("wait", "sleep", "0.1")], Console(record=True), lambda: next(working))
    assert outcome.modelled == 540.0
    assert outcome.seconds >= 0.1
