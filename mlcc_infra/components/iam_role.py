"""One IAM role with its policies, as every component makes it: additive, unless asked otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
from pulumi_aws import iam

from mlcc_infra.account.decisions import Wanted
from mlcc_infra.components.base import Component

ROLE = "aws:iam/role:Role"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
INLINE = "aws:iam/rolePolicy:RolePolicy"
POLICY = "aws:iam/policy:Policy"
ONLY_ATTACHMENTS = "aws:iam/rolePolicyAttachmentsExclusive:RolePolicyAttachmentsExclusive"
ONLY_INLINE = "aws:iam/rolePoliciesExclusive:RolePoliciesExclusive"
ROLE_KIND = "role"
POLICY_KIND = "policy"


@dataclass(frozen=True, kw_only=True)
class RoleSpec:
    """A role as it should be. `child` is its logical name within the component.

    `managed_policy_arns` are AWS's; `inline` maps a policy's name to its JSON text.
    """

    child: str
    role_name: str
    description: str
    managed_policy_arns: Sequence[str] = ()
    inline: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    path: str = "/"
    permissions_boundary: str | None = None


@dataclass(frozen=True, kw_only=True)
class RoleResources:
    """A role and what hangs on it."""

    role: iam.Role
    attachments: Mapping[str, iam.RolePolicyAttachment]
    inline: Mapping[str, iam.RolePolicy]

    @property
    def policies(self) -> tuple[pulumi.Resource, ...]:
        """What has to be in place before the role can be used."""
        return (*self.attachments.values(), *self.inline.values())


def policy_short_name(arn: str) -> str:
    """`AmazonEKSClusterPolicy` for its ARN; the key of an attachment within a role."""
    return arn.rsplit("/", 1)[-1]


def create_role(
    component: Component, spec: RoleSpec, trust: pulumi.Input[str], *, retained: bool = False
) -> RoleResources:
    """Register the role, one attachment a policy and one inline policy a name, all parented to the component.

    Policies that somebody else attached are left alone: no resource here owns the role's full list, unless
    `only_these_policies` is called. A role that goes with the stack takes what others put on it off first, as
    a retained one does under `force_delete`: IAM refuses to delete a role that still carries policies. The
    flag acts when the role is deleted, and is in the state by then.
    """
    role = iam.Role(
        component.logical_name(spec.child),
        name=spec.role_name,
        path=spec.path,
        description=spec.description,
        assume_role_policy=trust,
        permissions_boundary=spec.permissions_boundary,
        force_detach_policies=True if component.context.force_delete or not retained else None,
        tags=component.tags(ROLE, spec.child, name=False),
        opts=component.child(ROLE, spec.child, retained=retained),
    )
    attachments = {
        policy_short_name(arn): iam.RolePolicyAttachment(
            component.logical_name(f"{spec.child}-{policy_short_name(arn)}"),
            role=role.name,
            policy_arn=arn,
            opts=component.child(ATTACHMENT, f"{spec.child}-{policy_short_name(arn)}", retained=retained),
        )
        for arn in spec.managed_policy_arns
    }
    inline = {
        name: iam.RolePolicy(
            component.logical_name(f"{spec.child}-{name}"),
            name=name,
            role=role.name,
            policy=document,
            opts=component.child(INLINE, f"{spec.child}-{name}", retained=retained),
        )
        for name, document in spec.inline.items()
    }
    return RoleResources(role=role, attachments=attachments, inline=inline)


def only_these_policies(
    component: Component,
    spec: RoleSpec,
    made: RoleResources,
    *,
    policy_arns: Sequence[pulumi.Input[str]] = (),
    after: Sequence[pulumi.Resource] = (),
) -> None:
    """Where the profile says `exclusive`: take off the role what is not the profile's, on every `up`.

    `policy_arns` are attached besides those of the spec, by the resources in `after`. The two resources own
    a role's full lists; deleting them does nothing (provider documentation of
    `aws_iam_role_policy_attachments_exclusive` and `aws_iam_role_policies_exclusive`), so nothing of theirs
    is retained or adopted.
    """
    if not component.context.exclusive:
        return
    iam.RolePolicyAttachmentsExclusive(
        component.logical_name(f"{spec.child}-only-these-attachments"),
        role_name=made.role.name,
        policy_arns=[*spec.managed_policy_arns, *policy_arns],
        opts=component.child(
            ONLY_ATTACHMENTS,
            f"{spec.child}-only-these-attachments",
            depends_on=[*made.attachments.values(), *after],
        ),
    )
    iam.RolePoliciesExclusive(
        component.logical_name(f"{spec.child}-only-these-inline-policies"),
        role_name=made.role.name,
        policy_names=list(spec.inline),
        opts=component.child(
            ONLY_INLINE, f"{spec.child}-only-these-inline-policies", depends_on=list(made.inline.values())
        ),
    )


def wanted_role(component_name: str, spec: RoleSpec) -> list[Wanted]:
    """What the inventory looks up for a role; pure."""
    role = {"role": spec.role_name}
    return [
        Wanted(
            key=(ROLE, f"{component_name}-{spec.child}"),
            kind=ROLE_KIND,
            physical=spec.role_name,
            lookup=role,
        ),
        *(
            Wanted(
                key=(ATTACHMENT, f"{component_name}-{spec.child}-{policy_short_name(arn)}"),
                kind=ROLE_KIND,
                physical=f"{policy_short_name(arn)} on {spec.role_name}",
                belongs_to=spec.role_name,
                lookup={**role, "policy_arn": arn},
            )
            for arn in spec.managed_policy_arns
        ),
        *(
            Wanted(
                key=(INLINE, f"{component_name}-{spec.child}-{name}"),
                kind=ROLE_KIND,
                physical=f"inline policy {name} of {spec.role_name}",
                belongs_to=spec.role_name,
                lookup={**role, "policy": name},
            )
            for name in spec.inline
        ),
    ]
