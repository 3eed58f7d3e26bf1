"""Helm charts on a vanilla EKS cluster: the AWS Load Balancer Controller and the NVIDIA device plugin."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import pulumi
import pulumi_kubernetes as kubernetes
from pulumi_kubernetes.helm import v3 as helm

from mlcc_infra import versions
from mlcc_infra.account.decisions import ResourceKey, Wanted
from mlcc_infra.components.base import Component, StackContext
from mlcc_infra.profile.eks import Eks

RELEASE = "kubernetes:helm.sh/v3:Release"
KIND = "chart"
NAMESPACE = "kube-system"
LOAD_BALANCER_CONTROLLER = "aws-load-balancer-controller"
DEVICE_PLUGIN = "nvidia-device-plugin"
ROLE_ANNOTATION = "eks.amazonaws.com/role-arn"


@final
@dataclass(frozen=True, kw_only=True)
class ClusterChartsArgs:
    """Which charts, and what they need to know of the cluster.

    `cluster_identifier` changes with the cluster, not with its name: it ties what is in the cluster to
    that very cluster. `load_balancer_controller_role_arn` is required when the controller is on.

    `deleted_with` is the cluster when it goes with the stack: releases then go with it and are not taken out
    first. Otherwise a replacement of the cluster fails: asked what else has to go, the engine closes the
    Kubernetes provider (pulumi 3.276, `Registry.Diff`), and a release could not be deleted through it any
    more ("grpc: the client connection is closing"). What releases made outside the cluster is drained before.
    """

    config: Eks
    kubeconfig: pulumi.Input[str]
    cluster_identifier: pulumi.Input[str]
    cluster_name: pulumi.Input[str]
    vpc_id: pulumi.Input[str]
    load_balancer_controller_role_arn: pulumi.Input[str] | None
    after: Sequence[pulumi.Resource]
    deleted_with: pulumi.Resource | None


@final
@dataclass(frozen=True, kw_only=True)
class ClusterChartsResources:
    """The Kubernetes provider of the cluster and the releases."""

    provider: kubernetes.Provider
    load_balancer_controller: helm.Release | None
    device_plugin: helm.Release | None


class ClusterCharts(Component):
    """What runs in the cluster besides add-ons.

    The load balancer controller gets VPC, region and cluster name explicitly, because pods cannot count
    on instance metadata, and its webhook for Services is off: until its pods are ready that webhook would
    refuse every Service in the cluster (kubernetes-sigs/aws-load-balancer-controller, chart values).
    """

    TOKEN: ClassVar[str] = "mlcc:eks:ClusterCharts"

    def __init__(
        self,
        name: str,
        args: ClusterChartsArgs,
        *,
        context: StackContext,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(name, context, opts, module="eks")
        self._args = args
        self._provider = kubernetes.Provider(
            self.logical_name("kubernetes"),
            kubeconfig=args.kubeconfig,
            cluster_identifier=args.cluster_identifier,
            opts=pulumi.ResourceOptions(parent=self),
        )
        controller = self._load_balancer_controller()
        self.resources = ClusterChartsResources(
            provider=self._provider,
            load_balancer_controller=controller,
            device_plugin=self._device_plugin([controller] if controller else []),
        )
        self.register_outputs({"releases": sorted(self._release_names())})

    def _release_names(self) -> list[str]:
        chosen = {
            LOAD_BALANCER_CONTROLLER: self.resources.load_balancer_controller,
            DEVICE_PLUGIN: self.resources.device_plugin,
        }
        return [name for name, release in chosen.items() if release is not None]

    def _release(
        self,
        chart_name: str,
        version: str | None,
        values: dict[str, pulumi.Input[object]],
        after: Sequence[pulumi.Resource],
    ) -> helm.Release:
        chart = versions.CHARTS[chart_name]
        return helm.Release(
            self.logical_name(chart_name),
            helm.ReleaseArgs(
                name=chart_name,
                namespace=NAMESPACE,
                chart=chart.name,
                version=version or chart.version,
                repository_opts=helm.RepositoryOptsArgs(repo=chart.repository),
                values=values,
            ),
            opts=self.child(
                RELEASE,
                chart_name,
                depends_on=[*self._args.after, *after],
                provider=self._provider,
                deleted_with=self._args.deleted_with,
            ),
        )

    def _load_balancer_controller(self) -> helm.Release | None:
        config = self._args.config.load_balancer_controller
        if not config.enabled:
            return None
        if self._args.load_balancer_controller_role_arn is None:
            raise ValueError("load_balancer_controller_role_arn is required for the load balancer controller")
        return self._release(
            LOAD_BALANCER_CONTROLLER,
            config.chart_version,
            {
                "clusterName": self._args.cluster_name,
                "region": self.context.names.region,
                "vpcId": self._args.vpc_id,
                "enableServiceMutatorWebhook": False,
                "serviceAccount": {
                    "create": True,
                    "name": LOAD_BALANCER_CONTROLLER,
                    "annotations": {ROLE_ANNOTATION: self._args.load_balancer_controller_role_arn},
                },
            },
            [],
        )

    def _device_plugin(self, after: Sequence[pulumi.Resource]) -> helm.Release | None:
        config = self._args.config.device_plugin
        if not config.enabled:
            return None
        return self._release(DEVICE_PLUGIN, config.chart_version, {}, after)


def wanted_cluster_charts(
    name: str, config: Eks, cluster: str, recorded: Container[ResourceKey]
) -> list[Wanted]:
    """What the inventory looks up for the releases in a cluster; pure.

    Those that the state has are not asked of the cluster: that takes a connection to it.
    """
    charts = {
        LOAD_BALANCER_CONTROLLER: config.load_balancer_controller.enabled,
        DEVICE_PLUGIN: config.device_plugin.enabled,
    }
    wanted = []
    for chart in (chart for chart, enabled in charts.items() if enabled):
        key = (RELEASE, f"{name}-{chart}")
        known = {"recorded": "yes"} if key in recorded else {}
        wanted.append(
            Wanted(
                key=key,
                kind=KIND,
                physical=chart,
                lookup={"cluster": cluster, "namespace": NAMESPACE, "release": chart, **known},
            )
        )
    return wanted
