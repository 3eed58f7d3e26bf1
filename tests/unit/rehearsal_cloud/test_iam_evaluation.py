"""IAM evaluation, element by element, after the examples of the AWS IAM user guide."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mlcc_rehearsal.cloud.iam_evaluation import (
    Decision,
    Principal,
    Request,
    evaluate,
    evaluate_trust,
    permitted_with_boundary,
)

BUCKET = "arn:aws:s3:::sagemaker-x"


def statement(**elements: Any) -> dict[str, Any]:
    body = {"Effect": "Allow", "Action": "*", "Resource": "*", **elements}
    return {key: value for key, value in body.items() if value is not None}


def policy(*statements: dict[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def decide(
    *statements: dict[str, Any], action: str = "s3:GetObject", resource: str = BUCKET, **context: Any
) -> str:
    request = Request(action, resource, {key.replace("__", ":"): value for key, value in context.items()})
    return evaluate([policy(*statements)], request).decision.value


def test_nothing_said_is_an_implicit_deny() -> None:
    assert evaluate([], Request("s3:GetObject")).decision is Decision.IMPLICIT_DENY


def test_an_explicit_deny_wins_over_an_allow_in_another_policy() -> None:
    allow, deny = policy(statement()), policy(statement(Effect="Deny", Action="s3:Get*"))
    assert evaluate([allow, deny], Request("s3:GetObject", BUCKET)).decision is Decision.EXPLICIT_DENY
    assert evaluate([allow, deny], Request("s3:PutObject", BUCKET)).decision is Decision.ALLOWED


def test_a_single_statement_needs_no_list_and_a_policy_may_be_text() -> None:
    text = json.dumps({"Version": "2012-10-17", "Statement": statement(Action="ec2:Describe*")})
    assert evaluate([text], Request("ec2:DescribeSubnets")).allowed


def test_actions_are_compared_ignoring_case_and_with_wildcards() -> None:
    assert decide(statement(Action="S3:getobject")) == "allowed"
    assert decide(statement(Action=["s3:Get*"])) == "allowed"
    assert decide(statement(Action="s3:GetObjec?")) == "allowed"
    assert decide(statement(Action="s3:GetObj")) == "implicitDeny"


def test_not_action_allows_everything_else() -> None:
    only_reads = statement(Action=None, NotAction=["iam:*", "s3:Delete*"])
    assert decide(only_reads) == "allowed"
    assert decide(only_reads, action="s3:DeleteBucket") == "implicitDeny"


def test_resources_are_compared_with_case_and_wildcards_reach_over_slashes() -> None:
    objects = statement(Resource=f"{BUCKET}/*")
    assert decide(objects, resource=f"{BUCKET}/a/b.txt") == "allowed"
    assert decide(objects, resource=BUCKET) == "implicitDeny"
    assert decide(objects, resource=f"{BUCKET.upper()}/a") == "implicitDeny"


def test_not_resource_spares_what_it_names() -> None:
    others = statement(Resource=None, NotResource=[f"{BUCKET}*"])
    assert decide(others) == "implicitDeny"
    assert decide(others, resource="arn:aws:s3:::other") == "allowed"


def test_a_missing_resource_matches_nothing_in_an_identity_policy() -> None:
    assert decide(statement(Resource=None)) == "implicitDeny"


@pytest.mark.parametrize(
    ("operator", "wanted", "got", "holds"),
    [
        ("StringEquals", "a", "a", True),
        ("StringEquals", "a*", "abc", False),
        ("StringEquals", ["a", "b"], "b", True),
        ("StringNotEquals", "a", "b", True),
        ("StringNotEquals", ["a", "b"], "b", False),
        ("StringEqualsIgnoreCase", "AbC", "aBc", True),
        ("StringNotEqualsIgnoreCase", "AbC", "aBc", False),
        ("StringLike", "system:serviceaccount:*:alb", "system:serviceaccount:kube-system:alb", True),
        ("StringLike", "a?c", "abc", True),
        ("StringLike", "a?c", "ac", False),
        ("StringNotLike", "a*", "abc", False),
        ("ArnLike", "arn:aws:eks:*:1:profile/demo/*", "arn:aws:eks:us-west-2:1:profile/demo/x/y", True),
        ("ArnLike", "arn:aws:eks:*:fargateprofile/*", "arn:aws:eks:us-west-2:1:fargateprofile/d/x", False),
        ("ArnEquals", "arn:aws:iam::1:role/*", "arn:aws:iam::1:role/x", True),
        ("ArnNotLike", "arn:aws:iam::1:role/*", "arn:aws:iam::1:role/x", False),
        ("NumericLessThan", "10", "9", True),
        ("NumericGreaterThanEquals", "10", "9", False),
        ("NumericEquals", "10", "10.0", True),
        ("NumericNotEquals", "10", "11", True),
        ("DateLessThan", "2026-12-01T00:00:00Z", "2026-11-30T00:00:00Z", True),
        ("DateGreaterThan", "2026-12-01T00:00:00Z", "2026-11-30T00:00:00Z", False),
        ("Bool", "true", True, True),
        ("Bool", "false", True, False),
        ("IpAddress", "10.0.0.0/8", "10.1.2.3", True),
        ("IpAddress", ["192.168.0.0/16"], "10.1.2.3", False),
        ("NotIpAddress", "10.0.0.0/8", "10.1.2.3", False),
    ],
)  # fmt: skip
def test_condition_operators(operator: str, wanted: Any, got: Any, holds: bool) -> None:
    conditional = statement(Condition={operator: {"aws:Key": wanted}})
    assert decide(conditional, aws__Key=got) == ("allowed" if holds else "implicitDeny")


def test_condition_keys_are_compared_ignoring_case() -> None:
    assert (
        decide(statement(Condition={"StringEquals": {"AWS:sourceaccount": "1"}}), aws__SourceAccount="1")
        == "allowed"
    )


def test_all_operators_and_all_keys_must_hold() -> None:
    both = statement(Condition={"StringEquals": {"a:x": "1", "a:y": "2"}, "Bool": {"a:z": "true"}})
    assert decide(both, a__x="1", a__y="2", a__z="true") == "allowed"
    assert decide(both, a__x="1", a__y="3", a__z="true") == "implicitDeny"
    assert decide(both, a__x="1", a__y="2", a__z="false") == "implicitDeny"


def test_an_absent_key_fails_a_positive_operator_and_passes_a_negative_one() -> None:
    assert decide(statement(Condition={"StringEquals": {"a:x": "1"}})) == "implicitDeny"
    assert decide(statement(Condition={"StringNotEquals": {"a:x": "1"}})) == "allowed"
    assert decide(statement(Condition={"NotIpAddress": {"aws:SourceIp": "10.0.0.0/8"}})) == "allowed"


def test_if_exists_passes_an_absent_key_and_tests_a_present_one() -> None:
    lenient = statement(Condition={"StringEqualsIfExists": {"a:x": "1"}})
    assert decide(lenient) == "allowed"
    assert decide(lenient, a__x="1") == "allowed"
    assert decide(lenient, a__x="2") == "implicitDeny"


def test_null_asks_whether_a_key_is_there() -> None:
    absent = statement(Condition={"Null": {"aws:TokenIssueTime": "true"}})
    present = statement(Condition={"Null": {"aws:TokenIssueTime": "false"}})
    assert decide(absent) == "allowed"
    assert decide(absent, aws__TokenIssueTime="x") == "implicitDeny"
    assert decide(present) == "implicitDeny"
    assert decide(present, aws__TokenIssueTime="x") == "allowed"


def test_for_all_values_needs_every_value_and_holds_for_none() -> None:
    keys = statement(Condition={"ForAllValues:StringEquals": {"aws:TagKeys": ["a", "b"]}})
    assert decide(keys, aws__TagKeys=["a"]) == "allowed"
    assert decide(keys, aws__TagKeys=["a", "c"]) == "implicitDeny"
    assert decide(keys) == "allowed"


def test_for_any_value_needs_one_value() -> None:
    keys = statement(Condition={"ForAnyValue:StringLike": {"aws:TagKeys": "mlcc:*"}})
    assert decide(keys, aws__TagKeys=["x", "mlcc:profile"]) == "allowed"
    assert decide(keys, aws__TagKeys=["x"]) == "implicitDeny"
    assert decide(keys) == "implicitDeny"


def test_a_negated_operator_without_quantifier_must_hold_for_every_value() -> None:
    conditional = statement(Condition={"StringNotEquals": {"a:x": "1"}})
    assert decide(conditional, a__x=["2", "1"]) == "implicitDeny"


def test_policy_variables_are_filled_in_from_the_context() -> None:
    home = statement(Resource="arn:aws:s3:::home/${aws:username}/*")
    assert decide(home, resource="arn:aws:s3:::home/eva/x", aws__username="eva") == "allowed"
    assert decide(home, resource="arn:aws:s3:::home/eva/x", aws__username="max") == "implicitDeny"
    assert decide(home, resource="arn:aws:s3:::home/eva/x") == "implicitDeny"


def test_a_variable_in_a_condition_compares_two_keys() -> None:
    own = statement(Condition={"StringEquals": {"aws:ResourceAccount": "${aws:PrincipalAccount}"}})
    assert decide(own, aws__ResourceAccount="1", aws__PrincipalAccount="1") == "allowed"
    assert decide(own, aws__ResourceAccount="1", aws__PrincipalAccount="2") == "implicitDeny"


def test_a_variable_may_have_a_default_and_its_value_is_no_pattern() -> None:
    team = statement(Resource="arn:aws:s3:::${aws:PrincipalTag/team, 'none'}")
    assert decide(team, resource="arn:aws:s3:::none") == "allowed"
    starred = statement(Resource="arn:aws:s3:::${aws:username}")
    assert decide(starred, resource="arn:aws:s3:::anything", aws__username="*") == "implicitDeny"
    literal = statement(Resource="arn:aws:s3:::a${*}b")
    assert decide(literal, resource="arn:aws:s3:::a*b") == "allowed"
    assert decide(literal, resource="arn:aws:s3:::axb") == "implicitDeny"


def test_an_unknown_operator_is_an_error_and_not_a_silent_no() -> None:
    with pytest.raises(ValueError, match="StringResembles"):
        decide(statement(Condition={"StringResembles": {"a:x": "1"}}))


def test_what_conditions_wanted_and_lacked_is_named() -> None:
    result = evaluate([policy(statement(Condition={"StringEquals": {"a:x": "1"}}))], Request("s3:GetObject"))
    assert result.missing_context == ("a:x",)


def test_a_trust_policy_names_its_principal() -> None:
    document = policy(
        {
            "Effect": "Allow",
            "Principal": {"Service": ["ec2.amazonaws.com", "eks.amazonaws.com"]},
            "Action": "sts:AssumeRole",
        }
    )
    assert evaluate_trust(
        document, Request("sts:AssumeRole", principal=Principal.service("eks.amazonaws.com"))
    ).allowed
    other = Request("sts:AssumeRole", principal=Principal.service("sagemaker.amazonaws.com"))
    assert evaluate_trust(document, other).decision is Decision.IMPLICIT_DENY
    tag = Request("sts:TagSession", principal=Principal.service("eks.amazonaws.com"))
    assert not evaluate_trust(document, tag).allowed


def test_a_trust_in_an_account_or_role_covers_its_sessions() -> None:
    session = Principal.aws("arn:aws:sts::111122223333:assumed-role/deployer/ci")
    for named in (
        "111122223333",
        "arn:aws:iam::111122223333:root",
        "arn:aws:iam::111122223333:role/deployer",
        "*",
    ):
        document = policy({"Effect": "Allow", "Principal": {"AWS": named}, "Action": "sts:AssumeRole"})
        assert evaluate_trust(document, Request("sts:AssumeRole", principal=session)).allowed, named
    document = policy({"Effect": "Allow", "Principal": {"AWS": "444455556666"}, "Action": "sts:AssumeRole"})
    assert not evaluate_trust(document, Request("sts:AssumeRole", principal=session)).allowed


def test_a_web_identity_is_trusted_by_subject_and_audience() -> None:
    provider = "arn:aws:iam::111122223333:oidc-provider/oidc.eks.us-west-2.amazonaws.com/id/ABC"
    issuer = provider.split("oidc-provider/")[1]
    document = policy(
        {
            "Effect": "Allow",
            "Principal": {"Federated": provider},
            "Action": "sts:AssumeRoleWithWebIdentity",
            "Condition": {
                "StringEquals": {
                    f"{issuer}:aud": "sts.amazonaws.com",
                    f"{issuer}:sub": "system:serviceaccount:*:alb",
                }
            },
        }
    )
    context = {f"{issuer}:aud": "sts.amazonaws.com", f"{issuer}:sub": "system:serviceaccount:kube-system:alb"}
    request = Request("sts:AssumeRoleWithWebIdentity", "*", context, Principal.federated(provider))
    assert not evaluate_trust(document, request).allowed, "a wildcard under StringEquals never matches (B11)"
    condition = document["Statement"][0]["Condition"]
    condition["StringLike"] = {f"{issuer}:sub": condition["StringEquals"].pop(f"{issuer}:sub")}
    assert evaluate_trust(document, request).allowed


def test_not_principal_and_deny_in_a_trust_policy() -> None:
    document = policy(
        {"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRole"},
        {"Effect": "Deny", "NotPrincipal": {"AWS": "arn:aws:iam::1:user/eva"}, "Action": "sts:AssumeRole"},
    )
    assert evaluate_trust(
        document, Request("sts:AssumeRole", principal=Principal.aws("arn:aws:iam::1:user/eva"))
    ).allowed
    other = Request("sts:AssumeRole", principal=Principal.aws("arn:aws:iam::1:user/max"))
    assert evaluate_trust(document, other).decision is Decision.EXPLICIT_DENY


def test_a_boundary_limits_what_is_allowed() -> None:
    request = Request("s3:GetObject", BUCKET)
    allowed, empty = evaluate([policy(statement())], request), evaluate([policy()], request)
    assert permitted_with_boundary(allowed, None) is Decision.ALLOWED
    assert permitted_with_boundary(allowed, empty) is Decision.IMPLICIT_DENY
    assert permitted_with_boundary(allowed, allowed) is Decision.ALLOWED
