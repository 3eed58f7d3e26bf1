"""What `mlcc-infra adopt` prints of a plan, and the codes it ends with."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from mlcc_infra.account.decisions import Action, Decision, Decisions, Wanted
from mlcc_infra.account.differences import Aspect, Difference
from mlcc_infra.account.preflight import CheckResult, Verdict
from mlcc_infra.cli import adopt
from mlcc_infra.cli.main import make_app
from mlcc_infra.naming import Names
from mlcc_infra.tagging import Origin, OwnerKind
from mlcc_infra.targets import deployment
from mlcc_infra.targets.adoption import Adopted, unread_results

ROLE = "aws:iam/role:Role"
REFUSED = CheckResult(
    name="stack x", verdict=Verdict.REFUSED, found="it owns y", remedy="1. retain; 2. delete"
)
UNREAD = CheckResult(name="bucket b", verdict=Verdict.UNKNOWN, found="HeadBucket: 403")


def adopted(name: str, *differences: Difference) -> Adopted:
    wanted = Wanted(key=(ROLE, name), kind="role", physical=name)
    decision = Decision(wanted=wanted, action=Action.IMPORT, origin=Origin.ADOPTED, import_id=name)
    return Adopted(decision=decision, owner=OwnerKind.PREDECESSOR, differences=differences)


TRUST = Difference(
    aspect=Aspect.POLICIES,
    what="policies",
    found="",
    wanted="arn:aws:iam::aws:policy/[bold]AmazonEKSClusterPolicy",
)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Any:
    def made(*flags: str, columns: int = 80, results: tuple[CheckResult, ...] = (), **plan: Any) -> Any:
        found = tuple(plan.get("adopted", ()))
        create = Wanted(key=(ROLE, "new"), kind="role", physical="new")
        decisions = [each.decision for each in found] + [
            Decision(wanted=create, action=Action.CREATE, origin=Origin.CREATED)
        ]
        plan_made = SimpleNamespace(
            adopted=found,
            results=results,
            decisions=Decisions(by_key={each.wanted.key: each for each in decisions}),
            survey=SimpleNamespace(names=Names("demo", "123456789012", "us-west-2")),
        )
        monkeypatch.setattr(deployment, "plan_deployment", lambda _: plan_made)
        monkeypatch.setattr(adopt, "profile_of", lambda _: None)
        monkeypatch.setenv("COLUMNS", str(columns))
        return CliRunner().invoke(make_app(), ["adopt", "mlcc-demo", *flags])

    return made


@pytest.mark.parametrize("columns", [80, 120])
def test_the_table_fits_and_shows_what_aws_holds_as_it_is(run: Any, columns: int) -> None:
    answer = run(columns=columns, adopted=[adopted("mlcc-demo-role", TRUST), adopted("mlcc-demo-same")])
    assert answer.exit_code == 0
    assert max(len(line) for line in answer.output.splitlines()) <= columns
    assert "policies: + [bold]AmazonEKSClusterPolicy" in answer.output
    assert "As the profile has them, 1:\n  role mlcc-demo-same" in answer.output
    assert "0 are in the state already, 1 would be made." in answer.output


def test_what_could_not_be_read_is_not_said_to_be_as_the_profile_has_it(run: Any) -> None:
    denied = replace(adopted("mlcc-demo-role"), unread="GetRole: AccessDenied")
    answer = run(adopted=[denied], results=unread_results([denied]))
    assert "As the profile has them" not in answer.output
    assert "how it differs could not be read (GetRole: AccessDenied)" in answer.output
    assert json.loads(run("--json", adopted=[denied]).output)["adopt"][0]["unread"] == denied.unread


def test_nothing_to_adopt_is_said_with_place_and_profile(run: Any) -> None:
    answer = run()
    assert answer.exit_code == 0
    assert "Nothing to adopt in account 123456789012, us-west-2: nothing of profile demo" in answer.output


def test_refusals_come_with_their_steps_and_the_code_for_them(run: Any) -> None:
    answer = run(results=(REFUSED, UNREAD))
    assert answer.exit_code == 3
    assert "do:     1. retain; 2. delete" in answer.output
    assert "Could not be read:\n  bucket b: HeadBucket: 403" in answer.output


def test_what_could_not_be_read_is_no_refusal(run: Any) -> None:
    assert run(results=(UNREAD,)).exit_code == 0


def test_the_json_is_one_object_and_has_the_whole_arn(run: Any) -> None:
    answer = run("--json", adopted=[adopted("mlcc-demo-role", TRUST)], results=(REFUSED,))
    told = json.loads(answer.output)
    assert answer.exit_code == 3
    assert told["create"] == 1
    assert told["refused"][0]["remedy"] == "1. retain; 2. delete"
    (entry,) = told["adopt"]
    assert (entry["importId"], entry["owner"]) == ("mlcc-demo-role", "predecessor")
    assert entry["differences"][0]["wanted"].startswith("arn:aws:iam::aws:policy/")
