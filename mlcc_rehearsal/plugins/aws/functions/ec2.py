"""VPCs, subnets and security groups that are there.

Source: terraform-provider-aws ``internal/service/ec2/vpc_{,subnet_,subnets_,security_group_}data_source.go``:
arguments become filters, exactly one must match (any number for subnets).
"""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.plugins.aws.calling import Call
from mlcc_rehearsal.plugins.aws.resources._ec2 import tags_of
from mlcc_rehearsal.plugins.serving import ProviderError


def _filters(call: Call, names: dict[str, str]) -> list[dict[str, Any]] | None:
    given = call.inputs
    found: list[dict[str, Any]] = []
    for name, filter_name in names.items():
        if given.get(name) is not None:
            value = str(given[name]).lower() if isinstance(given[name], bool) else str(given[name])
            found.append({"Name": filter_name, "Values": [value]})
    found += [{"Name": f"tag:{key}", "Values": [value]} for key, value in (given.get("tags") or {}).items()]
    found += [{"Name": item["name"], "Values": item["values"]} for item in given.get("filters") or []]
    return found or None


def _one(call: Call, noun: str, operation: str, key: str, ids: str, names: dict[str, str]) -> dict[str, Any]:
    given = {ids: [call.inputs["id"]]} if call.inputs.get("id") else {}
    found = call.pages(
        "ec2", operation, key, **{k: v for k, v in {**given, "Filters": _filters(call, names)}.items() if v}
    )
    if not found:
        raise ProviderError(
            f"reading {noun}: no matching {noun} found; the filters or the id name nothing in {call.region}"
        )
    if len(found) > 1:
        raise ProviderError(f"multiple {noun}s matched; use additional constraints to reduce matches to a "
                            f"single {noun}")  # fmt: skip
    return dict(found[0])


def _vpc(call: Call) -> dict[str, Any]:
    names = {
        "cidrBlock": "cidr",
        "default": "isDefault",
        "dhcpOptionsId": "dhcp-options-id",
        "state": "state",
    }
    vpc = _one(call, "EC2 VPC", "describe_vpcs", "Vpcs", "VpcIds", names)
    vpc_id = str(vpc["VpcId"])

    def attribute(name: str) -> bool:
        answer = call.aws("ec2", "describe_vpc_attribute", VpcId=vpc_id, Attribute=name)
        return bool(answer.get(name[0].upper() + name[1:], {}).get("Value"))

    tables = call.pages(
        "ec2",
        "describe_route_tables",
        "RouteTables",
        Filters=[
            {"Name": "vpc-id", "Values": [vpc_id]},
            {"Name": "association.main", "Values": ["true"]},
        ],
    )
    return {
        "arn": call.arn("ec2", f"vpc/{vpc_id}"),
        "cidrBlock": vpc["CidrBlock"],
        "cidrBlockAssociations": [
            {
                "associationId": item["AssociationId"],
                "cidrBlock": item["CidrBlock"],
                "state": item["CidrBlockState"]["State"],
            }
            for item in vpc.get("CidrBlockAssociationSet") or []
        ],
        "default": bool(vpc.get("IsDefault")),
        "dhcpOptionsId": vpc.get("DhcpOptionsId"),
        "enableDnsHostnames": attribute("enableDnsHostnames"),
        "enableDnsSupport": attribute("enableDnsSupport"),
        "enableNetworkAddressUsageMetrics": attribute("enableNetworkAddressUsageMetrics"),
        "id": vpc_id,
        "instanceTenancy": vpc.get("InstanceTenancy"),
        "ipv6AssociationId": "",
        "ipv6CidrBlock": "",
        "mainRouteTableId": tables[0]["RouteTableId"] if tables else "",
        "ownerId": vpc.get("OwnerId") or call.account_id,
        "state": vpc.get("State"),
        "tags": tags_of(vpc),
    }


def _subnets(call: Call) -> dict[str, Any]:
    filters = _filters(call, {})
    found = call.pages("ec2", "describe_subnets", "Subnets", **({"Filters": filters} if filters else {}))
    return {
        "filters": call.inputs.get("filters"),
        "id": call.region,
        "ids": [subnet["SubnetId"] for subnet in found],
        "tags": call.inputs.get("tags") or {},
    }


def _subnet(call: Call) -> dict[str, Any]:
    names = {
        "availabilityZone": "availabilityZone",
        "availabilityZoneId": "availabilityZoneId",
        "cidrBlock": "cidrBlock",
        "defaultForAz": "defaultForAz",
        "state": "state",
        "vpcId": "vpc-id",
    }
    subnet = _one(call, "EC2 Subnet", "describe_subnets", "Subnets", "SubnetIds", names)
    return {
        "arn": subnet.get("SubnetArn") or call.arn("ec2", f"subnet/{subnet['SubnetId']}"),
        "assignIpv6AddressOnCreation": bool(subnet.get("AssignIpv6AddressOnCreation")),
        "availabilityZone": subnet["AvailabilityZone"],
        "availabilityZoneId": subnet.get("AvailabilityZoneId"),
        "availableIpAddressCount": subnet.get("AvailableIpAddressCount"),
        "cidrBlock": subnet["CidrBlock"],
        "defaultForAz": bool(subnet.get("DefaultForAz")),
        "id": subnet["SubnetId"],
        "mapPublicIpOnLaunch": bool(subnet.get("MapPublicIpOnLaunch")),
        "ownerId": subnet.get("OwnerId") or call.account_id,
        "state": subnet.get("State"),
        "tags": tags_of(subnet),
        "vpcId": subnet["VpcId"],
    }


def _security_group(call: Call) -> dict[str, Any]:
    names = {"name": "group-name", "vpcId": "vpc-id"}
    group = _one(call, "EC2 Security Group", "describe_security_groups", "SecurityGroups", "GroupIds", names)
    return {
        "arn": call.arn("ec2", f"security-group/{group['GroupId']}"),
        "description": group["Description"],
        "id": group["GroupId"],
        "name": group["GroupName"],
        "tags": tags_of(group),
        "vpcId": group.get("VpcId"),
    }


FUNCTIONS = {
    "aws:ec2/getVpc:getVpc": _vpc,
    "aws:ec2/getSubnets:getSubnets": _subnets,
    "aws:ec2/getSubnet:getSubnet": _subnet,
    "aws:ec2/getSecurityGroup:getSecurityGroup": _security_group,
}
