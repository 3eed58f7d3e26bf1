"""What a live CloudFormation stack still owns, by its tags and by what a predecessor's stack lists."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from mlcc_infra.account.decisions import Fact, Presence, Wanted
from mlcc_infra.account.inventory import take_inventory
from mlcc_infra.account.reader import Reader
from mlcc_infra.account.session import AccountSession
from mlcc_infra.components.iam_role import ROLE

NAME, STACK = "mlcc-demo-eks-node-role", "mlcc-demo-eks-cluster"
WANTED = Wanted(key=(ROLE, "roles-x"), kind="role", physical=NAME, lookup={"role": NAME})
TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}
    ],
}


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "made-up")
    with mock_aws():
        yield


def client(service: str) -> Any:
    return boto3.client(service, region_name="us-west-2")


def make_stack(stack: str, tags: dict[str, str] | None = None) -> str:
    """A stack that retains a role; the stack's id."""
    role = {
        "Type": "AWS::IAM::Role",
        "DeletionPolicy": "Retain",
        "Properties": {
            "RoleName": NAME,
            "AssumeRolePolicyDocument": TRUST,
            "Tags": [{"Key": key, "Value": value} for key, value in (tags or {}).items()],
        },
    }
    body = json.dumps({"Resources": {"Role": role}})
    answer = client("cloudformation").create_stack(
        StackName=stack, TemplateBody=body, Capabilities=["CAPABILITY_NAMED_IAM"]
    )
    return str(answer["StackId"])


def look() -> Fact:
    reader = Reader(AccountSession(region="us-west-2"), profile="demo")
    return take_inventory(reader, [WANTED])[WANTED.key]


def test_what_a_predecessors_stack_lists_is_its_own_while_it_lives() -> None:
    make_stack(STACK)
    assert look().stack == STACK
    client("cloudformation").delete_stack(StackName=STACK)
    found = look()
    assert (found.presence, found.stack) == (Presence.PRESENT, None)


def test_another_stack_is_known_by_the_tags_that_cloudformation_sets() -> None:
    make_stack("theirs", {"aws:cloudformation:stack-name": "theirs"})
    assert look().stack == "theirs"
    client("cloudformation").delete_stack(StackName="theirs")
    assert look().stack is None


def test_a_new_stack_of_the_same_name_does_not_own_what_the_old_one_retained() -> None:
    old = "arn:aws:cloudformation:us-west-2:123456789012:stack/theirs/0f0e0d0c-1111-2222-3333-444455556666"
    make_stack("theirs", {"aws:cloudformation:stack-name": "theirs", "aws:cloudformation:stack-id": old})
    assert look().stack is None


def test_what_this_product_made_is_not_asked_about() -> None:
    ours = {"mlcc:managed-by": "mlcc-infra", "mlcc:profile": "demo", "mlcc:region": "us-west-2"}
    make_stack(STACK, ours)
    assert look().stack is None
