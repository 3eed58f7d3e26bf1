"""What stops a run before anything is planned."""

from __future__ import annotations

import pytest

from mlcc_infra.account.preflight import PreflightRefusedError
from mlcc_infra.account.recorded_state import RecordedState
from mlcc_infra.account.session import AccountSession, Identity
from mlcc_infra.profile import Profile, load_profile
from mlcc_infra.targets.survey import take_survey


@pytest.fixture
def profile(monkeypatch: pytest.MonkeyPatch) -> Profile:
    identity = Identity(account="123456789012", arn="arn:aws:iam::123456789012:user/me")
    monkeypatch.setattr(AccountSession, "identity", lambda _self: identity)
    return load_profile({"aws:region": "us-west-2", "mlcc:targets": '["vanilla-eks"]'}, "mlcc-demo")


def test_a_stack_of_this_account_and_profile_is_surveyed(profile: Profile) -> None:
    survey = take_survey(profile, recorded=RecordedState(account="123456789012", profile="demo"))
    assert survey.names.eks_cluster == "mlcc-demo-eks"


def test_a_stack_that_belongs_to_another_account_is_refused_naming_both(profile: Profile) -> None:
    with pytest.raises(PreflightRefusedError) as refused:
        take_survey(profile, recorded=RecordedState(account="210987654321"))
    assert "123456789012" in str(refused.value)
    assert "210987654321" in str(refused.value)


def test_a_profile_is_not_renamed_under_a_stack_that_exists(profile: Profile) -> None:
    with pytest.raises(PreflightRefusedError) as refused:
        take_survey(profile, recorded=RecordedState(profile="other"))
    assert "made as profile other" in str(refused.value)
    assert "set mlcc:profile to other" in str(refused.value)
