"""`mlcc:network`: the VPC of the vanilla cluster, and the arithmetic of its subnets."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import Field

from mlcc_infra.profile.base import Part, SubnetId, VpcId

DEFAULT_CIDR: Final = "10.0.0.0/16"
RESERVED_ADDRESSES: Final = 5
"""Addresses that AWS keeps for itself in each subnet (botocore, CreateSubnet)."""


class Network(Part):
    """Either an own VPC (`cidr`, `zones`, `nat`, subnet CIDRs) or an existing one (`vpcId`, subnet ids)."""

    cidr: str | None = Field(default=None, examples=[DEFAULT_CIDR])
    """IPv4 block of the VPC to make, /16 to /23. Default 10.0.0.0/16."""
    zones: tuple[str, ...] | None = Field(default=None, examples=[["usw2-az1", "usw2-az2"]])
    """Zone ids (not names, which differ from account to account), two to four. Default: two zones that offer
    the instance types asked for."""
    nat: Literal["one", "perZone", "none"] | None = None
    """NAT gateways: `one` for all zones (default), `perZone`, or `none` (then the nodes reach AWS only
    through VPC endpoints of your own)."""
    private_subnet_cidrs: tuple[str, ...] | None = None
    """Blocks of the private subnets, one a zone, in the order of `zones`. Default: planned from `cidr`."""
    public_subnet_cidrs: tuple[str, ...] | None = None
    """Blocks of the public subnets, likewise."""
    vpc_id: VpcId | None = None
    """An existing VPC to use. It is checked and its subnets are tagged, nothing else in it is touched."""
    private_subnet_ids: tuple[SubnetId, ...] = ()
    """With `vpcId`: private subnets for cluster and nodes, in at least two zones."""
    public_subnet_ids: tuple[SubnetId, ...] = ()
    """With `vpcId`: public subnets for internet-facing load balancers."""

    @property
    def existing(self) -> bool:
        """Whether an existing VPC is used."""
        return self.vpc_id is not None

    @property
    def vpc_cidr(self) -> str | None:
        """The block of the VPC to make; `None` with an existing VPC, whose block only AWS knows."""
        return None if self.existing else (DEFAULT_CIDR if self.cidr is None else self.cidr)

    @property
    def nat_mode(self) -> Literal["one", "perZone", "none"]:
        """How many NAT gateways the VPC to make gets."""
        return self.nat or "one"

    def plan(self, zones: Sequence[str]) -> NetworkPlan:
        """The subnets of the VPC to make, in the given zones (ids, already resolved).

        Raises:
            ValueError: with an existing VPC, or when the blocks do not fit (see :func:`plan_network`).
        """
        if self.vpc_cidr is None:
            raise ValueError("an existing VPC is used as it is; nothing is planned in it")
        private, public = self.private_subnet_cidrs, self.public_subnet_cidrs
        if len(private or zones) != len(zones) or len(public or zones) != len(zones):
            raise ValueError(f"one subnet block a zone is needed: {len(zones)} zones")
        if private is not None and public is not None:  # so small a VPC may not be cut by plan_network
            return NetworkPlan(
                cidr=self.vpc_cidr, private=_place(zones, private), public=_place(zones, public)
            )
        planned = plan_network(self.vpc_cidr, zones)
        return NetworkPlan(
            cidr=planned.cidr,
            private=planned.private if private is None else _place(zones, private),
            public=planned.public if public is None else _place(zones, public),
        )


def _place(zones: Sequence[str], given: Sequence[str]) -> tuple[Subnet, ...]:
    return tuple(Subnet(zone=zone, cidr=cidr) for zone, cidr in zip(zones, given, strict=True))


@dataclass(frozen=True, kw_only=True)
class Subnet:
    """One planned subnet: its zone id and its block."""

    zone: str
    cidr: str

    @property
    def usable_addresses(self) -> int:
        """Addresses that AWS leaves to the user."""
        return ipaddress.IPv4Network(self.cidr).num_addresses - RESERVED_ADDRESSES


@dataclass(frozen=True, kw_only=True)
class NetworkPlan:
    """The subnets of a VPC: for each zone one private and one public."""

    cidr: str
    private: tuple[Subnet, ...]
    public: tuple[Subnet, ...]


def plan_network(cidr: str, zones: Sequence[str]) -> NetworkPlan:
    """Cut a VPC's block into one private and one public subnet a zone.

    The block is cut into equal slots, as many as the next power of two above the number of zones and at
    least four, so that a zone added later up to the fourth moves none of the others. Each slot's lower half
    is the private subnet; the first quarter of its upper half is the public one, as load balancers and NAT
    gateways need few addresses while every pod takes one of a private subnet.

    Args:
        cidr: the VPC's block, /16 to /23 (/22 beyond four zones): no subnet is then beyond AWS's /28.
        zones: zone ids, in the order that decides who gets which block.

    Raises:
        ValueError: for a block that is not IPv4, has host bits, or does not fit; for fewer than two zones,
            more than eight, or the same zone twice.
    """
    block = ipaddress.IPv4Network(cidr)
    if not 2 <= len(zones) <= 8:
        raise ValueError(f"a cluster needs 2 to 8 zones, found {len(zones)}")
    if len(set(zones)) != len(zones):
        raise ValueError("a zone is named twice")
    slots = max(4, 1 << (len(zones) - 1).bit_length())
    slot_prefix = block.prefixlen + slots.bit_length() - 1
    if block.prefixlen < 16 or slot_prefix + 3 > 28:
        smallest = 28 - 2 - slots.bit_length()
        raise ValueError(f"{cidr}: a VPC of {len(zones)} zones needs a block between /16 and /{smallest}")
    private: list[Subnet] = []
    public: list[Subnet] = []
    for zone, slot in zip(zones, block.subnets(new_prefix=slot_prefix), strict=False):
        lower, upper = slot.subnets(prefixlen_diff=1)
        private.append(Subnet(zone=zone, cidr=str(lower)))
        public.append(Subnet(zone=zone, cidr=str(next(upper.subnets(prefixlen_diff=2)))))
    return NetworkPlan(cidr=str(block), private=tuple(private), public=tuple(public))
