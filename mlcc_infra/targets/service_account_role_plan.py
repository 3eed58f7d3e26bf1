"""The plan of a role for service accounts, shared by the targets that have such roles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from mlcc_infra.components.iam_role import RoleSpec
from mlcc_infra.components.service_account_role import CustomerPolicy
from mlcc_infra.components.service_roles import role_spec
from mlcc_infra.policies import (
    POLICIES,
    SERVICE_ACCOUNT_ROLES,
    LiveRole,
    RoleContext,
    alb_controller_policy,
    policy_text,
)
from mlcc_infra.profile import Profile
from mlcc_infra.targets.service_role_checks import CheckedRole

ROLE_CHILD = "role"
POLICY_CHILD = "policy"


@dataclass(frozen=True, kw_only=True)
class ServiceAccountRolePlan:
    """One role for service accounts: what it is called, what it may do, who may assume it."""

    name: str
    spec: RoleSpec
    trust: Callable[[str], str]
    policy: CustomerPolicy | None = None


def role_names(context: RoleContext, keys: Iterable[str]) -> list[str]:
    """Physical names of roles by their keys; pure."""
    return [SERVICE_ACCOUNT_ROLES[key].role_name(context) for key in keys]


def plan_service_account_role(
    profile: Profile, context: RoleContext, key: str, live: Mapping[str, LiveRole]
) -> ServiceAccountRolePlan:
    """Plan the role of a key of `SERVICE_ACCOUNT_ROLES`; pure. Its trust is made from a cluster's issuer.

    `live` are roles that exist, by name: an adopted one keeps its path and boundary, never its trust, which
    names the issuer of the cluster that it was for.
    """
    entry = SERVICE_ACCOUNT_ROLES[key]
    policy = None
    if key in POLICIES:
        policy = CustomerPolicy(
            child=POLICY_CHILD,
            policy_name=str(getattr(context.names, POLICIES[key])),
            document=policy_text(alb_controller_policy(context.partition)),
        )
    spec = role_spec(
        entry,
        context,
        profile.role_path,
        profile.permissions_boundary,
        live.get(entry.role_name(context)),
    )
    return ServiceAccountRolePlan(
        name=key,
        spec=replace(spec, child=ROLE_CHILD),
        trust=lambda issuer: policy_text(entry.trust(replace(context, issuer=issuer), None)),
        policy=policy,
    )


def service_account_role_checked(
    context: RoleContext, key: str, spec: RoleSpec, policy: CustomerPolicy | None
) -> CheckedRole:
    """The role as the checks of roles take it; pure."""
    arn = f"arn:{context.partition}:iam::{context.account}:policy/{policy.policy_name}" if policy else None
    return CheckedRole(entry=SERVICE_ACCOUNT_ROLES[key], spec=spec, policy_arn=arn)
