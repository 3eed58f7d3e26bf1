"""When two documents mean the same."""

import json

import pytest

from mlcc_rehearsal.plugins.aws import documents
from mlcc_rehearsal.plugins.aws.functions.iam import policy_document
from mlcc_rehearsal.plugins.serving import ProviderError


def one(**statement: object) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **statement}]})


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (one(Action="s3:Get*", Resource="*"), one(Resource=["*"], Action=["s3:Get*"])),
        (one(Action=["a:B", "c:D"]), one(Action=["c:D", "a:B"])),
        (one(Principal={"AWS": "123456789012"}), one(Principal={"AWS": "arn:aws:iam::123456789012:root"})),
        (one(Principal="*"), one(Principal={"AWS": "*"})),
        (
            one(Condition={"Bool": {"aws:SecureTransport": False}}),
            one(Condition={"Bool": {"aws:SecureTransport": "false"}}),
        ),
    ],
)
def test_the_same_grants_are_the_same_policy(left: str, right: str) -> None:
    assert documents.same_policy(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (one(Action="s3:GetObject"), one(Action="s3:PutObject")),
        (one(Resource="arn:a"), one(Resource="arn:A")),
        (
            one(Action="a:B"),
            json.dumps({"Version": "2008-10-17", "Statement": [{"Effect": "Allow", "Action": "a:B"}]}),
        ),
        (one(Condition={"StringEquals": {"a": "b"}}), one(Condition={"StringLike": {"a": "b"}})),
    ],
)
def test_other_grants_are_another_policy(left: str, right: str) -> None:
    assert not documents.same_policy(left, right)


def test_json_of_an_addon_is_compared_by_value() -> None:
    assert documents.same_json('{"a": 1, "b": 2}', '{"b":2,"a":1}')
    assert not documents.same_json('{"a": 1}', '{"a": 2}')
    assert documents.same_json("no json", "no json")


def test_a_policy_document_is_put_together_as_the_data_source_does() -> None:
    made = json.loads(
        policy_document(
            {
                "statements": [
                    {
                        "sid": "Trust",
                        "actions": ["sts:AssumeRole", "sts:TagSession"],
                        "principals": [{"type": "Service", "identifiers": ["ec2.amazonaws.com"]}],
                        "conditions": [{"test": "StringEquals", "variable": "aws:a", "values": ["&{b}"]}],
                    }
                ]
            }
        )
    )
    assert made == {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Sid": "Trust",
                "Action": ["sts:TagSession", "sts:AssumeRole"],
                "Principal": {"Service": "ec2.amazonaws.com"},
                "Condition": {"StringEquals": {"aws:a": "${b}"}},
            }
        ],
    }


def test_a_sid_used_twice_is_refused() -> None:
    with pytest.raises(ProviderError, match="duplicate Sid"):
        policy_document({"statements": [{"sid": "A", "actions": ["a:b"]}, {"sid": "A", "actions": ["a:c"]}]})
