"""The `mlcc-infra` command: its shape, its exit codes and how it tells errors."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

import mlcc_infra
from mlcc_infra.cli import acts, main, rehearse
from mlcc_infra.cli import life as life_module
from mlcc_infra.cli.acts import Act, Done, Outcome, duration, play, summary
from mlcc_infra.cli.changes import read_changes
from mlcc_infra.cli.drift import break_things
from mlcc_infra.cli.errors import CommandError, exit_code_of, show
from mlcc_infra.cli.exit_codes import ExitCode
from mlcc_infra.cli.life import DEMO_SPEED, life
from mlcc_infra.cli.retained import show_retained
from mlcc_infra.errors import UserError
from mlcc_infra.profile import KEYS, Problem, ProfileError, load_stack_file
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
        ["rehearse", "--speed", "0", "--", "true"],
        ["rehearse", "--stack", "mlcc-demo", "--", "true"],
        ["orphans"],
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


def test_without_a_command_the_whole_life_of_a_stack_is_rehearsed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[list[str]] = []
    monkeypatch.chdir(PROJECT)
    monkeypatch.delenv("MLCC_REHEARSAL", raising=False)
    monkeypatch.setattr(rehearse, "become", seen.append)
    main.run(["rehearse", "--api-log", str(tmp_path / "log")])
    main.run(["rehearse", "--stack", "mlcc-eks", "--speed", "60"])
    main.run(["demo"])
    inner = ["--", sys.executable, "-m", "mlcc_infra.cli", "demo", "-s"]
    assert [command[command.index("--") :] for command in seen] == [
        [*inner, "mlcc-demo"],
        [*inner, "mlcc-eks"],
        [*inner, "mlcc-demo"],
    ]
    speeds = [command[command.index("--speed") + 1] for command in seen]
    assert speeds == [str(DEMO_SPEED), "60.0", str(DEMO_SPEED)]
    assert str(tmp_path / "log") in seen[0]


def test_a_life_of_a_stack_that_is_not_there_starts_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PROJECT)
    monkeypatch.setattr(rehearse, "become", lambda command: pytest.fail("something was started"))
    assert main.run(["rehearse", "--stack", "mlcc-nonsense"]) == ExitCode.REFUSED
    assert "Pulumi.mlcc-nonsense.yaml" in capsys.readouterr().err


@pytest.mark.parametrize("endpoint", ["", "https://sts.amazonaws.com", "http://127.0.0.1.example.com:80"])
def test_a_life_is_never_played_on_anything_but_a_rehearsed_account(
    endpoint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(PROJECT)
    monkeypatch.setenv("MLCC_REHEARSAL", "1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setattr(acts, "run_to_end", lambda *_: pytest.fail("something was started"))
    assert main.run(["demo"]) == ExitCode.FAILED
    assert "rehearsed account only" in capsys.readouterr().err
    with pytest.raises(CommandError, match="rehearsed account only"):
        next(break_things(load_stack_file(PROJECT / "stacks" / "Pulumi.mlcc-demo.yaml", {})))


def act(title: str, *command: str) -> Act:
    return Act(title=title, story=f"what {title} does", shows=f"what {title} shows", command=command)


def no_account() -> float:
    """The clock of no account at all."""
    return 0.0


def shown(console: Console) -> str:
    return " ".join(console.export_text().split())


def test_a_life_ends_with_the_first_act_that_fails() -> None:
    console = Console(record=True, width=100)
    short = [act("up", "true"), act("destroy", "sh", "-c", "exit 7"), act("orphans", "true")]
    outcomes = play(short, console, no_account)
    assert [outcome.code for outcome in outcomes] == [0, 7]
    console.print(summary(short, outcomes, "a life"))
    text = shown(console)
    assert "failed (exit code 7)" in text
    assert "not reached" in text


@pytest.fixture
def pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, int]], None]:
    """Puts a `pulumi` on PATH that changes what it is told, in events as the engine writes them."""

    def put(changes: dict[str, int]) -> None:
        events = [
            {"sequence": 1, "preludeEvent": {"config": {}}},
            {"sequence": 2, "summaryEvent": {"isPreview": True, "resourceChanges": {"create": 99}}},
            {"sequence": 3, "summaryEvent": {"isPreview": False, "resourceChanges": changes}},
        ]
        lines = "\n".join(json.dumps(event) for event in events)
        program = tmp_path / "pulumi"
        program.write_text(
            "#!/bin/sh\n"
            'test "$PULUMI_DEBUG_COMMANDS" = true || exit 9\n'
            "for word; do log=$word; done\n"
            f"cat > \"$log\" <<'END'\n{lines}\nEND\n"
        )
        program.chmod(0o755)

    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return put


@pytest.mark.parametrize(
    ("changes_something", "changes", "broken"),
    [
        (False, {"same": 128}, ""),
        (False, {"same": 127, "update": 1}, "it should have changed nothing (1 updated, 127 unchanged)"),
        (True, {"create": 2, "same": 126}, ""),
        (True, {"same": 128}, "it changed nothing, and should have"),
        (None, {"same": 128}, ""),
    ],
)
def test_an_act_that_does_not_do_what_it_is_to_show_fails(
    pulumi: Callable[[dict[str, int]], None],
    changes_something: bool | None,
    changes: dict[str, int],
    broken: str,
) -> None:
    pulumi(changes)
    up = dataclasses.replace(act("up", "pulumi", "up"), changes_something=changes_something)
    (outcome,) = play([up], Console(record=True), no_account)
    assert (outcome.code, outcome.broken, outcome.failed) == (0, broken, bool(broken))


def test_the_changes_of_an_act_are_those_of_the_update_and_not_of_its_preview(
    pulumi: Callable[[dict[str, int]], None],
) -> None:
    pulumi({"import": 9, "create": 115, "same": 4, "replace": 1, "create-replacement": 1, "refresh": 3})
    (outcome,) = play([act("up", "pulumi", "up")], Console(record=True), no_account)
    assert outcome.changes == "115 created, 9 imported, 1 replaced, 4 unchanged"


def test_an_engine_that_was_killed_has_said_nothing(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    assert read_changes(log) is None
    log.write_text('{"summaryEvent": {"isPreview": true, "resourceChanges": {"create": 1}}}\n{"summaryEv')
    assert read_changes(log) is None


def test_an_action_that_raises_ends_the_life_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    def action(_: Console) -> Done:
        raise CommandError("the role is not there", remedy="look for it")

    broken = Act(title="drift", story="", shows="", action=action)
    (outcome,) = play([broken], Console(record=True), no_account)
    assert outcome.failed
    assert "the role is not there" in capsys.readouterr().err


def test_the_closing_table_fits_a_terminal_of_eighty_columns(
    pulumi: Callable[[dict[str, int]], None],
) -> None:
    pulumi({"create": 1128, "update": 1128, "same": 1128, "delete": 1128})
    played = [dataclasses.replace(each, command=("pulumi", "up"), action=None) for each in life("mlcc-demo")]
    outcomes = [
        Outcome(act=each, code=0, seconds=5999, modelled=35999, changes="1128 created, 1128 unchanged")
        for each in played
    ]
    console = Console(record=True, width=80)
    console.print(summary(played, outcomes, "The life of mlcc-demo, rehearsed"))
    lines = console.export_text().splitlines()
    assert max(len(line.rstrip()) for line in lines) <= 80
    assert not any("…" in line for line in lines)
    assert all(any(each.title in line for line in lines) for each in played)


def test_retained_things_are_listed_with_what_hangs_on_them(capsys: pytest.CaptureFixture[str]) -> None:
    show_retained(
        "mlcc-demo",
        [
            ("role", "mlcc-demo-eks-node-role"),
            ("attachment", "mlcc-demo-eks-node-role/arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"),
            ("attachment", "mlcc-demo-eks-node-role/arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"),
            ("inline policy", "mlcc-demo-eks-node-role:mine"),
            ("bucket", "hyperpod-tls-mlcc-demo-88de702d"),
            ("bucket public access block", "hyperpod-tls-mlcc-demo-88de702d"),
        ],
        frozenset({"mlcc-demo-eks-node-role/arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"}),
        "account 123456789012, us-west-2",
    )
    assert capsys.readouterr().out.splitlines() == [
        "mlcc-demo keeps these 6 on purpose; the next `up` takes them over:",
        "  role mlcc-demo-eks-node-role",
        "    with AmazonEKS_CNI_Policy",
        "    with AmazonS3ReadOnlyAccess (not ours)",
        "    with inline policy mine",
        "  bucket hyperpod-tls-mlcc-demo-88de702d",
        "    with public access block",
        "To get rid of them too: mlcc-infra destroy mlcc-demo --force-delete",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.01, "0 s"), (8.24, "8.2 s"), (845.0, "14 min 05 s"), (3780.0, "1 h 03 min")]
)
def test_durations_are_told_as_people_do(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_an_interrupted_act_is_left_to_put_things_right() -> None:
    (outcome,) = play(
        [act("up", "sh", "-c", "kill -INT $PPID; sleep 0.5; exit 3")], Console(record=True), no_account
    )
    assert outcome.code == ExitCode.INTERRUPTED
    assert outcome.seconds >= 0.5


def test_an_acts_modelled_time_is_that_in_which_aws_had_work() -> None:
    working = iter([100.0, 640.0])
    (outcome,) = play([act("wait", "sleep", "0.1")], Console(record=True), lambda: next(working))
    assert outcome.modelled == 540.0
    assert outcome.seconds >= 0.1


@pytest.mark.parametrize(("command", "code"), [("true", 0), ("exit 7", 1), ("kill -INT $PPID; exit 7", 130)])
def test_a_life_answers_how_it_ended(
    command: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLCC_REHEARSAL", "1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setattr(life_module, "life", lambda stack: [act("up", "sh", "-c", command)])
    monkeypatch.setattr(life_module, "play", lambda acts, console: play(acts, console, no_account))
    assert main.run(["demo"]) == code
    assert ("On a real account" in capsys.readouterr().out) == (code == 0)
