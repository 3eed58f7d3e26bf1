"""`mlcc:hyperpod`: the HyperPod cluster that AWS's template makes, and its instance groups."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from mlcc_infra import versions
from mlcc_infra.instance_types import INSTANCE_TYPE
from mlcc_infra.profile.base import (
    BucketName,
    KubernetesVersion,
    Labels,
    Part,
    SecurityGroupId,
    SubnetId,
    Taint,
    VpcId,
)

FLOOR_GROUP: Final = "default-worker"
FLOOR_TYPE: Final = "ml.c5.4xlarge"
FLOOR_COUNT: Final = 2
DEFAULT_VPC_CIDR: Final = "10.192.0.0/16"


class InstanceGroup(Part):
    """One instance group of the HyperPod cluster."""

    name: str = Field(pattern=r"^[a-zA-Z0-9](-*[a-zA-Z0-9])*$", max_length=63)
    """InstanceGroupName."""
    instance_type: str = Field(pattern=rf"^ml\.{INSTANCE_TYPE}$", examples=[FLOOR_TYPE])
    """HyperPod instance type."""
    instance_count: int = Field(ge=0, le=6758)
    """Instances wanted."""
    min_instance_count: int | None = Field(default=None, ge=0, le=6758)
    """Fewest instances with which the group is kept; AWS rolls the group back when they are not there within
    three hours. Not for the floor group."""
    floor: bool | None = None
    """Whether the group carries the operator's pods and `up` waits for its nodes. Default: only the group
    `default-worker`, or the first x86 CPU group when there is none of that name."""
    zone: str | None = Field(default=None, examples=["usw2-az2"])
    """Zone id to place it in. Default: the cluster's subnets."""
    threads_per_core: Literal[1, 2] | None = None
    """1 switches hyper-threading off. Default: AWS's for the type."""
    ebs_volume_size: int | None = Field(default=None, ge=1, le=16384)
    """Secondary volume in GiB, mounted at /opt/sagemaker."""
    labels: Labels = Field(default_factory=dict)
    """Kubernetes labels of the nodes."""
    taints: tuple[Taint, ...] = ()
    """Kubernetes taints of the nodes; not together with `deepHealthChecks`."""
    deep_health_checks: tuple[
        Literal["InstanceStress", "InstanceConnectivity", "MultiNodeTrainingValidation"], ...
    ] = ()
    """Checks at start, for GPU and Trainium types only."""
    training_plan_arn: str | None = Field(
        default=None, pattern=r"^arn:aws[a-z-]*:sagemaker:[a-z0-9-]+:[0-9]{12}:training-plan/[a-z0-9-]+$"
    )
    """Training plan that the capacity comes from."""


class Template(Part):
    """How AWS's published template is pinned."""

    pin: Literal["warn", "strict"] = "warn"
    """`strict` refuses a template other than the pinned one; as AWS's nested templates sit at unversioned
    addresses it needs `mirrorBucket`."""
    digest: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    """SHA-256 of the main template as this profile saw it. Default: the digest of the release."""
    mirror_bucket: BucketName | None = None
    """Bucket with the mirrored templates, as AWS's has them at its root."""
    url: str | None = Field(default=None, max_length=5120)
    """HTTPS address in S3 of the main template. Default: AWS's bucket of the region."""
    keep_failed: bool = False
    """Keep what was made when a creation fails, to look at it; the stack then has to be deleted by hand."""


class Fsx(Part):
    """FSx for Lustre from the template."""

    enabled: bool = False
    """Whether the file system is made."""
    storage_capacity: int = Field(default=1200, ge=1200)
    """GiB: 1200 or a multiple of 2400."""
    per_unit_storage_throughput: Literal[125, 250, 500, 1000] = 250
    """MB/s a TiB."""


class Feature(Part):
    """An optional feature of the template."""

    enabled: bool = False
    """Whether it is switched on."""


class ExistingVpc(Part):
    """A VPC that HyperPod's cluster is put in."""

    vpc_id: VpcId
    """The VPC."""
    private_subnet_ids: tuple[SubnetId, ...] = Field(min_length=1, max_length=16)
    """Private subnets for the nodes."""
    eks_subnet_ids: tuple[SubnetId, ...] = ()
    """Subnets for EKS's interfaces, in two zones or more. Default: the private subnets."""
    security_group_ids: tuple[SecurityGroupId, ...] = Field(default=(), max_length=5)
    """Security groups of the nodes. Default: a new one."""


class HyperPod(Part):
    """The HyperPod cluster `mlcc-<profile>-hyperpod` on the EKS cluster `mlcc-<profile>-hp-eks`."""

    kubernetes_version: KubernetesVersion = versions.DEFAULT_KUBERNETES
    """Kubernetes version of its EKS cluster, quoted: `"1.35"`."""
    vpc_cidr: str | None = Field(default=None, examples=[DEFAULT_VPC_CIDR])
    """Block of the VPC that the template makes: a /16 within 10.0.0.0/8. Default 10.192.0.0/16."""
    zones: tuple[str, ...] | None = Field(default=None, examples=[["usw2-az1", "usw2-az2"]])
    """Zone ids, two to four. Default: those of `mlcc:network`, or two that offer the floor's type."""
    instance_groups: Annotated[tuple[InstanceGroup, ...], Field(min_length=1, max_length=20)] = (
        InstanceGroup(name=FLOOR_GROUP, instance_type=FLOOR_TYPE, instance_count=FLOOR_COUNT),
    )
    """All instance groups. One must be an x86 CPU group with room for the operator's thirteen pods."""
    node_recovery: Literal["Automatic", "None"] = "Automatic"
    """NodeRecovery."""
    node_provisioning_mode: Literal["Continuous"] = "Continuous"
    """NodeProvisioningMode; with any other a GPU type without capacity holds up the whole cluster."""
    template: Template = Template()
    """Pin of AWS's template."""
    fsx: Fsx = Fsx()
    """FSx for Lustre."""
    observability: Feature = Feature()
    """Amazon Managed Prometheus and Grafana."""
    training_operator: Feature = Feature()
    """HyperPod training operator."""
    task_governance: Feature = Feature()
    """Task governance (Kueue)."""
    existing_vpc: ExistingVpc | None = None
    """Use a VPC of your own in place of a new one."""
    existing_stack: str | None = Field(default=None, pattern=r"^[a-zA-Z][-a-zA-Z0-9]{0,127}$")
    """CloudFormation stack made by the console or `hyp`, to adopt with its own parameters."""

    @property
    def template_vpc_cidr(self) -> str | None:
        """The block that is sent as VpcCIDR; `None` with an existing VPC or stack."""
        if self.existing_vpc or self.existing_stack:
            return None
        return DEFAULT_VPC_CIDR if self.vpc_cidr is None else self.vpc_cidr

    @property
    def floor_groups(self) -> tuple[InstanceGroup, ...]:
        """Groups that `up` waits for: those marked, else `default-worker`, else the first x86 CPU group."""
        marked = tuple(group for group in self.instance_groups if group.floor)
        if marked:
            return marked
        candidates = [group for group in self.instance_groups if group.floor is None]
        named = tuple(group for group in candidates if group.name == FLOOR_GROUP)
        if named:
            return named
        return tuple(group for group in candidates if versions.instance_type(group.instance_type).is_x86_cpu)[
            :1
        ]
