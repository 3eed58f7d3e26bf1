"""`mlcc:operator`: the inference operator add-on and what it needs."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from mlcc_infra import versions
from mlcc_infra.profile.base import AddonVersion, BucketName, Part, RoleArn
from mlcc_infra.profile.eks import Addon


class Roles(Part):
    """Roles of your own in place of those this product makes."""

    execution: RoleArn | None = Field(
        default=None, examples=["arn:aws:iam::123456789012:role/SageMakerHyperPodInference-team"]
    )
    """Execution role; its name starts with `SageMakerHyperPodInference` and its path is `/`."""
    alb_controller: RoleArn | None = None
    """Role of the load balancer controller."""
    keda_operator: RoleArn | None = None
    """Role of KEDA's operator."""
    s3_csi: RoleArn | None = None
    """Role of the S3 CSI driver."""
    fsx_csi: RoleArn | None = None
    """Role of the FSx CSI driver."""
    gated_model: RoleArn | None = None
    """Role that downloads gated JumpStart models."""
    gateway: RoleArn | None = None
    """Role of the inference gateway's controller."""


class Switch(Part):
    """A part that comes with the operator."""

    enabled: bool = True
    """Whether it is switched on."""


class Gateway(Part):
    """The inference gateway (add-on v2.0.0 and later)."""

    enabled: bool = False
    """Whether it is switched on; the add-on's own default is on from v2.1.0, so it is always sent."""


class Cluster(Part):
    """The cluster that target `operator-only` puts the operator on."""

    eks_cluster_name: str = Field(pattern=r"^[0-9A-Za-z][A-Za-z0-9\-_]{0,99}$")
    """Name of the EKS cluster."""
    hyperpod_cluster_arn: str = Field(
        alias="hyperPodClusterArn",
        pattern=r"^arn:aws[a-z\-]*:sagemaker:[a-z0-9\-]*:[0-9]{12}:cluster/[a-z0-9]{12}$",
    )
    """ARN of the HyperPod cluster on it; it ends in an id of twelve characters, not in the name."""
    vpc_id: str | None = Field(default=None, pattern=r"^vpc-[0-9a-f]{8,17}$")
    """Its VPC. Default: read from the cluster."""


class Operator(Part):
    """The EKS add-on `amazon-sagemaker-hyperpod-inference`."""

    version: AddonVersion = versions.OPERATOR_ADDON
    """Exact version of the add-on."""
    install: Literal["graph", "template"] = "graph"
    """Who installs it: this product's own resources, or AWS's template (then at v1.0.0)."""
    verify: Literal["warn", "strict"] = "warn"
    """What happens when the watcher does not come within 25 minutes: a warning, or a failed `up`."""
    roles: Roles = Roles()
    """Roles of your own."""
    tls_bucket: BucketName | None = None
    """Bucket for TLS certificates. Default: `hyperpod-tls-mlcc-<profile>-<hash>`, or the predecessor's."""
    model_buckets: tuple[BucketName, ...] = ()
    """Buckets with models, which the S3 CSI driver may mount."""
    gated_models: bool = False
    """Whether a role for gated JumpStart models is made."""
    gateway: Gateway = Gateway()
    """Inference gateway."""
    load_balancer_controller: Switch = Switch()
    """The load balancer controller that the add-on brings."""
    keda: Switch = Switch()
    """The KEDA that the add-on brings."""
    addons: dict[str, Addon] = Field(default_factory=dict)
    """Prerequisite add-ons (cert-manager, metrics-server, S3 and FSx CSI drivers): versions and settings."""
    configuration: dict[str, Any] = Field(default_factory=dict)
    """More configuration values of the add-on, such as `tolerations`; those this product sets are refused."""
    cluster: Cluster | None = None
    """The cluster for target `operator-only`."""
