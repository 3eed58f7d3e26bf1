"""What instance types are: architecture, size, pods of a HyperPod node.

Pods: HyperPod gives each instance one interface for pods, so one address less than an interface has (source:
SageMaker developer guide, EKS prerequisites; awslabs/ai-on-sagemaker-hyperpod#142: 14 on ml.g5.xlarge).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from moto.ec2.models.instance_types import INSTANCE_TYPES

_ACCELERATED = re.compile(r"^ml\.(g\d|gr\d|p\d|trn\d)")
_ARM = re.compile(r"^ml\.([cmrt]\d+g[a-z]*|p6e-gb\d+)\.")
# Of types that moto does not know: EC2 user guide, interfaces of big sizes.
_USUAL = (8, 32 * 1024, 30)


@dataclass(frozen=True)
class Size:
    """CPUs, MiB of memory, pods."""

    cpus: int
    memory_mib: int
    pods: int


def is_accelerated(instance_type: str) -> bool:
    """Whether it has GPUs or Trainium."""
    return _ACCELERATED.match(instance_type) is not None


def is_arm(instance_type: str) -> bool:
    """Whether its processors are Arm's."""
    return _ARM.match(instance_type) is not None


def size_of(instance_type: str) -> Size:
    """The size of a node of this type."""
    known = INSTANCE_TYPES.get(instance_type.removeprefix("ml."))
    if known is None:
        cpus, memory, addresses = _USUAL
    else:
        cpus = int(known["VCpuInfo"]["DefaultVCpus"])
        memory = int(known["MemoryInfo"]["SizeInMiB"])
        addresses = int(known["NetworkInfo"]["Ipv4AddressesPerInterface"])
    return Size(cpus, memory, addresses - 1)


def gpus_of(instance_type: str) -> int:
    """How many GPUs ``nvidia.com/gpu`` offers; 0 for types without."""
    known = INSTANCE_TYPES.get(instance_type.removeprefix("ml.")) or {}
    gpus = (known.get("GpuInfo") or {}).get("Gpus") or []
    return sum(int(gpu["Count"]) for gpu in gpus if gpu.get("Manufacturer") == "NVIDIA")
