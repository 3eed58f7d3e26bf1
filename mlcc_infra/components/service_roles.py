"""The service roles that outlive clusters, from the one table that says what each trusts and may do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import pulumi
from pulumi_aws import iam

from mlcc_infra.account.decisions import Wanted
from mlcc_infra.components.base import Component, StackContext
from mlcc_infra.components.iam_role import RoleResources, RoleSpec, create_role, wanted_role
from mlcc_infra.policies import RoleContext, RoleEntry, policy_text


@final
@dataclass(frozen=True, kw_only=True)
class ServiceRolesArgs:
    """Which entries of the table, and what their documents are made from."""

    module: str
    roles: Sequence[RoleEntry]
    role_context: RoleContext
    role_path: str | None = None
    permissions_boundary: str | None = None


@final
@dataclass(frozen=True, kw_only=True)
class ServiceRolesResources:
    """Each role with its attachments and inline policies, by the table's key."""

    roles: Mapping[str, RoleResources]


class ServiceRoles(Component):
    """IAM service roles, made or adopted, brought to the table's contents in the same `up`, and retained.

    Policies are attached one by one and additively: what somebody else attached is left alone. All of it
    stays in the account on destroy, unless the stack's `force_delete` is set.
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
            roles={
                entry.key: create_role(
                    self,
                    role_spec(entry, args.role_context, args.role_path, args.permissions_boundary),
                    policy_text(entry.trust(args.role_context, None)),
                    retained=True,
                )
                for entry in args.roles
            }
        )
        self.register_outputs(
            {"roleArns": {key: made.role.arn for key, made in self.resources.roles.items()}}
        )

    def role(self, key: str) -> iam.Role:
        """The role of a table key, such as `eks-node-role`. Raises `KeyError` for one not asked for."""
        return self.resources.roles[key].role

    @property
    def policies(self) -> tuple[pulumi.Resource, ...]:
        """Everything that has to be in place before the roles can be used."""
        return tuple(policy for made in self.resources.roles.values() for policy in made.policies)


def role_spec(
    entry: RoleEntry, context: RoleContext, role_path: str | None, permissions_boundary: str | None
) -> RoleSpec:
    """What an entry of a role table means for one profile; pure."""
    return RoleSpec(
        child=entry.key,
        role_name=entry.role_name(context),
        description=entry.description,
        managed_policy_arns=entry.managed_policy_arns(context),
        inline={name: policy_text(document) for name, document in entry.inline(context).items()},
        path=entry.path(role_path),
        permissions_boundary=permissions_boundary,
    )


def wanted_service_roles(name: str, args: ServiceRolesArgs) -> list[Wanted]:
    """What the inventory looks up for the roles; pure."""
    return [
        wanted
        for entry in args.roles
        for wanted in wanted_role(
            name, role_spec(entry, args.role_context, args.role_path, args.permissions_boundary)
        )
    ]
