"""VPCs, subnets, internet gateways, addresses and NAT gateways.

Sources: terraform-provider-aws ``internal/service/ec2/{vpc_,vpc_subnet,vpc_internet_gateway,ec2_eip,
vpc_nat_gateway}.go``: schemas, default timeouts, DependencyViolation retried until the delete
timeout (a VPC: 5 minutes), NAT gateways waited for.
"""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.plugins.aws.calling import Call
from mlcc_rehearsal.plugins.aws.definition import MINUTE, Definition, Import, Timeouts
from mlcc_rehearsal.plugins.aws.resources._common import checks, cidr, conflicts
from mlcc_rehearsal.plugins.aws.resources._ec2 import (
    TAGGING,
    delete,
    describe,
    lingering_interfaces,
    specifications,
    tags_of,
)

# VPC

_VPC_ATTRIBUTES = {
    "enableDnsHostnames": ("EnableDnsHostnames", "enableDnsHostnames"),
    "enableDnsSupport": ("EnableDnsSupport", "enableDnsSupport"),
    "enableNetworkAddressUsageMetrics": (
        "EnableNetworkAddressUsageMetrics",
        "enableNetworkAddressUsageMetrics",
    ),
}


def _create_vpc(call: Call) -> str:
    given = call.inputs
    answer = call.aws(
        "ec2",
        "create_vpc",
        CidrBlock=given.get("cidrBlock"),
        InstanceTenancy=given.get("instanceTenancy"),
        AmazonProvidedIpv6CidrBlock=bool(given.get("assignGeneratedIpv6CidrBlock")),
        TagSpecifications=specifications(call, "vpc"),
    )
    call.id = str(answer["Vpc"]["VpcId"])

    def refresh() -> tuple[Any, str]:
        found = describe(call, "describe_vpcs", "Vpcs", "InvalidVpcID.NotFound", VpcIds=[call.id])
        return found, str(found["State"]) if found else ""

    call.wait(refresh, pending=("pending",), target=("available",), timeout=10 * MINUTE)
    _set_vpc_attribute(call, "enableDnsHostnames", False)
    _set_vpc_attribute(call, "enableDnsSupport", True)
    _set_vpc_attribute(call, "enableNetworkAddressUsageMetrics", False)
    return call.id


def _set_vpc_attribute(call: Call, name: str, now: bool) -> None:
    wanted = call.inputs.get(name)
    if wanted is not None and bool(wanted) != now:
        parameter = _VPC_ATTRIBUTES[name][0]
        call.aws("ec2", "modify_vpc_attribute", VpcId=call.id, **{parameter: {"Value": bool(wanted)}})


def _vpc_attribute(call: Call, name: str) -> bool:
    parameter, attribute = _VPC_ATTRIBUTES[name]
    answer = call.aws("ec2", "describe_vpc_attribute", VpcId=call.id, Attribute=attribute)
    return bool(answer.get(parameter, {}).get("Value"))


def _of_vpc(call: Call, operation: str, key: str, **filters: str) -> dict[str, Any]:
    wanted = {"vpc-id": call.id, **{name.replace("_", "-"): value for name, value in filters.items()}}
    found = describe(call, operation, key, Filters=[{"Name": n, "Values": [v]} for n, v in wanted.items()])
    return found or {}


def _read_vpc(call: Call) -> dict[str, Any] | None:
    vpc = describe(call, "describe_vpcs", "Vpcs", "InvalidVpcID.NotFound", VpcIds=[call.id])
    if vpc is None:
        return None
    main = _of_vpc(call, "describe_route_tables", "RouteTables", **{"association.main": "true"})
    ipv6 = (vpc.get("Ipv6CidrBlockAssociationSet") or [{}])[0]
    return {
        "arn": call.arn("ec2", f"vpc/{call.id}"),
        "assignGeneratedIpv6CidrBlock": bool(ipv6.get("Ipv6CidrBlock")),
        "cidrBlock": vpc["CidrBlock"],
        "defaultNetworkAclId": _of_vpc(call, "describe_network_acls", "NetworkAcls", default="true").get(
            "NetworkAclId"
        ),
        "defaultRouteTableId": main.get("RouteTableId"),
        "defaultSecurityGroupId": _of_vpc(
            call, "describe_security_groups", "SecurityGroups", group_name="default"
        ).get("GroupId"),
        "dhcpOptionsId": vpc.get("DhcpOptionsId"),
        **{name: _vpc_attribute(call, name) for name in _VPC_ATTRIBUTES},
        "instanceTenancy": vpc.get("InstanceTenancy"),
        "ipv6AssociationId": ipv6.get("AssociationId") or "",
        "ipv6CidrBlock": ipv6.get("Ipv6CidrBlock") or "",
        "ipv6CidrBlockNetworkBorderGroup": ipv6.get("NetworkBorderGroup") or "",
        "mainRouteTableId": main.get("RouteTableId"),
        "ownerId": vpc.get("OwnerId") or call.account_id,
        "tags": tags_of(vpc),
    }


def _update_vpc(call: Call) -> None:
    for name in _VPC_ATTRIBUTES:
        if call.changed(name):
            _set_vpc_attribute(call, name, not call.inputs.get(name))
    if call.changed("instanceTenancy"):
        call.aws("ec2", "modify_vpc_tenancy", VpcId=call.id, InstanceTenancy=call.inputs["instanceTenancy"])


def _delete_vpc(call: Call) -> None:
    delete(
        call,
        lambda: call.aws("ec2", "delete_vpc", VpcId=call.id),
        "InvalidVpcID.NotFound",
        timeout=5 * MINUTE,
    )


VPC = Definition(
    token="aws:ec2/vpc:Vpc",
    label="EC2 VPC",
    create=_create_vpc,
    read=_read_vpc,
    update=_update_vpc,
    delete=_delete_vpc,
    imports=Import("vpc-id", "vpc-0abc"),
    tagging=TAGGING,
    replace=frozenset({"cidrBlock", "ipv4IpamPoolId", "ipv4NetmaskLength"}),
    computed=frozenset(
        {
            "cidrBlock",
            "enableDnsHostnames",
            "enableNetworkAddressUsageMetrics",
            "ipv6CidrBlock",
            "ipv6CidrBlockNetworkBorderGroup",
        }
    ),
    defaults={"enableDnsSupport": True, "instanceTenancy": "default"},
    unread=frozenset({"ipv4IpamPoolId", "ipv4NetmaskLength"}),
    validate=checks(cidr("cidrBlock", 16, 28), conflicts("cidrBlock", "ipv4NetmaskLength")),
)

# Subnets

_SUBNET_FLAGS = {
    "assignIpv6AddressOnCreation": "AssignIpv6AddressOnCreation",
    "enableDns64": "EnableDns64",
    "enableResourceNameDnsARecordOnLaunch": "EnableResourceNameDnsARecordOnLaunch",
    "enableResourceNameDnsAaaaRecordOnLaunch": "EnableResourceNameDnsAAAARecordOnLaunch",
    "mapPublicIpOnLaunch": "MapPublicIpOnLaunch",
}


def _create_subnet(call: Call) -> str:
    given = call.inputs
    answer = call.aws(
        "ec2",
        "create_subnet",
        VpcId=given["vpcId"],
        CidrBlock=given.get("cidrBlock"),
        AvailabilityZone=given.get("availabilityZone"),
        AvailabilityZoneId=given.get("availabilityZoneId"),
        Ipv6CidrBlock=given.get("ipv6CidrBlock"),
        TagSpecifications=specifications(call, "subnet"),
    )
    call.id = str(answer["Subnet"]["SubnetId"])

    def refresh() -> tuple[Any, str]:
        found = _subnet(call)
        return found, str(found["State"]) if found else ""

    call.wait(refresh, pending=("pending",), target=("available",))
    for name, parameter in _SUBNET_FLAGS.items():
        if given.get(name):
            _modify_subnet(call, {parameter: {"Value": True}})
    return call.id


def _modify_subnet(call: Call, change: dict[str, Any]) -> None:
    call.aws("ec2", "modify_subnet_attribute", SubnetId=call.id, **change)


def _subnet(call: Call) -> dict[str, Any] | None:
    return describe(call, "describe_subnets", "Subnets", "InvalidSubnetID.NotFound", SubnetIds=[call.id])


def _read_subnet(call: Call) -> dict[str, Any] | None:
    subnet = _subnet(call)
    if subnet is None:
        return None
    ipv6 = (subnet.get("Ipv6CidrBlockAssociationSet") or [{}])[0]
    dns = subnet.get("PrivateDnsNameOptionsOnLaunch") or {}
    return {
        "arn": subnet.get("SubnetArn") or call.arn("ec2", f"subnet/{call.id}"),
        "assignIpv6AddressOnCreation": bool(subnet.get("AssignIpv6AddressOnCreation")),
        "availabilityZone": subnet["AvailabilityZone"],
        "availabilityZoneId": subnet.get("AvailabilityZoneId"),
        "cidrBlock": subnet["CidrBlock"],
        "enableDns64": bool(subnet.get("EnableDns64")),
        "enableResourceNameDnsARecordOnLaunch": bool(dns.get("EnableResourceNameDnsARecord")),
        "enableResourceNameDnsAaaaRecordOnLaunch": bool(dns.get("EnableResourceNameDnsAAAARecord")),
        "ipv6CidrBlock": ipv6.get("Ipv6CidrBlock") or "",
        "ipv6CidrBlockAssociationId": ipv6.get("AssociationId") or "",
        "ipv6Native": bool(subnet.get("Ipv6Native")),
        "mapPublicIpOnLaunch": bool(subnet.get("MapPublicIpOnLaunch")),
        "outpostArn": "",
        "ownerId": subnet.get("OwnerId") or call.account_id,
        "privateDnsHostnameTypeOnLaunch": dns.get("HostnameType") or "ip-name",
        "tags": tags_of(subnet),
        "vpcId": subnet["VpcId"],
    }


def _update_subnet(call: Call) -> None:
    for name, parameter in _SUBNET_FLAGS.items():
        if call.changed(name):
            _modify_subnet(call, {parameter: {"Value": bool(call.inputs.get(name))}})
    if call.changed("privateDnsHostnameTypeOnLaunch"):
        _modify_subnet(
            call, {"PrivateDnsHostnameTypeOnLaunch": call.inputs["privateDnsHostnameTypeOnLaunch"]}
        )


def _delete_subnet(call: Call) -> None:
    lingering_interfaces(call, "subnet-id")
    delete(call, lambda: call.aws("ec2", "delete_subnet", SubnetId=call.id), "InvalidSubnetID.NotFound")


SUBNET = Definition(
    token="aws:ec2/subnet:Subnet",
    label="EC2 Subnet",
    create=_create_subnet,
    read=_read_subnet,
    update=_update_subnet,
    delete=_delete_subnet,
    imports=Import("subnet-id", "subnet-0abc"),
    tagging=TAGGING,
    replace=frozenset(
        {
            "availabilityZone",
            "availabilityZoneId",
            "cidrBlock",
            "ipv4IpamPoolId",
            "ipv4NetmaskLength",
            "ipv6Native",
            "outpostArn",
            "vpcId",
        }
    ),
    computed=frozenset(
        {
            "availabilityZone",
            "availabilityZoneId",
            "cidrBlock",
            "ipv6CidrBlock",
            "privateDnsHostnameTypeOnLaunch",
        }
    ),
    defaults=dict.fromkeys((*_SUBNET_FLAGS, "ipv6Native"), False),
    timeouts=Timeouts(create=10 * MINUTE, delete=20 * MINUTE),
    validate=checks(cidr("cidrBlock"), conflicts("availabilityZone", "availabilityZoneId")),
)

# Internet gateways


def _create_gateway(call: Call) -> str:
    answer = call.aws(
        "ec2", "create_internet_gateway", TagSpecifications=specifications(call, "internet-gateway")
    )
    call.id = str(answer["InternetGateway"]["InternetGatewayId"])
    if call.inputs.get("vpcId"):
        _attach_gateway(call, call.inputs["vpcId"])
    return call.id


def _attach_gateway(call: Call, vpc: str) -> None:
    call.retry(
        lambda: call.aws("ec2", "attach_internet_gateway", InternetGatewayId=call.id, VpcId=vpc),
        lambda error: error.aws_code == "InvalidInternetGatewayID.NotFound",
        call.timeout,
    )


def _detach_gateway(call: Call, vpc: str) -> None:
    # Addresses in use in the VPC are DependencyViolation here.
    delete(
        call,
        lambda: call.find(
            "ec2", "detach_internet_gateway", "Gateway.NotAttached", InternetGatewayId=call.id, VpcId=vpc
        ),
        "InvalidInternetGatewayID.NotFound",
    )


def _gateway(call: Call) -> dict[str, Any] | None:
    return describe(
        call,
        "describe_internet_gateways",
        "InternetGateways",
        "InvalidInternetGatewayID.NotFound",
        InternetGatewayIds=[call.id],
    )


def _read_gateway(call: Call) -> dict[str, Any] | None:
    gateway = _gateway(call)
    if gateway is None:
        return None
    attachments = gateway.get("Attachments") or []
    return {
        "arn": call.arn("ec2", f"internet-gateway/{call.id}"),
        "ownerId": gateway.get("OwnerId") or call.account_id,
        "tags": tags_of(gateway),
        "vpcId": attachments[0]["VpcId"] if attachments else "",
    }


def _update_gateway(call: Call) -> None:
    if call.changed("vpcId"):
        if call.state.get("vpcId"):
            _detach_gateway(call, call.state["vpcId"])
        if call.inputs.get("vpcId"):
            _attach_gateway(call, call.inputs["vpcId"])


def _delete_gateway(call: Call) -> None:
    if call.state.get("vpcId"):
        _detach_gateway(call, call.state["vpcId"])
    delete(
        call,
        lambda: call.aws("ec2", "delete_internet_gateway", InternetGatewayId=call.id),
        "InvalidInternetGatewayID.NotFound",
    )


GATEWAY = Definition(
    token="aws:ec2/internetGateway:InternetGateway",
    label="EC2 Internet Gateway",
    create=_create_gateway,
    read=_read_gateway,
    update=_update_gateway,
    delete=_delete_gateway,
    imports=Import("igw-id", "igw-0abc"),
    tagging=TAGGING,
    computed=frozenset({"vpcId"}),
)

DEFINITIONS = (VPC, SUBNET, GATEWAY)
