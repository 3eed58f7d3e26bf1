"""Which zones a cluster uses. Pure; zones are ids such as `usw2-az1`, because names differ by account."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from mlcc_infra.account.decisions import ResourceKey

DEFAULT_ZONE_COUNT = 2
SUBNET = "aws:ec2/subnet:Subnet"
TIERS = ("private", "public")


def recorded_zones(recorded: Collection[ResourceKey], network: str) -> frozenset[str]:
    """Zones of the subnets that the state has of a network: once a stack has zones, it keeps them."""
    prefixes = tuple(f"{network}-{tier}-" for tier in TIERS)
    return frozenset(
        name.removeprefix(prefix)
        for type_token, name in recorded
        for prefix in prefixes
        if type_token == SUBNET and name.startswith(prefix)
    )


def settle_zones(known: Collection[str], suitable: Sequence[str]) -> tuple[str, ...]:
    """The zones that a stack is in, filled up to the usual number with suitable ones; sorted.

    Subnets that somebody deleted leave fewer known than there were.
    """
    more = [zone for zone in suitable if zone not in known]
    return tuple(sorted([*known, *more[: max(0, DEFAULT_ZONE_COUNT - len(known))]]))


def in_place(
    zones: Sequence[str], slots: Sequence[Collection[str]], subnets: Sequence[tuple[str, str]]
) -> tuple[str, ...]:
    """The zones in the order in which each keeps the blocks that its subnets have.

    `slots` are the blocks that a plan gives to its first zone, its second and so on; `subnets` are (zone,
    block) of what exists. Who has nothing there takes what is left, in order. A subnet cannot move: without
    this, a zone that comes or goes would have the others' subnets replaced.
    """
    taken = {
        index: zone
        for zone, block in subnets
        for index, slot in enumerate(slots)
        if block in slot and zone in zones
    }
    others = iter([zone for zone in zones if zone not in taken.values()])
    order = [taken[index] if index in taken else next(others, None) for index in range(len(slots))]
    placed = tuple(zone for zone in order if zone is not None)
    return placed if sorted(placed) == sorted(zones) else tuple(zones)


def choose_zones(
    available: Collection[str],
    offered: Mapping[str, Collection[str]],
    excluded: Collection[str],
    count: int = DEFAULT_ZONE_COUNT,
) -> tuple[str, ...]:
    """The first `count` zones by id that offer every instance type and are not excluded by EKS.

    `offered` maps an instance type to the zones that offer it. Fewer than `count` may come back; the
    caller says what is missing.
    """
    suitable = [
        zone
        for zone in sorted(available)
        if zone not in excluded and all(zone in zones for zones in offered.values())
    ]
    return tuple(suitable[:count])


def missing_offers(zones: Sequence[str], offered: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
    """For each instance type the chosen zones that do not offer it."""
    missing = {
        instance_type: [zone for zone in zones if zone not in offers]
        for instance_type, offers in offered.items()
    }
    return {instance_type: gaps for instance_type, gaps in missing.items() if gaps}
