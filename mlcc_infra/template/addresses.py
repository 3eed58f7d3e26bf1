"""The blocks of addresses that AWS's template gives out.

Read in AWS's nested templates (vpc-template, private-subnet-template of aws/sagemaker-hyperpod-cluster-setup,
2025-12-01): of VpcCIDR only the first two octets are used. Subnets for nodes are whole /16 blocks of their
own, 10.1.0.0/16 for the first zone and so on, or from 10.192.0.0/16 up when VpcCIDR is 10.1.0.0/16.
"""

from __future__ import annotations

import ipaddress
from typing import Final

MINIMUM_ZONES: Final = 2
MAXIMUM_ZONES: Final = 4
"""A fifth zone makes a sixth block in the VPC, one over EC2's default quota."""
_TEN: Final = ipaddress.IPv4Network("10.0.0.0/8")
_SWAPPED: Final = ipaddress.IPv4Network("10.1.0.0/16")


def node_blocks(vpc_cidr: str, zones: int) -> tuple[ipaddress.IPv4Network, ...]:
    """The blocks that the template gives to the subnets of nodes, one a zone.

    Raises:
        ValueError: when `vpc_cidr` is no block of addresses.
    """
    first = 192 if ipaddress.IPv4Network(vpc_cidr) == _SWAPPED else 1
    return tuple(ipaddress.IPv4Network(f"10.{first + number}.0.0/16") for number in range(zones))


def vpc_cidr_problem(vpc_cidr: str, zones: int) -> str | None:
    """What is wrong with a VpcCIDR for so many zones (a block of addresses), or `None`.

    Raises:
        ValueError: when it is no block of addresses.
    """
    vpc = ipaddress.IPv4Network(vpc_cidr)
    if vpc.prefixlen != 16 or not vpc.subnet_of(_TEN):
        return "not a /16 within 10.0.0.0/8, which the template's arithmetic needs"
    if vpc in node_blocks(vpc_cidr, zones):
        return f"the block that the template gives to node subnets (10.1.0.0/16 to 10.{zones}.0.0/16)"
    return None
