"""Trust policies: services, and service accounts through an OIDC provider."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlcc_infra.policies import (
    issuer_host_path,
    oidc_provider_arn,
    service_statement,
    subject,
    trust,
    trusted_services,
    web_identity_statement,
)

ISSUER = "https://oidc.eks.us-west-2.amazonaws.com/id/0123456789ABCDEF0123456789ABCDEF"
HOST_PATH = ISSUER.removeprefix("https://")
ACCOUNT = "123456789012"
PART = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)


def test_the_issuer_is_named_without_its_scheme_in_any_spelling() -> None:
    assert (
        issuer_host_path(ISSUER) == issuer_host_path(HOST_PATH) == issuer_host_path(ISSUER + "/") == HOST_PATH
    )
    assert oidc_provider_arn(ISSUER, account=ACCOUNT) == f"arn:aws:iam::{ACCOUNT}:oidc-provider/{HOST_PATH}"
    assert oidc_provider_arn(ISSUER, account=ACCOUNT, partition="aws-cn").startswith("arn:aws-cn:iam")


def test_an_exact_subject_is_compared_exactly() -> None:
    statement = web_identity_statement(ISSUER, [subject("kube-system", "x")], account=ACCOUNT)
    assert statement["Principal"] == {"Federated": f"arn:aws:iam::{ACCOUNT}:oidc-provider/{HOST_PATH}"}
    assert statement["Action"] == "sts:AssumeRoleWithWebIdentity"
    assert statement["Condition"] == {
        "StringEquals": {
            f"{HOST_PATH}:aud": "sts.amazonaws.com",
            f"{HOST_PATH}:sub": "system:serviceaccount:kube-system:x",
        }
    }


def test_a_subject_with_a_wildcard_is_compared_by_pattern_and_the_audience_stays_exact() -> None:
    statement = web_identity_statement(ISSUER, [subject("*", "x")], account=ACCOUNT)
    assert statement["Condition"] == {
        "StringEquals": {f"{HOST_PATH}:aud": "sts.amazonaws.com"},
        "StringLike": {f"{HOST_PATH}:sub": "system:serviceaccount:*:x"},
    }


@given(st.lists(st.tuples(PART, PART, st.sampled_from(["", "namespace", "name"])), min_size=1, max_size=4))
def test_the_operator_is_a_pattern_exactly_when_a_subject_has_a_wildcard(
    parts: list[tuple[str, str, str]],
) -> None:
    subjects = [
        subject("*" if wild == "namespace" else namespace, f"{name}*" if wild == "name" else name)
        for namespace, name, wild in parts
    ]
    condition = web_identity_statement(ISSUER, subjects, account=ACCOUNT)["Condition"]
    assert f"{HOST_PATH}:aud" in condition["StringEquals"]
    wild = any("*" in entry for entry in subjects)
    assert ("StringLike" in condition) == wild
    assert (f"{HOST_PATH}:sub" in condition["StringEquals"]) != wild


@pytest.mark.parametrize(
    ("subjects", "reason"),
    [
        ([], "at least one subject"),
        (["system:serviceaccount:*:*"], "every service account"),
        (["system:serviceaccount:**:*"], "every service account"),
        (["*"], "not the subject"),
        (["system:serviceaccount:ns"], "not the subject"),
        (["system:serviceaccount:ns:a:b"], "not the subject"),
        (["system:node:x"], "not the subject"),
        (["system:serviceaccount:ns:ok", "system:serviceaccount:*:*"], "every service account"),
    ],
)
def test_subjects_that_say_nothing_or_everything_are_refused(subjects: list[str], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        web_identity_statement(ISSUER, subjects, account=ACCOUNT)


def test_a_trust_policy_longer_than_iams_quota_is_refused_with_both_numbers() -> None:
    many = [subject("namespace", f"service-account-{number}") for number in range(60)]
    with pytest.raises(ValueError, match=r"\d{4} characters.*2048"):
        trust(web_identity_statement(ISSUER, many, account=ACCOUNT))


def test_the_trusted_services_are_those_allowed() -> None:
    policy = trust(service_statement("a.amazonaws.com"), service_statement("b.amazonaws.com"))
    assert trusted_services(policy) == {"a.amazonaws.com", "b.amazonaws.com"}
    denied = trust({**service_statement("c.amazonaws.com"), "Effect": "Deny"})
    assert trusted_services(denied) == frozenset()
    listed = trust(
        {**service_statement("x"), "Principal": {"Service": ["d.amazonaws.com", "e.amazonaws.com"]}}
    )
    assert trusted_services(listed) == {"d.amazonaws.com", "e.amazonaws.com"}
    assert trusted_services(trust({**service_statement("x"), "Principal": "*"})) == frozenset()
