"""What is known of AWS regions without asking AWS: zone ids, zones EKS refuses, where HyperPod is offered.

A region is in the one table or it is unknown; nothing is guessed from another region's entry. Zone id
prefixes: the EKS user guide and AWS's HyperPod template verify us-east-1, us-east-2, us-west-1 and
ca-central-1; the others are those of moto's table of ``DescribeAvailabilityZones`` answers (a unit test
compares). Zones that EKS excludes: EKS user guide, network requirements (2024-12-18).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

ZONE_ID: Final = re.compile(r"^(?P<prefix>[a-z]+[0-9]+)-az(?P<number>[1-9][0-9]?)$")
ZONE_NAME: Final = re.compile(r"^(?P<region>[a-z]{2}(?:-[a-z]+)+-[0-9])[a-z]$")


@dataclass(frozen=True, kw_only=True)
class Region:
    """One region: the prefix of its zone ids, its partition, and what is offered there.

    ``hyperpod`` and ``inference_operator`` come from the image tables of AWS's Helm charts, as the official
    list was not at hand: they are good for a warning, never for a refusal.
    """

    name: str
    zone_prefix: str
    partition: str = "aws"
    excluded_zones: frozenset[str] = field(default_factory=frozenset)
    hyperpod: bool = False
    inference_operator: bool = False


_PREFIXES: Final[Mapping[str, str]] = {
    "af-south-1": "afs1",
    "ap-east-1": "ape1",
    "ap-east-2": "ape2",
    "ap-northeast-1": "apne1",
    "ap-northeast-2": "apne2",
    "ap-northeast-3": "apne3",
    "ap-south-1": "aps1",
    "ap-south-2": "aps2",
    "ap-southeast-1": "apse1",
    "ap-southeast-2": "apse2",
    "ap-southeast-3": "apse3",
    "ap-southeast-4": "apse4",
    "ap-southeast-5": "apse5",
    "ap-southeast-6": "apse6",
    "ap-southeast-7": "apse7",
    "ca-central-1": "cac1",
    "ca-west-1": "caw1",
    "cn-north-1": "cnn1",
    "cn-northwest-1": "cnnw1",
    "eu-central-1": "euc1",
    "eu-central-2": "euc2",
    "eu-north-1": "eun1",
    "eu-south-1": "eus1",
    "eu-south-2": "eus2",
    "eu-west-1": "euw1",
    "eu-west-2": "euw2",
    "eu-west-3": "euw3",
    "il-central-1": "ilc1",
    "me-central-1": "mec1",
    "me-south-1": "mes1",
    "mx-central-1": "mxc1",
    "sa-east-1": "sae1",
    "us-east-1": "use1",
    "us-east-2": "use2",
    "us-gov-east-1": "usge1",
    "us-gov-west-1": "usgw1",
    "us-west-1": "usw1",
    "us-west-2": "usw2",
}
_EXCLUDED: Final[Mapping[str, frozenset[str]]] = {
    "us-east-1": frozenset({"use1-az3"}),
    "us-west-1": frozenset({"usw1-az2"}),
    "ca-central-1": frozenset({"cac1-az3"}),
}
# health-monitoring-agent and inference-operator charts of aws/sagemaker-hyperpod-cli, 2026-06-22.
_INFERENCE_OPERATOR: Final = frozenset(
    {
        "us-east-1",
        "us-east-2",
        "us-west-1",
        "us-west-2",
        "eu-central-1",
        "eu-north-1",
        "eu-west-1",
        "eu-west-2",
        "eu-south-2",
        "ap-northeast-1",
        "ap-south-1",
        "ap-southeast-1",
        "ap-southeast-2",
        "ap-southeast-3",
        "ap-southeast-4",
        "sa-east-1",
    }
)
_HYPERPOD: Final = _INFERENCE_OPERATOR | {"ca-central-1"}


def _partition(region: str) -> str:
    if region.startswith("cn-"):
        return "aws-cn"
    return "aws-us-gov" if region.startswith("us-gov-") else "aws"


REGIONS: Final[Mapping[str, Region]] = {
    name: Region(
        name=name,
        zone_prefix=prefix,
        partition=_partition(name),
        excluded_zones=_EXCLUDED.get(name, frozenset()),
        hyperpod=name in _HYPERPOD,
        inference_operator=name in _INFERENCE_OPERATOR,
    )
    for name, prefix in _PREFIXES.items()
}
"""Every known region by name."""

_BY_PREFIX: Final = {region.zone_prefix: region for region in REGIONS.values()}


def region_of_zone_id(zone_id: str) -> Region | None:
    """The region that a zone id belongs to, or ``None`` when it is no zone id of a known region."""
    match = ZONE_ID.match(zone_id)
    return _BY_PREFIX.get(match["prefix"]) if match else None
