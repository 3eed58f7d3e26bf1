"""Names of what the template makes, for those who have to find it afterwards.

Read in AWS's nested templates; public subnets and log groups are no outputs of the stack.
"""

from __future__ import annotations

from typing import Final

PUBLIC_SUBNET_TAG: Final = "aws-sagemaker-hyperpod-prerequiste"
"""Tag of the public subnets, spelt so in AWS's vpc-template."""
BASE_CHART_RELEASE: Final = "dependencies"
"""Helm release of AWS's base chart, in kube-system; it is not the operator's."""


def eks_cluster_name(prefix: str, eks_name: str = "eks") -> str:
    """The EKS cluster."""
    return f"{prefix}-{eks_name}"


def public_subnet_names(prefix: str, zones: int) -> tuple[str, ...]:
    """Values of :data:`PUBLIC_SUBNET_TAG`, one a zone. The template gives these subnets no tag for load
    balancers."""
    return tuple(f"{prefix}-Public-Subnet{number}" for number in range(1, zones + 1))


def log_groups(prefix: str, hyperpod_cluster: str, eks_name: str = "eks") -> tuple[str, ...]:
    """Log groups that nobody deletes; one with a `*` at its end is a prefix. They are written again after
    their deletion while what writes them lives."""
    return (
        f"/aws/lambda/{prefix}hpfunc",
        f"/aws/lambda/{prefix}helmfunc",
        f"/aws/eks/{eks_cluster_name(prefix, eks_name)}/cluster",
        f"/aws/sagemaker/Clusters/{hyperpod_cluster}/*",
    )


def own_buckets(prefix: str) -> tuple[str, str]:
    """The buckets that the template makes when it makes buckets; they block its deletion while not empty."""
    return f"{prefix}-bucket", f"{prefix}-logs"
