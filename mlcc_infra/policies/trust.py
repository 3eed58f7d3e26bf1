"""Trust policies: who may assume a role."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from mlcc_infra.policies.documents import (
    MAX_TRUST_CHARACTERS,
    Document,
    Statement,
    characters,
    document,
    statements,
)

STS_AUDIENCE: Final = "sts.amazonaws.com"
_SUBJECT: Final = re.compile(r"^system:serviceaccount:(?P<namespace>[a-z0-9*-]+):(?P<name>[a-z0-9.*-]+)$")


def service_statement(
    service: str, *, condition: Mapping[str, Mapping[str, str | Sequence[str]]] | None = None
) -> Statement:
    """Let an AWS service assume the role.

    Args:
        service: the service principal, such as `eks.amazonaws.com`.
        condition: narrows who in the service's name may.
    """
    statement: Statement = {
        "Effect": "Allow",
        "Principal": {"Service": service},
        "Action": "sts:AssumeRole",
    }
    if condition:
        statement["Condition"] = {key: dict(value) for key, value in condition.items()}
    return statement


def subject(namespace: str, service_account: str) -> str:
    """The subject of a Kubernetes service account in a web identity token."""
    return f"system:serviceaccount:{namespace}:{service_account}"


def issuer_host_path(issuer: str) -> str:
    """An OIDC issuer without its scheme and trailing slash, as IAM names it in ARNs and conditions."""
    return issuer.removeprefix("https://").rstrip("/")


def oidc_provider_arn(issuer: str, *, account: str, partition: str = "aws") -> str:
    """The ARN of the IAM OIDC provider of an issuer."""
    return f"arn:{partition}:iam::{account}:oidc-provider/{issuer_host_path(issuer)}"


def web_identity_statement(
    issuer: str, subjects: Sequence[str], *, account: str, partition: str = "aws"
) -> Statement:
    """Let Kubernetes service accounts of a cluster assume the role (IRSA, EKS user guide).

    The audience is always exact. The subject is matched by StringLike if and only if one has a wildcard:
    under StringEquals a `*` never matches (terraform-aws-iam#486).

    Args:
        issuer: the cluster's OIDC issuer, with or without `https://`.
        subjects: `system:serviceaccount:<namespace>:<name>`; a `*` may stand in one of the two.
        account: the account of the OIDC provider.
        partition: the AWS partition.

    Raises:
        ValueError: without subjects, for one of another form, or one that any service account matches.
    """
    if not subjects:
        raise ValueError("a role for service accounts needs at least one subject")
    for entry in subjects:
        _check_subject(entry)
    host_path = issuer_host_path(issuer)
    unique = sorted(set(subjects))
    values: str | list[str] = unique[0] if len(unique) == 1 else unique
    condition: dict[str, dict[str, str | list[str]]] = {"StringEquals": {f"{host_path}:aud": STS_AUDIENCE}}
    operator = "StringLike" if any("*" in entry for entry in unique) else "StringEquals"
    condition.setdefault(operator, {})[f"{host_path}:sub"] = values
    return {
        "Effect": "Allow",
        "Principal": {"Federated": oidc_provider_arn(issuer, account=account, partition=partition)},
        "Action": "sts:AssumeRoleWithWebIdentity",
        "Condition": condition,
    }


def _check_subject(entry: str) -> None:
    match = _SUBJECT.match(entry)
    if match is None:
        raise ValueError(f"not the subject of a service account: {entry!r}")
    if not match["namespace"].strip("*") and not match["name"].strip("*"):
        raise ValueError(
            f"every service account of the cluster would match {entry!r}; name one of the two parts"
        )


def trust(*parts: Statement) -> Document:
    """A trust policy of these statements.

    Raises:
        ValueError: when it is longer than IAM's default quota of 2048 characters.
    """
    policy = document(*parts)
    size = characters(policy)
    if size > MAX_TRUST_CHARACTERS:
        raise ValueError(
            f"a trust policy of {size} characters; IAM's default quota is {MAX_TRUST_CHARACTERS}"
        )
    return policy


def trusted_services(policy: str | Mapping[str, Any]) -> frozenset[str]:
    """The AWS services that a trust policy lets assume the role."""
    services: set[str] = set()
    for statement in statements(policy):
        principal = statement.get("Principal")
        if statement.get("Effect") == "Allow" and isinstance(principal, Mapping):
            named = principal.get("Service", [])
            services |= {named} if isinstance(named, str) else set(named)
    return frozenset(services)
