"""Every pinned version, each with where it was seen, and what is known about how long it is supported.

Add-on versions were taken from public files that record answers of ``aws eks describe-addon-versions`` (see
``source`` of each pin); a pin marked ``verified=False`` was not seen together with that Kubernetes version.
The preflight compares every pin with the live ``DescribeAddonVersions`` before the first write, so a pin that
the region does not offer is refused with what it does offer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Final

from mlcc_infra.instance_types import HYPERPOD_TYPES, InstanceType, instance_type

__all__ = [
    "ADDONS",
    "CHARTS",
    "DEFAULT_ADDONS",
    "DEFAULT_KUBERNETES",
    "ENGINE_MINIMUM",
    "HYPERPOD_KUBERNETES",
    "HYPERPOD_TYPES",
    "KUBERNETES",
    "OPERATOR_ADDON",
    "OPERATOR_ADDON_NAME",
    "OPERATOR_ADDON_VERSIONS",
    "PREREQUISITE_MINIMUM",
    "Chart",
    "InstanceType",
    "Pin",
    "Support",
    "addon_pin",
    "addon_version",
    "addon_version_key",
    "instance_type",
    "kubernetes_minor",
    "kubernetes_support",
]

DEFAULT_KUBERNETES: Final = "1.35"
"""Standard support until 2027-03-27; the newest minor that HyperPod's documentation lists."""

ENGINE_MINIMUM: Final = "3.276.0"
"""Oldest pulumi CLI that is known to work: it imports and then updates in one run, knows resource transforms
and hooks, and counts an attached provider as installed (3.259 does not; those between were not tried)."""


class Support(StrEnum):
    """What EKS does with a Kubernetes minor version on a given day."""

    STANDARD = "standard"
    EXTENDED = "extended"
    UNSUPPORTED = "unsupported"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class KubernetesRelease:
    """Support of one Kubernetes minor on EKS: the last day of standard and of extended support."""

    version: str
    standard_until: date
    extended_until: date


# endoflife.date, products/amazon-eks.md of 2026-08-22, which is generated from AWS's own table.
KUBERNETES: Final[Mapping[str, KubernetesRelease]] = {
    release.version: release
    for release in (
        KubernetesRelease(version="1.30", standard_until=date(2025, 7, 23), extended_until=date(2026, 7, 23)),
        KubernetesRelease(
            version="1.31", standard_until=date(2025, 11, 26), extended_until=date(2026, 11, 26)
        ),
        KubernetesRelease(version="1.32", standard_until=date(2026, 3, 23), extended_until=date(2027, 3, 23)),
        KubernetesRelease(version="1.33", standard_until=date(2026, 7, 29), extended_until=date(2027, 7, 29)),
        KubernetesRelease(version="1.34", standard_until=date(2026, 12, 2), extended_until=date(2027, 12, 2)),
        KubernetesRelease(version="1.35", standard_until=date(2027, 3, 27), extended_until=date(2028, 3, 27)),
        KubernetesRelease(version="1.36", standard_until=date(2027, 8, 2), extended_until=date(2028, 8, 2)),
    )
}
HYPERPOD_KUBERNETES: Final = ("1.30", "1.31", "1.32", "1.33", "1.34", "1.35")
"""Minors that HyperPod documents (SageMaker developer guide, prerequisites for EKS orchestration)."""


def kubernetes_minor(version: str) -> int:
    """35 for ``"1.35"``.

    Raises:
        ValueError: when it is no Kubernetes version of the form ``1.NN``.
    """
    match = re.fullmatch(r"1\.([0-9]{1,3})", version)
    if not match:
        raise ValueError(f"not a Kubernetes version: {version!r}")
    return int(match[1])


def kubernetes_support(version: str, on: date) -> Support:
    """How EKS supports a Kubernetes minor on a day; ``UNKNOWN`` for minors this release does not know."""
    release = KUBERNETES.get(version)
    if release is None:
        oldest = min(KUBERNETES, key=kubernetes_minor)
        return (
            Support.UNSUPPORTED if kubernetes_minor(version) < kubernetes_minor(oldest) else Support.UNKNOWN
        )
    if on <= release.standard_until:
        return Support.STANDARD
    return Support.EXTENDED if on <= release.extended_until else Support.UNSUPPORTED


@dataclass(frozen=True, kw_only=True)
class Pin:
    """A pinned version and where it was seen; ``verified`` when it was seen for that Kubernetes minor."""

    version: str
    source: str
    verified: bool = True


_MATRIX = (
    "a public table of versions for EKS 1.30 to 1.35, and a public upgrade guide from 1.33 to 1.35 taken "
    "from describe-addon-versions that agrees up to the last build number"
)
_CERT_MANAGER = "public Terraform configurations on EKS 1.33 and 1.34"
_MOUNTPOINT = "public Terraform and eksctl configurations, one of them on EKS 1.35"
_FSX = "documented minimum of the inference operator (AWS docs, model deployment setup)"


_NEWEST = "two public Terraform configurations and a cluster record on EKS 1.36"


def _everywhere(version: str, source: str, *verified: str) -> dict[str, Pin]:
    minors = ("1.32", "1.33", "1.34", "1.35", "1.36")
    return {minor: Pin(version=version, source=source, verified=minor in verified) for minor in minors}


_MATRIX_MINORS: Final = ("1.32", "1.33", "1.34", "1.35")

ADDONS: Final[Mapping[str, Mapping[str, Pin]]] = {
    "vpc-cni": {
        **_everywhere("v1.22.2-eksbuild.1", _MATRIX, *_MATRIX_MINORS),
        "1.36": Pin(version="v1.21.2-eksbuild.2", source=_NEWEST),
    },
    "kube-proxy": {
        "1.32": Pin(version="v1.32.13-eksbuild.16", source=_MATRIX),
        "1.33": Pin(version="v1.33.10-eksbuild.13", source=_MATRIX),
        "1.34": Pin(version="v1.34.6-eksbuild.13", source=_MATRIX),
        "1.35": Pin(version="v1.35.3-eksbuild.13", source=_MATRIX),
        "1.36": Pin(version="v1.36.0-eksbuild.7", source=_NEWEST),
    },
    "coredns": {
        "1.32": Pin(version="v1.11.4-eksbuild.40", source=_MATRIX),
        "1.33": Pin(version="v1.13.2-eksbuild.11", source=_MATRIX),
        "1.34": Pin(version="v1.13.2-eksbuild.11", source=_MATRIX),
        "1.35": Pin(version="v1.14.3-eksbuild.3", source=_MATRIX),
        "1.36": Pin(version="v1.14.2-eksbuild.4", source=_NEWEST),
    },
    "eks-pod-identity-agent": _everywhere("v1.3.10-eksbuild.3", _MATRIX, *_MATRIX_MINORS, "1.36"),
    "metrics-server": {
        **_everywhere("v0.8.1-eksbuild.10", _MATRIX, *_MATRIX_MINORS),
        "1.36": Pin(version="v0.8.1-eksbuild.11", source=_NEWEST),
    },
    "cert-manager": _everywhere("v1.20.2-eksbuild.3", _CERT_MANAGER, "1.33", "1.34"),
    "aws-mountpoint-s3-csi-driver": _everywhere("v2.5.0-eksbuild.1", _MOUNTPOINT, "1.35"),
    "aws-fsx-csi-driver": _everywhere("v1.6.0-eksbuild.1", _FSX),
}
"""Pins by add-on and Kubernetes minor."""

DEFAULT_ADDONS: Final = ("coredns", "eks-pod-identity-agent", "kube-proxy", "vpc-cni")
"""Add-ons that every vanilla cluster gets unless switched off."""

PREREQUISITE_MINIMUM: Final[Mapping[str, str]] = {
    # AWS docs, HyperPod model deployment setup: the operator fails to install without them.
    "aws-mountpoint-s3-csi-driver": "v1.14.1-eksbuild.1",
    "aws-fsx-csi-driver": "v1.6.0-eksbuild.1",
    "metrics-server": "v0.7.2-eksbuild.4",
    "cert-manager": "v1.18.2-eksbuild.2",
}
VPC_CNI_MINIMUM: Final = "v1.18.3-eksbuild.1"
"""HyperPod's documented minimum (prerequisites for EKS orchestration)."""


def addon_pin(name: str, kubernetes: str) -> Pin:
    """The pin of an add-on for a Kubernetes minor.

    Raises:
        KeyError: when there is none; the message says what there is.
    """
    pins = ADDONS.get(name)
    if pins is None:
        raise KeyError(
            f"no version of add-on {name!r} is pinned; there are pins for {', '.join(sorted(ADDONS))}"
        )
    if kubernetes not in pins:
        raise KeyError(
            f"no version of add-on {name!r} is pinned for Kubernetes {kubernetes}, only for {', '.join(pins)}"
        )
    return pins[kubernetes]


def addon_version(name: str, kubernetes: str) -> str:
    """The pinned version of an add-on for a Kubernetes minor.

    Raises:
        KeyError: when there is none.
    """
    return addon_pin(name, kubernetes).version


def addon_version_key(version: str) -> tuple[int, int, int, int]:
    """A version of the form ``v1.2.3-eksbuild.4`` as numbers, for comparison.

    Raises:
        ValueError: for another form, ``latest`` included.
    """
    match = re.fullmatch(r"v(\d+)\.(\d+)\.(\d+)-eksbuild\.(\d+)", version)
    if not match:
        raise ValueError(f"an exact add-on version looks like v1.2.3-eksbuild.4, found {version!r}")
    major, minor, patch, build = (int(part) for part in match.groups())
    return major, minor, patch, build


OPERATOR_ADDON_NAME: Final = "amazon-sagemaker-hyperpod-inference"
OPERATOR_ADDON: Final = "v2.1.0-eksbuild.1"
"""Newest version that a public text shows running (workshop text of 2026-09; not verified on 1.35)."""

OPERATOR_ADDON_VERSIONS: Final = (
    # SageMaker HyperPod inference release notes; the last two from the gateway page and a workshop.
    "v1.0.0-eksbuild.1",
    "v1.0.1-eksbuild.1",
    "v1.2.0-eksbuild.1",
    "v1.3.0-eksbuild.1",
    "v1.4.0-eksbuild.1",
    "v1.5.0-eksbuild.1",
    "v2.0.0-eksbuild.2",
    "v2.1.0-eksbuild.1",
)


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A pinned Helm chart."""

    name: str
    repository: str
    version: str
    app_version: str
    source: str


CHARTS: Final[Mapping[str, Chart]] = {
    "aws-load-balancer-controller": Chart(
        name="aws-load-balancer-controller",
        repository="https://aws.github.io/eks-charts",
        version="3.5.0",
        app_version="v3.5.0",
        source="release v3.5.0 of kubernetes-sigs/aws-load-balancer-controller, 2026-08-03",
    ),
    "nvidia-device-plugin": Chart(
        name="nvidia-device-plugin",
        repository="https://nvidia.github.io/k8s-device-plugin",
        version="0.19.2",
        app_version="0.19.2",
        source="release v0.19.2 of NVIDIA/k8s-device-plugin, 2026-05-26",
    ),
}
"""Helm charts by name."""
