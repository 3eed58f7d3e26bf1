"""Checks of service roles that every target with such roles makes."""

from __future__ import annotations

from mlcc_infra.account.lookups.iam import attached_policies, inline_policies
from mlcc_infra.account.preflight import Check, CheckResult, Verdict
from mlcc_infra.account.reader import Reader
from mlcc_infra.components.service_roles import ServiceRolesArgs, role_spec


def foreign_policy_check(reader: Reader, roles: ServiceRolesArgs) -> Check:
    """Policies that somebody else put on our roles: left alone and said (rule: additive, one owner each)."""

    def run() -> list[CheckResult]:
        results = []
        for entry in roles.roles:
            spec = role_spec(entry, roles.role_context, roles.role_path, roles.permissions_boundary)
            attached = set(attached_policies(reader, spec.role_name)) - set(spec.managed_policy_arns)
            inline = set(inline_policies(reader, spec.role_name)) - set(spec.inline)
            foreign = [*sorted(attached), *(f"inline policy {name}" for name in sorted(inline))]
            if foreign:
                results.append(
                    CheckResult(
                        name="foreign policies",
                        verdict=Verdict.WARNING,
                        found=f"role {spec.role_name} also carries {', '.join(foreign)}; left alone",
                    )
                )
        return results

    return Check(name="foreign policies", run=run)
