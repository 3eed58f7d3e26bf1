"""What other services see of a role: does it exist yet, whom does it trust, what may it do?

IAM is eventually consistent: another service sees a role, and a change of its trust, some seconds later.
Attaching and detaching policies is seen at once here, which is kinder than AWS.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from moto.iam.models import iam_backends

from mlcc_rehearsal.cloud.account import RehearsedAccount
from mlcc_rehearsal.cloud.iam_evaluation import (
    ContextValue,
    Decision,
    Principal,
    Request,
    Result,
    evaluate,
    evaluate_trust,
    permitted_with_boundary,
)

# Attribute of moto's roles: the trust policy that others still see while a newer one propagates.
PREVIOUS_TRUST = "rehearsal_previous_trust"

_ROLE_ARN = re.compile(r"arn:[^:]+:iam::(\d{12}):role/(?:.*/)?([^/]+)")


def find_role(account: RehearsedAccount, arn: str) -> Any | None:
    """moto's role with exactly this ARN, path included, or None."""
    iam = iam_backends[account.account_id][account.partition]
    return next((role for role in iam.get_roles() if role.arn == arn), None)


def seen_trust(account: RehearsedAccount, role: Any) -> dict[str, Any] | None:
    """The trust policy that other services see now, or None while they do not see the role at all."""
    text = role.assume_role_policy_document
    if not account.is_visible(role.arn):
        text = getattr(role, PREVIOUS_TRUST, None)
    return json.loads(text) if text else None


def trusts(
    account: RehearsedAccount,
    arn: str,
    principal: Principal,
    *,
    action: str = "sts:AssumeRole",
    context: Mapping[str, ContextValue] | None = None,
) -> bool:
    """Whether ``principal`` may assume the role ``arn``, as far as other services see it now."""
    role = find_role(account, arn)
    if role is None:
        return False
    document = seen_trust(account, role)
    if document is None:
        return False
    return evaluate_trust(document, Request(action, arn, context or {}, principal)).allowed


def documents_of(account: RehearsedAccount, entity: Any) -> list[dict[str, Any]]:
    """The identity policies of a role or user: managed ones in their default version, and inline ones.

    A user's groups count too.
    """
    holders = [entity]
    iam = iam_backends[account.account_id][account.partition]
    if hasattr(entity, "access_keys"):
        holders += [group for group in iam.groups.values() if entity in group.users]
    documents: list[dict[str, Any]] = []
    for holder in holders:
        documents += [managed_document(policy) for policy in holder.managed_policies.values()]
        documents += [_loaded(document) for document in holder.policies.values()]
    return documents


def managed_document(policy: Any) -> dict[str, Any]:
    """The default version's document of one of moto's managed policies."""
    for version in policy.versions:
        if version.version_id == policy.default_version_id:
            return _loaded(version.document)
    return _loaded(policy.versions[-1].document)


def _loaded(document: Any) -> dict[str, Any]:
    value = json.loads(document) if isinstance(document, str) else document
    assert isinstance(value, dict)
    return value


def boundary_of(account: RehearsedAccount, entity: Any) -> dict[str, Any] | None:
    """The document of an entity's permissions boundary, or None when it has none."""
    arn = getattr(entity, "permissions_boundary_arn", None)
    if not arn:
        return None
    policy = iam_backends[account.account_id][account.partition].managed_policies.get(arn)
    return managed_document(policy) if policy is not None else {"Statement": []}


def decide(account: RehearsedAccount, entity: Any, request: Request) -> tuple[Decision, Result]:
    """May a role or user do this?  The decision with its boundary counted in, and the identity result."""
    context: dict[str, ContextValue] = {
        "aws:PrincipalAccount": account.account_id,
        "aws:ResourceAccount": account.account_id,
        "aws:RequestedRegion": account.region,
        "aws:PrincipalArn": entity.arn,
        **request.context,
    }
    asked = Request(request.action, request.resource, context, request.principal)
    result = evaluate(documents_of(account, entity), asked)
    boundary = boundary_of(account, entity)
    limit = evaluate([boundary], asked) if boundary is not None else None
    return permitted_with_boundary(result, limit), result


def lacking(
    account: RehearsedAccount,
    arn: str,
    wanted: Iterable[tuple[str, str]],
    context: Mapping[str, ContextValue] | None = None,
) -> list[str]:
    """The actions out of ``wanted`` (action, resource) that the role ``arn`` may not do."""
    role = find_role(account, arn)
    if role is None:
        return [action for action, _ in wanted]
    return [
        action
        for action, resource in wanted
        if decide(account, role, Request(action, resource, context or {}))[0] is not Decision.ALLOWED
    ]


def role_of_session(account: RehearsedAccount, arn: str) -> str:
    """The role's ARN, path included, for the ARN of a session of it; any other ARN as it is."""
    match = re.fullmatch(r"arn:([^:]+):sts::(\d{12}):assumed-role/([^/]+)/.+", arn)
    if match is None:
        return arn
    iam = iam_backends[account.account_id][account.partition]
    for role in iam.get_roles():
        if role.name == match.group(3):
            return str(role.arn)
    return f"arn:{match.group(1)}:iam::{match.group(2)}:role/{match.group(3)}"


def name_in_arn(arn: str) -> str:
    """The role's name in its ARN; the ARN itself when it is not a role's."""
    match = _ROLE_ARN.fullmatch(arn)
    return match.group(2) if match else arn
