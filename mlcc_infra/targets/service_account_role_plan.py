"""The plan of a role for service accounts, shared by the targets that have such roles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from mlcc_infra.components.iam_role import RoleSpec
from mlcc_infra.components.service_account_role import CustomerPolicy
from mlcc_infra.components.service_roles import role_spec
from mlcc_infra.policies import (
    POLICIES,
    SERVICE_ACCOUNT_ROLES,
    RoleContext,
    alb_controller_policy,
    policy_text,
)
from mlcc_infra.profile import Profile

ROLE_CHILD = "role"
POLICY_CHILD = "policy"


@dataclass(frozen=True, kw_only=True)
class ServiceAccountRolePlan:
    """One role for service accounts: what it is called, what it may do, who may assume it."""

    name: str
    spec: RoleSpec
    trust: Callable[[str], str]
    policy: CustomerPolicy | None = None


def plan_service_account_role(profile: Profile, context: RoleContext, key: str) -> ServiceAccountRolePlan:
    """Plan the role of a key of `SERVICE_ACCOUNT_ROLES`; pure. Its trust is made from a cluster's issuer."""
    entry = SERVICE_ACCOUNT_ROLES[key]
    policy = None
    if key in POLICIES:
        policy = CustomerPolicy(
            child=POLICY_CHILD,
            policy_name=str(getattr(context.names, POLICIES[key])),
            document=policy_text(alb_controller_policy(context.partition)),
        )
    spec = role_spec(entry, context, profile.role_path, profile.permissions_boundary)
    return ServiceAccountRolePlan(
        name=key,
        spec=replace(spec, child=ROLE_CHILD),
        trust=lambda issuer: policy_text(entry.trust(replace(context, issuer=issuer), None)),
        policy=policy,
    )
