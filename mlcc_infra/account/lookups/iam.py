"""IAM: roles, their policies, customer managed policies, OIDC providers.

Things inside a role (attachments, inline policies) have no tags; they belong to whoever owns the role.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlcc_infra.account.decisions import Wanted
from mlcc_infra.account.import_ids import import_id
from mlcc_infra.account.lookups.eks import describe_cluster
from mlcc_infra.account.reader import Found, Reader
from mlcc_infra.tagging import tag_list

_ABSENT = ("NoSuchEntity", "NoSuchEntityException")


def get_role(reader: Reader, name: str) -> dict[str, Any] | None:
    """IAM GetRole (tags included), or None when there is no such role."""
    client = reader.session.client("iam")
    return reader.optional(("role", name), lambda: dict(client.get_role(RoleName=name)["Role"]), _ABSENT)


def get_user(reader: Reader, name: str) -> dict[str, Any] | None:
    """IAM GetUser, or None when there is no such user."""
    client = reader.session.client("iam")
    return reader.optional(("user", name), lambda: dict(client.get_user(UserName=name)["User"]), _ABSENT)


def attached_policies(reader: Reader, role: str) -> tuple[str, ...]:
    """ARNs of the managed policies attached to a role; empty when there is no such role."""
    if get_role(reader, role) is None:
        return ()
    found = reader.optional(
        ("role-attachments", role),
        lambda: reader.pages("iam", "list_attached_role_policies", "AttachedPolicies", RoleName=role),
        _ABSENT,
    )
    return tuple(policy["PolicyArn"] for policy in found or [])


def inline_policies(reader: Reader, role: str) -> tuple[str, ...]:
    """Names of a role's inline policies; empty when there is no such role."""
    if get_role(reader, role) is None:
        return ()
    found = reader.optional(
        ("role-inline", role),
        lambda: reader.pages("iam", "list_role_policies", "PolicyNames", RoleName=role),
        _ABSENT,
    )
    return tuple(found or [])


def _role_tags(reader: Reader, role: str) -> dict[str, str]:
    found = get_role(reader, role)
    return tag_list((found or {}).get("Tags", []))


def _role(reader: Reader, wanted: Wanted) -> Found | None:
    name = wanted.lookup["role"]
    if get_role(reader, name) is None:
        return None
    identifier = import_id("aws:iam/role:Role", role=name)
    return Found(import_id=identifier, resource_id=identifier, tags=_role_tags(reader, name))


def _attachment(reader: Reader, wanted: Wanted) -> Found | None:
    role, policy = wanted.lookup["role"], wanted.lookup["policy_arn"]
    if policy not in attached_policies(reader, role):
        return None
    identifier = import_id("aws:iam/rolePolicyAttachment:RolePolicyAttachment", role=role, policy_arn=policy)
    return Found(import_id=identifier, resource_id=None, tags=_role_tags(reader, role))


def _inline(reader: Reader, wanted: Wanted) -> Found | None:
    role, policy = wanted.lookup["role"], wanted.lookup["policy"]
    if policy not in inline_policies(reader, role):
        return None
    identifier = import_id("aws:iam/rolePolicy:RolePolicy", role=role, policy=policy)
    return Found(import_id=identifier, resource_id=identifier, tags=_role_tags(reader, role))


def _policy(reader: Reader, wanted: Wanted) -> Found | None:
    arn = wanted.lookup["arn"]
    client = reader.session.client("iam")
    policy = reader.optional(("policy", arn), lambda: client.get_policy(PolicyArn=arn)["Policy"], _ABSENT)
    if policy is None:
        return None
    # GetPolicy answers the tags as well (IAM API reference, Policy).
    identifier = import_id("aws:iam/policy:Policy", arn=arn)
    return Found(import_id=identifier, resource_id=identifier, tags=tag_list(policy.get("Tags", [])))


def _oidc_provider(reader: Reader, wanted: Wanted) -> Found | None:
    """The provider of the *live* cluster's issuer; a dead cluster's provider is an orphan, not ours to take.

    IAM's ARN holds the issuer's host and path, so a differing thumbprint or `https://` does not matter.
    """
    cluster = describe_cluster(reader, wanted.lookup["cluster"])
    issuer = ((cluster or {}).get("identity") or {}).get("oidc", {}).get("issuer")
    if not issuer:
        return None
    arn = f"{wanted.lookup['provider_arn_prefix']}{issuer.removeprefix('https://')}"
    client = reader.session.client("iam")
    provider = reader.optional(
        ("oidc-provider", arn),
        lambda: client.get_open_id_connect_provider(OpenIDConnectProviderArn=arn),
        _ABSENT,
    )
    if provider is None:
        return None
    identifier = import_id("aws:iam/openIdConnectProvider:OpenIdConnectProvider", arn=arn)
    return Found(import_id=identifier, resource_id=identifier, tags=tag_list(provider.get("Tags", [])))


LOOKUPS: Mapping[str, Callable[[Reader, Wanted], Found | None]] = {
    "aws:iam/role:Role": _role,
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": _attachment,
    "aws:iam/rolePolicy:RolePolicy": _inline,
    "aws:iam/policy:Policy": _policy,
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": _oidc_provider,
}
