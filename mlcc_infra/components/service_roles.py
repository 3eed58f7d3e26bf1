"""The service roles that outlive clusters, from the one table that says what each trusts and may do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, final

import pulumi
from pulumi_aws import iam

from mlcc_infra.account.decisions import Wanted
from mlcc_infra.components.base import Component, StackContext
from mlcc_infra.components.iam_role import (
    RoleResources,
    RoleSpec,
    create_role,
    only_these_policies,
    wanted_role,
)
from mlcc_infra.policies import LiveRole, RoleContext, RoleEntry, policy_text


@final
@dataclass(frozen=True, kw_only=True)
class ServiceRolesArgs:
    """Which entries of the table, what their documents are made from, and the roles there are, by name."""

    module: str
    roles: Sequence[RoleEntry]
    role_context: RoleContext
    role_path: str | None = None
    permissions_boundary: str | None = None
    live: Mapping[str, LiveRole] = field(default_factory=dict)

    def live_role(self, entry: RoleEntry) -> LiveRole | None:
        """The role of an entry as it is, None when there is none."""
        return self.live.get(entry.role_name(self.role_context))

    def spec(self, entry: RoleEntry) -> RoleSpec:
        """What an entry means for the profile."""
        return role_spec(
            entry, self.role_context, self.role_path, self.permissions_boundary, self.live_role(entry)
        )


@final
@dataclass(frozen=True, kw_only=True)
class ServiceRolesResources:
    """Each role with its attachments and inline policies, by the table's key."""

    roles: Mapping[str, RoleResources]


class ServiceRoles(Component):
    """IAM service roles, made or adopted, brought to the table's contents in the same `up`, and retained.

    Policies are attached one by one and additively: what somebody else attached is left alone, unless the
    profile is `exclusive`. A role that exists keeps its path, an adopted one its permissions boundary and,
    where the table says so, whom it trusts besides. All of it stays in the account on destroy, unless the
    stack's `force_delete` is set.
    """

    TOKEN: ClassVar[str] = "mlcc:iam:ServiceRoles"

    def __init__(
        self,
        name: str,
        args: ServiceRolesArgs,
        *,
        context: StackContext,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(name, context, opts, module=args.module)
        self.resources = ServiceRolesResources(
            roles={entry.key: self._role(entry, args) for entry in args.roles}
        )
        self.register_outputs(
            {"roleArns": {key: made.role.arn for key, made in self.resources.roles.items()}}
        )

    def _role(self, entry: RoleEntry, args: ServiceRolesArgs) -> RoleResources:
        spec = args.spec(entry)
        trust = policy_text(entry.trust_on(args.role_context, args.live_role(entry)))
        made = create_role(self, spec, trust, retained=True)
        only_these_policies(self, spec, made)
        return made

    def role(self, key: str) -> iam.Role:
        """The role of a table key, such as `eks-node-role`. Raises `KeyError` for one not asked for."""
        return self.resources.roles[key].role

    @property
    def policies(self) -> tuple[pulumi.Resource, ...]:
        """Everything that has to be in place before the roles can be used."""
        return tuple(policy for made in self.resources.roles.values() for policy in made.policies)


def role_spec(
    entry: RoleEntry,
    context: RoleContext,
    role_path: str | None,
    permissions_boundary: str | None,
    live: LiveRole | None = None,
) -> RoleSpec:
    """What an entry of a role table means for one profile, and for the role that is there; pure."""
    return RoleSpec(
        child=entry.key,
        role_name=entry.role_name(context),
        description=entry.description,
        managed_policy_arns=entry.managed_policy_arns(context),
        inline={name: policy_text(document) for name, document in entry.inline(context).items()},
        path=entry.path(role_path, live),
        permissions_boundary=entry.boundary(permissions_boundary, live),
    )


def wanted_service_roles(name: str, args: ServiceRolesArgs) -> list[Wanted]:
    """What the inventory looks up for the roles; pure."""
    return [wanted for entry in args.roles for wanted in wanted_role(name, args.spec(entry))]
