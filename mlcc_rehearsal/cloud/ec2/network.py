"""Questions that other services ask about the network: routes out, zones, endpoints, interfaces."""

from __future__ import annotations

from typing import Any

from moto.ec2.models import ec2_backends

from mlcc_rehearsal.cloud.account import RehearsedAccount

# What nodes talk to before they are ready.
# Source: Amazon EKS user guide, "Deploy private clusters with limited internet access".
NODE_SERVICES = ("ec2", "ecr.api", "ecr.dkr", "s3", "sts")


def ec2_of(account: RehearsedAccount, region: str) -> Any:
    """moto's EC2 backend of the account in ``region``."""
    return ec2_backends[account.account_id][region]


def find_subnet(account: RehearsedAccount, region: str, subnet_id: str) -> Any | None:
    """moto's subnet with this id, or None."""
    for subnets in ec2_of(account, region).subnets.values():
        if subnet_id in subnets:
            return subnets[subnet_id]
    return None


def route_table_of(account: RehearsedAccount, region: str, subnet: Any) -> Any | None:
    """The route table that the subnet uses: the one associated with it, else its VPC's main one."""
    tables = [t for t in ec2_of(account, region).route_tables.values() if t.vpc_id == subnet.vpc_id]
    own = (table for table in tables if subnet.id in table._associations.values())
    main = (table for table in tables if table.main_association_id)
    return next(own, None) or next(main, None)


def default_targets(account: RehearsedAccount, region: str, subnet: Any) -> list[str]:
    """Ids of what the subnet's default route leads to (an internet gateway, a NAT gateway …)."""
    table = route_table_of(account, region, subnet)
    if table is None:
        return []
    targets: list[str] = []
    for route in table.routes:
        if route.destination_cidr_block != "0.0.0.0/0":
            continue
        leads_to = (route.nat_gateway, route.gateway, route.instance, route.transit_gateway)
        targets += [str(target.id) for target in leads_to if target is not None]
    return targets


def is_public(account: RehearsedAccount, region: str, subnet: Any) -> bool:
    """Whether the subnet's default route leads to an internet gateway."""
    return any(target.startswith("igw-") for target in default_targets(account, region, subnet))


def has_way_out(account: RehearsedAccount, region: str, subnet: Any) -> bool:
    """Whether instances in the subnet reach what nodes need.

    An internet gateway serves those that get a public address; a NAT gateway must be available; without
    either, the VPC needs endpoints for all of :data:`NODE_SERVICES`.
    """
    ec2 = ec2_of(account, region)
    for target in default_targets(account, region, subnet):
        if target.startswith("igw-") and str(subnet.map_public_ip_on_launch).lower() == "true":
            return True
        if target.startswith("nat-"):
            gateway = ec2.nat_gateways.get(target)
            if gateway is not None and gateway.state == "available":
                return True
        if target.startswith(("tgw-", "i-", "eni-")):
            return True
    endpoints = {
        endpoint.service_name.split(f".{region}.", 1)[-1]
        for endpoint in ec2.vpc_end_points.values()
        if endpoint.vpc_id == subnet.vpc_id and endpoint.state == "available"
    }
    return set(NODE_SERVICES) <= endpoints
