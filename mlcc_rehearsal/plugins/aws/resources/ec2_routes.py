"""Route tables, routes and associations.

Sources: terraform-provider-aws ``internal/service/ec2/{vpc_route_table,vpc_route,
vpc_route_table_association}.go``. An association's table cannot change in place here: AWS gives the
association a new id then, which the engine has no way to take.
"""

from __future__ import annotations

import zlib
from typing import Any

from mlcc_rehearsal.plugins.aws.calling import EC2_PROPAGATION_SECONDS, Call
from mlcc_rehearsal.plugins.aws.definition import MINUTE, Definition, Import, Timeouts
from mlcc_rehearsal.plugins.aws.resources._common import compound
from mlcc_rehearsal.plugins.aws.resources._ec2 import TAGGING, delete, describe, specifications, tags_of
from mlcc_rehearsal.plugins.serving import ProviderError

_DESTINATIONS = {
    "destinationCidrBlock": "DestinationCidrBlock",
    "destinationIpv6CidrBlock": "DestinationIpv6CidrBlock",
    "destinationPrefixListId": "DestinationPrefixListId",
}
_TARGETS = {
    "carrierGatewayId": "CarrierGatewayId",
    "coreNetworkArn": "CoreNetworkArn",
    "egressOnlyGatewayId": "EgressOnlyInternetGatewayId",
    "gatewayId": "GatewayId",
    "localGatewayId": "LocalGatewayId",
    "natGatewayId": "NatGatewayId",
    "networkInterfaceId": "NetworkInterfaceId",
    "transitGatewayId": "TransitGatewayId",
    "vpcEndpointId": "VpcEndpointId",
    "vpcPeeringConnectionId": "VpcPeeringConnectionId",
}
# A route table's inline routes name destinations differently.
_INLINE = {
    "cidrBlock": "DestinationCidrBlock",
    "ipv6CidrBlock": "DestinationIpv6CidrBlock",
    "destinationPrefixListId": "DestinationPrefixListId",
}

# Route tables


def _table(call: Call, table: str) -> dict[str, Any] | None:
    return describe(
        call, "describe_route_tables", "RouteTables", "InvalidRouteTableID.NotFound", RouteTableIds=[table]
    )


def _create_table(call: Call) -> str:
    answer = call.aws(
        "ec2",
        "create_route_table",
        VpcId=call.inputs["vpcId"],
        TagSpecifications=specifications(call, "route-table"),
    )
    call.id = str(answer["RouteTable"]["RouteTableId"])
    for route in call.inputs.get("routes") or []:
        _put(call, "create_route", call.id, route, _INLINE)
    return call.id


def _put(call: Call, operation: str, table: str, route: dict[str, Any], names: dict[str, str]) -> None:
    parameters = {parameter: route[name] for name, parameter in names.items() if route.get(name)}
    parameters |= {parameter: route[name] for name, parameter in _TARGETS.items() if route.get(name)}
    call.retry(
        lambda: call.aws("ec2", operation, RouteTableId=table, **parameters),
        lambda error: error.aws_code in ("InvalidParameterException", "InvalidTransitGatewayID.NotFound"),
        EC2_PROPAGATION_SECONDS,
    )


def _routes(table: dict[str, Any]) -> list[dict[str, Any]]:
    """The routes that a program can own: not the local ones, those of gateway endpoints or propagated."""
    own = []
    for route in table.get("Routes") or []:
        target = route.get("GatewayId") or ""
        if target == "local" or route.get("Origin") == "EnableVgwRoutePropagation":
            continue
        if target.startswith("vpce-") and route.get("DestinationPrefixListId"):
            continue
        own.append(route)
    return own


def _flat(route: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    flat = {name: route.get(parameter) or "" for name, parameter in (names | _TARGETS).items()}
    if str(flat["gatewayId"]).startswith("vpce-"):
        flat["vpcEndpointId"], flat["gatewayId"] = flat["gatewayId"], ""
    return flat


def _read_table(call: Call) -> dict[str, Any] | None:
    table = _table(call, call.id)
    if table is None:
        return None
    return {
        "arn": call.arn("ec2", f"route-table/{call.id}"),
        "ownerId": table.get("OwnerId") or call.account_id,
        "propagatingVgws": [item["GatewayId"] for item in table.get("PropagatingVgws") or []],
        "routes": [_flat(route, _INLINE) for route in _routes(table)],
        "tags": tags_of(table),
        "vpcId": table["VpcId"],
    }


def _update_table(call: Call) -> None:
    if not call.changed("routes"):
        return

    def keyed(routes: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        return {str(next(route[name] for name in _INLINE if route.get(name))): route for route in routes}

    have, want = keyed(call.state.get("routes") or []), keyed(call.inputs.get("routes") or [])
    for destination, route in have.items():
        if destination not in want:
            _remove_route(call, call.id, route, _INLINE)
    for destination, route in want.items():
        if destination not in have:
            _put(call, "create_route", call.id, route, _INLINE)
        elif any((route.get(name) or "") != (have[destination].get(name) or "") for name in _TARGETS):
            _put(call, "replace_route", call.id, route, _INLINE)


def _remove_route(call: Call, table: str, route: dict[str, Any], names: dict[str, str]) -> None:
    parameters = {parameter: route[name] for name, parameter in names.items() if route.get(name)}
    call.find(
        "ec2",
        "delete_route",
        "InvalidRoute.NotFound",
        "InvalidRouteTableID.NotFound",
        RouteTableId=table,
        **parameters,
    )


def _delete_table(call: Call) -> None:
    table = _table(call, call.id)
    if table is None:
        return
    for association in table.get("Associations") or []:
        if not association.get("Main"):
            call.find(
                "ec2",
                "disassociate_route_table",
                "InvalidAssociationID.NotFound",
                AssociationId=association["RouteTableAssociationId"],
            )
    delete(
        call,
        lambda: call.aws("ec2", "delete_route_table", RouteTableId=call.id),
        "InvalidRouteTableID.NotFound",
    )


TABLE = Definition(
    token="aws:ec2/routeTable:RouteTable",
    label="Route Table",
    create=_create_table,
    read=_read_table,
    update=_update_table,
    delete=_delete_table,
    imports=Import("rtb-id", "rtb-0abc"),
    tagging=TAGGING,
    replace=frozenset({"vpcId"}),
    computed=frozenset({"routes", "propagatingVgws"}),
    timeouts=Timeouts(create=5 * MINUTE, update=2 * MINUTE, delete=5 * MINUTE),
)

# Routes


def _destination(route: dict[str, Any]) -> str:
    for name in _DESTINATIONS:
        if route.get(name):
            return str(route[name])
    raise ProviderError("creating Route: route destination attribute not specified")


def route_id(table: str, destination: str) -> str:
    """The id the provider gives a route: a checksum of its destination."""
    return f"r-{table}{zlib.crc32(destination.encode())}"


def _create_route(call: Call) -> str:
    table, destination = call.inputs["routeTableId"], _destination(call.inputs)
    existing = _find_route(call, table, destination)
    if existing is not None and existing.get("Origin") == "CreateRoute":
        target = next((existing[p] for p in _TARGETS.values() if existing.get(p)), "")
        raise ProviderError(f"Route in Route Table ({table}) with destination ({destination}) already exists"
                            f" (target {target})")  # fmt: skip
    _put(call, "create_route", table, call.inputs, _DESTINATIONS)
    call.id = route_id(table, destination)
    return call.id


def _find_route(call: Call, table: str, destination: str) -> dict[str, Any] | None:
    found = _table(call, table)
    for route in found.get("Routes", []) if found else ():
        if destination in [route.get(parameter) for parameter in _DESTINATIONS.values()]:
            return dict(route)
    return None


def _read_route(call: Call) -> dict[str, Any] | None:
    known = call.state if call.state.get("routeTableId") else call.inputs
    table, destination = known["routeTableId"], _destination(known)
    route = _find_route(call, table, destination)
    if route is None:
        return None
    return {
        "routeTableId": table,
        **_flat(route, _DESTINATIONS),
        "instanceId": route.get("InstanceId") or "",
        "instanceOwnerId": route.get("InstanceOwnerId") or "",
        "origin": route.get("Origin"),
        "state": route.get("State"),
    }


def _parse_route(text: str) -> tuple[str, dict[str, Any]]:
    table, _, destination = text.partition("_")
    if not table or not destination or "_" in destination:
        raise ValueError(f'unexpected format of ID ("{text}"), expected ROUTETABLEID_DESTINATION')
    if ":" in destination:
        name = "destinationIpv6CidrBlock"
    else:
        name = "destinationCidrBlock" if "." in destination else "destinationPrefixListId"
    return route_id(table, destination), {"routeTableId": table, name: destination}


ROUTE = Definition(
    token="aws:ec2/route:Route",
    label="Route",
    create=_create_route,
    read=_read_route,
    update=lambda call: _put(call, "replace_route", call.inputs["routeTableId"], call.inputs, _DESTINATIONS),
    delete=lambda call: _remove_route(call, call.state["routeTableId"], call.state, _DESTINATIONS),
    imports=Import("ROUTETABLEID_DESTINATION", "rtb-0abc_10.42.0.0/16", _parse_route),
    replace=frozenset({"routeTableId", *_DESTINATIONS}),
    computed=frozenset({"networkInterfaceId"}),
    timeouts=Timeouts(create=5 * MINUTE, update=2 * MINUTE, delete=5 * MINUTE),
    title=lambda properties: f"{properties.get('routeTableId')}",
)

# Associations


def _create_association(call: Call) -> str:
    answer = call.retry(
        lambda: call.aws(
            "ec2",
            "associate_route_table",
            RouteTableId=call.inputs["routeTableId"],
            SubnetId=call.inputs.get("subnetId"),
            GatewayId=call.inputs.get("gatewayId"),
        ),
        lambda error: error.aws_code == "InvalidRouteTableID.NotFound",
        EC2_PROPAGATION_SECONDS,
    )
    return str(answer["AssociationId"])


def _association(call: Call) -> dict[str, Any] | None:
    tables = call.pages(
        "ec2",
        "describe_route_tables",
        "RouteTables",
        Filters=[{"Name": "association.route-table-association-id", "Values": [call.id]}],
    )
    for table in tables:
        for association in table.get("Associations") or []:
            if association["RouteTableAssociationId"] == call.id:
                return dict(association)
    return None


def _read_association(call: Call) -> dict[str, Any] | None:
    if not call.id.startswith("rtbassoc-"):
        call.id = _imported_association(call) or ""
    association = _association(call) if call.id else None
    if association is None:
        return None
    return {
        "gatewayId": association.get("GatewayId") or "",
        "routeTableId": association["RouteTableId"],
        "subnetId": association.get("SubnetId") or "",
    }


def _imported_association(call: Call) -> str | None:
    """The association's own id, when imported as ``subnet/table``."""
    target, _, table = call.id.partition("/")
    found = _table(call, table)
    for association in (found or {}).get("Associations") or []:
        if target in (association.get("SubnetId"), association.get("GatewayId")):
            return str(association["RouteTableAssociationId"])
    return None


ASSOCIATION = Definition(
    token="aws:ec2/routeTableAssociation:RouteTableAssociation",
    label="Route Table Association",
    create=_create_association,
    read=_read_association,
    delete=lambda call: call.find(
        "ec2", "disassociate_route_table", "InvalidAssociationID.NotFound", AssociationId=call.id
    ),
    imports=compound(
        "(subnet-or-gateway ID)/(route-table ID)", "subnet-0abc/rtb-0abc", "/", "subnetId", "routeTableId"
    ),
    # The association's id changes when its table does; the engine knows ids as fixed.
    replace=frozenset({"subnetId", "gatewayId", "routeTableId"}),
    delete_before_replace=True,
    timeouts=Timeouts(create=5 * MINUTE, update=2 * MINUTE, delete=5 * MINUTE),
)

DEFINITIONS = (TABLE, ROUTE, ASSOCIATION)
