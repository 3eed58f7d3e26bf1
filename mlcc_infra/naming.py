"""Every physical name of the product, checked against the limits of the service that gets it.

Physical names are a contract: adoption looks them up, so they are never truncated and never change without
an alias. A name that does not fit is refused before anything is written, all of them at once.

Names are templates over the profile (``{p}``) and, for buckets (whose names are global), over a hash of the
account and region (``{hash}``, :func:`location_hash`). Limits: botocore's service models for IAM, EKS,
SageMaker, CloudFormation and SSM; the S3 user guide's bucket naming rules.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mlcc_infra.tagging import Origin, Owner, OwnerKind, owner_of, tags

__all__ = [
    "MAX_PROFILE_LENGTH",
    "PROFILE_PATTERN",
    "SSM_KEYS",
    "TEMPLATES",
    "NameProblem",
    "Names",
    "Origin",
    "Owner",
    "OwnerKind",
    "default_profile",
    "location_hash",
    "name_problems",
    "owner_of",
    "predecessor_stacks",
    "tags",
]

PROFILE_PATTERN: Final = re.compile(r"^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$")
STACK_PREFIX: Final = "mlcc-"


@dataclass(frozen=True, kw_only=True)
class NameLimit:
    """What a service accepts as a name: most characters, and the pattern of the whole name."""

    service: str
    maximum: int
    pattern: re.Pattern[str]


IAM_ROLE: Final = NameLimit(service="IAM role", maximum=64, pattern=re.compile(r"^[\w+=,.@-]+$"))
IAM_POLICY: Final = NameLimit(service="IAM policy", maximum=128, pattern=re.compile(r"^[\w+=,.@-]+$"))
EKS_CLUSTER: Final = NameLimit(
    service="EKS cluster", maximum=100, pattern=re.compile(r"^[0-9A-Za-z][A-Za-z0-9\-_]*$")
)
HYPERPOD_CLUSTER: Final = NameLimit(
    service="HyperPod cluster", maximum=63, pattern=re.compile(r"^[a-zA-Z0-9](-*[a-zA-Z0-9])*$")
)
CLOUDFORMATION_STACK: Final = NameLimit(
    service="CloudFormation stack", maximum=128, pattern=re.compile(r"^[a-zA-Z][-a-zA-Z0-9]*$")
)
S3_BUCKET: Final = NameLimit(
    service="S3 bucket",
    maximum=63,
    pattern=re.compile(r"^(?!xn--)(?!.*\.\.)(?!.*(-s3alias|--ol-s3)$)[a-z0-9][a-z0-9.-]+[a-z0-9]$"),
)
SSM_PARAMETER: Final = NameLimit(
    # 1011 characters including the ARN in front of the name (botocore, PutParameter).
    service="SSM parameter",
    maximum=1011 - len("arn:aws-us-gov:ssm:ap-southeast-99:123456789012:parameter"),
    pattern=re.compile(r"^/(?!aws|ssm)[a-zA-Z0-9_.\-/]+$", re.IGNORECASE),
)


@dataclass(frozen=True, kw_only=True)
class NameTemplate:
    """One derived name: what it is for, its template, and the service that limits it."""

    thing: str
    template: str
    limit: NameLimit

    @property
    def longest_profile(self) -> int:
        """Length of the longest profile name with which this name fits."""
        return self.limit.maximum - len(self.render("", "0" * 8))

    def render(self, profile: str, location: str) -> str:
        """The name for ``profile`` at the place whose :func:`location_hash` is ``location``."""
        return self.template.format(p=profile, hash=location)


def _template(thing: str, template: str, limit: NameLimit) -> NameTemplate:
    return NameTemplate(thing=thing, template=template, limit=limit)


TEMPLATES: Final[Mapping[str, NameTemplate]] = {
    "eks_cluster_role": _template("EKS cluster role", "mlcc-{p}-eks-cluster-role", IAM_ROLE),
    "eks_node_role": _template("EKS node role", "mlcc-{p}-eks-node-role", IAM_ROLE),
    "fargate_pod_exec_role": _template(
        "Fargate pod execution role", "mlcc-{p}-fargate-pod-exec-role", IAM_ROLE
    ),
    "hyperpod_instance_role": _template(
        "HyperPod instance role", "mlcc-{p}-hyperpod-instance-role", IAM_ROLE
    ),
    "eks_cluster": _template("EKS cluster", "mlcc-{p}-eks", EKS_CLUSTER),
    "eks_inference_role": _template("role of model pods", "mlcc-{p}-eks-inference-role", IAM_ROLE),
    "eks_alb_controller_role": _template(
        "load balancer controller role (vanilla-eks)", "mlcc-{p}-eks-alb-controller-role", IAM_ROLE
    ),
    "eks_alb_controller_policy": _template(
        "load balancer controller policy (vanilla-eks)", "mlcc-{p}-eks-alb-controller-policy", IAM_POLICY
    ),
    "hyperpod_stack": _template("CloudFormation stack", "mlcc-{p}-hp", CLOUDFORMATION_STACK),
    "hyperpod_eks_cluster": _template("HyperPod's EKS cluster", "mlcc-{p}-hp-eks", EKS_CLUSTER),
    "hyperpod_cluster": _template("HyperPod cluster", "mlcc-{p}-hyperpod", HYPERPOD_CLUSTER),
    "lifecycle_bucket": _template("lifecycle bucket", "sagemaker-mlcc-{p}-{hash}", S3_BUCKET),
    "operator_execution_role": _template(
        "operator execution role", "SageMakerHyperPodInference-{p}", IAM_ROLE
    ),
    "alb_controller_role": _template(
        "load balancer controller role", "mlcc-{p}-alb-controller-role", IAM_ROLE
    ),
    "alb_controller_policy": _template(
        "load balancer controller policy", "mlcc-{p}-alb-controller-policy", IAM_POLICY
    ),
    "keda_operator_role": _template("KEDA operator role", "mlcc-{p}-keda-operator-role", IAM_ROLE),
    "s3_csi_role": _template("S3 CSI driver role", "mlcc-{p}-s3-csi-role", IAM_ROLE),
    "fsx_csi_role": _template("FSx CSI driver role", "mlcc-{p}-fsx-csi-role", IAM_ROLE),
    "gated_model_role": _template("gated model role", "mlcc-{p}-gated-model-role", IAM_ROLE),
    "gateway_role": _template("inference gateway role", "mlcc-{p}-gateway-role", IAM_ROLE),
    "tls_bucket": _template("TLS bucket", "hyperpod-tls-mlcc-{p}-{hash}", S3_BUCKET),
}
"""The names of this product, by the attribute of :class:`Names` that gives them."""

PREDECESSOR_TEMPLATES: Final[Mapping[str, NameTemplate]] = {
    "predecessor_inference_role": _template(
        "inference role (predecessor)", "mlcc-{p}-hyperpod-inference-role", IAM_ROLE
    ),
    "predecessor_tls_bucket": _template("TLS bucket (predecessor)", "mlcc-hyperpod-tls-{p}", S3_BUCKET),
    "predecessor_older_tls_bucket": _template(
        # The region's place is taken by the longest region name, as in ap-southeast-4.
        "TLS bucket (older predecessor)",
        "hyperpod-tls-{p}-ap-southeast-4",
        S3_BUCKET,
    ),
    "predecessor_operator_stack": _template(
        "CloudFormation stack (predecessor)", "mlcc-{p}-inference-operator", CLOUDFORMATION_STACK
    ),
}
"""The predecessor's longer names: a profile that fits here can be moved over in both directions."""

MAX_PROFILE_LENGTH: Final = min(
    template.longest_profile for template in (*TEMPLATES.values(), *PREDECESSOR_TEMPLATES.values())
)

SSM_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "hyperpod": (
        "PrivateSubnetIds",
        "HyperPodInstanceRoleArn",
        "HyperpodInferenceRoleArn",
        "AlbControllerRoleArn",
        "KedaOperatorRoleArn",
        "S3CsiRoleArn",
        "FsxCsiRoleArn",
        "EksClusterArn",
        "EksClusterName",
        "ClusterSecurityGroupId",
        "HyperPodClusterArn",
        "HyperPodClusterName",
        "InferenceOperatorStatus",
        "TlsBucketName",
        "TemplateDigest",
    ),
    "eks": (
        "EksClusterArn",
        "EksClusterName",
        "ClusterSecurityGroupId",
        "VpcId",
        "PrivateSubnetIds",
        "OidcProviderArn",
        "EksInferenceRoleArn",
        "AlbControllerRoleArn",
        "EksClusterRoleArn",
        "EksNodeRoleArn",
        "FargatePodExecRoleArn",
    ),
}
"""SSM parameters by module; their spelling is the predecessor's and must not be "repaired"."""


def location_hash(account: str, region: str) -> str:
    """First eight hex digits of SHA-256 over ``<account>/<region>``: short, and the same on every run."""
    return hashlib.sha256(f"{account}/{region}".encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Names:
    """The physical names of one profile in one account and region.

    Nothing is checked here: :func:`name_problems` is, and :class:`mlcc_infra.profile.Profile` calls it.
    """

    profile: str
    account: str
    region: str

    def _name(self, key: str) -> str:
        template = TEMPLATES.get(key) or PREDECESSOR_TEMPLATES[key]
        return template.render(self.profile, self.location)

    @property
    def location(self) -> str:
        """The hash in bucket names."""
        return location_hash(self.account, self.region)

    @property
    def eks_cluster_role(self) -> str:
        """Service role of the vanilla EKS cluster; retained."""
        return self._name("eks_cluster_role")

    @property
    def eks_node_role(self) -> str:
        """Service role of managed node groups; retained."""
        return self._name("eks_node_role")

    @property
    def fargate_pod_exec_role(self) -> str:
        """Pod execution role of Fargate profiles; retained."""
        return self._name("fargate_pod_exec_role")

    @property
    def hyperpod_instance_role(self) -> str:
        """Service role of HyperPod instances, at path ``/``; retained."""
        return self._name("hyperpod_instance_role")

    @property
    def eks_cluster(self) -> str:
        """The vanilla EKS cluster."""
        return self._name("eks_cluster")

    @property
    def eks_inference_role(self) -> str:
        """Role for the service accounts of model pods on the vanilla cluster."""
        return self._name("eks_inference_role")

    @property
    def eks_alb_controller_role(self) -> str:
        """Role of the load balancer controller on the vanilla cluster."""
        return self._name("eks_alb_controller_role")

    @property
    def eks_alb_controller_policy(self) -> str:
        """Customer managed policy of that role."""
        return self._name("eks_alb_controller_policy")

    @property
    def hyperpod_stack(self) -> str:
        """CloudFormation stack of AWS's template, and its ResourceNamePrefix."""
        return self._name("hyperpod_stack")

    @property
    def hyperpod_eks_cluster(self) -> str:
        """The EKS cluster that AWS's template makes."""
        return self._name("hyperpod_eks_cluster")

    @property
    def hyperpod_cluster(self) -> str:
        """The HyperPod cluster."""
        return self._name("hyperpod_cluster")

    @property
    def lifecycle_bucket(self) -> str:
        """Bucket of the lifecycle scripts; AWS's instance policy reads only ``sagemaker-*``."""
        return self._name("lifecycle_bucket")

    @property
    def operator_execution_role(self) -> str:
        """Execution role of the inference operator, at path ``/``; AWS passes only roles of this prefix."""
        return self._name("operator_execution_role")

    @property
    def alb_controller_role(self) -> str:
        """Role of the load balancer controller that comes with the operator."""
        return self._name("alb_controller_role")

    @property
    def alb_controller_policy(self) -> str:
        """Customer managed policy of that role."""
        return self._name("alb_controller_policy")

    @property
    def keda_operator_role(self) -> str:
        """Role of KEDA's operator."""
        return self._name("keda_operator_role")

    @property
    def s3_csi_role(self) -> str:
        """Role of the Mountpoint for S3 CSI driver."""
        return self._name("s3_csi_role")

    @property
    def fsx_csi_role(self) -> str:
        """Role of the FSx for Lustre CSI driver."""
        return self._name("fsx_csi_role")

    @property
    def gated_model_role(self) -> str:
        """Role for downloads of gated JumpStart models; made on request."""
        return self._name("gated_model_role")

    @property
    def gateway_role(self) -> str:
        """Role of the inference gateway's controller; made on request."""
        return self._name("gateway_role")

    @property
    def tls_bucket(self) -> str:
        """Bucket of TLS certificates; AWS's operator policy covers only ``hyperpod-tls*``. Retained."""
        return self._name("tls_bucket")

    @property
    def predecessor_tls_bucket(self) -> str:
        """The predecessor's TLS bucket, adopted when it exists."""
        return self._name("predecessor_tls_bucket")

    @property
    def predecessor_inference_role(self) -> str:
        """The predecessor's operator role, which cannot be adopted (wrong prefix) but is reported."""
        return self._name("predecessor_inference_role")

    def template_mirror(self, digest: str) -> str:
        """Bucket of the mirrored templates whose SHA-256 is ``digest`` (at least twelve hex digits).

        Raises:
            ValueError: when the digest is not at least twelve lower-case hex digits.
        """
        if not re.fullmatch(r"[0-9a-f]{12,64}", digest):
            raise ValueError(f"a template digest is 12 to 64 lower-case hex digits, found {digest!r}")
        return f"mlcc-hp-templates-{digest[:12]}-{self.location}"

    def ssm_prefix(self, module: str) -> str:
        """``/mlcc/<profile>/<module>/`` for module ``eks`` or ``hyperpod``.

        Raises:
            KeyError: for another module.
        """
        if module not in SSM_KEYS:
            raise KeyError(f"no published outputs for module {module!r}; there are: {', '.join(SSM_KEYS)}")
        return f"/mlcc/{self.profile}/{module}/"

    def ssm_parameter(self, module: str, key: str) -> str:
        """Full name of one published parameter.

        Raises:
            KeyError: for a module or key that the contract does not have.
        """
        prefix = self.ssm_prefix(module)
        if key not in SSM_KEYS[module]:
            known = ", ".join(SSM_KEYS[module])
            raise KeyError(f"{key!r} is not published under {prefix}; there are: {known}")
        return prefix + key


@dataclass(frozen=True, kw_only=True)
class NameProblem:
    """A derived name that its service would refuse."""

    thing: str
    name: str
    limit: NameLimit
    longest_profile: int

    def __str__(self) -> str:
        if len(self.name) > self.limit.maximum:
            return (
                f"{self.thing} {self.name!r} has {len(self.name)} characters, {self.limit.service} names "
                f"at most {self.limit.maximum}: fits a profile name of at most {self.longest_profile}"
            )
        pattern = self.limit.pattern.pattern
        return f"{self.thing} {self.name!r} is not a valid name for an {self.limit.service} ({pattern})"


def name_problems(profile: str) -> tuple[NameProblem, ...]:
    """Every derived name that does not fit its service, the predecessor's included.

    Lengths do not depend on account and region, so neither is needed.
    """
    problems: list[NameProblem] = []
    for template in (*TEMPLATES.values(), *PREDECESSOR_TEMPLATES.values()):
        name = template.render(profile, "0" * 8)
        if len(name) > template.limit.maximum or not template.limit.pattern.fullmatch(name):
            problems.append(
                NameProblem(
                    thing=template.thing,
                    name=name,
                    limit=template.limit,
                    longest_profile=template.longest_profile,
                )
            )
    names = Names(profile, "0" * 12, "us-west-2")
    for module, keys in SSM_KEYS.items():
        name = names.ssm_parameter(module, max(keys, key=len))
        if len(name) > SSM_PARAMETER.maximum or not SSM_PARAMETER.pattern.fullmatch(name):
            problems.append(
                NameProblem(
                    thing=f"published {module} outputs",
                    name=name,
                    limit=SSM_PARAMETER,
                    longest_profile=SSM_PARAMETER.maximum - len(name) + len(profile),
                )
            )
    return tuple(problems)


def predecessor_stacks(profile: str) -> tuple[str, ...]:
    """CloudFormation stacks that the predecessor made for a profile; those that depend on others first."""
    return tuple(
        f"mlcc-{profile}-{part}" for part in ("inference-operator", "hyperpod-cluster", "eks-cluster")
    )


def default_profile(stack: str) -> str:
    """The profile's name when ``mlcc:profile`` is unset: the stack's name without ``mlcc-``."""
    return stack.removeprefix(STACK_PREFIX)
