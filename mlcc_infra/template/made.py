"""What the template makes, for those who must not make it again or have to find it afterwards.

Read in AWS's nested templates; public subnets and log groups are no outputs of the stack.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mlcc_infra.template.contract import load_contract
from mlcc_infra.template.liveness import live_resources
from mlcc_infra.versions import PREREQUISITE_MINIMUM

EKSCTL_CLUSTER_TAG: Final = "alpha.eksctl.io/cluster-name"
"""Tag by which eksctl, in the template's functions, marks what it makes for a cluster (unverified on AWS)."""
PUBLIC_SUBNET_TAG: Final = "aws-sagemaker-hyperpod-prerequiste"
"""Tag of the public subnets, spelt so in AWS's vpc-template."""


def eks_cluster_name(prefix: str, eks_name: str = "eks") -> str:
    """The EKS cluster."""
    return f"{prefix}-{eks_name}"


def public_subnet_names(prefix: str, zones: int) -> tuple[str, ...]:
    """Values of :data:`PUBLIC_SUBNET_TAG`, one a zone. The template gives these subnets no tag for load
    balancers."""
    return tuple(f"{prefix}-Public-Subnet{number}" for number in range(1, zones + 1))


_FUNCTIONS: Final = (
    "hpfunc",
    "helmfunc",
    "fsxfunc1",
    "-certfunc-*",
    "-oidcfunc",
    "-ObsFunc",
    "-AddonUpd",
    "-grafana-creation-func",
    "-SAfunction",
    "-grafunc",
    # Names that CloudFormation makes up; the capital letter keeps them apart from another profile's.
    "-Fsx*",
    "-TaskGovernance*",
)


def log_groups(prefix: str, short: str, hyperpod_cluster: str, eks_name: str = "eks") -> tuple[str, ...]:
    """Log groups that nobody deletes; one with a `*` at its end is a prefix. They are written again after
    their deletion while what writes them lives. `short` is ResourceNameShortPrefix."""
    return (
        *(f"/aws/lambda/{prefix}{function}" for function in _FUNCTIONS),
        f"/aws/lambda/inf-{short}-*",
        f"/aws/eks/{eks_cluster_name(prefix, eks_name)}/cluster",
        f"/aws/sagemaker/Clusters/{hyperpod_cluster}/*",
    )


@dataclass(frozen=True, kw_only=True)
class Prerequisites:
    """What the operator needs and the template makes itself, so that nobody else may.

    Attributes:
        oidc_provider: the IAM OIDC provider (`eksctl` in a Lambda function).
        addons: EKS add-ons.
        operator: the inference operator itself, with its roles.
    """

    oidc_provider: bool
    addons: frozenset[str]
    operator: bool


def prerequisites_by_template(parameters: Mapping[str, str], *, region: str) -> Prerequisites:
    """What a stack with these parameters makes of the operator's prerequisites.

    Args:
        parameters: those sent, or those of an adopted stack.
        region: the stack's region.
    """
    resources = live_resources(load_contract(), parameters, region=region)
    by_addon = "InferenceOperatorAddonStack" in resources
    by_chart = "InferenceOperatorMainStack" in resources
    fsx = "FsxK8sIntegrationStack" in resources
    addons: set[str] = set(PREREQUISITE_MINIMUM) if by_addon else set()
    if fsx:
        addons.add("aws-fsx-csi-driver")
    if "CertManagerStack" in resources:
        addons.add("cert-manager")
    return Prerequisites(
        oidc_provider=fsx or by_addon or by_chart, addons=frozenset(addons), operator=by_addon or by_chart
    )
