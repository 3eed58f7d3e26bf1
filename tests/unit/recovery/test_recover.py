"""`recover` step by step: lock, look-up, state. CLI and account are fakes; the engine has its own test."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mlcc_infra.account.decisions import AdoptMode, Fact, Presence, Wanted, decide_all
from mlcc_infra.account.recorded_state import RecordedState
from mlcc_infra.cli.errors import exit_code_of
from mlcc_infra.cli.exit_codes import ExitCode
from mlcc_infra.errors import UserError
from mlcc_infra.profile import Profile, load_profile
from mlcc_infra.recovery import recover as module
from mlcc_infra.recovery.locks import Holder, StackLockedError
from mlcc_infra.recovery.pending import Outcome

ROLE = Wanted(key=("aws:iam/role:Role", "r"), kind="role", physical="mlcc-demo-eks-node-role")
VPC = Wanted(key=("aws:ec2/vpc:Vpc", "v"), kind="network", physical="vpc", identified_by_name=False)
URNS = {item.key: f"urn:pulumi:mlcc-demo::mlcc::{item.key[0]}::{item.key[1]}" for item in (ROLE, VPC)}


@dataclass
class Plan:
    decisions: Any


@dataclass
class Desk:
    """A stack with a lock and pending creations, in an account that answers what it is told to."""

    facts: Mapping[Any, Fact]
    holder: Holder | None = Holder.DEAD
    looks: list[Mapping[Any, Fact]] = field(default_factory=list)
    commands: list[tuple[str, ...]] = field(default_factory=list)
    written: list[Any] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    refuses: str = ""

    def pulumi(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        self.commands.append(arguments)
        answer = json.dumps({"url": "file://backend"}) if arguments[0] == "whoami" else ""
        return subprocess.CompletedProcess([], 0, answer, "")

    def plan(self, _profile: Profile, *, recorded: RecordedState) -> Plan:
        facts = self.looks.pop(0) if self.looks else self.facts
        decided = decide_all((ROLE, VPC), facts, recorded.resources, {"x": AdoptMode.AUTO}, recorded.begun)
        return Plan(decided)

    def state(self, _stack: str) -> dict[str, Any]:
        operations = [
            {"type": "creating", "resource": {"urn": URNS[key], "custom": True}} for key in self.facts
        ]
        return {"deployment": {"resources": [], "pending_operations": operations}}

    def write(self, _stack: str, export: Any) -> None:
        if self.refuses:
            raise UserError(self.refuses)
        self.written.append(export)


@pytest.fixture
def profile() -> Profile:
    return load_profile({"aws:region": "us-west-2", "mlcc:targets": '["vanilla-eks"]'}, "mlcc-demo")


@pytest.fixture
def recover(monkeypatch: pytest.MonkeyPatch, profile: Profile) -> Any:
    monkeypatch.setenv("MLCC_CLOCK_SPEED", "100000")

    def run(desk: Desk) -> module.Recovery:
        lock = module.Lock(user="me", host="desk", pid=7, since=datetime.now(UTC))
        monkeypatch.setattr(module, "read_locks", lambda *_: [lock] if desk.holder else [])
        monkeypatch.setattr(module, "judge_here", lambda _lock: desk.holder)
        monkeypatch.setattr(module, "mend_files", lambda *_: [])
        monkeypatch.setattr(module, "plan_deployment", desk.plan)
        monkeypatch.setattr(module, "export_state", desk.state)
        monkeypatch.setattr(module, "import_state", desk.write)
        return module.recover(profile, "mlcc", desk.pulumi, desk.said.append)

    return run


PRESENT = Fact(presence=Presence.PRESENT, import_id="x")
ABSENT = Fact(presence=Presence.ABSENT)
DENIED = Fact(presence=Presence.UNKNOWN, reason="GetRole: AccessDenied")


def test_a_dead_ones_lock_is_cancelled_and_what_was_begun_is_cleared_when_all_of_it_is_known(
    recover: Any,
) -> None:
    desk = Desk({ROLE.key: PRESENT, VPC.key: ABSENT})
    done = recover(desk)
    assert ("cancel", "--yes", "--stack", "mlcc-demo") in desk.commands
    assert [found.outcome for found in done.findings] == [Outcome.EXISTS, Outcome.ABSENT]
    assert done.settled
    assert len(desk.written) == 1
    assert "process 7 of me on desk" in desk.said[0]


@pytest.mark.parametrize("holder", [Holder.ALIVE, Holder.ELSEWHERE])
def test_a_lock_of_somebody_who_may_be_at_work_is_left_with_exit_code_4(recover: Any, holder: Holder) -> None:
    desk = Desk({ROLE.key: PRESENT}, holder=holder)
    with pytest.raises(StackLockedError) as refused:
        recover(desk)
    assert exit_code_of(refused.value) is ExitCode.LOCKED
    assert "process 7 of me on desk" in str(refused.value)
    assert ("pulumi cancel --stack mlcc-demo" in str(refused.value)) == (holder is Holder.ELSEWHERE)
    assert [command[0] for command in desk.commands] == ["whoami"]
    assert desk.written == []


def test_when_one_thing_cannot_be_looked_up_nothing_is_cleared(recover: Any) -> None:
    desk = Desk({ROLE.key: DENIED, VPC.key: PRESENT})
    done = recover(desk)
    assert not done.settled
    assert desk.written == []
    assert any("GetRole: AccessDenied" in line for line in desk.said)


def test_what_only_tags_find_is_looked_for_twice_before_it_counts_as_absent(recover: Any) -> None:
    desk = Desk({VPC.key: ABSENT}, looks=[{VPC.key: ABSENT}, {VPC.key: PRESENT}])
    assert [found.outcome for found in recover(desk).findings] == [Outcome.EXISTS]


def test_what_has_a_name_is_looked_for_once(recover: Any) -> None:
    desk = Desk({ROLE.key: ABSENT}, looks=[{ROLE.key: ABSENT}, {ROLE.key: PRESENT}])
    assert [found.outcome for found in recover(desk).findings] == [Outcome.ABSENT]


def test_a_stack_that_nobody_holds_and_that_nothing_was_begun_of_is_left_alone(recover: Any) -> None:
    desk = Desk({}, holder=None)
    assert recover(desk).settled
    assert [command[0] for command in desk.commands] == ["whoami"]
    assert desk.written == []


def test_a_run_that_began_meanwhile_is_not_written_over(recover: Any) -> None:
    desk = Desk({ROLE.key: PRESENT}, refuses="the stack is currently locked by 1 lock(s).")
    with pytest.raises(StackLockedError, match="another run holds mlcc-demo"):
        recover(desk)


def test_a_state_that_changed_meanwhile_is_not_written_over(
    recover: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk({ROLE.key: PRESENT})
    states = [desk.state(""), {"deployment": {"resources": [], "manifest": {"time": "later"}}}]
    monkeypatch.setattr(Desk, "state", lambda _self, _stack: states.pop(0))
    with pytest.raises(StackLockedError, match="changed the state"):
        recover(desk)
    assert desk.written == []


def test_the_command_says_which_arguments_it_takes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from mlcc_infra.cli.main import make_app

    answer = CliRunner().invoke(make_app(), ["recover", "--help"])
    assert answer.exit_code == 0
    assert "--json" in answer.output
