"""One stack under several identities, on the real engine; and the providers of all four stacks."""

from __future__ import annotations

import json
import shutil
import sys
from typing import Any

import pytest

from mlcc_infra.account.stored_identity import stored_identities
from tests.engine.hyperpod_lives import SCRIPTS, Life
from tests.engine.rehearsed import copy_project, rehearse

ACCOUNT, OTHER_ACCOUNT = "123456789012", "210987654321"
OPERATOR = f"arn:aws:iam::{ACCOUNT}:user/rehearsal-operator"
SECOND = f"arn:aws:iam::{ACCOUNT}:user/second-operator"
SSO = f"arn:aws:iam::{ACCOUNT}:role/aws-reserved/sso.amazonaws.com/AWSReservedSSO_Admin_0123456789abcdef"
PLATFORM = f"arn:aws:iam::{ACCOUNT}:role/team/Platform"
# Most of this life is the engine's and Python's own time, so the modelled one may fly.
SPEED = 600


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """The script identity_life, on a vanilla cluster with a chart in it."""
    folder = tmp_path_factory.mktemp("identity")
    project = copy_project(folder)
    shutil.copy(SCRIPTS.parent / "identity_stack.yaml", project / "stacks" / "Pulumi.mlcc-eks.yaml")
    acts = folder / "acts.json"
    command = [sys.executable, str(SCRIPTS / "identity_life.py"), str(acts)]
    run = rehearse(command, folder=folder, project=project, speed=SPEED)
    assert run.code == 0, run.output
    return Life(acts=json.loads(acts.read_text()), calls=run.calls)


def callers(life: Life, act: str) -> set[str]:
    return {call["principal"] for call in life.during(act, mutating=False) if call["principal"]}


def stored(life: Life, act: str, when: str = "state") -> set[str | None]:
    """The AWS profiles in the state after an act, or before it."""
    return {found.profile for found in stored_identities(life.acts[act][when])}


def check(life: Life, act: str, name: str) -> dict[str, Any]:
    """One result of a `doctor --json`."""
    results = json.loads(life.acts[act]["stdout"])
    return next(result for result in results if result["name"] == name)


# Nothing of the environment


def test_nothing_of_the_environment_is_in_the_state_or_in_the_outputs(life: Life) -> None:
    assert life.acts["up"]["code"] == 0, life.acts["up"]["output"]
    kept = json.dumps(life.acts["up"]["state"]) + life.acts["outputs"]
    assert [word for word in life.acts["ambient"] if word in kept] == []
    assert stored(life, "up") == {None}


def test_another_operator_sees_no_change_and_is_who_calls(life: Life) -> None:
    assert life.acts["second operator"]["code"] == 0, life.acts["second operator"]["output"]
    assert callers(life, "up") == {OPERATOR}
    assert callers(life, "second operator") == {SECOND}
    assert life.during("second operator") == []


# The account of the first up


@pytest.mark.parametrize("verb", ["up", "destroy"])
def test_plain_pulumi_is_refused_in_another_account_by_what_the_state_says(life: Life, verb: str) -> None:
    act = f"{verb} in another account"
    assert life.acts[act]["code"] != 0
    assert f"AWS account ID not allowed: {OTHER_ACCOUNT}" in life.words(act)
    assert life.during(act, mutating=False) == []


@pytest.mark.parametrize("command", ["doctor", "orphans", "retained"])
def test_our_commands_are_refused_in_another_account_with_both_accounts(life: Life, command: str) -> None:
    act = f"{command} in another account"
    assert life.acts[act]["code"] == 3, life.acts[act]["output"]
    assert f"the credentials are for {OTHER_ACCOUNT}" in life.words(act)
    assert f"account {ACCOUNT}, as the stack's state says" in life.words(act)
    assert "Traceback" not in life.acts[act]["output"]


# Access


def test_admins_are_the_configured_ones_as_iam_spells_them_each_once(life: Life) -> None:
    entries = life.acts["entries after up"]
    admins = {arn for arn, policies in entries.items() if "AmazonEKSClusterAdminPolicy" in policies}
    assert admins == {OPERATOR, SECOND, SSO, PLATFORM}
    made = [call["resource"] for call in life.during("up") if call["operation"] == "CreateAccessEntry"]
    assert sorted(made) == sorted(f"mlcc-eks-eks/{arn}" for arn in (SECOND, SSO, PLATFORM))


def test_who_is_locked_out_of_the_cluster_is_told_the_command_by_a_plain_up(life: Life) -> None:
    assert life.acts["locked out"]["code"] != 0
    assert f"does not let {OPERATOR} in" in life.words("locked out")
    assert "mlcc-infra access mlcc-eks --repair" in life.words("locked out")
    assert "Traceback" not in life.acts["locked out"]["output"]
    result = check(life, "doctor when locked out", "access to mlcc-eks-eks")
    assert result["verdict"] == "warning"
    assert f"{SECOND} has no access" in result["found"]
    assert f"{OPERATOR} is not let in" in result["found"]
    assert result["remedy"] == "mlcc-infra access mlcc-eks --repair"


def test_access_is_shown_without_a_change_and_repaired_on_request(life: Life) -> None:
    assert life.acts["access shown"]["code"] == 1
    assert f"{SECOND}: no access" in life.words("access shown")
    assert SECOND not in life.acts["access shown"]["entries"]
    assert life.acts["access repaired"]["code"] == 0, life.acts["access repaired"]["output"]
    repaired = life.acts["access repaired"]["entries"]
    assert repaired[SECOND] == repaired[OPERATOR] == ["AmazonEKSClusterAdminPolicy"]
    assert life.acts["up with a profile"]["code"] == 0, life.acts["up with a profile"]["output"]


# A named profile


def test_a_named_profile_is_the_truth_for_everything_whatever_the_environment_says(life: Life) -> None:
    assert callers(life, "up with a profile") == {OPERATOR}
    assert stored(life, "up with a profile") == {"team"}
    result = check(life, "doctor with a profile", "identity")
    assert "by the AWS profile team" in result["found"]
    assert check(life, "doctor with a profile", "access to mlcc-eks-eks")["verdict"] == "ok"
    results = json.loads(life.acts["doctor with a profile"]["stdout"])
    noticed = [found["found"] for found in results if found["verdict"] == "warning"]
    assert "AWS_PROFILE=ambient-profile is not followed: mlcc:awsProfile is team" in noticed


def test_another_profile_replaces_nothing(life: Life) -> None:
    assert [call for call in life.during("up with a profile") if "Delete" in call["operation"]] == []
    assert "replaced" not in life.acts["up with a profile"]["output"]


def test_the_same_identity_again_is_no_change_even_where_aws_profile_says_another(life: Life) -> None:
    assert life.acts["same after going back"]["code"] == 0, life.acts["same after going back"]["output"]
    assert callers(life, "same after going back") == {OPERATOR}


# Where there are keys alone


def test_plain_destroy_fails_where_the_stored_profile_is_missing_and_names_it(life: Life) -> None:
    act = life.acts["destroy without the profile"]
    assert act["code"] != 0
    assert "failed to get shared config profile, team" in act["output"]
    assert life.during("destroy without the profile") == []


def test_our_errors_lead_to_the_command(life: Life) -> None:
    act = life.acts["doctor without the profile"]
    assert act["code"] != 0
    assert "mlcc-infra identity STACK --use environment" in life.words("doctor without the profile")
    shown = life.acts["identity shown"]
    assert shown["code"] == 0
    assert "pulumi:providers:aws aws: team" in shown["output"]
    assert "mlcc-infra identity mlcc-eks --use environment" in shown["output"]


@pytest.mark.parametrize(
    ("act", "words"),
    [
        ("identity nowhere", "there is no AWS profile nowhere"),
        ("identity elsewhere", f"mlcc-eks belongs to account {ACCOUNT}"),
        ("identity nobody", "AWS does not accept the keys in the environment"),
    ],
)
def test_an_identity_that_cannot_work_is_refused_before_anything_is_written(
    life: Life, act: str, words: str
) -> None:
    assert life.acts[act]["code"] == 3, life.acts[act]["output"]
    assert words in life.words(act)
    assert "Traceback" not in life.acts[act]["output"]
    assert life.acts[act]["state"] == life.acts[act]["before"]


def test_the_stored_identity_is_rewritten_and_secrets_stay_encrypted(life: Life) -> None:
    act = life.acts["identity used"]
    assert act["code"] == 0, act["output"]
    assert stored(life, "identity used", "before") == {"team"}
    assert stored(life, "identity used") == {None}
    assert "pulumi:providers:kubernetes eks-charts-kubernetes" in act["output"]
    assert "pulumi config rm mlcc:awsProfile -s mlcc-eks" in life.words("identity used")
    before, after = (json.dumps(act[when]) for when in ("before", "state"))
    assert before.count('"ciphertext"') == after.count('"ciphertext"') > 0
    assert "plaintext" not in after
    ids = [
        [(found["urn"], found.get("id")) for found in act[when]["deployment"]["resources"]]
        for when in ("before", "state")
    ]
    assert ids[0] == ids[1]


def test_with_keys_alone_everything_is_destroyed(life: Life) -> None:
    act = life.acts["destroy with keys alone"]
    assert act["code"] == 0, act["output"]
    left = [line for line in life.new("destroy with keys alone") if "mlcc-eks" in line]
    assert left == []
    assert not act["state"]["deployment"].get("resources")


# All four stacks


@pytest.fixture
def states(
    life: Life, demo_life: Life, hyperpod_life: Life, operator_life: Life
) -> dict[str, list[dict[str, Any]]]:
    """What the state of each stack holds after its first `up`."""
    lives = {"mlcc-eks": life, "mlcc-demo": demo_life, "mlcc-hyperpod": hyperpod_life}
    found = {stack: played.resources("up") for stack, played in lives.items()}
    return found | {"mlcc-operator": operator_life.resources("without a watcher")}


def test_no_resource_of_any_stack_uses_a_default_provider_of_aws_or_kubernetes(
    states: dict[str, list[dict[str, Any]]],
) -> None:
    for stack, resources in states.items():
        seen = 0
        for found in resources:
            if not found["type"].startswith(("aws:", "kubernetes:")):
                continue
            provider, seen = found["provider"], seen + 1
            assert "::default" not in provider, f"{stack}: {found['urn']}"
        assert seen > 0, stack
        kinds = [found["urn"] for found in resources if found["type"].startswith("pulumi:providers:")]
        assert not [urn for urn in kinds if "aws::default" in urn or "kubernetes::default" in urn], stack


def test_the_aws_provider_of_every_stack_has_its_region_and_its_one_account(
    states: dict[str, list[dict[str, Any]]],
) -> None:
    for stack, resources in states.items():
        (provider,) = [found for found in resources if found["type"] == "pulumi:providers:aws"]
        assert json.loads(provider["inputs"]["allowedAccountIds"]) == [ACCOUNT], stack
        assert provider["inputs"]["region"] == "us-west-2", stack
