"""Checks of the vanilla cluster's managed node groups."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from mlcc_infra import versions
from mlcc_infra.instance_types import InstanceType
from mlcc_infra.profile.check_account import duplicates
from mlcc_infra.profile.checks import Findings
from mlcc_infra.profile.eks import NodeGroup
from mlcc_infra.profile.problems import closest, remove_command, set_command

_LABEL_KEY: Final = re.compile(
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
)
_LABEL_VALUE: Final = re.compile(r"^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$")

AMI_TYPES: Final = (
    *("AL2_x86_64", "AL2_x86_64_GPU", "AL2_ARM_64", "CUSTOM"),
    *("BOTTLEROCKET_ARM_64", "BOTTLEROCKET_x86_64", "BOTTLEROCKET_ARM_64_FIPS", "BOTTLEROCKET_x86_64_FIPS"),
    *("BOTTLEROCKET_ARM_64_NVIDIA", "BOTTLEROCKET_x86_64_NVIDIA"),
    *("BOTTLEROCKET_ARM_64_NVIDIA_FIPS", "BOTTLEROCKET_x86_64_NVIDIA_FIPS"),
    *("WINDOWS_CORE_2019_x86_64", "WINDOWS_FULL_2019_x86_64", "WINDOWS_CORE_2022_x86_64"),
    *("WINDOWS_FULL_2022_x86_64", "WINDOWS_CORE_2025_x86_64", "WINDOWS_FULL_2025_x86_64"),
    *("AL2023_x86_64_STANDARD", "AL2023_ARM_64_STANDARD", "AL2023_x86_64_NEURON"),
    *("AL2023_x86_64_NVIDIA", "AL2023_ARM_64_NVIDIA"),
)
"""AMI types of managed node groups (botocore 1.44.8, eks, AMITypes); the aws provider refuses others."""
LAST_AL2: Final = 32
"""Minor of the last Kubernetes version with Amazon Linux 2 (EKS user guide, its upgrade page)."""


def check_node_groups(findings: Findings) -> None:
    """Names once, sizes in order, types of one architecture, and something the system pods can run on."""
    profile = findings.profile
    groups = profile.eks.node_groups
    for name in duplicates(group.name for group in groups):
        findings.refuse("mlcc:eks.nodeGroups", name, "a node group named twice", "name each group once")
    for position, group in enumerate(groups):
        key = f"mlcc:eks.nodeGroups[{position}]"
        if not group.min_size <= group.desired_size <= group.max_size:
            findings.refuse(
                key,
                {"minSize": group.min_size, "desiredSize": group.desired_size, "maxSize": group.max_size},
                "sizes out of order",
                "minSize ≤ desiredSize ≤ maxSize",
            )
        if not group.instance_types:
            findings.refuse(
                f"{key}.instanceTypes", [], "no instance type", "name at least one, such as m6i.large"
            )
        types = [versions.instance_type(name) for name in group.instance_types]
        for kind in types:
            if kind.name.startswith("ml."):
                found = "a HyperPod type; managed node groups are of EC2 types"
                findings.refuse(f"{key}.instanceTypes", kind.name, found, f"use {kind.ec2_name}")
        if len({(kind.is_arm, kind.is_accelerated) for kind in types}) > 1 and group.ami_type is None:
            found = "types of different architecture or accelerator, which no one AMI fits"
            findings.refuse(f"{key}.instanceTypes", list(group.instance_types), found, "make a group of each")
        if group.ami_type is not None:
            _check_ami_type(findings, f"{key}.amiType", group, types)
        _check_labels(findings, f"{key}.labels", group.labels)
    if not profile.has("vanilla-eks"):
        return
    gpu = any(
        versions.instance_type(name).is_accelerated for group in groups for name in group.instance_types
    )
    if gpu and not profile.eks.device_plugin.enabled:
        findings.warn(
            "mlcc:eks.devicePlugin.enabled",
            False,
            "a node group with GPUs without the device plugin: pods that ask for a GPU stay Pending",
            set_command("mlcc:eks.devicePlugin.enabled", "true", stack=findings.stack),
        )
    _check_schedulable(findings)


def _check_ami_type(findings: Findings, key: str, group: NodeGroup, types: list[InstanceType]) -> None:
    """An AMI type that EKS knows, for the Kubernetes version and for each instance type.

    EKS refuses one of another architecture, and one for an accelerator that a type does not have
    ("is not a valid instance type for requested amiType"); without drivers for it an accelerator is idle.
    """
    ami = group.ami_type or ""
    leave = f"{remove_command(key, stack=findings.stack)}, so that it is chosen for the instance types"
    if ami not in AMI_TYPES:
        found = f"no AMI type of EKS{closest(ami, AMI_TYPES)}"
        findings.refuse(key, ami, found, f"{leave}; there are {', '.join(AMI_TYPES)}")
        return
    if ami == "CUSTOM":
        found = "an AMI from a launch template, which this product does not make"
        findings.refuse(key, ami, found, leave)
        return
    version = findings.profile.eks.version
    if ami.startswith("AL2_") and versions.kubernetes_minor(version) > LAST_AL2:
        found = f"Amazon Linux 2, which ends with Kubernetes 1.{LAST_AL2}; the cluster has {version}"
        findings.refuse(key, ami, found, leave)
    drivers = _drivers(ami)
    for kind in types:
        if kind.is_arm != ("ARM_64" in ami):
            found = f"an AMI for {'Arm' if 'ARM_64' in ami else 'x86'}, while {kind.name} is not"
            findings.refuse(key, ami, found, leave)
        elif drivers and kind.accelerator not in drivers:
            found = f"an AMI for {' or '.join(drivers)}, which {kind.name} does not have"
            findings.refuse(key, ami, found, leave)
        elif kind.accelerator and not drivers:
            found = f"an AMI without drivers for {kind.name}'s accelerator"
            findings.warn(key, ami, found, leave)


def _drivers(ami: str) -> tuple[str, ...]:
    """Whose accelerators an AMI type has drivers for, as `InstanceType.accelerator` says it."""
    if ami == "AL2_x86_64_GPU":
        return ("NVIDIA", "Neuron")
    return tuple(maker for maker in ("NVIDIA", "Neuron") if maker.upper() in ami)


def _check_schedulable(findings: Findings) -> None:
    """CoreDNS has to run before anything else does (ml-container-creator#297)."""
    eks = findings.profile.eks
    plain = [
        group
        for group in eks.node_groups
        if group.desired_size > 0
        and not any(taint.effect != "PreferNoSchedule" for taint in group.taints)
        and not (group.ami_type or "").startswith("WINDOWS_")
    ]
    if not plain and "kube-system" not in eks.fargate_namespaces:
        findings.refuse(
            "mlcc:eks.nodeGroups",
            [group.name for group in eks.node_groups],
            "no node that system pods can run on: every group is empty, tainted or Windows, and kube-system "
            "is not on Fargate, so CoreDNS would stay Pending",
            "add a CPU node group with desiredSize of at least 1 and no taint",
        )


def _check_labels(findings: Findings, key: str, labels: Mapping[str, str]) -> None:
    if len(labels) > 50:
        findings.refuse(key, len(labels), "more than 50 labels", "remove some")
    for name, value in labels.items():
        if not _LABEL_KEY.match(name) or not _LABEL_VALUE.match(value) or len(name) > 317:
            findings.refuse(
                f'{key}["{name}"]', value, "no Kubernetes label", "letters, digits, -, _ and . only"
            )
        elif name.startswith(("kubernetes.io/", "eks.amazonaws.com/", "k8s.io/")):
            findings.refuse(f'{key}["{name}"]', value, "a reserved prefix", "use a prefix of your own")


CHECKS: Final[tuple[Callable[[Findings], None], ...]] = (check_node_groups,)
