"""A vanilla EKS cluster on its network: add-ons, nodes, identity for pods, access."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import pulumi
import pulumi_eks
from pulumi_aws import cloudwatch, eks, iam

from mlcc_infra.account.decisions import Action, Wanted
from mlcc_infra.addon_configuration import configuration_text
from mlcc_infra.components.access import Access, AccessArgs
from mlcc_infra.components.base import Component, StackContext
from mlcc_infra.components.eks_node_groups import node_group_args
from mlcc_infra.components.made_by_component import MadeByComponent
from mlcc_infra.components.network import (
    ExistingNetwork,
    ExistingNetworkArgs,
    Network,
    NetworkArgs,
    wanted_network,
)
from mlcc_infra.kubeconfig import kubeconfig, kubeconfig_text
from mlcc_infra.naming import Names
from mlcc_infra.profile.eks import Eks

CLUSTER = "aws:eks/cluster:Cluster"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
FARGATE_PROFILE = "aws:eks/fargateProfile:FargateProfile"
ADDON = "aws:eks/addon:Addon"
OIDC_PROVIDER = "aws:iam/openIdConnectProvider:OpenIdConnectProvider"
LOG_GROUP = "aws:cloudwatch/logGroup:LogGroup"
ACCESS = "pulumi-python:dynamic/eks:Access"

# What the published component makes besides the cluster, by the suffix of its logical name
# (pulumi_eks 4.4, observed; see the prototype's notes).
PUBLISHED = "cluster"
PUBLISHED_CLUSTER = f"{PUBLISHED}-eksCluster"
PUBLISHED_ADDONS = {"vpc-cni": f"{PUBLISHED}-vpc-cni", "kube-proxy": f"{PUBLISHED}-kube-proxy"}
# Pods of the cluster-level role for web identities ask STS as this audience (EKS user guide, IRSA).
STS_AUDIENCE = "sts.amazonaws.com"
# DEGRADED for want of nodes shows within minutes; EKS's own waiter gives an add-on ten.
ADDON_TIMEOUT = "15m"


@final
@dataclass(frozen=True, kw_only=True)
class EksBaseArgs:
    """The cluster's configuration and the roles it runs with.

    `config` is the validated part of the profile, `ami_types` gives the AMI type of each node group
    by name. `role_policies` must be in place before the cluster and its nodes are made.
    """

    config: Eks
    network: NetworkArgs | ExistingNetworkArgs
    cluster_role: iam.Role
    node_role: iam.Role
    fargate_role: iam.Role | None
    role_policies: Sequence[pulumi.Resource]
    ami_types: Mapping[str, str]
    admins: Sequence[str] = ()


@final
@dataclass(frozen=True, kw_only=True)
class EksBaseResources:
    """The children of `EksBase`; maps are by the name in the profile."""

    network: Network | ExistingNetwork
    cluster: pulumi_eks.Cluster
    log_group: cloudwatch.LogGroup | None
    node_groups: Mapping[str, eks.NodeGroup]
    fargate_profile: eks.FargateProfile | None
    addons: Mapping[str, eks.Addon]
    oidc_provider: iam.OpenIdConnectProvider
    access: Access


class EksBase(Component):
    """Network, the published EKS component with our roles, pinned add-ons, nodes, OIDC provider, access.

    How the published component is called follows facts/hyperpod_native.md, rule 14. Add-ons that run
    pods come after the nodes: coredns stays DEGRADED without any. The OIDC provider is our own, because
    the component's opens a TLS connection to the issuer in previews too, and ours can be adopted.
    Nothing here depends on whether a role was adopted.
    """

    TOKEN: ClassVar[str] = "mlcc:eks:EksBase"

    def __init__(
        self,
        name: str,
        args: EksBaseArgs,
        *,
        context: StackContext,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(name, context, opts, module="eks")
        self._args = args
        self._config = args.config
        self.resources = self._create()
        self.vpc_id: pulumi.Output[str] = self.resources.network.vpc_id
        self.private_subnet_ids: pulumi.Output[list[str]] = self.resources.network.private_subnet_ids
        self.register_outputs(
            {
                "clusterName": self.cluster_name,
                "clusterArn": self.cluster_arn,
                "issuer": self.issuer,
                "vpcId": self.vpc_id,
                "kubeconfig": self.kubeconfig,
            }
        )

    def _create(self) -> EksBaseResources:
        network = self._network()
        log_group = self._log_group()
        cluster = self._cluster(network, [log_group] if log_group else [])
        self._eks_cluster: pulumi.Output[eks.Cluster] = cluster.eks_cluster
        described = self._eks_cluster
        # For `deleted_with` of what is in the cluster; None when the cluster outlives this stack.
        kept = self.child(CLUSTER, PUBLISHED_CLUSTER).retain_on_delete
        self.goes_with_cluster: pulumi.Resource | None = None if kept else MadeByComponent(described)
        self.cluster_name: pulumi.Output[str] = described.apply(lambda made: made.name)
        self.cluster_arn: pulumi.Output[str] = described.apply(lambda made: made.arn)
        self.endpoint: pulumi.Output[str] = described.apply(lambda made: made.endpoint)
        self.issuer: pulumi.Output[str] = described.apply(lambda made: made.identities).apply(_issuer)
        self.security_group_id: pulumi.Output[str] = described.apply(lambda made: made.vpc_config).apply(
            lambda vpc_config: vpc_config.cluster_security_group_id or ""
        )
        authority = described.apply(lambda made: made.certificate_authority).apply(_authority)
        self.kubeconfig: pulumi.Output[str] = pulumi.Output.all(
            name=self.cluster_name, endpoint=self.endpoint, authority=authority
        ).apply(self._kubeconfig)
        node_groups = self._node_groups(cluster, network)
        fargate_profile = self._fargate_profile(cluster, network)
        compute: list[pulumi.Resource] = [*node_groups.values()]
        if fargate_profile is not None:
            compute.append(fargate_profile)
        return EksBaseResources(
            network=network,
            cluster=cluster,
            log_group=log_group,
            node_groups=node_groups,
            fargate_profile=fargate_profile,
            addons=self._addons(compute or [cluster]),
            oidc_provider=self._oidc_provider(),
            access=self._access(cluster),
        )

    def _network(self) -> Network | ExistingNetwork:
        options = pulumi.ResourceOptions(parent=self)
        if isinstance(self._args.network, ExistingNetworkArgs):
            return ExistingNetwork(
                self.logical_name("network"), self._args.network, context=self.context, opts=options
            )
        return Network(self.logical_name("network"), self._args.network, context=self.context, opts=options)

    def _log_group(self) -> cloudwatch.LogGroup | None:
        """EKS would make the group itself, without retention and outside the graph."""
        if not self._config.log_types:
            return None
        return cloudwatch.LogGroup(
            self.logical_name("control-plane-logs"),
            name=_log_group_name(self.context.names),
            retention_in_days=self._config.log_retention_days,
            tags=self.tags(LOG_GROUP, "control-plane-logs", name=False),
            opts=self.child(LOG_GROUP, "control-plane-logs"),
        )

    def _cluster(
        self, network: Network | ExistingNetwork, before: Sequence[pulumi.Resource]
    ) -> pulumi_eks.Cluster:
        config, versions = self._config, self._config.addon_versions()
        endpoint = config.endpoint
        return pulumi_eks.Cluster(
            self.logical_name(PUBLISHED),
            name=self.context.names.eks_cluster,
            version=config.version,
            authentication_mode=pulumi_eks.AuthenticationMode.API,
            service_role=self._args.cluster_role,
            skip_default_node_group=True,
            skip_default_security_groups=True,
            create_oidc_provider=False,
            vpc_id=network.vpc_id,
            private_subnet_ids=network.private_subnet_ids,
            public_subnet_ids=network.public_subnet_ids,
            endpoint_private_access=endpoint.private,
            # Set to True the component polls the cluster from here; unset, EKS's default is public as well.
            endpoint_public_access=None if endpoint.public else False,
            public_access_cidrs=list(endpoint.public_access_cidrs) if endpoint.public else None,
            enabled_cluster_log_types=list(config.log_types) or None,
            kubernetes_service_ip_address_range=config.service_cidr,
            upgrade_policy={"support_type": config.support_type},
            use_default_vpc_cni="vpc-cni" not in versions,
            vpc_cni_options=pulumi_eks.VpcCniOptionsArgs(
                addon_version=versions["vpc-cni"],
                configuration_values=config.addon_configuration("vpc-cni") or None,
                resolve_conflicts_on_create=pulumi_eks.ResolveConflictsOnCreate.OVERWRITE,
                resolve_conflicts_on_update=pulumi_eks.ResolveConflictsOnUpdate.OVERWRITE,
            )
            if "vpc-cni" in versions
            else None,
            kube_proxy_addon_options=pulumi_eks.KubeProxyAddonOptionsArgs(
                enabled="kube-proxy" in versions,
                version=versions.get("kube-proxy"),
                configuration_values=config.addon_configuration("kube-proxy") or None,
                resolve_conflicts_on_create=pulumi_eks.ResolveConflictsOnCreate.OVERWRITE,
                resolve_conflicts_on_update=pulumi_eks.ResolveConflictsOnUpdate.OVERWRITE,
            ),
            coredns_addon_options=pulumi_eks.CoreDnsAddonOptionsArgs(enabled=False),
            # Left out, the component stores what AWS_PROFILE says at the time (cluster.ts, createCluster).
            provider_credential_opts=pulumi_eks.KubeconfigOptionsArgs(profile_name=self.context.aws_profile),
            tags=self.tags(CLUSTER, "cluster", name=False),
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=[*self._args.role_policies, *before],
                transforms=[self._adopt_published_child],
            ),
        )

    def _adopt_published_child(
        self, args: pulumi.ResourceTransformArgs
    ) -> pulumi.ResourceTransformResult | None:
        """Import, retention and the tag `mlcc:resource` for what the published component makes."""
        if not args.type_.startswith("aws:"):
            return None
        props = dict(args.props)
        child = args.name.removeprefix(f"{self.name}-")
        if isinstance(props.get("tags"), Mapping):
            props["tags"] = self.tags(args.type_, child, name=False)
        decision = self.context.decisions.get((args.type_, args.name))
        options = self.child(args.type_, child)
        importing = decision is not None and decision.action is Action.IMPORT
        return pulumi.ResourceTransformResult(
            props=props,
            opts=pulumi.ResourceOptions.merge(
                args.opts,
                pulumi.ResourceOptions(
                    import_=options.import_ if importing else None,
                    retain_on_delete=options.retain_on_delete,
                    hooks=options.hooks,
                ),
            ),
        )

    def _kubeconfig(self, values: Mapping[str, str]) -> str:
        return kubeconfig_text(
            kubeconfig(
                cluster_name=values["name"],
                endpoint=values["endpoint"],
                certificate_authority=values["authority"],
                region=self.context.names.region,
                aws_profile=self.context.aws_profile,
            )
        )

    def _node_groups(
        self, cluster: pulumi_eks.Cluster, network: Network | ExistingNetwork
    ) -> dict[str, eks.NodeGroup]:
        # Nodes need the CNI (in the component) and a way out to join.
        before = [cluster, *self._args.role_policies, *network.egress]
        return {
            group.name: eks.NodeGroup(
                self.logical_name(f"nodes-{group.name}"),
                node_group_args(
                    group,
                    cluster_name=self.cluster_name,
                    kubernetes_version=self._config.version,
                    node_role_arn=self._args.node_role.arn,
                    subnet_ids=network.private_subnet_ids,
                    ami_type=self._args.ami_types[group.name],
                    tags=self.tags(NODE_GROUP, f"nodes-{group.name}"),
                ),
                opts=self.child(NODE_GROUP, f"nodes-{group.name}", depends_on=before),
            )
            for group in self._config.node_groups
        }

    def _fargate_profile(
        self, cluster: pulumi_eks.Cluster, network: Network | ExistingNetwork
    ) -> eks.FargateProfile | None:
        if not self._config.fargate_namespaces or self._args.fargate_role is None:
            return None
        return eks.FargateProfile(
            self.logical_name("fargate"),
            cluster_name=self.cluster_name,
            fargate_profile_name=fargate_profile_name(self.context.names),
            pod_execution_role_arn=self._args.fargate_role.arn,
            subnet_ids=network.private_subnet_ids,
            selectors=[
                eks.FargateProfileSelectorArgs(namespace=namespace)
                for namespace in self._config.fargate_namespaces
            ],
            tags=self.tags(FARGATE_PROFILE, "fargate"),
            opts=self.child(
                FARGATE_PROFILE, "fargate", depends_on=[cluster, *self._args.role_policies, *network.egress]
            ),
        )

    def _addons(self, after: Sequence[pulumi.Resource]) -> dict[str, eks.Addon]:
        return {
            addon: eks.Addon(
                self.logical_name(f"addon-{addon}"),
                cluster_name=self.cluster_name,
                addon_name=addon,
                addon_version=version,
                configuration_values=configuration_text(self._config.addon_configuration(addon)),
                resolve_conflicts_on_create="OVERWRITE",
                resolve_conflicts_on_update="OVERWRITE",
                tags=self.tags(ADDON, f"addon-{addon}", name=False),
                opts=self.child(
                    ADDON,
                    f"addon-{addon}",
                    depends_on=after,
                    custom_timeouts=pulumi.CustomTimeouts(create=ADDON_TIMEOUT, update=ADDON_TIMEOUT),
                ),
            )
            for addon, version in own_addons(self._config).items()
        }

    def _oidc_provider(self) -> iam.OpenIdConnectProvider:
        return iam.OpenIdConnectProvider(
            self.logical_name("oidc-provider"),
            url=self.issuer,
            client_id_lists=[STS_AUDIENCE],
            tags=self.tags(OIDC_PROVIDER, "oidc-provider", name=False),
            opts=self.child(OIDC_PROVIDER, "oidc-provider"),
        )

    def _access(self, cluster: pulumi_eks.Cluster) -> Access:
        return Access(
            self.logical_name("access"),
            AccessArgs(
                cluster_name=self.cluster_name,
                cluster_identity=self.issuer,
                account=self.context.names.account,
                region=self.context.names.region,
                partition=self.context.partition,
                aws_profile=self.context.aws_profile,
                admins=self._args.admins,
                tags=self.tags(ACCESS, "access", name=False),
                node_roles=[role for role in (self._args.node_role, self._args.fargate_role) if role],
            ),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[cluster]),
        )


def _issuer(identities: Sequence[Any]) -> str:
    return str(identities[0].oidcs[0].issuer)


def _authority(authority: Any) -> str:
    return str(authority.data)


def _log_group_name(names: Names) -> str:
    return f"/aws/eks/{names.eks_cluster}/cluster"


def fargate_profile_name(names: Names) -> str:
    """Name of the Fargate profile; the predecessor's."""
    return f"mlcc-{names.profile}-system"


def own_addons(config: Eks) -> dict[str, str]:
    """Add-ons that this component makes itself, with their versions; the published one makes the others."""
    return {
        name: version for name, version in config.addon_versions().items() if name not in PUBLISHED_ADDONS
    }


def wanted_eks_base(
    name: str, config: Eks, network: NetworkArgs | ExistingNetworkArgs, names: Names, partition: str
) -> list[Wanted]:
    """What the inventory looks up for the cluster and everything in it; pure."""
    cluster = names.eks_cluster
    parts: list[tuple[str, str, str, str]] = [
        (NODE_GROUP, f"nodes-{group.name}", "node-group", group.name) for group in config.node_groups
    ]
    if config.fargate_namespaces:
        parts.append((FARGATE_PROFILE, "fargate", "fargate-profile", fargate_profile_name(names)))
    for addon in config.addon_versions():
        child = PUBLISHED_ADDONS.get(addon, f"addon-{addon}")
        parts.append((ADDON, child, "addon", addon))
    wanted = [
        *wanted_network(f"{name}-network", network),
        Wanted(
            key=(CLUSTER, f"{name}-{PUBLISHED_CLUSTER}"),
            kind="cluster",
            physical=cluster,
            lookup={"cluster": cluster},
        ),
        Wanted(
            key=(OIDC_PROVIDER, f"{name}-oidc-provider"),
            kind="oidc-provider",
            physical=f"OIDC provider of {cluster}",
            lookup={
                "cluster": cluster,
                "provider_arn_prefix": f"arn:{partition}:iam::{names.account}:oidc-provider/",
            },
        ),
        *(
            Wanted(
                key=(token, f"{name}-{child}"),
                kind=kind,
                physical=physical,
                lookup={"cluster": cluster, "name": physical},
            )
            for token, child, kind, physical in parts
        ),
    ]
    if config.log_types:
        wanted.append(
            Wanted(
                key=(LOG_GROUP, f"{name}-control-plane-logs"),
                kind="cluster",
                physical=_log_group_name(names),
                belongs_to=cluster,
                lookup={"name": _log_group_name(names)},
            )
        )
    return wanted
