"""The VPC and its parts. They have no names of their own: the tag `mlcc:resource` is their look-up key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlcc_infra.account.decisions import Wanted
from mlcc_infra.account.import_ids import import_id
from mlcc_infra.account.reader import AmbiguousError, Found, Reader
from mlcc_infra.tagging import MANAGED_BY, TAG_MANAGED_BY, TAG_PROFILE, TAG_RESOURCE, tag_list

# Deleted NAT gateways and endpoints stay visible, with their tags, for about an hour (EC2 user guide).
_GONE_STATES = frozenset({"deleting", "deleted", "failed", "expired", "rejected"})
# What a VPC, subnet, NAT gateway or endpoint is until it can be used (EC2 API reference, `state`).
_UNDER_WAY = "pending"


def _ours(reader: Reader, operation: str, result: str, filter_name: str = "Filters") -> list[dict[str, Any]]:
    """All things of one EC2 list call that carry the profile's tags and are not on their way out."""

    def call() -> list[dict[str, Any]]:
        filters = [
            {"Name": f"tag:{TAG_MANAGED_BY}", "Values": [MANAGED_BY]},
            {"Name": f"tag:{TAG_PROFILE}", "Values": [reader.profile]},
        ]
        client = reader.session.client("ec2")
        if client.can_paginate(operation):
            found = reader.pages("ec2", operation, result, **{filter_name: filters})
        else:
            found = getattr(client, operation)(**{filter_name: filters})[result]
        return [
            item
            for item in found
            if str(item.get("State", "")).lower() not in _GONE_STATES and _carries(item, reader.profile)
        ]

    return reader.once((operation,), call)


def _carries(item: Mapping[str, Any], profile: str) -> bool:
    tags = tag_list(item.get("Tags", []))
    return tags.get(TAG_MANAGED_BY) == MANAGED_BY and tags.get(TAG_PROFILE) == profile


def live_subnets(reader: Reader, component: str) -> list[tuple[str, str]]:
    """(zone id, block) of the profile's subnets that a component made, by their tag `mlcc:resource`."""
    return [
        (subnet["AvailabilityZoneId"], subnet["CidrBlock"])
        for subnet in _ours(reader, "describe_subnets", "Subnets")
        if tag_list(subnet.get("Tags", [])).get(TAG_RESOURCE, "").startswith(f"{component}/")
    ]


def _by_tag(
    operation: str, result: str, id_key: str, filter_name: str = "Filters"
) -> Callable[[Reader, Wanted], Found | None]:
    def look_up(reader: Reader, wanted: Wanted) -> Found | None:
        item = _tagged(reader, wanted.lookup["resource"], operation, result, id_key, filter_name)
        if item is None:
            return None
        identifier = import_id(wanted.key[0], id=item[id_key])
        state = str(item.get("State", "")).lower()
        return Found(
            import_id=identifier,
            resource_id=identifier,
            tags=tag_list(item.get("Tags", [])),
            under_way=state if state == _UNDER_WAY else "",
        )

    return look_up


def _tagged(
    reader: Reader, resource: str, operation: str, result: str, id_key: str, filter_name: str = "Filters"
) -> dict[str, Any] | None:
    found = [
        item
        for item in _ours(reader, operation, result, filter_name)
        if tag_list(item.get("Tags", [])).get(TAG_RESOURCE) == resource
    ]
    if len(found) > 1:
        ids = ", ".join(sorted(item[id_key] for item in found))
        raise AmbiguousError(f"several carry the tag {TAG_RESOURCE}={resource}: {ids}")
    return found[0] if found else None


def tagged_vpc(reader: Reader, resource: str) -> dict[str, Any] | None:
    """The profile's VPC with this `mlcc:resource`, as EC2 describes it."""
    return _tagged(reader, resource, "describe_vpcs", "Vpcs", "VpcId")


def tagged_subnet(reader: Reader, resource: str) -> dict[str, Any] | None:
    """The profile's subnet with this `mlcc:resource`, as EC2 describes it."""
    return _tagged(reader, resource, "describe_subnets", "Subnets", "SubnetId")


def _route_table(reader: Reader, resource: str) -> dict[str, Any] | None:
    return _tagged(reader, resource, "describe_route_tables", "RouteTables", "RouteTableId")


def _route(reader: Reader, wanted: Wanted) -> Found | None:
    """A route's import id is `<route table>_<destination>`; the id in the state is a hash of both."""
    table = _route_table(reader, wanted.lookup["route_table"])
    destination = wanted.lookup["destination"]
    if table is None or not any(
        route.get("DestinationCidrBlock") == destination for route in table.get("Routes", [])
    ):
        return None
    return Found(
        import_id=import_id(wanted.key[0], route_table=table["RouteTableId"], destination=destination),
        resource_id=None,
        tags=tag_list(table.get("Tags", [])),
    )


def _association(reader: Reader, wanted: Wanted) -> Found | None:
    """An association's import id is `<subnet>/<route table>`, its own id `rtbassoc-…`."""
    table = _route_table(reader, wanted.lookup["route_table"])
    subnet = _tagged(reader, wanted.lookup["subnet"], "describe_subnets", "Subnets", "SubnetId")
    if table is None or subnet is None:
        return None
    for association in table.get("Associations", []):
        if association.get("SubnetId") == subnet["SubnetId"]:
            return Found(
                import_id=import_id(
                    wanted.key[0], subnet=subnet["SubnetId"], route_table=table["RouteTableId"]
                ),
                resource_id=association["RouteTableAssociationId"],
                tags=tag_list(table.get("Tags", [])),
            )
    return None


def _subnet_tag(reader: Reader, wanted: Wanted) -> Found | None:
    """One tag of somebody else's subnet: import id `<resource>,<key>`, nobody's by its own tags."""
    resource_id, key = wanted.lookup["resource_id"], wanted.lookup["key"]
    client = reader.session.client("ec2")
    subnets = reader.once(
        ("subnet", resource_id), lambda: client.describe_subnets(SubnetIds=[resource_id])["Subnets"]
    )
    if key not in tag_list(subnets[0].get("Tags", [])):
        return None
    identifier = import_id(wanted.key[0], resource=resource_id, key=key)
    return Found(import_id=identifier, resource_id=identifier, tags={})


LOOKUPS: Mapping[str, Callable[[Reader, Wanted], Found | None]] = {
    "aws:ec2/vpc:Vpc": _by_tag("describe_vpcs", "Vpcs", "VpcId"),
    "aws:ec2/subnet:Subnet": _by_tag("describe_subnets", "Subnets", "SubnetId"),
    "aws:ec2/internetGateway:InternetGateway": _by_tag(
        "describe_internet_gateways", "InternetGateways", "InternetGatewayId"
    ),
    "aws:ec2/eip:Eip": _by_tag("describe_addresses", "Addresses", "AllocationId"),
    "aws:ec2/natGateway:NatGateway": _by_tag(
        "describe_nat_gateways", "NatGateways", "NatGatewayId", "Filter"
    ),
    "aws:ec2/routeTable:RouteTable": _by_tag("describe_route_tables", "RouteTables", "RouteTableId"),
    "aws:ec2/vpcEndpoint:VpcEndpoint": _by_tag("describe_vpc_endpoints", "VpcEndpoints", "VpcEndpointId"),
    "aws:ec2/tag:Tag": _subnet_tag,
    "aws:ec2/route:Route": _route,
    "aws:ec2/routeTableAssociation:RouteTableAssociation": _association,
}
