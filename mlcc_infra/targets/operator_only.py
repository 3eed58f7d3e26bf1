"""Target `operator-only`: the inference operator on a HyperPod-EKS cluster that somebody else made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from mlcc_infra.components.base import StackContext
from mlcc_infra.components.published_outputs import PublishedOutputs, PublishedOutputsArgs
from mlcc_infra.profile import Profile
from mlcc_infra.targets.operator_only_plan import MODULE, OUTPUTS, OperatorOnlyPlan
from mlcc_infra.targets.operator_stage import OperatorCluster, OperatorStage, create_operator_stage
from mlcc_infra.targets.publishing import publish


@dataclass(frozen=True, kw_only=True)
class OperatorOnlyResources:
    """The components of the target."""

    operator: OperatorStage
    outputs: PublishedOutputs


def create_operator_only(
    profile: Profile,
    plan: OperatorOnlyPlan,
    *,
    after: Sequence[pulumi.Resource],
    context: StackContext,
    provider: pulumi.ProviderResource,
) -> OperatorOnlyResources:
    """Register the target's components under an explicit aws provider, and export their outputs.

    `after` is what of the cluster this profile makes or takes over itself; on destroy it goes last.
    """
    options = pulumi.ResourceOptions(providers=[provider])
    operator = create_operator_stage(
        profile,
        plan.operator,
        OperatorCluster(
            eks_cluster_name=plan.eks_cluster_name,
            issuer=plan.issuer,
            hyperpod_cluster_arn=plan.hyperpod_cluster_arn,
        ),
        after=after,
        context=context,
        options=options,
    )
    known = {
        "EksClusterArn": plan.eks_cluster_arn,
        "EksClusterName": plan.eks_cluster_name,
        "ClusterSecurityGroupId": plan.security_group_id,
        "HyperPodClusterArn": plan.hyperpod_cluster_arn,
        "HyperPodClusterName": plan.hyperpod_cluster_name,
    }
    values = operator.published() | {key: pulumi.Output.from_input(value) for key, value in known.items()}
    outputs = publish(
        OUTPUTS,
        PublishedOutputsArgs(module=MODULE, values={key: values[key] for key in plan.published}),
        context=context,
        options=options,
    )
    return OperatorOnlyResources(operator=operator, outputs=outputs)
