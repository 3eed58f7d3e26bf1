"""What the caller and roles of ours may do, asked of the rehearsed IAM's simulator."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from mlcc_infra.account.caller_needs import TYPES, Need, Place, needs, passing, template_needs
from mlcc_infra.account.decisions import Wanted
from mlcc_infra.account.lookups import LOOKUPS
from mlcc_infra.account.permission_checks import RoleNeed, check_caller, check_roles
from mlcc_infra.account.preflight import Check, Verdict
from mlcc_infra.account.reader import Reader
from mlcc_infra.account.session import Identity
from mlcc_rehearsal.cloud.identities import add_operator
from tests.unit.desk_reader import desk_reader
from tests.unit.rehearsal_cloud.conftest import Desk, desk, trust

__all__ = ["desk"]

ROLE = ("aws:iam/role:Role", "roles-node")
TAGS = {"mlcc:profile": "demo", "team": "ml"}


def allow(actions: str | list[str], resource: str | list[str] = "*", **more: Any) -> dict[str, Any]:
    """An Allow statement."""
    return {"Effect": "Allow", "Action": actions, "Resource": resource, **more}


def deny(action: str, resource: str = "*") -> dict[str, Any]:
    """A Deny statement."""
    return {"Effect": "Deny", "Action": action, "Resource": resource}


def operator(desk: Desk, *statements: dict[str, Any]) -> Identity:
    """A user whose only policy has these statements."""
    document = {"Version": "2012-10-17", "Statement": list(statements)}
    account = desk.cloud.options.account_id
    add_operator(desk.cloud.account, "jane", policy=document)
    return Identity(account=account, arn=f"arn:aws:iam::{account}:user/jane")


def place(desk: Desk, **more: Any) -> Place:
    """Where the desk's things are."""
    return Place(
        partition="aws",
        region="us-west-2",
        account=desk.cloud.options.account_id,
        request_tags=TAGS,
        **more,
    )


def role(desk: Desk, **more: Any) -> tuple[Need, ...]:
    """What making the role `mlcc-demo-node` takes."""
    wanted = Wanted(key=ROLE, kind="role", physical="mlcc-demo-node", lookup={"role": "mlcc-demo-node"})
    return needs([wanted], place(desk, **more))


@pytest.fixture
def reader(desk: Desk) -> Iterator[Reader]:
    with desk_reader(desk) as made:
        yield made


def test_what_is_allowed_on_the_exact_things_and_no_more_is_enough(desk: Desk, reader: Reader) -> None:
    account = desk.cloud.options.account_id
    iam = f"arn:aws:iam::{account}:role/mlcc-*"
    identity = operator(desk, allow("iam:*Role", iam), allow("iam:ListInstanceProfilesForRole", iam))
    (found,) = check_caller(reader, identity, role(desk))
    assert found.verdict is Verdict.OK, found
    (other, _) = check_caller(reader, identity, role(desk, role_paths={"mlcc-demo-node": "/ml/"}))
    assert other.verdict is Verdict.REFUSED, "the path is part of what IAM sees"
    assert "role/ml/mlcc-demo-node" in other.found


def test_a_condition_on_our_tags_is_known_and_one_on_something_else_is_not(
    desk: Desk, reader: Reader
) -> None:
    tagged = {"StringEquals": {"aws:RequestTag/team": "ml"}}
    strange = {"StringEquals": {"aws:PrincipalTag/wing": "east"}}
    delete = allow(["iam:DeleteRole", "iam:ListInstanceProfilesForRole"])
    create = ["iam:CreateRole", "iam:TagRole"]
    identity = operator(desk, allow(create, Condition=tagged), delete)
    assert [found.verdict for found in check_caller(reader, identity, role(desk))] == [Verdict.OK]
    desk.iam.put_user_policy(
        UserName="jane",
        PolicyName="rehearsal",
        PolicyDocument=json.dumps(
            {"Version": "2012-10-17", "Statement": [allow(create, Condition=strange), delete]}
        ),
    )
    (found,) = check_caller(reader, identity, role(desk))
    assert found.verdict is Verdict.UNKNOWN
    assert "iam:CreateRole" in found.found


def test_what_only_a_destroy_needs_is_a_warning(desk: Desk, reader: Reader) -> None:
    identity = operator(desk, allow(["iam:CreateRole", "iam:TagRole", "iam:ListInstanceProfilesForRole"]))
    (found,) = check_caller(reader, identity, role(desk))
    assert found.verdict is Verdict.WARNING
    assert "iam:DeleteRole" in found.found
    assert "a destroy would stop there" in found.found


def test_every_denied_action_is_in_one_refusal(desk: Desk, reader: Reader) -> None:
    asked = (*role(desk), passing(place(desk), "mlcc-demo-node", "ec2.amazonaws.com"))
    (found, _) = check_caller(reader, operator(desk, allow("eks:*")), asked)
    for action in ("iam:CreateRole", "iam:TagRole", "iam:PassRole"):
        assert action in found.found
    assert "simulate-principal-policy" in found.remedy


def test_a_role_is_handed_to_one_of_the_services_that_may_be_meant(desk: Desk, reader: Reader) -> None:
    condition = {"StringEquals": {"iam:PassedToService": "eks.amazonaws.com"}}
    identity = operator(desk, allow("iam:PassRole", Condition=condition))
    either = passing(place(desk), "mlcc-demo-node", "ec2.amazonaws.com", "eks.amazonaws.com")
    assert [found.verdict for found in check_caller(reader, identity, [either])] == [Verdict.OK]
    other = passing(place(desk), "mlcc-demo-node", "lambda.amazonaws.com")
    assert [found.verdict for found in check_caller(reader, identity, [other])] == [Verdict.REFUSED]


def test_a_session_is_simulated_as_its_role_with_the_path(desk: Desk, reader: Reader) -> None:
    account = desk.cloud.options.account_id
    desk.iam.create_role(
        RoleName="Deployer",
        Path="/team/",
        AssumeRolePolicyDocument=json.dumps(trust("ec2.amazonaws.com")),
    )
    document = {"Version": "2012-10-17", "Statement": [allow("*"), deny("iam:TagRole")]}
    desk.iam.put_role_policy(RoleName="Deployer", PolicyName="all", PolicyDocument=json.dumps(document))
    session = Identity(account=account, arn=f"arn:aws:sts::{account}:assumed-role/Deployer/jane")
    (found,) = check_caller(reader, session, role(desk))
    assert f"arn:aws:iam::{account}:role/team/Deployer may not iam:TagRole" in found.found
    assert "(a policy denies it)" in found.found


def test_a_simulator_that_may_not_be_asked_is_unknown_and_blocks_nothing(
    desk: Desk, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: Any, **__: Any) -> Any:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "SimulatePrincipalPolicy")

    monkeypatch.setattr(Reader, "pages", denied)
    identity = operator(desk, allow("*"))
    (found,) = check_caller(reader, identity, role(desk))
    assert found.verdict is Verdict.UNKNOWN
    assert "SimulatePrincipalPolicy: AccessDenied" in found.found


def test_the_accounts_root_and_a_run_that_makes_nothing_are_not_simulated(desk: Desk, reader: Reader) -> None:
    account = desk.cloud.options.account_id
    root = Identity(account=account, arn=f"arn:aws:iam::{account}:root")
    assert [found.verdict for found in check_caller(reader, root, role(desk))] == [Verdict.OK]
    assert check_caller(reader, root, ()) == []
    assert not any(call["operation"].startswith("Simulate") for call in desk.calls())


def test_a_role_to_be_made_is_held_against_the_profiles_boundary(desk: Desk, reader: Reader) -> None:
    boundary = desk.iam.create_policy(
        PolicyName="boundary",
        PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [allow("s3:*")]}),
    )["Policy"]["Arn"]
    grants = {
        "Version": "2012-10-17",
        "Statement": [
            allow("s3:GetObject", "arn:aws:s3:::b/*"),
            allow("acm:ImportCertificate"),
            allow("acm:DeleteCertificate", Condition={"StringEquals": {"aws:ResourceTag/a": "b"}}),
        ],
    }
    (found,) = check_roles(reader, [RoleNeed(name="new", documents=[grants])], boundary)
    assert found.verdict is Verdict.REFUSED
    assert "role new could not acm:ImportCertificate" in found.found
    assert "s3:GetObject" not in found.found
    assert check_roles(reader, [RoleNeed(name="new", documents=[grants])], None) == []


def test_a_role_taken_over_is_held_against_what_others_deny_it(desk: Desk, reader: Reader) -> None:
    desk.role("old", trust("sagemaker.amazonaws.com"))
    denial = {"Version": "2012-10-17", "Statement": [deny("ec2:CreateNetworkInterface")]}
    desk.iam.put_role_policy(RoleName="old", PolicyName="guard", PolicyDocument=json.dumps(denial))
    grants = {
        "Version": "2012-10-17",
        "Statement": [allow(["ec2:CreateNetworkInterface", "ec2:DescribeVpcs"])],
    }
    (found,) = check_roles(reader, [RoleNeed(name="old", documents=[grants])], None)
    assert "role old could not ec2:CreateNetworkInterface on * (a policy denies it)" in found.found
    desk.iam.delete_role_policy(RoleName="old", PolicyName="guard")
    assert check_roles(reader, [RoleNeed(name="old", documents=[grants])], None) == []


def test_every_type_that_is_looked_up_has_its_actions() -> None:
    assert set(TYPES) == {token for token in LOOKUPS if token.startswith("aws:")}


def test_things_with_the_same_actions_are_one_need_and_what_destroy_leaves_is_not_deleted() -> None:
    there = Place(partition="aws", region="us-west-2", account="123456789012", request_tags=TAGS)
    wanted = [
        Wanted(key=("aws:iam/role:Role", name), kind="role", physical=name, lookup={"role": name})
        for name in ("one", "two", "kept")
    ]
    made = needs(wanted, there, retained=[there.role("kept")])
    assert [need.resources for need in made] == [
        (there.role("one"), there.role("two")),
        (there.role("kept"),),
    ]
    assert made[0].delete
    assert not made[1].delete
    bounded = dataclasses.replace(there, permissions_boundary="arn:aws:iam::123456789012:policy/b")
    (first, _) = needs(wanted, bounded, retained=[there.role("kept")])
    assert ("iam:PermissionsBoundary", ("arn:aws:iam::123456789012:policy/b",)) in first.context


def test_the_templates_functions_roles_and_clusters_are_asked_about_too() -> None:
    there = Place(partition="aws", region="us-west-2", account="123456789012")
    actions = {
        action for need in template_needs(there, "mlcc-demo-hp", "mlcc-demo-hp-eks") for action in need.create
    }
    assert {"sagemaker:AddTags", "lambda:TagResource", "eks:TagResource", "iam:PassRole"} <= actions


def test_a_role_check_that_cannot_be_made_is_unknown(desk: Desk, reader: Reader) -> None:
    missing = f"arn:aws:iam::{desk.cloud.options.account_id}:policy/none"
    check = Check(name="permissions", run=lambda: check_roles(reader, [], missing))
    assert [found.verdict for found in check.results()] == [Verdict.UNKNOWN]
