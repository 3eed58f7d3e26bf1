"""`mlcc:eks`: the vanilla EKS cluster."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from mlcc_infra import versions
from mlcc_infra.instance_types import INSTANCE_TYPE
from mlcc_infra.profile.base import AddonVersion, BucketName, KubernetesVersion, Labels, Part, Taint

CONTROL_PLANE_LOGS: Final = ("api", "audit", "authenticator", "controllerManager", "scheduler")
ServiceAccount = Annotated[
    str, Field(pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?|\*):([a-z0-9]([-a-z0-9.]*[a-z0-9])?|\*)$")
]
"""``<namespace>:<service account>``; a ``*`` may stand for one of the two, not for both."""


class Endpoint(Part):
    """Who reaches the Kubernetes API of the cluster."""

    public: bool = True
    """Reachable from outside the VPC."""
    private: bool = True
    """Reachable from inside the VPC without leaving it."""
    public_access_cidrs: tuple[str, ...] = ("0.0.0.0/0",)
    """Blocks that may use the public endpoint; open to all by default, which is warned about."""


class NodeGroup(Part):
    """A managed node group."""

    name: str = Field(pattern=r"^[0-9A-Za-z][A-Za-z0-9_-]{0,62}$")
    """Its name in EKS."""
    instance_types: tuple[Annotated[str, Field(pattern=rf"^(ml\.)?{INSTANCE_TYPE}$")], ...] = ("m6i.large",)
    """EC2 instance types, in order of preference."""
    min_size: int = Field(default=1, ge=0, le=450)
    """Fewest nodes."""
    max_size: int = Field(default=3, ge=1, le=450)
    """Most nodes."""
    desired_size: int = Field(default=2, ge=0, le=450)
    """Nodes at the start; an autoscaler may change it later."""
    capacity_type: Literal["ON_DEMAND", "SPOT"] = "ON_DEMAND"
    """How the instances are bought."""
    ami_type: str | None = Field(
        default=None, pattern=r"^[A-Z0-9_a-z]+$", examples=["AL2023_x86_64_STANDARD"]
    )
    """EKS AMI type. Default: Amazon Linux 2023 for the instance types' architecture and accelerator."""
    disk_size: int = Field(default=50, ge=20, le=16384)
    """Root volume in GiB."""
    labels: Labels = Field(default_factory=dict)
    """Kubernetes labels of the nodes."""
    taints: tuple[Taint, ...] = ()
    """Kubernetes taints of the nodes."""


class Addon(Part):
    """An EKS add-on."""

    version: AddonVersion | None = Field(
        default=None, examples=[versions.addon_version("vpc-cni", versions.DEFAULT_KUBERNETES)]
    )
    """Exact version. Default: the pin for the cluster's Kubernetes version."""
    configuration: dict[str, Any] = Field(default_factory=dict)
    """Configuration values, as the add-on's schema for that version has them."""
    enabled: bool = True
    """Set to false to leave out a default add-on."""


class LoadBalancerController(Part):
    """The AWS Load Balancer Controller, from its Helm chart."""

    enabled: bool = False
    """Whether it is installed, with its role."""
    chart_version: str | None = Field(default=None, pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$")
    """Version of the chart. Default: the pinned one."""


class DevicePlugin(Part):
    """The NVIDIA device plugin, from its Helm chart."""

    enabled: bool = False
    """Whether it is installed; GPU node groups need it."""
    chart_version: str | None = Field(default=None, pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$")
    """Version of the chart. Default: the pinned one."""


class Inference(Part):
    """What pods that serve models may do in AWS (role `mlcc-<profile>-eks-inference-role`)."""

    enabled: bool = True
    """Whether the role is made."""
    service_accounts: tuple[ServiceAccount, ...] = ("default:mlcc-inference",)
    """`<namespace>:<service account>` of those pods."""
    model_buckets: tuple[BucketName, ...] = ()
    """Buckets they may read models from. None by default: then the role grants nothing."""


class Eks(Part):
    """The vanilla EKS cluster `mlcc-<profile>-eks`."""

    version: KubernetesVersion = versions.DEFAULT_KUBERNETES
    """Kubernetes version, quoted: `"1.35"`."""
    support_type: Literal["EXTENDED", "STANDARD"] = "EXTENDED"
    """What EKS does when standard support of the version ends: `EXTENDED` keeps it (AWS's default, at extra
    cost), `STANDARD` upgrades the cluster by itself."""
    endpoint: Endpoint = Endpoint()
    """Access to the Kubernetes API."""
    service_cidr: str | None = Field(default=None, examples=["172.20.0.0/16"])
    """Block of Kubernetes services, from RFC 1918, /12 to /24. Default: EKS chooses."""
    log_types: tuple[Literal["api", "audit", "authenticator", "controllerManager", "scheduler"], ...] = ()
    """Control plane logs to keep in CloudWatch."""
    log_retention_days: int = Field(default=30, ge=1, le=3653)
    """Days that they are kept."""
    node_groups: tuple[NodeGroup, ...] = (NodeGroup(name="default"),)
    """Managed node groups. Default: one group of two small CPU nodes."""
    fargate_namespaces: tuple[str, ...] = ()
    """Namespaces whose pods run on Fargate, at most five (EKS's limit of selectors in a profile)."""
    addons: dict[str, Addon] = Field(default_factory=dict)
    """Add-ons by name; vpc-cni, kube-proxy, coredns and eks-pod-identity-agent come by default."""
    load_balancer_controller: LoadBalancerController = LoadBalancerController()
    """AWS Load Balancer Controller."""
    device_plugin: DevicePlugin = DevicePlugin()
    """NVIDIA device plugin."""
    inference: Inference = Inference()
    """Grants of model pods."""

    def addon_versions(self) -> dict[str, str]:
        """Every add-on that the cluster gets, with its exact version, sorted by name.

        Raises:
            KeyError: when an add-on has neither a version in the profile nor a pin; validation refuses that.
        """
        chosen: dict[str, str] = {}
        for name in sorted({*versions.DEFAULT_ADDONS, *self.addons}):
            addon = self.addons.get(name, Addon())
            if addon.enabled:
                chosen[name] = addon.version or versions.addon_version(name, self.version)
        return chosen

    def addon_configuration(self, name: str) -> dict[str, Any]:
        """The configuration values of one add-on; empty when there are none."""
        return dict(self.addons[name].configuration) if name in self.addons else {}
