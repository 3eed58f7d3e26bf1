"""`mlcc-infra rehearse` without a command: the whole life of a stack, told and counted."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from mlcc_infra.cli.life import DEMO_SPEED
from tests.engine.rehearsed import Rehearsal, rehearse

ACTS = ("up", "up again", "drift", "repair", "destroy", "orphans")
ORPHANS = f"{sys.executable} -m mlcc_infra.cli orphans mlcc-hyperpod --json"


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Rehearsal:
    return rehearse([], folder=tmp_path_factory.mktemp("life"), speed=DEMO_SPEED)


def table(output: str) -> list[str]:
    """The lines of the closing table."""
    return [line.rstrip() for line in output[output.rindex("The life of mlcc-demo") :].splitlines()]


def row(output: str, act: str) -> str:
    """What the closing table says of an act, further lines of its cells included."""
    text = "\n".join(table(output))
    after = text[re.search(rf"^ {act} {{2,}}", text, re.MULTILINE).start() :]  # type: ignore[union-attr]
    return " ".join(re.split(r"\n (?=\S)|\n\s*\n", after)[0].split())


def told(output: str, act: str) -> str:
    """What an act wrote."""
    number = ACTS.index(act) + 1
    return output.split(f"{number}/6  {act}", 1)[1].split(f"{number + 1}/6  ", 1)[0]


def test_the_whole_life_ends_well(life: Rehearsal) -> None:
    assert life.code == 0, life.output
    positions = [life.output.index(f"{number}/6  {act}") for number, act in enumerate(ACTS, 1)]
    assert positions == sorted(positions)


def test_the_table_counts_what_the_engine_reports(life: Rehearsal) -> None:
    made = re.search(r"\+ (\d+) created", told(life.output, "up"))
    assert made
    assert f"{made[1]} created" in row(life.output, "up")
    assert f"{made[1]} unchanged" in row(life.output, "up again")
    assert "created" not in row(life.output, "up again")
    assert f"{made[1]} deleted" in row(life.output, "destroy")
    repaired = re.search(r"(\d+) created .* (\d+) updated (\d+) unchanged", row(life.output, "repair"))
    assert repaired
    assert [int(count) for count in repaired.groups()] == [2, 2, int(made[1]) - 4]
    assert "17 kept" in row(life.output, "orphans")
    assert "0 left over" in row(life.output, "orphans")


def test_aws_takes_no_time_for_an_up_that_changes_nothing(life: Rehearsal) -> None:
    assert re.search(r"unchanged 0 s ", row(life.output, "up again"))
    up = re.search(r"created (\d+) min", row(life.output, "up"))
    assert up
    assert 25 <= int(up[1]) <= 45, "about what the longer of the two clusters takes"


def test_what_was_broken_is_said_and_repaired(life: Rehearsal) -> None:
    drift = told(life.output, "drift")
    for words in (
        "mlcc-demo-eks-node-role trusts lambda.amazonaws.com",
        "is detached from it",
        "AmazonS3ReadOnlyAccess is attached to it",
        "add-on coredns of cluster mlcc-demo-eks is deleted",
        "tag kubernetes.io/role/internal-elb is taken off subnet-",
    ):
        assert words in drift
    repair = " ".join(told(life.output, "repair").split())
    assert re.search(r"mlcc-demo-eks-node-role also carries \S*AmazonS3ReadOnlyAccess; left alone", repair)


def test_it_ends_with_what_is_kept_the_table_and_the_way_to_a_real_account(life: Rehearsal) -> None:
    lines = [line.rstrip() for line in life.output.splitlines()]
    kept = lines.index("mlcc-demo has left nothing over in account 123456789012, us-west-2.")
    way_out = lines.index("To get rid of them too: mlcc-infra destroy mlcc-demo --force-delete")
    real = lines.index("On a real account it is the same commands, without the rehearsal:")
    assert kept < way_out < lines.index("The life of mlcc-demo, rehearsed") < real
    assert lines[real + 1 :] == ["  pulumi up -s mlcc-demo"]
    assert "    with AmazonS3ReadOnlyAccess (not ours)" in lines[kept:way_out]


def test_a_life_that_cannot_begin_ends_with_the_act_that_failed(tmp_path: Path) -> None:
    faults = tmp_path / "faults.json"
    fault = {
        "service": "iam",
        "operation": "CreateRole",
        "code": "AccessDenied",
        "message": "no",
        "status": 403,
    }
    faults.write_text(json.dumps([{**fault, "effect": "error"}]))
    options = ("--stack", "mlcc-eks", "--faults", str(faults))
    failed = rehearse([], folder=tmp_path, options=options)
    assert failed.code == 1
    assert "failed (exit code" in failed.output
    assert failed.output.count("not reached") == 5
    assert "On a real account" not in failed.output


def test_nothing_of_a_stack_that_is_up_is_left_over(tmp_path: Path) -> None:
    answer = tmp_path / "orphans.json"
    up = "pulumi up -s mlcc-hyperpod --yes --skip-preview --suppress-outputs"
    done = rehearse(["bash", "-c", f"{up} && {ORPHANS} >{answer}"], folder=tmp_path)
    assert done.code == 0, done.output + answer.read_text()
    assert json.loads(answer.read_text()) == {"left_over": [], "kept": [], "unreadable": []}
