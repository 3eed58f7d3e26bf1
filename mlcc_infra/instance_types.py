"""What is known of instance types without asking AWS: architecture, accelerator, pods, EFA, HyperPod's list.

The list of HyperPod's types is the enumeration ClusterInstanceType of botocore 1.44.8. Architecture and
accelerator follow from AWS's naming of families. Pods for each node follow from the number of network
interfaces and addresses of the EC2 type (EC2 user guide) by the VPC CNI's formula; HyperPod uses one
interface for pods (SageMaker developer guide, prerequisites), which gives 14 pods on ml.g5.xlarge as
awslabs/ai-on-sagemaker-hyperpod#142 saw.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_COMMON_SIZES: Final = ("large", "xlarge", "2xlarge", "4xlarge", "8xlarge", "12xlarge", "16xlarge")
_GRAVITON: Final = ("medium", *_COMMON_SIZES)
_G: Final = ("xlarge", "2xlarge", "4xlarge", "8xlarge", "12xlarge", "16xlarge", "24xlarge", "48xlarge")
_G7: Final = ("2xlarge", "4xlarge", "8xlarge", "12xlarge", "24xlarge", "48xlarge")

HYPERPOD_FAMILIES: Final[Mapping[str, tuple[str, ...]]] = {
    "c5": ("large", "xlarge", "2xlarge", "4xlarge", "9xlarge", "12xlarge", "18xlarge", "24xlarge"),
    "c5n": ("large", "2xlarge", "4xlarge", "9xlarge", "18xlarge"),
    "c6a": (*_COMMON_SIZES, "24xlarge", "32xlarge", "48xlarge"),
    "c6g": _GRAVITON,
    "c6i": (*_COMMON_SIZES, "24xlarge", "32xlarge"),
    "c7g": _GRAVITON,
    "c8a": ("16xlarge",),
    "c8g": (*_GRAVITON, "24xlarge", "48xlarge"),
    "g4dn": ("xlarge", "2xlarge", "4xlarge", "8xlarge", "12xlarge", "16xlarge"),
    "g5": _G,
    "g6": _G,
    "g6e": _G,
    "g7": _G7,
    "g7e": _G7,
    "gr6": ("4xlarge", "8xlarge"),
    "i3en": ("large", "xlarge", "2xlarge", "3xlarge", "6xlarge", "12xlarge", "24xlarge"),
    "m5": (*_COMMON_SIZES, "24xlarge"),
    "m6a": (*_COMMON_SIZES, "24xlarge", "32xlarge", "48xlarge"),
    "m6g": _GRAVITON,
    "m6i": (*_COMMON_SIZES, "24xlarge", "32xlarge"),
    "m7g": _GRAVITON,
    "m7i": (*_COMMON_SIZES, "24xlarge", "48xlarge"),
    "m8a": ("16xlarge",),
    "m8g": (*_GRAVITON, "24xlarge", "48xlarge"),
    "p4d": ("24xlarge",),
    "p4de": ("24xlarge",),
    "p5": ("4xlarge", "48xlarge"),
    "p5e": ("48xlarge",),
    "p5en": ("48xlarge",),
    "p6-b200": ("48xlarge",),
    "p6-b300": ("48xlarge",),
    "p6e-gb200": ("36xlarge",),
    "r5d": ("16xlarge",),
    "r6i": (*_COMMON_SIZES, "24xlarge", "32xlarge"),
    "r7i": (*_COMMON_SIZES, "24xlarge", "48xlarge"),
    "t3": ("medium", "large", "xlarge", "2xlarge"),
    "trn1": ("32xlarge",),
    "trn1n": ("32xlarge",),
    "trn2": ("3xlarge", "48xlarge"),
}
HYPERPOD_TYPES: Final = frozenset(
    f"ml.{family}.{size}" for family, sizes in HYPERPOD_FAMILIES.items() for size in sizes
)

INSTANCE_TYPE: Final = r"([a-z][a-z0-9-]*)\.(nano|micro|small|medium|large|[0-9]*xlarge|metal(?:-[0-9]+xl)?)"
"""Pattern of an EC2 instance type; the groups are family and size."""

# Addresses of one network interface by size, EC2 user guide; families that differ are below.
_ADDRESSES: Final[Mapping[str, int]] = {
    "medium": 4,
    "large": 10,
    "xlarge": 15,
    "2xlarge": 15,
    "3xlarge": 15,
    "4xlarge": 30,
    "6xlarge": 30,
    "8xlarge": 30,
    "9xlarge": 30,
    "12xlarge": 30,
}
_ADDRESSES_BY_TYPE: Final[Mapping[str, int]] = {
    "t3.medium": 6,
    "t3.large": 12,
    "g4dn.xlarge": 10,
    "g4dn.2xlarge": 10,
    "c6g.medium": 4,
}
_ACCELERATED: Final = re.compile(r"^(g|p)\d|^gr\d|^trn\d|^inf\d|^dl\d|^vt\d|^f\d")
_ARM_NAME: Final = re.compile(r"^(a1|[a-z]+\d+[a-z]*g[a-z]*|g5g|p6e-gb\d+)$")

# EFA by family and size: all sizes of the first, the named sizes of the second (EC2 user guide, EFA).
_EFA_FAMILIES: Final = frozenset(
    {
        "p4d",
        "p4de",
        "p5",
        "p5e",
        "p5en",
        "p6-b200",
        "p6-b300",
        "p6e-gb200",
        "trn1",
        "trn1n",
        "trn2",
        "m8a",
        "c8a",
    }
)
_EFA_SIZES: Final[Mapping[str, frozenset[str]]] = {
    "c5n": frozenset({"9xlarge", "18xlarge"}),
    "c6a": frozenset({"48xlarge"}),
    "c6g": frozenset(),
    "c6i": frozenset({"32xlarge"}),
    "c7g": frozenset({"16xlarge"}),
    "c8g": frozenset({"24xlarge", "48xlarge"}),
    "g4dn": frozenset({"8xlarge", "12xlarge", "16xlarge"}),
    "g5": frozenset({"8xlarge", "12xlarge", "16xlarge", "24xlarge", "48xlarge"}),
    "g6": frozenset({"8xlarge", "12xlarge", "16xlarge", "24xlarge", "48xlarge"}),
    "g6e": frozenset({"8xlarge", "12xlarge", "16xlarge", "24xlarge", "48xlarge"}),
    "g7e": frozenset({"8xlarge", "12xlarge", "24xlarge", "48xlarge"}),
    "gr6": frozenset({"8xlarge"}),
    "i3en": frozenset({"12xlarge", "24xlarge"}),
    "m6a": frozenset({"48xlarge"}),
    "m6i": frozenset({"32xlarge"}),
    "m7i": frozenset({"48xlarge"}),
    "m8g": frozenset({"24xlarge", "48xlarge"}),
    "r6i": frozenset({"32xlarge"}),
    "r7i": frozenset({"48xlarge"}),
}


@dataclass(frozen=True, kw_only=True)
class InstanceType:
    """An instance type as AWS names it, with or without HyperPod's ``ml.`` prefix."""

    name: str
    family: str
    size: str

    @property
    def ec2_name(self) -> str:
        """Without ``ml.``, as EC2 knows it."""
        return f"{self.family}.{self.size}"

    @property
    def in_hyperpod(self) -> bool:
        """Whether HyperPod's API lists it."""
        return self.name in HYPERPOD_TYPES

    @property
    def is_arm(self) -> bool:
        """Whether its processors are Arm's (Graviton or Grace)."""
        return bool(_ARM_NAME.match(self.family))

    @property
    def is_accelerated(self) -> bool:
        """Whether it carries GPUs, Trainium or another accelerator."""
        return bool(_ACCELERATED.match(self.family))

    @property
    def accelerator(self) -> str:
        """Whose accelerators it carries: `NVIDIA`, `Neuron` (Trainium and Inferentia), `other`, or nothing.

        Radeon cards (g4ad), Habana (dl1), Xilinx (vt1, f1, f2) and Qualcomm (dl2q) are other ones.
        """
        if not self.is_accelerated:
            return ""
        if self.family.startswith(("trn", "inf")):
            return "Neuron"
        return "other" if re.match(r"^(g4ad|dl|vt|f\d)", self.family) else "NVIDIA"

    @property
    def is_x86_cpu(self) -> bool:
        """Whether it can be a floor: x86 and without an accelerator."""
        return not self.is_arm and not self.is_accelerated

    @property
    def has_efa(self) -> bool:
        """Whether it has an Elastic Fabric Adapter."""
        return self.family in _EFA_FAMILIES or self.size in _EFA_SIZES.get(self.family, frozenset())

    @property
    def addresses_per_interface(self) -> int:
        """IPv4 addresses of one network interface; 50 for the biggest sizes."""
        return _ADDRESSES_BY_TYPE.get(self.ec2_name, _ADDRESSES.get(self.size, 50))

    @property
    def hyperpod_pods(self) -> int:
        """Pods with an address of their own on a HyperPod node, which has one interface for pods."""
        return self.addresses_per_interface - 1


def instance_type(name: str) -> InstanceType:
    """Read an instance type's name, such as ``ml.c5.4xlarge`` or ``m6i.large``.

    Raises:
        ValueError: when it does not look like one.
    """
    match = re.fullmatch(rf"(?:ml\.)?{INSTANCE_TYPE}", name)
    if not match:
        raise ValueError(f"not an instance type: {name!r}")
    return InstanceType(name=name, family=match[1], size=match[2])
