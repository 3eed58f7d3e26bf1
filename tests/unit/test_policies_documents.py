"""Policy documents: one text, equivalence, differences, what must not be in one."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlcc_infra.policies import (
    allow,
    bucket_read,
    differences,
    document,
    document_problems,
    equivalent,
    inline_problems,
    parse,
    policy_text,
    service_statement,
    statements,
    trust,
)
from mlcc_infra.policies.documents import MAX_INLINE_CHARACTERS, MAX_MANAGED_CHARACTERS, characters

READ = document(
    allow(["s3:GetObject", "s3:GetObjectTagging"], ["arn:aws:s3:::a/*", "arn:aws:s3:::b/*"], sid="Objects"),
    allow(
        "s3:ListBucket", "arn:aws:s3:::a", condition={"StringEquals": {"aws:ResourceAccount": "123456789012"}}
    ),
)


def respelt(policy: dict[str, Any], seed: int) -> dict[str, Any]:
    """The same policy in another spelling."""
    chance = random.Random(seed)
    other = copy.deepcopy(policy)
    for statement in other["Statement"]:
        statement["Sid"] = f"S{chance.randrange(1000)}"
        for key in ("Action", "Resource"):
            values = statement[key] if isinstance(statement[key], list) else [statement[key]]
            chance.shuffle(values)
            if key == "Action":
                values = [chance.choice([str.lower, str.upper, str])(value) for value in values]
            statement[key] = values[0] if len(values) == 1 and chance.random() < 0.5 else values
        for keys in statement.get("Condition", {}).values():
            for name in list(keys):
                if not isinstance(keys[name], list) and chance.random() < 0.5:
                    keys[name] = [keys[name]]
    chance.shuffle(other["Statement"])
    return other


def test_the_text_does_not_depend_on_the_order_of_keys() -> None:
    backwards = dict(reversed(list(READ.items())))
    assert policy_text(backwards) == policy_text(READ)
    assert " " not in policy_text(READ)


@given(st.integers(0, 10_000))
def test_a_policy_means_the_same_in_every_spelling(seed: int) -> None:
    other = respelt(READ, seed)
    assert equivalent(READ, other)
    assert equivalent(policy_text(other), READ)
    assert differences(READ, other) == ()


@pytest.mark.parametrize(
    "change",
    [
        lambda policy: policy["Statement"].pop(),
        lambda policy: policy["Statement"][0].update(Effect="Deny"),
        lambda policy: policy["Statement"][0].update(Action=["s3:GetObject"]),
        lambda policy: policy["Statement"][0].update(Resource=["arn:aws:s3:::a/*"]),
        lambda policy: policy["Statement"][1].pop("Condition"),
        lambda policy: policy["Statement"][1].update(
            Condition={"StringLike": {"aws:ResourceAccount": "123456789012"}}
        ),
        lambda policy: policy.update(Version="2008-10-17"),
    ],
)
def test_a_policy_that_means_something_else_is_told_apart_with_the_difference(change: Any) -> None:
    other = copy.deepcopy(READ)
    change(other)
    assert not equivalent(READ, other)
    assert differences(READ, other)


def test_principals_are_compared_by_what_they_mean() -> None:
    by_id = {"Effect": "Allow", "Principal": {"AWS": "123456789012"}, "Action": "sts:AssumeRole"}
    by_arn = {**by_id, "Principal": {"AWS": ["arn:aws:iam::123456789012:root"]}}
    assert equivalent(document(by_id), document(by_arn))
    assert not equivalent(document(by_id), trust(service_statement("ec2.amazonaws.com")))
    assert equivalent(document({**by_id, "Principal": "*"}), document({**by_id, "Principal": {"AWS": "*"}}))


def test_differences_name_what_is_missing_and_what_is_besides() -> None:
    wanted = trust(service_statement("sagemaker.amazonaws.com"))
    found = trust(service_statement("ec2.amazonaws.com"))
    assert differences(wanted, found) == (
        "missing: Allow sagemaker.amazonaws.com to sts:AssumeRole",
        "besides: Allow ec2.amazonaws.com to sts:AssumeRole",
    )


def test_a_single_statement_may_stand_without_a_list() -> None:
    single = {"Version": "2012-10-17", "Statement": READ["Statement"][0]}
    assert statements(single) == [READ["Statement"][0]]
    assert equivalent(single, document(READ["Statement"][0]))


@pytest.mark.parametrize("text", ["[]", "3", "nonsense"])
def test_what_is_no_document_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"JSON|Expecting"):
        parse(text)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (allow("s3:GetObject", "arn:aws:s3:::a"), "needs arn:aws:s3:::a/*"),
        (allow("s3:PutObjectTagging", ["arn:aws:s3:::a/*", "arn:aws:s3:::a"]), "an action on objects"),
        (allow("s3:ListBucket", "arn:aws:s3:::a/*"), "an action on buckets"),
        (allow("*", "*"), "every action"),
        (allow("s3:*", "arn:aws:s3:::a/*"), "every action of a service"),
    ],
)
def test_a_statement_that_grants_nothing_or_too_much_is_found(statement: dict[str, Any], reason: str) -> None:
    assert any(reason in problem for problem in document_problems(document(statement)))


def test_a_good_policy_has_no_problems() -> None:
    assert document_problems(READ) == ()


def test_policies_that_are_too_long_are_found_with_both_numbers() -> None:
    long = document(allow("ec2:DescribeTags", [f"arn:aws:ec2:::x{number}" for number in range(400)]))
    assert any(str(MAX_MANAGED_CHARACTERS) in problem for problem in document_problems(long))
    assert characters(json.dumps(long, indent=2)) == characters(long), "white space is not counted"
    half = document(allow("ec2:DescribeTags", [f"arn:aws:ec2:::x{number}" for number in range(280)]))
    assert characters(half) < MAX_INLINE_CHARACTERS
    assert inline_problems({"one": half}) == ()
    assert any(
        str(MAX_INLINE_CHARACTERS) in problem for problem in inline_problems({"one": half, "two": half})
    )


def test_reading_buckets_is_listing_them_and_getting_their_objects_in_our_account() -> None:
    found = bucket_read(["b", "a", "a"], partition="aws", account="123456789012")
    assert [(entry["Action"], entry["Resource"]) for entry in found] == [
        ("s3:ListBucket", ["arn:aws:s3:::a", "arn:aws:s3:::b"]),
        ("s3:GetObject", ["arn:aws:s3:::a/*", "arn:aws:s3:::b/*"]),
    ]
    assert all(
        entry["Condition"] == {"StringEquals": {"aws:ResourceAccount": "123456789012"}} for entry in found
    )
    assert bucket_read([], partition="aws", account="123456789012") == []
