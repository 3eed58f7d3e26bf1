"""Checks of zones, blocks and subnets."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Sequence
from typing import Final

from mlcc_infra.profile.check_account import duplicates
from mlcc_infra.profile.checks import Findings
from mlcc_infra.profile.network import RESERVED_ADDRESSES, Network, plan_network
from mlcc_infra.profile.problems import remove_command, set_command
from mlcc_infra.regions import REGIONS, ZONE_ID, ZONE_NAME, region_of_zone_id

PRIVATE_RANGES: Final = tuple(
    ipaddress.IPv4Network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
)
EKS_ADDRESSES: Final = 6
"""Free addresses that EKS requires in each subnet (EKS user guide, network requirements)."""
ADDRESSES_PER_NODE_AT_LEAST: Final = 2
"""A node's own address and one pod; below that a node is of no use."""
ADDRESSES_PER_NODE: Final = 10
"""What the VPC CNI takes at the start on a small node: one interface's worth."""


def block(text: str) -> ipaddress.IPv4Network | None:
    """An IPv4 block, or `None` when the text is none (host bits count as an error)."""
    try:
        return ipaddress.IPv4Network(text) if "/" in text else None
    except ValueError:
        return None


def block_reason(text: str) -> str:
    """Why a text is no IPv4 block."""
    if "/" not in text:
        return "an address without a prefix length"
    try:
        ipaddress.IPv4Network(text)
    except ValueError as error:
        try:
            network = ipaddress.IPv4Network(text, strict=False)
        except ValueError:
            return f"no IPv4 block ({error})"
        return f"a block with host bits; the block is {network}"
    return ""


def check_zone_ids(findings: Findings, key: str, zones: Sequence[str] | None) -> None:
    """Zone ids of the region, none of those that EKS excludes, two to four, each once."""
    if zones is None:
        return
    region = REGIONS.get(findings.profile.region)
    if region is None:
        return
    for position, zone in enumerate(zones):
        place = f"{key}[{position}]"
        example = f"{region.zone_prefix}-az1"
        command = set_command(place, example, stack=findings.stack)
        owner = region_of_zone_id(zone)
        if ZONE_NAME.match(zone):
            found = "the name of a zone; names mean different zones in different accounts, ids do not"
            remedy = f"`aws ec2 describe-availability-zones --region {region.name}` shows the ids: {command}"
            findings.refuse(place, zone, found, remedy)
        elif not ZONE_ID.match(zone) or owner is None:
            findings.refuse(place, zone, "no zone id of a known region", command)
        elif owner.name != region.name:
            found = f"a zone of {owner.name}, while the stack is in {region.name}"
            findings.refuse(
                place, zone, found, f"zone ids of {region.name} begin with {region.zone_prefix}-: {command}"
            )
        elif zone in region.excluded_zones:
            found = "a zone in which EKS makes no cluster (UnsupportedAvailabilityZoneException)"
            findings.refuse(place, zone, found, f"choose another zone of {region.name}: {command}")
    for zone in duplicates(zones):
        findings.refuse(key, list(zones), f"zone {zone} twice", "name each zone once")
    if not 2 <= len(zones) <= 4:
        found = f"{len(zones)} zones; EKS needs two, and this product plans for up to four"
        findings.refuse(key, list(zones), found, f"name two to four zone ids in {key}")


def check_zones(findings: Findings) -> None:
    """The zones of the vanilla cluster's VPC."""
    check_zone_ids(findings, "mlcc:network.zones", findings.profile.network.zones)


def check_existing_or_own(findings: Findings) -> None:
    """Either a VPC to make or one that exists, not parts of both."""
    network = findings.profile.network
    own = {
        "cidr": network.cidr,
        "zones": network.zones,
        "nat": network.nat,
        "privateSubnetCidrs": network.private_subnet_cidrs,
        "publicSubnetCidrs": network.public_subnet_cidrs,
    }
    if network.existing:
        for name, value in own.items():
            if value is not None:
                findings.refuse(
                    f"mlcc:network.{name}",
                    value,
                    "a setting of a VPC to make, beside mlcc:network.vpcId, which names one that exists",
                    f"{remove_command(f'mlcc:network.{name}', stack=findings.stack)}, or remove vpcId",
                )
        if len(network.private_subnet_ids) < 2:
            findings.refuse(
                "mlcc:network.privateSubnetIds",
                list(network.private_subnet_ids),
                "fewer than two private subnets; EKS needs subnets in two zones",
                "name private subnets of the VPC in two zones or more",
            )
        both = set(network.private_subnet_ids) & set(network.public_subnet_ids)
        for subnet in sorted(both) + list(duplicates(network.private_subnet_ids)):
            findings.refuse("mlcc:network.privateSubnetIds", subnet, "a subnet named twice", "name each once")
        return
    for name, ids in (
        ("privateSubnetIds", network.private_subnet_ids),
        ("publicSubnetIds", network.public_subnet_ids),
    ):
        if ids:
            findings.refuse(
                f"mlcc:network.{name}",
                list(ids),
                "subnets of an existing VPC without mlcc:network.vpcId",
                set_command("mlcc:network.vpcId", "<vpc-…>", stack=findings.stack),
            )


def check_blocks(findings: Findings) -> None:
    """The VPC's block and the subnets' blocks: valid, inside, apart from each other."""
    network = findings.profile.network
    if network.existing:
        return
    cidr = network.vpc_cidr or ""
    vpc = block(cidr)
    key = "mlcc:network.cidr"
    if vpc is None:
        findings.refuse(key, cidr, block_reason(cidr), set_command(key, "10.0.0.0/16", stack=findings.stack))
    elif not 16 <= vpc.prefixlen <= _smallest(network):
        found = f"a /{vpc.prefixlen}; a VPC with subnets in up to four zones is a /16 to /23"
        findings.refuse(key, cidr, found, set_command(key, "10.0.0.0/16", stack=findings.stack))
    elif not any(vpc.subnet_of(private) for private in PRIVATE_RANGES):
        found = "a block outside the private ranges of RFC 1918"
        findings.warn(key, cidr, found, "prefer a block of 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16")
    _check_subnets(findings, network, vpc)


def _smallest(network: Network) -> int:
    """The longest prefix of the VPC's block: AWS's own limit where no subnet is planned by us."""
    given = network.private_subnet_cidrs is not None and network.public_subnet_cidrs is not None
    return 28 if given else 23


def _check_subnets(findings: Findings, network: Network, vpc: ipaddress.IPv4Network | None) -> None:
    placed: list[tuple[str, ipaddress.IPv4Network]] = []
    for name, blocks in (
        ("privateSubnetCidrs", network.private_subnet_cidrs),
        ("publicSubnetCidrs", network.public_subnet_cidrs),
    ):
        for position, text in enumerate(blocks or ()):
            key = f"mlcc:network.{name}[{position}]"
            subnet = block(text)
            if subnet is None:
                findings.refuse(key, text, block_reason(text), "give an IPv4 block such as 10.0.0.0/19")
                continue
            if not 16 <= subnet.prefixlen <= 28:
                findings.refuse(key, text, f"a /{subnet.prefixlen}; AWS takes /16 to /28", "change the size")
            if vpc is not None and not subnet.subnet_of(vpc):
                findings.refuse(key, text, f"a block outside the VPC's {vpc}", "choose one inside it")
            for other_key, other in placed:
                if subnet.overlaps(other):
                    findings.refuse(
                        key, text, f"a block that overlaps {other_key} = {other}", "choose blocks apart"
                    )
            placed.append((key, subnet))
        if blocks is not None:
            zones = network.zones
            count = len(zones) if zones is not None else 2
            if len(blocks) != count:
                findings.refuse(
                    f"mlcc:network.{name}",
                    list(blocks),
                    f"{len(blocks)} blocks for {count} zones",
                    "give one block a zone, in the order of mlcc:network.zones",
                )
    if network.private_subnet_cidrs is not None and network.public_subnet_cidrs is None and vpc is not None:
        _check_planned(findings, network, placed)


def _check_planned(
    findings: Findings, network: Network, placed: Sequence[tuple[str, ipaddress.IPv4Network]]
) -> None:
    """Planned public subnets beside given private ones must not collide."""
    try:
        planned = plan_network(str(network.vpc_cidr), network.zones or ("first", "second")).public
    except ValueError:
        return  # Refused by the checks of blocks and zones.
    for subnet in planned:
        for key, given in placed:
            if given.overlaps(ipaddress.IPv4Network(subnet.cidr)):
                findings.refuse(
                    key,
                    str(given),
                    f"a block that overlaps the planned public subnet {subnet.cidr}",
                    "give mlcc:network.publicSubnetCidrs too",
                )


def check_room(findings: Findings) -> None:
    """Addresses for the planned nodes in the private subnets."""
    profile = findings.profile
    network = profile.network
    if network.existing or not profile.has("vanilla-eks"):
        return
    if network.private_subnet_cidrs is None:
        try:
            planned = plan_network(network.vpc_cidr or "", network.zones or ("first", "second"))
        except ValueError:
            return  # Refused by the checks of blocks and zones.
        blocks = [subnet.cidr for subnet in planned.private]
        key = "mlcc:network.cidr"
    else:
        blocks = [text for text in network.private_subnet_cidrs if block(text) is not None]
        key = "mlcc:network.privateSubnetCidrs"
    free = sum(
        max(0, ipaddress.IPv4Network(text).num_addresses - RESERVED_ADDRESSES - EKS_ADDRESSES)
        for text in blocks
    )
    nodes = sum(group.max_size for group in profile.eks.node_groups)
    if nodes * ADDRESSES_PER_NODE_AT_LEAST > free:
        needed = nodes * ADDRESSES_PER_NODE_AT_LEAST
        findings.refuse(
            key,
            blocks,
            f"{free} free addresses in the private subnets, while {nodes} nodes need at least {needed}",
            "use larger blocks, or lower maxSize of the node groups",
        )
    elif nodes * ADDRESSES_PER_NODE > free:
        needed = nodes * ADDRESSES_PER_NODE
        findings.warn(
            key,
            blocks,
            f"{free} free addresses in the private subnets; {nodes} nodes take about {needed} at the start",
            "use larger blocks, or lower maxSize of the node groups",
        )


def check_nat(findings: Findings) -> None:
    """Nodes in private subnets without a NAT gateway reach nothing outside."""
    if findings.profile.network.nat == "none" and findings.profile.has("vanilla-eks"):
        findings.warn(
            "mlcc:network.nat",
            "none",
            "no NAT gateway: nodes join only when VPC endpoints for EKS, ECR, EC2, STS and S3 are there",
            set_command("mlcc:network.nat", "one", stack=findings.stack),
        )


CHECKS: Final[tuple[Callable[[Findings], None], ...]] = (
    check_existing_or_own,
    check_zones,
    check_blocks,
    check_room,
    check_nat,
)
