"""Field reports, group C: who may administer a cluster, on the rehearsal cloud's EKS and IAM."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mlcc_infra.account import cluster_access, eks_checks
from mlcc_infra.account.admins import resolve_admins
from mlcc_infra.account.cluster_access import Ensured, admin_policy_arn, ensure_admin, remove_admin
from mlcc_infra.account.preflight import Verdict
from mlcc_infra.account.reader import Reader
from mlcc_infra.account.recorded_state import RecordedState
from mlcc_infra.account.session import AccountSession
from mlcc_infra.errors import UserError
from mlcc_infra.targets.deployment import plan_deployment
from tests.unit.profile_support import load, problems
from tests.unit.rehearsal_cloud.conftest import Desk, desk, trust

__all__ = ["desk"]

REGION = "us-west-2"
POLICY = admin_policy_arn("aws")
TAGS = {"mlcc:profile": "demo"}
SSO_PATH = "/aws-reserved/sso.amazonaws.com/"


def use(monkeypatch: pytest.MonkeyPatch, desk: Desk, keys: tuple[str, str] | None = None) -> None:
    """Have this process call as the desk's operator, or as the holder of some keys."""
    identifier, secret = keys or (desk.cloud.access_key_id, desk.cloud.secret_access_key)
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", desk.cloud.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", identifier)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)


@pytest.fixture
def session(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> AccountSession:
    use(monkeypatch, desk)
    return AccountSession(region=REGION)


def make_role(desk: Desk, name: str, path: str = "/") -> str:
    document = json.dumps(trust("ec2.amazonaws.com"))
    made = desk.iam.create_role(RoleName=name, Path=path, AssumeRolePolicyDocument=document)
    desk.pass_time(30)
    return str(made["Role"]["Arn"])


def policies(desk: Desk, principal: str) -> list[str]:
    listed = desk.eks.list_associated_access_policies(clusterName="demo", principalArn=principal)
    return [policy["policyArn"] for policy in listed["associatedAccessPolicies"]]


def test_c1_an_entry_that_exists_is_taken_over_and_survives(desk: Desk, session: AccountSession) -> None:
    desk.cluster(desk.network(nat=False))
    admin = make_role(desk, "Admin")
    desk.eks.create_access_entry(clusterName="demo", principalArn=admin, tags={"owner": "somebody"})
    ensured = ensure_admin(session, "demo", POLICY, admin, TAGS)
    assert ensured == Ensured(principal_arn=admin, made_entry=False, made_association=True)
    assert policies(desk, admin) == [POLICY]
    again = ensure_admin(session, "demo", POLICY, admin, TAGS, ensured)
    assert again == ensured
    remove_admin(session, "demo", POLICY, again)
    entry = desk.eks.describe_access_entry(clusterName="demo", principalArn=admin)["accessEntry"]
    assert entry["tags"] == {"owner": "somebody"}
    assert policies(desk, admin) == []


def test_c1_the_creators_own_entry_is_no_error_and_stays(desk: Desk, session: AccountSession) -> None:
    desk.cluster(desk.network(nat=False))
    creator = session.identity().arn
    ensured = ensure_admin(session, "demo", POLICY, creator, TAGS)
    assert (ensured.made_entry, ensured.made_association) == (False, False)
    remove_admin(session, "demo", POLICY, ensured)
    assert policies(desk, creator) == [POLICY]


def test_c2_two_callers_get_one_and_the_same_plan(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    admin = make_role(desk, "Admin", "/team/")
    keys = {"admins": [admin.replace("/team", "")], "eks": {"loadBalancerController": {"enabled": True}}}
    plans: list[Any] = []
    for who in (None, desk.cloud.add_identity("second-operator")):
        use(monkeypatch, desk, who)
        plan = plan_deployment(load(keys), recorded=RecordedState())
        assert plan.vanilla_eks is not None
        assert plan.vanilla_eks.admins == (admin,)
        vanilla = plan.vanilla_eks
        plans.append((vanilla.admins, vanilla.network, vanilla.wanted, vanilla.published, plan.decisions))
    assert plans[0] == plans[1]


def test_c4_a_role_of_identity_center_is_found_with_its_path_and_entered(
    desk: Desk, session: AccountSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    del monkeypatch
    role = make_role(desk, "AWSReservedSSO_X", SSO_PATH)
    account = role.split(":")[4]
    given = f"arn:aws:iam::{account}:role/AWSReservedSSO_X"
    admins, results = resolve_admins(
        Reader(session, profile="demo"), load({"admins": [given]}).admins, account
    )
    assert (admins, results) == ((role,), [])
    desk.cluster(desk.network(nat=False))
    with pytest.raises(desk.eks.exceptions.InvalidParameterException, match="invalid principal"):
        desk.eks.create_access_entry(clusterName="demo", principalArn=given)
    assert ensure_admin(session, "demo", POLICY, admins[0], TAGS).made_entry


def test_c4_one_that_cannot_be_looked_up_is_refused_with_the_way_to_its_path(session: AccountSession) -> None:
    given = "arn:aws:iam::444455556666:role/AWSReservedSSO_X"
    account = session.identity().account
    admins, (result,) = resolve_admins(Reader(session, profile="demo"), (given,), account)
    assert admins == ()
    assert result.verdict is Verdict.REFUSED
    assert "--path-prefix /aws-reserved/sso.amazonaws.com/" in result.remedy


def test_c5_a_session_and_its_role_with_a_path_are_one_administrator(
    desk: Desk, session: AccountSession
) -> None:
    role = make_role(desk, "Platform", "/team/")
    account = role.split(":")[4]
    given = [f"arn:aws:sts::{account}:assumed-role/Platform/jane", role]
    admins, results = resolve_admins(Reader(session, profile="demo"), load({"admins": given}).admins, account)
    assert (admins, results) == ((role,), [])


def test_c6_a_policy_is_associated_after_its_entry_was_made(desk: Desk, session: AccountSession) -> None:
    desk.cluster(desk.network(nat=False))
    admin = make_role(desk, "Admin")
    with pytest.raises(desk.eks.exceptions.ResourceNotFoundException):
        desk.eks.associate_access_policy(
            clusterName="demo", principalArn=admin, policyArn=POLICY, accessScope={"type": "cluster"}
        )
    before = len(desk.calls())
    ensure_admin(session, "demo", POLICY, admin, TAGS)
    made = [call["operation"] for call in desk.calls()[before:] if call["mutating"]]
    assert made == ["CreateAccessEntry", "AssociateAccessPolicy"]


@pytest.mark.parametrize(("now", "wanted"), [("API", "CONFIG_MAP"), ("API", "API_AND_CONFIG_MAP")])
def test_c7_a_step_back_is_refused_with_the_reason(now: str, wanted: str) -> None:
    with pytest.raises(UserError, match=f"mode is {now}, and EKS never moves it back to {wanted}"):
        cluster_access.next_mode(now, wanted)


def test_c7_the_way_forward_is_one_step_at_a_time() -> None:
    assert cluster_access.next_mode("CONFIG_MAP", "API") == "API_AND_CONFIG_MAP"
    assert cluster_access.next_mode("API_AND_CONFIG_MAP", "API") == "API"
    assert cluster_access.next_mode("API", "API") is None


def test_c7_the_profile_has_no_key_that_could_ask_for_the_config_map() -> None:
    assert "mlcc:eks.authenticationMode" in problems({"eks": {"authenticationMode": "CONFIG_MAP"}})


@pytest.mark.parametrize(
    ("mode", "verdict", "words"),
    [
        ("CONFIG_MAP", Verdict.REFUSED, "aws-auth config map only"),
        ("API_AND_CONFIG_MAP", Verdict.WARNING, "goes from API_AND_CONFIG_MAP to API, for good"),
        ("API", Verdict.OK, "API"),
    ],
)
def test_c7_the_mode_of_a_cluster_to_take_over_is_looked_at_first(
    desk: Desk, session: AccountSession, mode: str, verdict: Verdict, words: str
) -> None:
    desk.cluster(desk.network(nat=False), accessConfig={"authenticationMode": mode})
    (result,) = eks_checks.check_authentication_mode(Reader(session, profile="demo"), "demo")
    assert (result.verdict, words in result.found) == (verdict, True), result


def test_c7_entries_are_refused_where_there_are_none_with_the_command_that_moves_the_mode(
    desk: Desk, session: AccountSession
) -> None:
    desk.cluster(desk.network(nat=False), accessConfig={"authenticationMode": "CONFIG_MAP"})
    described = session.client("eks").describe_cluster(name="demo")["cluster"]
    with pytest.raises(UserError, match="authenticationMode=API_AND_CONFIG_MAP"):
        cluster_access.require_entries(described)
