"""Field reports, group B: roles, trust, adoption. Rows that need no engine."""

from __future__ import annotations

import json
from typing import Any

import pytest
from moto.iam.aws_managed_policies import aws_managed_policies_data

from mlcc_infra.naming import Names
from mlcc_infra.policies import (
    SERVICE_ACCOUNT_ROLES,
    SERVICE_ROLES,
    RoleContext,
    alb_controller_policy,
    differences,
    service_statement,
    statements,
    subject,
    trust,
    web_identity_statement,
)
from tests.unit.profile_support import load, problems

ISSUER = "oidc.eks.us-west-2.amazonaws.com/id/0123456789ABCDEF0123456789ABCDEF"
CONTEXT = RoleContext(
    names=Names("demo", "123456789012", "us-west-2"),
    issuer=ISSUER,
    model_buckets=["models"],
    service_accounts=["a:b"],
)
DOCUMENTS = [
    document
    for entry in (*SERVICE_ROLES.values(), *SERVICE_ACCOUNT_ROLES.values())
    for document in entry.inline(CONTEXT).values()
] + [alb_controller_policy()]


def as_list(value: str | list[str]) -> list[str]:
    """A value that may stand without a list, as one."""
    return [value] if isinstance(value, str) else value


def actions(document: dict[str, Any]) -> set[str]:
    """Every action that a document allows."""
    found: set[str] = set()
    for statement in statements(document):
        allowed = statement["Action"]
        found |= {allowed} if isinstance(allowed, str) else set(allowed)
    return found


def test_b8_object_actions_are_granted_on_objects_and_never_on_the_bucket_itself() -> None:
    seen = 0
    for document in DOCUMENTS:
        for statement in statements(document):
            names = as_list(statement["Action"])
            if any(name.startswith(("s3:GetObject", "s3:PutObject", "s3:DeleteObject")) for name in names):
                resources = as_list(statement["Resource"])
                assert all("/" in resource.split(":::")[1] for resource in resources)
                seen += 1
    assert seen >= 4


def test_b9_the_instance_role_reads_the_exact_lifecycle_bucket() -> None:
    (document,) = SERVICE_ROLES["hyperpod-instance-role"].inline(CONTEXT).values()
    granted = {
        resource
        for statement in statements(document)
        if "s3:" in str(statement["Action"])
        for resource in as_list(statement["Resource"])
    }
    assert granted == {
        "arn:aws:s3:::sagemaker-mlcc-demo-88de702d",
        "arn:aws:s3:::sagemaker-mlcc-demo-88de702d/*",
    }


def test_b11_a_wildcard_in_the_subject_is_matched_by_pattern_and_the_audience_exactly() -> None:
    entry = subject("*", "aws-load-balancer-controller")
    condition = web_identity_statement(ISSUER, [entry], account="123456789012")["Condition"]
    assert condition["StringLike"] == {f"{ISSUER}:sub": entry}
    assert condition["StringEquals"] == {f"{ISSUER}:aud": "sts.amazonaws.com"}


def test_b11_a_subject_of_nothing_but_wildcards_is_refused() -> None:
    with pytest.raises(ValueError, match="every service account"):
        web_identity_statement(ISSUER, [subject("*", "*")], account="123456789012")


def test_b12_the_missing_piece_of_an_adopted_trust_is_named() -> None:
    wanted = SERVICE_ACCOUNT_ROLES["alb-controller-role"].trust(CONTEXT, None)
    found = trust(service_statement("ec2.amazonaws.com"))
    missing, besides = differences(wanted, found)
    assert missing.startswith(f"missing: Allow arn:aws:iam::123456789012:oidc-provider/{ISSUER}")
    assert besides == "besides: Allow ec2.amazonaws.com to sts:AssumeRole"


def test_b14_six_fargate_namespaces_are_refused_and_five_accepted() -> None:
    six = [f"n{number}" for number in range(6)]
    assert "at most 5" in problems({"eks": {"fargateNamespaces": six}})["mlcc:eks.fargateNamespaces"].found
    assert len(load({"eks": {"fargateNamespaces": six[:5]}}).eks.fargate_namespaces) == 5


def test_b15_the_instance_role_may_everything_that_the_cni_policy_allows() -> None:
    (document,) = SERVICE_ROLES["hyperpod-instance-role"].inline(CONTEXT).values()
    cni = json.loads(aws_managed_policies_data)["AmazonEKS_CNI_Policy"]["Document"]
    assert actions(cni)
    assert actions(cni) <= actions(document)


def test_b15_the_node_role_has_the_cni_policy() -> None:
    arns = SERVICE_ROLES["eks-node-role"].managed_policy_arns(CONTEXT)
    assert "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy" in arns
