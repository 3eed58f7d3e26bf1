"""Target `hyperpod-eks`: HyperPod from AWS's template, its instance groups, and the inference operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from mlcc_infra.components.access import Access, AccessArgs
from mlcc_infra.components.addon_status import AddonStatus, AddonStatusArgs
from mlcc_infra.components.base import StackContext
from mlcc_infra.components.cluster_drain import ClusterDrain, ClusterDrainArgs
from mlcc_infra.components.cluster_marks import ClusterMarks, ClusterMarksArgs
from mlcc_infra.components.eks_base import ACCESS
from mlcc_infra.components.hyperpod_native import STACK, HyperPodNativeArgs, HyperPodNativeFromTemplate
from mlcc_infra.components.instance_groups import InstanceGroups, InstanceGroupsArgs
from mlcc_infra.components.published_outputs import PublishedOutputs, PublishedOutputsArgs
from mlcc_infra.components.service_roles import ServiceRoles
from mlcc_infra.components.template_operator import TemplateOperator, TemplateOperatorArgs
from mlcc_infra.profile import Profile
from mlcc_infra.targets.hyperpod_eks_plan import (
    INSTANCE_ROLE,
    MODULE,
    NATIVE,
    OUTPUTS,
    ROLES,
    HyperPodEksPlan,
)
from mlcc_infra.targets.operator_plan import OPERATOR
from mlcc_infra.targets.operator_stage import OperatorCluster, OperatorStage, create_operator_stage
from mlcc_infra.targets.publishing import publish
from mlcc_infra.versions import OPERATOR_ADDON_NAME


@dataclass(frozen=True, kw_only=True)
class TemplateOperatorStage:
    """An operator that the template installs: our bucket before it, and what was seen of it after."""

    bucket: TemplateOperator
    status: AddonStatus
    drain: ClusterDrain


@dataclass(frozen=True, kw_only=True)
class HyperPodEksResources:
    """The components of the target. `operator` is None where the template installs it, `by_template` where we
    do; `roles` is None where a stack of others' is taken over."""

    roles: ServiceRoles | None
    native: HyperPodNativeFromTemplate
    groups: InstanceGroups
    marks: ClusterMarks
    access: Access
    operator: OperatorStage | None
    by_template: TemplateOperatorStage | None
    outputs: PublishedOutputs


def create_hyperpod_eks(
    profile: Profile, plan: HyperPodEksPlan, *, context: StackContext, provider: pulumi.ProviderResource
) -> HyperPodEksResources:
    """Register the target's components under an explicit aws provider, and export their outputs."""
    options = pulumi.ResourceOptions(providers=[provider])
    roles = ServiceRoles(ROLES, plan.roles, context=context, opts=options) if plan.roles else None
    bucket = None
    if plan.tls_bucket:
        told = TemplateOperatorArgs(tls_bucket=plan.tls_bucket)
        bucket = TemplateOperator(OPERATOR, told, context=context, opts=options)
    before: list[pulumi.Resource] = [*roles.policies] if roles else []
    if bucket:
        before += [bucket.resources.tls_bucket.bucket, *bucket.resources.tls_bucket.settings]
    native = HyperPodNativeFromTemplate(
        NATIVE,
        HyperPodNativeArgs(
            template_url=plan.template_url,
            parameters=plan.parameters,
            zone_count=plan.zone_count,
            before=before,
            replacement_trigger=plan.replacement_trigger,
            frozen=plan.dead_stack is None,
            keep_failed=profile.hyperpod.template.keep_failed,
            existing=plan.existing.native if plan.existing else None,
        ),
        context=context,
        opts=options,
    )
    stack = native.resources.stack
    groups = InstanceGroups(
        f"{NATIVE}-instance-groups",
        InstanceGroupsArgs(
            cluster_name=native.cluster_name,
            cluster_arn=native.cluster_arn,
            eks_cluster_name=native.eks_cluster_name,
            account=context.names.account,
            region=context.names.region,
            groups=plan.groups,
            aws_profile=context.aws_profile,
        ),
        opts=pulumi.ResourceOptions(parent=native, depends_on=[stack]),
    )
    marks = ClusterMarks(
        f"{NATIVE}-marks",
        ClusterMarksArgs(
            eks_cluster_arn=native.eks_cluster_arn,
            hyperpod_cluster_arn=native.cluster_arn,
            tags=native.tags(STACK, "stack", name=False),
            account=context.names.account,
            region=context.names.region,
            aws_profile=context.aws_profile,
        ),
        opts=pulumi.ResourceOptions(parent=native, depends_on=[stack]),
    )
    access = Access(
        f"{NATIVE}-access",
        AccessArgs(
            cluster_name=native.eks_cluster_name,
            cluster_identity=native.issuer,
            account=context.names.account,
            region=context.names.region,
            partition=context.partition,
            aws_profile=context.aws_profile,
            admins=plan.admins,
            tags=native.tags(ACCESS, "access", name=False),
            node_roles=[roles.role(INSTANCE_ROLE)] if roles else [],
        ),
        opts=pulumi.ResourceOptions(parent=native, depends_on=[stack]),
    )
    operator = None
    if plan.operator is not None:
        operator = create_operator_stage(
            profile,
            plan.operator,
            OperatorCluster(
                eks_cluster_name=native.eks_cluster_name,
                issuer=native.issuer,
                hyperpod_cluster_arn=native.cluster_arn,
            ),
            after=[groups, access],
            context=context,
            options=options,
        )
    by_template = None
    if bucket is not None:
        by_template = _template_stage(profile, bucket, native, after=[groups, access], context=context)
    values = _published_values(profile, roles, native, operator, plan)
    if by_template is not None:
        values |= {
            "InferenceOperatorStatus": by_template.status.state,
            "TlsBucketName": by_template.bucket.resources.tls_bucket.bucket.bucket,
            "HyperpodInferenceRoleArn": native.operator_role_arn,
        }
    outputs = publish(
        OUTPUTS,
        PublishedOutputsArgs(module=MODULE, values={key: values[key] for key in plan.published}),
        context=context,
        options=options,
    )
    return HyperPodEksResources(
        roles=roles,
        native=native,
        groups=groups,
        marks=marks,
        access=access,
        operator=operator,
        by_template=by_template,
        outputs=outputs,
    )


def _template_stage(
    profile: Profile,
    bucket: TemplateOperator,
    native: HyperPodNativeFromTemplate,
    *,
    after: Sequence[pulumi.Resource],
    context: StackContext,
) -> TemplateOperatorStage:
    """Look at the add-on once it has nodes: the stack that installs it is green whatever comes (rule 10)."""
    status = AddonStatus(
        f"{OPERATOR}-status",
        AddonStatusArgs(
            cluster_name=native.eks_cluster_name,
            cluster_identity=native.issuer,
            addon_name=OPERATOR_ADDON_NAME,
            account=context.names.account,
            region=context.names.region,
            verify=profile.operator.verify,
            aws_profile=context.aws_profile,
        ),
        opts=pulumi.ResourceOptions(parent=bucket, depends_on=after),
    )
    drain = ClusterDrain(
        f"{OPERATOR}-drain",
        ClusterDrainArgs(
            cluster_name=native.eks_cluster_name,
            cluster_identity=native.issuer,
            account=context.names.account,
            region=context.names.region,
            aws_profile=context.aws_profile,
        ),
        opts=pulumi.ResourceOptions(parent=bucket, depends_on=[*after, status]),
    )
    return TemplateOperatorStage(bucket=bucket, status=status, drain=drain)


def _published_values(
    profile: Profile,
    roles: ServiceRoles | None,
    native: HyperPodNativeFromTemplate,
    operator: OperatorStage | None,
    plan: HyperPodEksPlan,
) -> dict[str, pulumi.Output[str]]:
    existing = profile.hyperpod.existing_vpc  # whose subnets the stack does not put out
    role_arn = roles.role(INSTANCE_ROLE).arn if roles else ""
    if plan.existing:
        role_arn = plan.existing.instance_role_arn
    subnets = ",".join(existing.private_subnet_ids) if existing else native.private_subnet_ids
    values: dict[str, pulumi.Output[str]] = {
        "PrivateSubnetIds": pulumi.Output.from_input(subnets),
        "HyperPodInstanceRoleArn": pulumi.Output.from_input(role_arn),
        "EksClusterArn": native.eks_cluster_arn,
        "EksClusterName": native.eks_cluster_name,
        "ClusterSecurityGroupId": native.security_group_id,
        "HyperPodClusterArn": native.cluster_arn,
        "HyperPodClusterName": native.cluster_name,
        "TemplateDigest": native.template_digest,
    }
    return values | (operator.published() if operator else {})
