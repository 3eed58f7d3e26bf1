"""Which zones a cluster uses. Pure; zones are ids such as `usw2-az1`, because names differ by account."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from mlcc_infra.account.decisions import ResourceKey

DEFAULT_ZONE_COUNT = 2
SUBNET = "aws:ec2/subnet:Subnet"


def recorded_zones(recorded: Collection[ResourceKey], subnet_prefix: str) -> tuple[str, ...]:
    """Zones that the state's private subnets are in: once a stack has zones, it keeps them."""
    return tuple(
        sorted(
            name.removeprefix(subnet_prefix)
            for type_token, name in recorded
            if type_token == SUBNET and name.startswith(subnet_prefix)
        )
    )


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
