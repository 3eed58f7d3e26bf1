"""Checks of the profile's roles as they are, whichever target and table they are of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlcc_infra.account.lookups.iam import attached_policies, get_role, inline_policies
from mlcc_infra.account.preflight import Check, CheckResult, Verdict
from mlcc_infra.account.reader import Reader
from mlcc_infra.components.iam_role import RoleSpec
from mlcc_infra.components.service_roles import ServiceRolesArgs
from mlcc_infra.policies import RoleEntry
from mlcc_infra.profile import Profile


@dataclass(frozen=True, kw_only=True)
class CheckedRole:
    """A role of a table, what it means for the profile, and the customer managed policy it gets, if any."""

    entry: RoleEntry
    spec: RoleSpec
    policy_arn: str | None = None

    @property
    def policy_arns(self) -> frozenset[str]:
        """All managed policies that the profile puts on it."""
        return frozenset((*self.spec.managed_policy_arns, *([self.policy_arn] if self.policy_arn else [])))


def service_roles_checked(roles: ServiceRolesArgs) -> list[CheckedRole]:
    """The service roles of a target, as these checks take them."""
    return [CheckedRole(entry=entry, spec=roles.spec(entry)) for entry in roles.roles]


def role_checks(reader: Reader, roles: Sequence[CheckedRole], profile: Profile) -> tuple[Check, ...]:
    """Roles that sit where AWS does not look for them, and policies that somebody else put on roles."""
    return (
        Check(name="role paths", run=lambda: _paths(reader, roles)),
        Check(name="foreign policies", run=lambda: _foreign(reader, roles, profile)),
    )


def _paths(reader: Reader, roles: Sequence[CheckedRole]) -> list[CheckResult]:
    """No call of IAM moves a role, and AWS builds the ARN of two of them from the name alone (rule 3)."""
    results: list[CheckResult] = []
    for role in roles:
        found = get_role(reader, role.spec.role_name)
        problem = role.entry.path_problem(found["Path"]) if found is not None else None
        if problem is not None:
            results.append(
                CheckResult(
                    name=f"role {role.spec.role_name}",
                    verdict=Verdict.REFUSED,
                    found=problem,
                    needed=f"a role at role/{role.spec.role_name}, or none",
                    remedy="make sure that nothing uses it, take its policies off, "
                    f"`aws iam delete-role --role-name {role.spec.role_name}`, and run again",
                )
            )
    return results


def _foreign(reader: Reader, roles: Sequence[CheckedRole], profile: Profile) -> list[CheckResult]:
    """Policies are attached additively, one owner each: what others attached stays, and is said."""
    results: list[CheckResult] = []
    for role in roles:
        name = role.spec.role_name
        attached = set(attached_policies(reader, name)) - role.policy_arns
        inline = set(inline_policies(reader, name)) - set(role.spec.inline)
        foreign = [*sorted(attached), *(f"inline policy {policy}" for policy in sorted(inline))]
        if foreign:
            results.append(
                CheckResult(
                    name="foreign policies",
                    verdict=Verdict.WARNING,
                    found=f"role {name} also carries {', '.join(foreign)}; {_fate(profile)}",
                )
            )
    return results


def _fate(profile: Profile) -> str:
    if profile.exclusive:
        return "taken off, as mlcc:exclusive is set"
    if profile.force_delete:
        return "left alone until destroy, which takes it off first, as mlcc:forceDelete is set"
    return "left alone"
