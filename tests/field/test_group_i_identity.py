"""Field reports, groups A and I: one source of identity and region. Whole lives are in tests/engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from mlcc_infra.account.preflight import PreflightRefusedError
from mlcc_infra.account.recorded_state import RecordedState
from mlcc_infra.account.session import AccountSession, Identity
from mlcc_infra.cli.retained import show_retained
from mlcc_infra.errors import UserError
from mlcc_infra.kubeconfig import kubeconfig, kubeconfig_text
from mlcc_infra.targets.identity_checks import identity_results, stored_identity_results
from mlcc_infra.targets.survey import guard_account
from tests.unit.profile_support import load, problems

ROOT = Path(__file__).parents[2]
IDENTITY = Identity(account="111122223333", arn="arn:aws:iam::111122223333:user/jane")


def arguments(profile: str | None) -> list[str]:
    text = kubeconfig_text(
        kubeconfig(
            cluster_name="mlcc-demo-eks",
            endpoint="https://x",
            certificate_authority="Q0E=",
            region="us-east-2",
            aws_profile=profile,
        )
    )
    found: list[str] = json.loads(text)["users"][0]["user"]["exec"]["args"]
    return found


def test_a7_an_empty_answer_says_which_account_and_region_it_is_about(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_retained("mlcc-demo", [], frozenset(), "account 111122223333, us-east-2")
    assert capsys.readouterr().out == "mlcc-demo keeps nothing in account 111122223333, us-east-2.\n"


def test_a7_the_two_variables_of_the_environment_may_not_differ_either() -> None:
    environ = {"AWS_REGION": "us-west-2", "AWS_DEFAULT_REGION": "us-east-2"}
    assert "AWS_DEFAULT_REGION=us-east-2" in str(problems(region=None, environ=environ)["AWS_REGION"])
    assert load(region=None, environ={"AWS_DEFAULT_REGION": "us-east-2"}).region == "us-east-2"


def test_i13_a_kubeconfig_carries_profile_and_region() -> None:
    found = arguments("team")
    assert found[found.index("--profile") + 1] == "team"
    assert found[found.index("--region") + 1] == "us-east-2"


def test_i13_no_stack_lets_anything_use_a_default_provider() -> None:
    files = sorted((ROOT / "stacks").glob("Pulumi.*.yaml"))
    assert len(files) >= 4
    for file in files:
        config = yaml.safe_load(file.read_text())["config"]
        assert set(config["pulumi:disable-default-providers"]) == {"aws", "kubernetes"}, file.name


@pytest.mark.parametrize(
    ("keys", "recorded", "source"),
    [
        ({"accountId": "444455556666"}, RecordedState(), "mlcc:accountId"),
        ({}, RecordedState(account="444455556666"), "the stack's state"),
    ],
    ids=["configured", "of the first up"],
)
def test_i13_credentials_of_another_account_are_refused_with_both_accounts(
    keys: dict[str, str], recorded: RecordedState, source: str
) -> None:
    with pytest.raises(PreflightRefusedError) as refused:
        guard_account(load(keys), IDENTITY, recorded)
    text = str(refused.value)
    assert IDENTITY.account in text
    assert f"444455556666, as {source} says" in text


def test_i13_a_profile_that_does_not_exist_is_one_error_that_names_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    with pytest.raises(UserError, match="mlcc-infra identity STACK --use environment"):
        AccountSession(region="us-east-2", aws_profile="team")
    monkeypatch.setenv("AWS_PROFILE", "ambient")
    with pytest.raises(UserError, match="AWS_PROFILE is 'ambient', and there is no such profile"):
        AccountSession(region="us-east-2")


def test_i13_a_profile_that_only_the_state_knows_is_refused_by_doctor_with_the_command() -> None:
    recorded = RecordedState(account=IDENTITY.account, aws_profiles=frozenset({"team"}))
    (result,) = stored_identity_results(load(), recorded, {"default"})
    assert "the AWS profile team" in result.found
    assert result.remedy == "mlcc-infra identity mlcc-demo --use environment"
    assert stored_identity_results(load(), recorded, {"team"}) == ()


def test_i14_without_a_profile_nothing_asks_for_one_and_none_is_named() -> None:
    assert "--profile" not in arguments(None)
    (result,) = identity_results(load(), IDENTITY, {"AWS_PROFILE": "ambient"})
    assert "AWS_PROFILE=ambient" in result.found
    assert result.verdict == "ok"


def test_i14_a_profile_of_the_environment_beside_the_configured_one_is_noticed() -> None:
    results = identity_results(load({"awsProfile": "team"}), IDENTITY, {"AWS_PROFILE": "ambient"})
    assert "AWS_PROFILE=ambient is not followed" in results[1].found
    assert len(identity_results(load({"awsProfile": "team"}), IDENTITY, {"AWS_PROFILE": "team"})) == 1
