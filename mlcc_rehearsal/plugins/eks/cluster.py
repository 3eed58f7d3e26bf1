"""The component ``eks:index:Cluster`` as the published one registers it."""

from __future__ import annotations

import asyncio
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes

from mlcc_infra import clock
from mlcc_rehearsal.plugins.eks.addons import default_addon, is_given
from mlcc_rehearsal.plugins.eks.kubeconfig import compact_json, credential_options, kubeconfig, region_of
from mlcc_rehearsal.plugins.eks.security_groups import (
    NodeSecurityGroup,
    cluster_security_group,
    merged_tags,
    node_security_group,
)
from mlcc_rehearsal.plugins.eks.service_role import ServiceRole
from mlcc_rehearsal.plugins.eks.vpc_cni import VpcCniAddon

TOKEN = "eks:index:Cluster"
#: How often, and every how many modelled seconds, a public endpoint is asked for its health.
_HEALTH_TRIES, _HEALTH_INTERVAL = 60, 5.0
# Set when the cluster is made and never after: later differences are none.
_CREATION_ONLY = ["accessConfig.bootstrapClusterCreatorAdminPermissions", "bootstrapSelfManagedAddons"]


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _is_healthy(endpoint: str) -> bool:
    # The certificate is the cluster's own, and nothing is sent: as the published component asks.
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with urllib.request.urlopen(f"{endpoint}/healthz", timeout=1, context=context) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


class Cluster(pulumi.ComponentResource):
    """The component. `inputs` are as the engine sends them, and checked (see the module `options`)."""

    def __init__(
        self, name: str, inputs: Mapping[str, Any], opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(TOKEN, name, None, opts)
        self._label = name
        self._inputs = inputs
        self._credentials = credential_options(
            inputs.get("providerCredentialOpts"), os.environ, pulumi.Config("aws").get("profile")
        )
        self.vpc_id, self.subnet_ids = self._network()
        self.role = self._service_role()
        self.cluster_group = self._cluster_group()
        self.cluster = self._cluster()
        if self._addon_options("kubeProxyAddonOptions").get("enabled", True) is not False:
            self._default_addon("kube-proxy", "kubeProxyAddonOptions")
        self.endpoint = self._endpoint()
        self.provider = kubernetes.Provider(
            f"{name}-eks-k8s",
            kubeconfig=self._kubeconfig(with_profile=True).apply(compact_json),
            enable_config_map_mutable=inputs.get("enableConfigMapMutable"),
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.node_access = self._node_access()
        entries = self._access_entries()
        self.vpc_cni = self._vpc_cni([*entries, *([self.node_access] if self.node_access else [])])
        coredns = self._addon_options("corednsAddonOptions")
        if coredns.get("enabled") is True or is_given(coredns.get("configurationValues")):
            self._default_addon("coredns", "corednsAddonOptions")
        self.nodes = self._node_group()
        self.results = self._results()
        self.register_outputs(self.results)

    def _child(self, **options: Any) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=self, **options)

    def _addon_options(self, name: str) -> Mapping[str, Any]:
        options: Mapping[str, Any] = self._inputs.get(name) or {}
        return options

    def _network(self) -> tuple[Any, Any]:
        """The VPC and the cluster's subnets: as given, else the default VPC's."""
        inputs = self._inputs
        vpc_id, subnets = inputs.get("vpcId"), pulumi.Output.from_input([])
        if vpc_id is None:
            call = pulumi.InvokeOutputOptions(parent=self)
            vpc_id = aws.ec2.get_vpc_output(default=True, opts=call).id
            filters: Any = vpc_id.apply(lambda known: [{"name": "vpc-id", "values": [known]}])
            subnets = aws.ec2.get_subnets_output(filters=filters, opts=call).ids
        if inputs.get("subnetIds") is not None:
            subnets = inputs["subnetIds"]
        elif inputs.get("publicSubnetIds") is not None or inputs.get("privateSubnetIds") is not None:
            kinds = (inputs.get("publicSubnetIds") or [], inputs.get("privateSubnetIds") or [])
            subnets = pulumi.Output.all(*kinds).apply(lambda known: [*known[0], *known[1]])
        return vpc_id, subnets

    def _service_role(self) -> pulumi.Output[aws.iam.Role]:
        given = self._inputs.get("serviceRole")
        self._made_role: ServiceRole | None = None
        if given is not None:
            return pulumi.Output.from_input(given)
        self._made_role = ServiceRole(
            f"{self._label}-eksRole",
            service="eks.amazonaws.com",
            description="Allows EKS to manage clusters on your behalf.",
            policies=("AmazonEKSClusterPolicy",),
            actions=("sts:AssumeRole", "sts:TagSession"),
            tags=self._inputs.get("tags"),
            parent=self,
        )
        return pulumi.Output.from_input(self._made_role.role)

    def _cluster_group(self) -> Any:
        given = self._inputs.get("clusterSecurityGroup")
        if given is not None or self._inputs.get("skipDefaultSecurityGroups"):
            return given
        return cluster_security_group(
            self._label,
            vpc_id=self.vpc_id,
            tags=self._inputs.get("tags"),
            own_tags=self._inputs.get("clusterSecurityGroupTags"),
            parent=self,
        )

    def _group_id(self) -> Any:
        """The id of the component's cluster security group, else of the one that EKS makes."""
        if self.cluster_group is None:
            return self.cluster.vpc_config.apply(lambda known: known.cluster_security_group_id)
        return pulumi.Output.from_input(self.cluster_group).apply(lambda group: group.id)

    def _vpc_config(self) -> aws.eks.ClusterVpcConfigArgs:
        inputs = self._inputs
        public, cidrs = inputs.get("endpointPublicAccess"), inputs.get("publicAccessCidrs")
        if cidrs is not None:
            cidrs = pulumi.Output.all(cidrs, True if public is None else public).apply(_public_cidrs)
        group = self.cluster_group
        return aws.eks.ClusterVpcConfigArgs(
            security_group_ids=None
            if group is None
            else [pulumi.Output.from_input(group).apply(lambda known: known.id)],
            subnet_ids=self.subnet_ids,
            endpoint_private_access=inputs.get("endpointPrivateAccess"),
            endpoint_public_access=public,
            public_access_cidrs=cidrs,
        )

    def _cluster(self) -> aws.eks.Cluster:
        inputs = self._inputs
        mode = inputs.get("authenticationMode")
        network: Any = None
        if is_given(inputs.get("kubernetesServiceIpAddressRange")) or is_given(inputs.get("ipFamily")):
            network = pulumi.Output.all(
                inputs.get("kubernetesServiceIpAddressRange"), inputs.get("ipFamily")
            ).apply(_network_config)
        self.encryption: Any = None
        if is_given(inputs.get("encryptionConfigKeyArn")):
            self.encryption = pulumi.Output.from_input(inputs["encryptionConfigKeyArn"]).apply(
                lambda key: {"provider": {"keyArn": key}, "resources": ["secrets"]}
            )
        managed = inputs.get("bootstrapSelfManagedAddons")
        access = aws.eks.ClusterAccessConfigArgs(
            authentication_mode=mode, bootstrap_cluster_creator_admin_permissions=True
        )
        made = self._made_role
        return aws.eks.Cluster(
            f"{self._label}-eksCluster",
            name=inputs.get("name"),
            role_arn=self.role.apply(lambda role: role.arn),
            kubernetes_network_config=network,
            bootstrap_self_managed_addons=True if managed is None else managed,
            vpc_config=self._vpc_config(),
            version=inputs.get("version"),
            enabled_cluster_log_types=inputs.get("enabledClusterLogTypes"),
            tags=merged_tags(
                {"Name": f"{self._label}-eksCluster"}, inputs.get("clusterTags"), inputs.get("tags")
            ),
            encryption_config=self.encryption,
            access_config=access if mode else None,
            upgrade_policy=inputs.get("upgradePolicy"),
            deletion_protection=inputs.get("deletionProtection"),
            opts=self._child(
                ignore_changes=_CREATION_ONLY, depends_on=[made.role, *made.attachments] if made else None
            ),
        )

    def _default_addon(self, addon: str, options: str) -> None:
        default_addon(
            f"{self._label}-{addon}",
            addon,
            options=self._addon_options(options),
            cluster=self.cluster,
            tags=self._inputs.get("tags"),
            parent=self,
        )

    def _endpoint(self) -> pulumi.Output[str]:
        """The endpoint; in an update its health is asked for first, if public access was set by name."""
        if pulumi.runtime.is_dry_run() or not is_given(self._inputs.get("endpointPublicAccess")):
            return self.cluster.endpoint

        async def healthy(endpoint: str) -> str:
            for _ in range(_HEALTH_TRIES):
                if await asyncio.to_thread(_is_healthy, endpoint):
                    break
                await asyncio.sleep(_HEALTH_INTERVAL / clock.speed())
            return endpoint

        return self.cluster.endpoint.apply(healthy)

    def _kubeconfig(self, *, with_profile: bool) -> pulumi.Output[dict[str, Any]]:
        return pulumi.Output.all(
            name=self.cluster.name,
            endpoint=self.endpoint,
            certificate_authority=self.cluster.certificate_authority.apply(lambda known: known.data),
            credentials=self._credentials,
            region=self.cluster.arn.apply(region_of),
        ).apply(lambda known: kubeconfig(**known, with_profile=with_profile))

    def _node_access(self) -> kubernetes.core.v1.ConfigMap | None:
        """aws-auth, where the authentication mode knows it; without a node group no role is in it."""
        if self._inputs.get("authenticationMode") == "API":
            return None
        return kubernetes.core.v1.ConfigMap(
            f"{self._label}-nodeAccess",
            immutable=False,
            metadata=kubernetes.meta.v1.ObjectMetaArgs(
                name="aws-auth", namespace="kube-system", annotations={"pulumi.com/patchForce": "true"}
            ),
            data={"mapRoles": "[]\n"},
            opts=self._child(provider=self.provider),
        )

    def _access_entries(self) -> list[aws.eks.AccessEntry]:
        self._declared_entries: dict[str, Any] = self._inputs.get("accessEntries") or {}
        made = []
        for key, entry in self._declared_entries.items():
            resource = aws.eks.AccessEntry(
                f"{self._label}-{key}",
                cluster_name=self.cluster.name,
                principal_arn=entry.get("principalArn"),
                kubernetes_groups=entry.get("kubernetesGroups"),
                tags=entry.get("tags"),
                type=entry.get("type"),
                user_name=entry.get("username"),
                opts=self._child(depends_on=[self.cluster]),
            )
            for policy_key, policy in (entry.get("accessPolicies") or {}).items():
                association = pulumi.Output.from_input(policy)
                aws.eks.AccessPolicyAssociation(
                    f"{self._label}-{key}-{policy_key}",
                    cluster_name=self.cluster.name,
                    principal_arn=entry.get("principalArn"),
                    policy_arn=association.apply(lambda known: known["policyArn"]),
                    access_scope=association.apply(lambda known: known["accessScope"]),
                    opts=pulumi.ResourceOptions(parent=resource, depends_on=[resource]),
                )
            made.append(resource)
        return made

    def _vpc_cni(self, after: list[pulumi.Resource]) -> VpcCniAddon | None:
        if self._inputs.get("useDefaultVpcCni"):
            return None
        return VpcCniAddon(
            f"{self._label}-vpc-cni",
            options=self._addon_options("vpcCniOptions"),
            cluster=self.cluster,
            tags=self._inputs.get("tags"),
            opts=self._child(depends_on=after, providers={"kubernetes": self.provider}),
        )

    def _node_group(self) -> NodeSecurityGroup | None:
        if self._inputs.get("skipDefaultSecurityGroups"):
            return None
        return node_security_group(
            self._label,
            vpc_id=self.vpc_id,
            cluster=self.cluster,
            cluster_group_id=self._group_id(),
            tags=self._inputs.get("tags"),
            own_tags=self._inputs.get("nodeSecurityGroupTags"),
            parent=self,
        )

    def _core(self, shared: pulumi.Output[dict[str, Any]]) -> dict[str, Any]:
        inputs = self._inputs
        return _without_none(
            {
                "vpcId": self.vpc_id,
                "subnetIds": self.subnet_ids,
                "publicSubnetIds": inputs.get("publicSubnetIds"),
                "privateSubnetIds": inputs.get("privateSubnetIds"),
                "clusterSecurityGroup": self.cluster_group,
                "cluster": self.cluster,
                "endpoint": self.endpoint,
                "nodeGroupOptions": _without_none({"version": inputs.get("version")}),
                "kubeconfig": shared,
                "provider": self.provider,
                "vpcCni": self.vpc_cni,
                "instanceRoles": [],
                "eksNodeAccess": self.node_access,
                "tags": inputs.get("tags"),
                "nodeSecurityGroupTags": inputs.get("nodeSecurityGroupTags"),
                "storageClasses": {},
                "encryptionConfig": self.encryption,
                "clusterIamRole": self.role,
                "accessEntries": list(self._declared_entries.values()),
            }
        )

    def _results(self) -> dict[str, Any]:
        """The component's outputs, as its SDK class has them; what only a fuller cluster has is empty."""
        shared = self._kubeconfig(with_profile=False)
        issuer = self.cluster.identities.apply(_issuer)
        group_id = self._group_id()
        nodes = self.nodes
        return _without_none(
            {
                "kubeconfig": shared,
                "kubeconfigJson": shared.apply(compact_json),
                "clusterSecurityGroup": self.cluster_group,
                "instanceRoles": [],
                "nodeSecurityGroup": nodes.group if nodes else None,
                "eksClusterIngressRule": nodes.cluster_ingress if nodes else None,
                "eksCluster": self.cluster,
                "core": self._core(shared),
                "clusterSecurityGroupId": group_id,
                "nodeSecurityGroupId": nodes.group.id if nodes else group_id,
                "clusterIngressRuleId": nodes.cluster_ingress.security_group_rule_id if nodes else "",
                "defaultNodeGroupAsgName": "",
                "fargateProfileId": "",
                "fargateProfileStatus": "",
                "oidcProviderArn": "",
                "oidcProviderUrl": issuer,
                "oidcIssuer": issuer.apply(lambda url: url.replace("https://", "")),
                "autoModeNodeRoleName": "",
            }
        )


def _public_cidrs(known: list[Any]) -> Any:
    cidrs, public = known
    if not public and cidrs is not None:
        raise ValueError("`publicAccessCidrs` can only be set when `endpointPublicAccess` is true")
    return cidrs


def _network_config(known: list[Any]) -> dict[str, Any]:
    cidr, family = known[0], known[1] or "ipv4"
    return _without_none({"serviceIpv4Cidr": cidr if family == "ipv4" else None, "ipFamily": family})


def _issuer(identities: Sequence[Any]) -> str:
    if identities and identities[0].oidcs:
        return str(identities[0].oidcs[0].issuer)
    return ""
