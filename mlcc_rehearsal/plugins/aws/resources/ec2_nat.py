"""Elastic addresses and NAT gateways.

Sources: terraform-provider-aws ``internal/service/ec2/{ec2_eip,vpc_nat_gateway}.go``.
"""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.plugins.aws.calling import Call, UnexpectedStateError, WaitTimeoutError
from mlcc_rehearsal.plugins.aws.definition import MINUTE, Definition, Import, Timeouts
from mlcc_rehearsal.plugins.aws.resources._common import checks, conflicts, one_of
from mlcc_rehearsal.plugins.aws.resources._ec2 import TAGGING, describe, specifications, tags_of
from mlcc_rehearsal.plugins.serving import ProviderError

# Addresses


def _create_address(call: Call) -> str:
    answer = call.aws(
        "ec2",
        "allocate_address",
        Domain=call.inputs.get("domain") or "vpc",
        Address=call.inputs.get("address"),
        PublicIpv4Pool=call.inputs.get("publicIpv4Pool"),
        NetworkBorderGroup=call.inputs.get("networkBorderGroup"),
        TagSpecifications=specifications(call, "elastic-ip"),
    )
    call.id = str(answer["AllocationId"])
    _associate(call)
    return call.id


def _associate(call: Call) -> None:
    instance, interface = call.inputs.get("instance"), call.inputs.get("networkInterface")
    if instance or interface:
        call.aws(
            "ec2",
            "associate_address",
            AllocationId=call.id,
            InstanceId=instance,
            NetworkInterfaceId=interface,
            PrivateIpAddress=call.inputs.get("associateWithPrivateIp"),
        )


def _address(call: Call) -> dict[str, Any] | None:
    return describe(
        call, "describe_addresses", "Addresses", "InvalidAllocationID.NotFound", AllocationIds=[call.id]
    )


def _read_address(call: Call) -> dict[str, Any] | None:
    address = _address(call)
    if address is None:
        return None
    private = address.get("PrivateIpAddress") or ""
    return {
        "allocationId": address["AllocationId"],
        "arn": call.arn("ec2", f"elastic-ip/{call.id}"),
        "associationId": address.get("AssociationId") or "",
        "domain": address.get("Domain") or "vpc",
        "instance": address.get("InstanceId") or "",
        "networkBorderGroup": address.get("NetworkBorderGroup") or call.region,
        "networkInterface": address.get("NetworkInterfaceId") or "",
        "privateIp": private,
        "privateDns": f"ip-{private.replace('.', '-')}.{call.region}.compute.internal" if private else None,
        "publicDns": f"ec2-{address['PublicIp'].replace('.', '-')}.{call.region}.compute.amazonaws.com",
        "publicIp": address["PublicIp"],
        "publicIpv4Pool": address.get("PublicIpv4Pool") or "amazon",
        "tags": tags_of(address),
    }


def _update_address(call: Call) -> None:
    if call.changed("instance", "networkInterface", "associateWithPrivateIp"):
        if call.state.get("associationId"):
            call.find(
                "ec2",
                "disassociate_address",
                "InvalidAssociationID.NotFound",
                AssociationId=call.state["associationId"],
            )
        _associate(call)


def _delete_address(call: Call) -> None:
    address = _address(call)
    if address is None:
        return
    # The provider lets go first of what the address is bound to in its state.
    if address.get("AssociationId") and (call.state.get("instance") or call.state.get("associationId")):
        call.find(
            "ec2",
            "disassociate_address",
            "InvalidAssociationID.NotFound",
            AssociationId=address["AssociationId"],
        )
    call.retry(
        lambda: call.find("ec2", "release_address", "InvalidAllocationID.NotFound", AllocationId=call.id),
        lambda error: error.aws_code in ("AuthFailure", "InvalidIPAddress.InUse"),
        call.timeout,
    )


ADDRESS = Definition(
    token="aws:ec2/eip:Eip",
    label="EC2 EIP",
    create=_create_address,
    read=_read_address,
    update=_update_address,
    delete=_delete_address,
    imports=Import("allocation-id", "eipalloc-0abc"),
    tagging=TAGGING,
    replace=frozenset({"address", "customerOwnedIpv4Pool", "domain", "networkBorderGroup", "publicIpv4Pool"}),
    computed=frozenset({"domain", "instance", "networkBorderGroup", "networkInterface", "publicIpv4Pool"}),
    unread=frozenset({"address", "associateWithPrivateIp"}),
    timeouts=Timeouts(create=15 * MINUTE, update=5 * MINUTE, delete=3 * MINUTE),
    validate=checks(one_of("domain", "vpc", "standard"), conflicts("instance", "networkInterface")),
)

# NAT gateways


def _nat(call: Call) -> dict[str, Any] | None:
    return describe(
        call, "describe_nat_gateways", "NatGateways", "NatGatewayNotFound", NatGatewayIds=[call.id]
    )


def _nat_state(call: Call) -> tuple[Any, str]:
    found = _nat(call)
    return found, str(found["State"]) if found else ""


def _create_nat(call: Call) -> str:
    given = call.inputs
    answer = call.aws(
        "ec2",
        "create_nat_gateway",
        AllocationId=given.get("allocationId"),
        ConnectivityType=given.get("connectivityType"),
        PrivateIpAddress=given.get("privateIp"),
        SecondaryAllocationIds=given.get("secondaryAllocationIds"),
        SubnetId=given.get("subnetId"),
        TagSpecifications=specifications(call, "natgateway"),
    )
    call.id = str(answer["NatGateway"]["NatGatewayId"])
    try:
        call.wait(
            lambda: _nat_state(call),
            pending=("pending",),
            target=("available",),
            reason=lambda gateway: f"{gateway.get('FailureCode')}: {gateway.get('FailureMessage')}",
        )
    except (UnexpectedStateError, WaitTimeoutError) as error:
        raise ProviderError(f"waiting for EC2 NAT Gateway ({call.id}) create: {error.message}") from error
    return call.id


def _read_nat(call: Call) -> dict[str, Any] | None:
    gateway = _nat(call)
    if gateway is None or gateway["State"] == "deleted":
        return None
    addresses = gateway.get("NatGatewayAddresses") or [{}]
    primary = next((item for item in addresses if item.get("IsPrimary")), addresses[0])
    others = [item for item in addresses if item is not primary]
    return {
        "allocationId": primary.get("AllocationId"),
        "associationId": primary.get("AssociationId"),
        "connectivityType": gateway.get("ConnectivityType") or "public",
        "networkInterfaceId": primary.get("NetworkInterfaceId"),
        "privateIp": primary.get("PrivateIp"),
        "publicIp": primary.get("PublicIp"),
        "secondaryAllocationIds": [item["AllocationId"] for item in others if item.get("AllocationId")],
        "secondaryPrivateIpAddressCount": len(others),
        "secondaryPrivateIpAddresses": [item["PrivateIp"] for item in others if item.get("PrivateIp")],
        "subnetId": gateway.get("SubnetId"),
        "tags": tags_of(gateway),
        "vpcId": gateway.get("VpcId"),
    }


def _delete_nat(call: Call) -> None:
    if call.find("ec2", "delete_nat_gateway", "NatGatewayNotFound", NatGatewayId=call.id) is None:
        return

    def refresh() -> tuple[Any, str]:
        found = _nat(call)
        return (None, "") if found is None or found["State"] == "deleted" else (found, found["State"])

    try:
        call.wait(
            refresh,
            pending=("deleting", "available", "pending", "failed"),
            target=(),
        )
    except (UnexpectedStateError, WaitTimeoutError) as error:
        raise ProviderError(f"waiting for EC2 NAT Gateway ({call.id}) delete: {error.message}") from error


NAT = Definition(
    token="aws:ec2/natGateway:NatGateway",
    label="EC2 NAT Gateway",
    create=_create_nat,
    read=_read_nat,
    delete=_delete_nat,
    imports=Import("nat-id", "nat-0abc"),
    tagging=TAGGING,
    replace=frozenset(
        {
            "allocationId",
            "connectivityType",
            "privateIp",
            "secondaryPrivateIpAddressCount",
            "subnetId",
            "secondaryAllocationIds",
        }
    ),
    computed=frozenset(
        {
            "availabilityMode",
            "privateIp",
            "secondaryAllocationIds",
            "secondaryPrivateIpAddressCount",
            "secondaryPrivateIpAddresses",
            "vpcId",
        }
    ),
    defaults={"connectivityType": "public"},
    timeouts=Timeouts(create=10 * MINUTE, update=10 * MINUTE, delete=30 * MINUTE),
)

DEFINITIONS = (ADDRESS, NAT)
