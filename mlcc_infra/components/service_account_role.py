"""An IAM role for Kubernetes service accounts, bound to the issuer of the live cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import pulumi
from pulumi_aws import iam

from mlcc_infra.account.decisions import Wanted
from mlcc_infra.components.base import Component, StackContext
from mlcc_infra.components.iam_role import (
    ATTACHMENT,
    POLICY,
    POLICY_KIND,
    RoleResources,
    RoleSpec,
    create_role,
    only_these_policies,
    wanted_role,
)


@dataclass(frozen=True, kw_only=True)
class CustomerPolicy:
    """A customer managed policy for documents too large for an inline one. `document` is JSON text."""

    child: str
    policy_name: str
    document: str


@final
@dataclass(frozen=True, kw_only=True)
class ServiceAccountRoleArgs:
    """The role, who may assume it, and the OIDC provider that vouches for them.

    `trust` makes the trust policy's JSON text from the issuer.
    """

    module: str
    spec: RoleSpec
    trust: Callable[[str], str]
    oidc_provider_arn: pulumi.Input[str]
    issuer: pulumi.Input[str]
    policy: CustomerPolicy | None = None


@final
@dataclass(frozen=True, kw_only=True)
class ServiceAccountRoleResources:
    """The role with its policies, and the customer managed policy where there is one."""

    role: RoleResources
    policy: iam.Policy | None
    policy_attachment: iam.RolePolicyAttachment | None


class ServiceAccountRole(Component):
    """A role that pods assume through their service account's web identity.

    Its trust names the live issuer, so a cluster remade under the same name updates it (an issuer is
    new for every cluster). Deleted with the stack when made here.
    """

    TOKEN: ClassVar[str] = "mlcc:iam:ServiceAccountRole"

    arn: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        args: ServiceAccountRoleArgs,
        *,
        context: StackContext,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(name, context, opts, module=args.module)
        # Also waits for the provider: until it exists no token of the issuer is worth anything.
        trust = pulumi.Output.all(provider=args.oidc_provider_arn, issuer=args.issuer).apply(
            lambda known: args.trust(known["issuer"])
        )
        role = create_role(self, args.spec, trust)
        policy = self._policy(args.policy) if args.policy else None
        attachment = self._attach(role, policy, args) if policy else None
        only_these_policies(
            self,
            args.spec,
            role,
            policy_arns=[policy.arn] if policy else [],
            after=[attachment] if attachment else [],
        )
        self.resources = ServiceAccountRoleResources(role=role, policy=policy, policy_attachment=attachment)
        self.arn = role.role.arn
        self.register_outputs({"arn": self.arn, "roleName": role.role.name})

    @property
    def policies(self) -> tuple[pulumi.Resource, ...]:
        """What has to be in place before pods can use the role."""
        attachment = self.resources.policy_attachment
        return (*self.resources.role.policies, *([attachment] if attachment else []))

    def _policy(self, policy: CustomerPolicy) -> iam.Policy:
        return iam.Policy(
            self.logical_name(policy.child),
            name=policy.policy_name,
            policy=policy.document,
            tags=self.tags(POLICY, policy.child, name=False),
            opts=self.child(POLICY, policy.child),
        )

    def _attach(
        self, role: RoleResources, policy: iam.Policy, args: ServiceAccountRoleArgs
    ) -> iam.RolePolicyAttachment:
        child = _attachment_child(args.spec)
        return iam.RolePolicyAttachment(
            self.logical_name(child),
            role=role.role.name,
            policy_arn=policy.arn,
            opts=self._with_policy(child, args),
        )

    def _with_policy(self, child: str, args: ServiceAccountRoleArgs) -> pulumi.ResourceOptions:
        """The attachment goes when its policy goes, also from a role that stays: IAM deletes no policy that
        is attached (IAM API reference, DeletePolicy)."""
        options = self.child(ATTACHMENT, child)
        assert args.policy is not None  # there is no attachment without
        options.retain_on_delete = self.child(POLICY, args.policy.child).retain_on_delete
        return options


def _attachment_child(spec: RoleSpec) -> str:
    return f"{spec.child}-policy-attachment"


def wanted_service_account_role(
    name: str, spec: RoleSpec, policy: CustomerPolicy | None, *, account: str, partition: str
) -> list[Wanted]:
    """What the inventory looks up for the role and its customer managed policy; pure."""
    wanted = wanted_role(name, spec)
    if policy is not None:
        arn = f"arn:{partition}:iam::{account}:policy/{policy.policy_name}"
        wanted += [
            Wanted(
                key=(POLICY, f"{name}-{policy.child}"),
                kind=POLICY_KIND,
                physical=policy.policy_name,
                lookup={"arn": arn},
            ),
            Wanted(
                key=(ATTACHMENT, f"{name}-{_attachment_child(spec)}"),
                kind="role",
                physical=f"{policy.policy_name} on {spec.role_name}",
                belongs_to=spec.role_name,
                lookup={"role": spec.role_name, "policy_arn": arn},
            ),
        ]
    return wanted
