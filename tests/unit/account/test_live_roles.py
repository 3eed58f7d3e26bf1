"""What adoption leaves of a role that exists, and what the checks of roles say, on an account of boto3."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from mlcc_infra import policies
from mlcc_infra.account.live_roles import read_live_roles
from mlcc_infra.account.preflight import CheckResult, Verdict
from mlcc_infra.account.reader import Reader
from mlcc_infra.components.service_roles import ServiceRolesArgs
from mlcc_infra.naming import Names
from mlcc_infra.policies import (
    SERVICE_ACCOUNT_ROLES,
    SERVICE_ROLES,
    LiveRole,
    RoleContext,
    service_statement,
    trust,
    trusted_services,
)
from mlcc_infra.profile import Profile
from mlcc_infra.targets import deployment
from mlcc_infra.targets.service_role_checks import role_checks, service_roles_checked
from tests.unit.profile_support import load

NAME = "mlcc-demo-hyperpod-instance-role"
BOUNDARY = "arn:aws:iam::aws:policy/PowerUserAccess"
CONTEXT = RoleContext(names=Names("demo", "123456789012", "us-west-2"))
TRUST = trust(service_statement("sagemaker.amazonaws.com"), service_statement("ec2.amazonaws.com"))
PREDECESSOR = {"mlcc:managed-by": "ml-container-creator", "mlcc:profile": "demo"}
CREATED = {
    "mlcc:managed-by": "mlcc-infra",
    "mlcc:profile": "demo",
    "mlcc:region": "us-west-2",
    "mlcc:origin": "created",
}


class Session:
    """A session with one client of IAM."""

    region = "us-west-2"

    def __init__(self, iam: Any) -> None:
        self.iam = iam

    def client(self, service: str) -> Any:
        assert service == "iam"
        return self.iam


@pytest.fixture
def iam(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "made-up")
    with mock_aws(config={"iam": {"load_aws_managed_policies": True}}):
        yield boto3.client("iam", region_name="us-west-2")


def make(iam: Any, tags: dict[str, str], path: str = "/", **more: Any) -> None:
    iam.create_role(
        RoleName=NAME,
        Path=path,
        AssumeRolePolicyDocument=json.dumps(TRUST),
        Tags=[{"Key": key, "Value": value} for key, value in tags.items()],
        **more,
    )


def reader(iam: Any) -> Reader:
    session: Any = Session(iam)
    return Reader(session, profile="demo")


def arguments(iam: Any, *created: str, **more: Any) -> ServiceRolesArgs:
    return ServiceRolesArgs(
        module="hyperpod",
        roles=[SERVICE_ROLES["hyperpod-instance-role"], SERVICE_ROLES["eks-node-role"]],
        role_context=CONTEXT,
        live=read_live_roles(reader(iam), [NAME, "mlcc-demo-eks-node-role"], created=created),
        **more,
    )


def trusted(args: ServiceRolesArgs) -> frozenset[str]:
    entry = args.roles[0]
    return trusted_services(entry.trust_on(args.role_context, args.live_role(entry)))


@pytest.mark.parametrize("tags", [PREDECESSOR, {}])
def test_an_adopted_instance_role_that_trusts_ec2_goes_on_doing_so(iam: Any, tags: dict[str, str]) -> None:
    make(iam, tags)
    assert trusted(arguments(iam)) == {"sagemaker.amazonaws.com", "ec2.amazonaws.com"}


def test_a_trust_in_ec2_that_somebody_adds_to_a_role_made_here_is_drift(iam: Any) -> None:
    make(iam, CREATED)
    assert trusted(arguments(iam)) == {"sagemaker.amazonaws.com"}


def test_a_role_that_lost_its_tags_is_still_one_made_here_when_the_state_says_so(iam: Any) -> None:
    make(iam, {})
    assert trusted(arguments(iam, NAME)) == {"sagemaker.amazonaws.com"}


def test_a_role_that_there_is_not_trusts_what_the_table_says(iam: Any) -> None:
    assert trusted(arguments(iam)) == {"sagemaker.amazonaws.com"}


def test_an_adopted_role_keeps_its_boundary_unless_the_profile_has_one(iam: Any) -> None:
    make(iam, PREDECESSOR, PermissionsBoundary=BOUNDARY)
    (entry, _) = arguments(iam).roles
    assert arguments(iam).spec(entry).permissions_boundary == BOUNDARY
    ours = "arn:aws:iam::123456789012:policy/company"
    assert arguments(iam, permissions_boundary=ours).spec(entry).permissions_boundary == ours
    assert arguments(iam, NAME).spec(entry).permissions_boundary is None


def test_a_role_that_exists_stays_at_its_path(iam: Any) -> None:
    iam.create_role(
        RoleName="mlcc-demo-eks-node-role", Path="/theirs/", AssumeRolePolicyDocument=json.dumps(TRUST)
    )
    args = arguments(iam, role_path="/ours/")
    assert args.spec(args.roles[1]).path == "/theirs/"
    assert args.spec(args.roles[0]).path == "/"


def test_permissions_are_simulated_for_roles_where_they_are(iam: Any) -> None:
    iam.create_role(
        RoleName="mlcc-demo-eks-node-role", Path="/theirs/", AssumeRolePolicyDocument=json.dumps(TRUST)
    )
    plan: Any = SimpleNamespace(roles=arguments(iam, role_path="/ours/"), service_account_roles=())
    planned = deployment._planned_roles(plan, None, None)
    assert {spec.role_name: spec.path for spec in planned.kept} == {
        NAME: "/",
        "mlcc-demo-eks-node-role": "/theirs/",
    }


@pytest.mark.parametrize(
    ("adopted", "path"), [(True, "/theirs/"), (False, "/ours/")], ids=["adopted", "made here"]
)
def test_a_role_that_goes_with_its_stack_follows_the_profile_unless_it_was_adopted(
    adopted: bool, path: str
) -> None:
    live = LiveRole(path="/theirs/", trust=TRUST, adopted=adopted)
    assert not SERVICE_ACCOUNT_ROLES["keda-operator-role"].retained
    assert SERVICE_ACCOUNT_ROLES["keda-operator-role"].path("/ours/", live) == path
    assert SERVICE_ACCOUNT_ROLES["operator-execution-role"].path("/ours/", live) == "/"


def test_a_role_that_may_not_be_read_is_not_taken_for_one_that_is_there(
    iam: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(**_: Any) -> None:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "GetRole")

    make(iam, PREDECESSOR)
    monkeypatch.setattr(iam, "get_role", refused)
    assert arguments(iam).live == {}


def checked(iam: Any, profile: Profile) -> list[CheckResult]:
    checks = role_checks(reader(iam), service_roles_checked(arguments(iam)), profile)
    return [result for check in checks for result in check.results()]


def test_the_instance_role_at_another_path_is_refused_with_the_way_out(iam: Any) -> None:
    make(iam, PREDECESSOR, path="/theirs/")
    (result,) = checked(iam, load())
    assert result.verdict is Verdict.REFUSED
    assert "/theirs/" in result.found
    assert f"aws iam delete-role --role-name {NAME}" in result.remedy


def test_foreign_policies_are_said_with_what_becomes_of_them(iam: Any) -> None:
    make(iam, PREDECESSOR)
    iam.attach_role_policy(RoleName=NAME, PolicyArn="arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess")
    iam.attach_role_policy(
        RoleName=NAME, PolicyArn="arn:aws:iam::aws:policy/AmazonSageMakerClusterInstanceRolePolicy"
    )
    document = json.dumps(policies.document(policies.allow("s3:ListAllMyBuckets", "*")))
    iam.put_role_policy(RoleName=NAME, PolicyName="theirs", PolicyDocument=document)
    (result,) = checked(iam, load())
    assert result.verdict is Verdict.WARNING
    assert result.found == (
        f"role {NAME} also carries arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess, inline policy theirs; "
        "left alone"
    )
    (exclusive,) = checked(iam, load({"exclusive": True}))
    assert exclusive.found.endswith("taken off, as mlcc:exclusive is set")
    (forced,) = checked(iam, load({"forceDelete": True}))
    assert "destroy, which takes it off first" in forced.found
