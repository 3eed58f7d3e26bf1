"""The HyperPod inference operator as an EKS add-on, with all it needs, on any HyperPod-EKS cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import pulumi
from pulumi_aws import eks, iam

from mlcc_infra.account.decisions import Wanted
from mlcc_infra.addon_configuration import configuration_text
from mlcc_infra.components.base import Component, StackContext
from mlcc_infra.components.iam_role import RoleSpec
from mlcc_infra.components.s3_bucket import BucketResources, create_bucket, wanted_bucket
from mlcc_infra.components.service_account_role import (
    CustomerPolicy,
    ServiceAccountRole,
    ServiceAccountRoleArgs,
    wanted_service_account_role,
)
from mlcc_infra.naming import Names
from mlcc_infra.operator_configuration import OperatorConfiguration
from mlcc_infra.policies import policy_text
from mlcc_infra.policies.buckets import deny_plain_http
from mlcc_infra.versions import OPERATOR_ADDON_NAME

ADDON = "aws:eks/addon:Addon"
OIDC_PROVIDER = "aws:iam/openIdConnectProvider:OpenIdConnectProvider"
TLS_BUCKET = "tls-bucket"
STS_AUDIENCE = "sts.amazonaws.com"
# Thirteen pods, webhooks and a startup probe that first succeeds after minutes (facts: rule 1, probes).
OPERATOR_TIMEOUT = "45m"
PREREQUISITE_TIMEOUT = "20m"

EXECUTION_ROLE = "operator-execution-role"
ALB_ROLE = "alb-controller-role"
KEDA_ROLE = "keda-operator-role"
S3_CSI_ROLE = "s3-csi-role"
FSX_CSI_ROLE = "fsx-csi-role"
GATED_MODEL_ROLE = "gated-model-role"
GATEWAY_ROLE = "gateway-role"

# The role of each prerequisite's service account; the others need none (EKS user guide, the drivers' pages).
PREREQUISITE_ROLES = {"aws-mountpoint-s3-csi-driver": S3_CSI_ROLE, "aws-fsx-csi-driver": FSX_CSI_ROLE}


@dataclass(frozen=True, kw_only=True)
class OperatorRolePlan:
    """One role for a service account of the operator: made here, unless `given` names one of the user's."""

    key: str
    given: str | None = None
    spec: RoleSpec | None = None
    trust: Callable[[str], str] | None = None
    policy: CustomerPolicy | None = None

    def arn(self, *, partition: str, account: str) -> str:
        """Its ARN, known before it is made."""
        if self.given or self.spec is None:
            return self.given or ""
        return f"arn:{partition}:iam::{account}:role{self.spec.path}{self.spec.role_name}"


@final
@dataclass(frozen=True, kw_only=True)
class InferenceOperatorArgs:
    """The cluster to put the operator on, its roles, and the add-ons with their exact versions.

    `prerequisites` maps an add-on to (version, configuration). `after` lists what has to be there first:
    nodes with room for the operator's pods. `oidc_provider_arn` names the issuer's OIDC provider where
    something else makes it; without, it is made here.
    """

    version: str
    cluster_name: pulumi.Input[str]
    issuer: pulumi.Input[str]
    hyperpod_cluster_arn: pulumi.Input[str]
    roles: Sequence[OperatorRolePlan]
    tls_bucket: str
    prerequisites: Mapping[str, tuple[str, Mapping[str, Any]]]
    gateway_enabled: bool
    load_balancer_controller: bool
    keda: bool
    configuration: Mapping[str, Any]
    after: Sequence[pulumi.Resource]
    oidc_provider_arn: pulumi.Input[str] | None = None


@final
@dataclass(frozen=True, kw_only=True)
class InferenceOperatorResources:
    """The children of `InferenceOperatorAddon`; roles by their key in the table of roles."""

    oidc_provider: iam.OpenIdConnectProvider | None
    roles: Mapping[str, ServiceAccountRole]
    tls_bucket: BucketResources
    prerequisites: Mapping[str, eks.Addon]
    addon: eks.Addon


def create_tls_bucket(component: Component, name: str) -> BucketResources:
    """The bucket for the operator's TLS certificates, retained with its settings."""
    return create_bucket(
        component,
        TLS_BUCKET,
        name=name,
        policy=policy_text(deny_plain_http(name, partition=component.context.partition)),
        retained=True,
        force_destroy=component.context.force_delete,
    )


class InferenceOperatorAddon(Component):
    """OIDC provider, roles, TLS bucket, prerequisite add-ons, and the operator itself, pinned.

    Roles follow the live issuer on every `up`. The add-on overwrites on create and on update, and the whole
    configuration is sent each time, so that a changed cluster ARN is an update. The TLS bucket is retained
    with its settings; AWS's policy for the execution role covers only names that begin with `hyperpod-tls`.
    """

    TOKEN: ClassVar[str] = "mlcc:operator:InferenceOperatorAddon"

    def __init__(
        self,
        name: str,
        args: InferenceOperatorArgs,
        *,
        context: StackContext,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(name, context, opts, module="hyperpod")
        self._args = args
        provider, provider_arn = None, args.oidc_provider_arn
        if provider_arn is None:
            provider = self._oidc_provider()
            provider_arn = provider.arn
        roles = {
            plan.key: self._role(plan, plan.spec, plan.trust, provider_arn)
            for plan in args.roles
            if plan.spec is not None and plan.trust is not None
        }
        bucket = create_tls_bucket(self, args.tls_bucket)
        self._arns = {
            **{plan.key: pulumi.Output.from_input(plan.given) for plan in args.roles if plan.given},
            **{key: role.arn for key, role in roles.items()},
        }
        prerequisites = {
            addon: self._prerequisite(addon, version, configuration)
            for addon, (version, configuration) in args.prerequisites.items()
        }
        before = [
            *prerequisites.values(),
            bucket.bucket,
            *bucket.settings,
            *(policy for role in roles.values() for policy in role.policies),
            *args.after,
        ]
        self.resources = InferenceOperatorResources(
            oidc_provider=provider,
            roles=roles,
            tls_bucket=bucket,
            prerequisites=prerequisites,
            addon=self._operator(before),
        )
        self.register_outputs(
            {"addonVersion": args.version, "tlsBucket": args.tls_bucket, "roleArns": self._arns}
        )

    def role_arn(self, key: str) -> pulumi.Output[str] | None:
        """ARN of a role by its key, made here or the user's; None for one that is not used."""
        return self._arns.get(key)

    def _oidc_provider(self) -> iam.OpenIdConnectProvider:
        return iam.OpenIdConnectProvider(
            self.logical_name("oidc-provider"),
            url=self._args.issuer,
            client_id_lists=[STS_AUDIENCE],
            tags=self.tags(OIDC_PROVIDER, "oidc-provider", name=False),
            opts=self.child(OIDC_PROVIDER, "oidc-provider"),
        )

    def _role(
        self,
        plan: OperatorRolePlan,
        spec: RoleSpec,
        trust: Callable[[str], str],
        provider_arn: pulumi.Input[str],
    ) -> ServiceAccountRole:
        return ServiceAccountRole(
            self.logical_name(plan.key),
            ServiceAccountRoleArgs(
                module=self.module,
                spec=spec,
                trust=trust,
                oidc_provider_arn=provider_arn,
                issuer=self._args.issuer,
                policy=plan.policy,
            ),
            context=self.context,
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _prerequisite(self, addon: str, version: str, configuration: Mapping[str, Any]) -> eks.Addon:
        child = f"addon-{addon}"
        role = self._arns.get(PREREQUISITE_ROLES.get(addon, ""))
        return eks.Addon(
            self.logical_name(child),
            cluster_name=self._args.cluster_name,
            addon_name=addon,
            addon_version=version,
            configuration_values=configuration_text(configuration),
            service_account_role_arn=role,
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="OVERWRITE",
            tags=self.tags(ADDON, child, name=False),
            opts=self.child(
                ADDON,
                child,
                depends_on=self._args.after,
                custom_timeouts=pulumi.CustomTimeouts(
                    create=PREREQUISITE_TIMEOUT, update=PREREQUISITE_TIMEOUT
                ),
            ),
        )

    def _operator(self, before: Sequence[pulumi.Resource]) -> eks.Addon:
        args = self._args
        configuration = pulumi.Output.all(
            cluster=args.hyperpod_cluster_arn, bucket=args.tls_bucket, **dict(self._arns)
        ).apply(self._configuration)
        return eks.Addon(
            self.logical_name("addon"),
            cluster_name=args.cluster_name,
            addon_name=OPERATOR_ADDON_NAME,
            addon_version=args.version,
            configuration_values=configuration,
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="OVERWRITE",
            tags=self.tags(ADDON, "addon", name=False),
            opts=self.child(
                ADDON,
                "addon",
                depends_on=before,
                custom_timeouts=pulumi.CustomTimeouts(
                    create=OPERATOR_TIMEOUT, update=OPERATOR_TIMEOUT, delete=OPERATOR_TIMEOUT
                ),
            ),
        )

    def _configuration(self, known: Mapping[str, str]) -> str | None:
        args = self._args
        configuration = OperatorConfiguration(
            version=args.version,
            execution_role_arn=known[EXECUTION_ROLE],
            tls_bucket=known["bucket"],
            hyperpod_cluster_arn=known["cluster"],
            alb_role_arn=known.get(ALB_ROLE) if args.load_balancer_controller else None,
            keda_role_arn=known.get(KEDA_ROLE) if args.keda else None,
            gated_model_role_arn=known.get(GATED_MODEL_ROLE),
            gateway_enabled=args.gateway_enabled,
            gateway_role_arn=known.get(GATEWAY_ROLE),
            more=args.configuration,
        )
        return configuration_text(configuration.values())


def wanted_inference_operator(
    name: str,
    names: Names,
    *,
    partition: str,
    cluster: str,
    roles: Sequence[OperatorRolePlan],
    tls_bucket: str,
    prerequisites: Sequence[str],
    oidc_provider: bool = True,
) -> list[Wanted]:
    """What the inventory looks up for the operator; pure. `cluster` is the EKS cluster's name."""
    addons = {f"addon-{addon}": addon for addon in prerequisites} | {"addon": OPERATOR_ADDON_NAME}
    provider = Wanted(
        key=(OIDC_PROVIDER, f"{name}-oidc-provider"),
        kind="oidc-provider",
        physical=f"OIDC provider of {cluster}",
        lookup={
            "cluster": cluster,
            "provider_arn_prefix": f"arn:{partition}:iam::{names.account}:oidc-provider/",
        },
    )
    return [
        *([provider] if oidc_provider else []),
        *(
            wanted
            for plan in roles
            if plan.spec is not None
            for wanted in wanted_service_account_role(
                f"{name}-{plan.key}", plan.spec, plan.policy, account=names.account, partition=partition
            )
        ),
        *wanted_bucket(name, TLS_BUCKET, tls_bucket),
        *(
            Wanted(
                key=(ADDON, f"{name}-{child}"),
                kind="addon",
                physical=addon,
                lookup={"cluster": cluster, "name": addon},
            )
            for child, addon in addons.items()
        ),
    ]
