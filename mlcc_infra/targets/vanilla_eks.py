"""Target `vanilla-eks`: a plain EKS cluster with network, service roles, nodes, add-ons, access, outputs."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from mlcc_infra.components.base import StackContext
from mlcc_infra.components.cluster_charts import ClusterCharts, ClusterChartsArgs
from mlcc_infra.components.cluster_drain import ClusterDrain, ClusterDrainArgs
from mlcc_infra.components.eks_base import EksBase, EksBaseArgs
from mlcc_infra.components.published_outputs import PublishedOutputs, PublishedOutputsArgs
from mlcc_infra.components.service_account_role import ServiceAccountRole, ServiceAccountRoleArgs
from mlcc_infra.components.service_roles import ServiceRoles
from mlcc_infra.profile import Profile
from mlcc_infra.targets.publishing import publish
from mlcc_infra.targets.vanilla_eks_plan import (
    ALB_ROLE,
    BASE,
    CHARTS,
    INFERENCE_ROLE,
    MODULE,
    OUTPUTS,
    ROLES,
    VanillaEksPlan,
)


@dataclass(frozen=True, kw_only=True)
class VanillaEksResources:
    """The components of the target."""

    roles: ServiceRoles
    base: EksBase
    service_account_roles: dict[str, ServiceAccountRole]
    charts: ClusterCharts | None
    drain: ClusterDrain
    outputs: PublishedOutputs


def create_vanilla_eks(
    profile: Profile, plan: VanillaEksPlan, *, context: StackContext, provider: pulumi.ProviderResource
) -> VanillaEksResources:
    """Register the target's components under an explicit aws provider, and export their outputs."""
    options = pulumi.ResourceOptions(providers=[provider])
    roles = ServiceRoles(ROLES, plan.roles, context=context, opts=options)
    base = EksBase(
        BASE,
        EksBaseArgs(
            config=profile.eks,
            network=plan.network,
            cluster_role=roles.role("eks-cluster-role"),
            node_role=roles.role("eks-node-role"),
            fargate_role=roles.role("fargate-pod-exec-role"),
            role_policies=roles.policies,
            ami_types=plan.ami_types,
            admins=plan.admins,
        ),
        context=context,
        opts=options,
    )
    account_roles = {
        role.name: ServiceAccountRole(
            role.name,
            ServiceAccountRoleArgs(
                module=MODULE,
                spec=role.spec,
                trust=role.trust,
                oidc_provider_arn=base.resources.oidc_provider.arn,
                issuer=base.issuer,
                policy=role.policy,
            ),
            context=context,
            opts=options,
        )
        for role in plan.service_account_roles
    }
    charts = _charts(profile, base, account_roles, context)
    drain = ClusterDrain(
        f"{BASE}-drain",
        ClusterDrainArgs(
            cluster_name=base.cluster_name,
            cluster_identity=base.issuer,
            account=context.names.account,
            region=context.names.region,
            aws_profile=context.aws_profile,
        ),
        # Last to come and so first to go: while it works, nodes, add-ons and controllers are still there.
        opts=pulumi.ResourceOptions(parent=base, depends_on=[*_running(base), *([charts] if charts else [])]),
    )
    values = _published_values(roles, base, account_roles)
    outputs = publish(
        OUTPUTS,
        PublishedOutputsArgs(module=MODULE, values={key: values[key] for key in plan.published}),
        context=context,
        options=options,
    )
    pulumi.export("eks.kubeconfig", base.kubeconfig)
    return VanillaEksResources(
        roles=roles,
        base=base,
        service_account_roles=account_roles,
        charts=charts,
        drain=drain,
        outputs=outputs,
    )


def _charts(
    profile: Profile, base: EksBase, roles: dict[str, ServiceAccountRole], context: StackContext
) -> ClusterCharts | None:
    if not (profile.eks.load_balancer_controller.enabled or profile.eks.device_plugin.enabled):
        return None
    controller = roles.get(ALB_ROLE)
    # Pods need nodes and DNS; on the way down the charts go before both, and before access does.
    after = [*_running(base), *(controller.policies if controller else ())]
    return ClusterCharts(
        CHARTS,
        ClusterChartsArgs(
            config=profile.eks,
            kubeconfig=base.kubeconfig,
            cluster_identifier=base.issuer,
            cluster_name=base.cluster_name,
            vpc_id=base.vpc_id,
            load_balancer_controller_role_arn=controller.arn if controller else None,
            after=after,
            deleted_with=base.goes_with_cluster,
        ),
        context=context,
    )


def _running(base: EksBase) -> list[pulumi.Resource]:
    """What pods need, and who may reach the cluster."""
    resources = base.resources
    fargate = [resources.fargate_profile] if resources.fargate_profile else []
    return [*resources.node_groups.values(), *fargate, *resources.addons.values(), resources.access]


def _published_values(
    roles: ServiceRoles, base: EksBase, account_roles: dict[str, ServiceAccountRole]
) -> dict[str, pulumi.Output[str]]:
    values: dict[str, pulumi.Output[str]] = {
        "EksClusterArn": base.cluster_arn,
        "EksClusterName": base.cluster_name,
        "ClusterSecurityGroupId": base.security_group_id,
        "VpcId": base.vpc_id,
        "PrivateSubnetIds": base.private_subnet_ids.apply(",".join),
        "OidcProviderArn": base.resources.oidc_provider.arn,
        "EksClusterRoleArn": roles.role("eks-cluster-role").arn,
        "EksNodeRoleArn": roles.role("eks-node-role").arn,
        "FargatePodExecRoleArn": roles.role("fargate-pod-exec-role").arn,
    }
    for role, key in ((INFERENCE_ROLE, "EksInferenceRoleArn"), (ALB_ROLE, "AlbControllerRoleArn")):
        if role in account_roles:
            values[key] = account_roles[role].arn
    return values
