"""The operator on a cluster, from its roles to its verified watcher, for the targets that have it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pulumi

from mlcc_infra.components.base import StackContext
from mlcc_infra.components.cluster_drain import ClusterDrain, ClusterDrainArgs
from mlcc_infra.components.inference_operator import InferenceOperatorAddon, InferenceOperatorArgs
from mlcc_infra.components.operator_ready import OperatorReady, OperatorReadyArgs
from mlcc_infra.policies import oidc_provider_arn
from mlcc_infra.profile import Profile
from mlcc_infra.targets.operator_plan import OPERATOR, ROLE_OUTPUTS, OperatorPlan


@dataclass(frozen=True, kw_only=True)
class OperatorCluster:
    """The cluster that the operator goes on. The issuer changes when the EKS cluster is made anew."""

    eks_cluster_name: pulumi.Input[str]
    issuer: pulumi.Input[str]
    hyperpod_cluster_arn: pulumi.Input[str]


@dataclass(frozen=True, kw_only=True)
class OperatorStage:
    """The operator's components, in the order in which they come; on destroy they go in reverse."""

    operator: InferenceOperatorAddon
    ready: OperatorReady
    drain: ClusterDrain

    def published(self) -> dict[str, pulumi.Output[str]]:
        """Values of the keys that the operator's plan publishes: its state, bucket and roles."""
        values = {
            "InferenceOperatorStatus": self.ready.state,
            "TlsBucketName": self.operator.resources.tls_bucket.bucket.bucket,
        }
        for role, key in ROLE_OUTPUTS.items():
            arn = self.operator.role_arn(role)
            if arn is not None:
                values[key] = arn
        return values


def _provider_arn(issuer: pulumi.Input[str], context: StackContext) -> pulumi.Output[str]:
    """ARN of the OIDC provider that something else makes for an issuer (IAM user guide, OIDC providers)."""
    return pulumi.Output.from_input(issuer).apply(
        partial(oidc_provider_arn, account=context.names.account, partition=context.partition)
    )


def create_operator_stage(
    profile: Profile,
    plan: OperatorPlan,
    cluster: OperatorCluster,
    *,
    after: Sequence[pulumi.Resource],
    context: StackContext,
    options: pulumi.ResourceOptions,
) -> OperatorStage:
    """Register operator, verification and drain. `after` is what has to be there first: nodes with room."""
    operator = InferenceOperatorAddon(
        OPERATOR,
        InferenceOperatorArgs(
            version=profile.operator.version,
            cluster_name=cluster.eks_cluster_name,
            issuer=cluster.issuer,
            hyperpod_cluster_arn=cluster.hyperpod_cluster_arn,
            roles=plan.roles,
            tls_bucket=plan.tls_bucket,
            prerequisites=plan.prerequisites,
            gateway_enabled=profile.operator.gateway.enabled,
            load_balancer_controller=profile.operator.load_balancer_controller.enabled,
            keda=profile.operator.keda.enabled,
            configuration=profile.operator.configuration,
            after=after,
            oidc_provider_arn=None if plan.oidc_provider else _provider_arn(cluster.issuer, context),
        ),
        context=context,
        opts=options,
    )
    addon = operator.resources.addon
    ready = OperatorReady(
        f"{OPERATOR}-ready",
        OperatorReadyArgs(
            eks_cluster_name=cluster.eks_cluster_name,
            cluster_identity=cluster.issuer,
            hyperpod_cluster_arn=cluster.hyperpod_cluster_arn,
            addon_version=addon.addon_version,
            configuration=addon.configuration_values.apply(lambda values: values or ""),
            account=context.names.account,
            region=context.names.region,
            verify=profile.operator.verify,
            aws_profile=context.aws_profile,
        ),
        opts=pulumi.ResourceOptions(parent=operator, depends_on=[addon]),
    )
    drain = ClusterDrain(
        f"{OPERATOR}-drain",
        ClusterDrainArgs(
            cluster_name=cluster.eks_cluster_name,
            cluster_identity=cluster.issuer,
            account=context.names.account,
            region=context.names.region,
            aws_profile=context.aws_profile,
        ),
        opts=pulumi.ResourceOptions(parent=operator, depends_on=[addon, ready]),
    )
    return OperatorStage(operator=operator, ready=ready, drain=drain)
