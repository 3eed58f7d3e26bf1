"""Field reports, group B: what the account says about roles and permissions. On the rehearsed account."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from mlcc_infra.account.cluster_access import admin_policy_arn, ensure_admin
from mlcc_infra.account.preflight import Verdict
from mlcc_infra.account.reader import Reader
from mlcc_infra.account.recorded_state import RecordedState
from mlcc_infra.components.iam_role import ATTACHMENT
from mlcc_infra.targets.deployment import plan_deployment
from tests.unit.desk_reader import desk_environment, desk_reader
from tests.unit.profile_support import load
from tests.unit.rehearsal_cloud.conftest import Desk, desk, trust

__all__ = ["desk"]

BOTH = {"targets": ["vanilla-eks", "hyperpod-eks"], "eks": {"loadBalancerController": {"enabled": True}}}
ADMIN_POLICY = admin_policy_arn("aws")


@pytest.fixture
def reader(desk: Desk) -> Iterator[Reader]:
    with desk_reader(desk) as made:
        yield made


def limit_operator(desk: Desk, *statements: dict[str, Any]) -> None:
    """The desk's operator may do everything but what these statements deny."""
    (user,) = desk.iam.list_users()["Users"]
    document = {"Version": "2012-10-17", "Statement": list(statements)}
    desk.iam.put_user_policy(
        UserName=user["UserName"], PolicyName="guard", PolicyDocument=json.dumps(document)
    )


def permissions(keys: dict[str, Any]) -> list[tuple[str, str]]:
    """Verdicts and words of the permission checks of a profile on the desk."""
    plan = plan_deployment(load(keys), recorded=RecordedState())
    return [(found.verdict, found.found) for found in plan.results if found.name == "permissions"]


def test_b2_no_policy_is_attached_to_a_role_under_two_names(reader: Reader) -> None:
    plan = plan_deployment(load(BOTH), recorded=RecordedState())
    attached = Counter(
        (decision.wanted.lookup["role"], decision.wanted.lookup["policy_arn"])
        for key, decision in plan.decisions.by_key.items()
        if key[0] == ATTACHMENT
    )
    cni = ("mlcc-demo-eks-node-role", "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy")
    assert attached[cni] == 1
    assert set(attached.values()) == {1}


def test_b5_an_administrator_made_seconds_ago_is_waited_for(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLCC_CLOCK_SPEED", "50")
    desk.cluster(desk.network(nat=False))
    arn = desk.role("new", trust("ec2.amazonaws.com"), seen=False)

    def refused() -> bool:
        return any(call["operation"] == "CreateAccessEntry" and call["error"] for call in desk.calls())

    def pass_time_once_refused() -> None:
        limit = time.monotonic() + 60
        while not refused() and time.monotonic() < limit:
            time.sleep(0.02)
        desk.pass_time(30)

    seen = threading.Thread(target=pass_time_once_refused)
    seen.start()
    with desk_reader(desk) as reader:
        ensured = ensure_admin(reader.session, "demo", ADMIN_POLICY, arn, {"a": "b"})
    seen.join()
    assert ensured.made_entry
    assert refused(), "the first call came too early"


def test_b5_a_principal_that_does_not_exist_is_named_and_not_waited_for_long(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLCC_CLOCK_SPEED", "600")
    desk.cluster(desk.network(nat=False))
    missing = f"arn:aws:iam::{desk.cloud.options.account_id}:role/nobody"
    began = time.monotonic()
    with desk_reader(desk) as reader, pytest.raises(ClientError, match=r"nobody|principalArn"):
        ensure_admin(reader.session, "demo", ADMIN_POLICY, missing, {"a": "b"})
    assert time.monotonic() - began < 60
    with desk_environment(desk):
        plan = plan_deployment(load({"admins": [missing]}), recorded=RecordedState())
    (found,) = [result for result in plan.results if result.name == "admins"]
    assert found.verdict is Verdict.REFUSED
    assert "there is no role nobody" in found.found


def test_b13_a_denied_tag_action_is_refused_by_name_before_anything_is_made(
    desk: Desk, reader: Reader
) -> None:
    limit_operator(desk, {"Effect": "Deny", "Action": "sagemaker:AddTags", "Resource": "*"})
    before = len(desk.calls())
    ((verdict, found),) = permissions(BOTH)
    assert verdict == Verdict.REFUSED
    assert "sagemaker:AddTags" in found
    assert "CreateCluster" not in found
    assert not [call for call in desk.calls()[before:] if call["mutating"]]


@pytest.mark.parametrize(
    ("action", "thing"),
    [
        ("iam:TagRole", "role/mlcc-demo-eks-node-role"),
        ("eks:TagResource", "cluster/mlcc-demo-eks"),
        ("ssm:AddTagsToResource", "parameter/mlcc/demo/eks/EksClusterArn"),
        ("ec2:CreateTags", "vpc/*"),
        ("iam:PassRole", "role/mlcc-demo-eks-cluster-role"),
        ("lambda:TagResource", "function:mlcc-demo-hp*"),
        ("s3:PutBucketTagging", "sagemaker-mlcc-demo-"),
    ],
)
def test_b13_every_other_tag_action_and_passing_of_roles_too(
    desk: Desk, reader: Reader, action: str, thing: str
) -> None:
    limit_operator(desk, {"Effect": "Deny", "Action": action, "Resource": "*"})
    ((verdict, found),) = permissions(BOTH)
    assert verdict == Verdict.REFUSED
    assert action in found
    assert thing in found


def test_b13_what_exists_already_needs_no_right_to_make_it(desk: Desk, reader: Reader) -> None:
    for name, service in (
        ("mlcc-demo-eks-cluster-role", "eks.amazonaws.com"),
        ("mlcc-demo-eks-node-role", "ec2.amazonaws.com"),
        ("mlcc-demo-fargate-pod-exec-role", "eks-fargate-pods.amazonaws.com"),
    ):
        desk.role(name, trust(service))
    limit_operator(desk, {"Effect": "Deny", "Action": "iam:CreateRole", "Resource": "*"})
    keys = {"eks": {"inference": {"enabled": False}}}
    assert [verdict for verdict, _ in permissions(keys)] == [Verdict.OK]


def test_b13_a_caller_who_may_not_simulate_is_not_held_up(
    desk: Desk, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = Reader.pages

    def denied(self: Reader, service: str, operation: str, *given: Any, **more: Any) -> Any:
        if operation == "simulate_principal_policy":
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "SimulatePrincipalPolicy")
        return pages(self, service, operation, *given, **more)

    monkeypatch.setattr(Reader, "pages", denied)
    ((verdict, found),) = permissions(BOTH)
    assert verdict == Verdict.UNKNOWN
    assert "SimulatePrincipalPolicy" in found
