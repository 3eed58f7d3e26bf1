"""Laws of the network: what depends on what, and what takes time."""

from __future__ import annotations

from typing import Any

from tests.unit.rehearsal_cloud.conftest import Desk


def test_a_nat_gateway_is_pending_then_available_then_deleting_then_deleted(desk: Desk, refused: Any) -> None:
    network = desk.network(nat=False)
    ec2 = desk.ec2
    address = ec2.allocate_address(Domain="vpc")["AllocationId"]
    gateway = ec2.create_nat_gateway(SubnetId=network.public[0], AllocationId=address)["NatGateway"]
    assert gateway["State"] == "pending"

    def state() -> str:
        found = ec2.describe_nat_gateways(NatGatewayIds=[gateway["NatGatewayId"]])["NatGateways"]
        return str(found[0]["State"])

    desk.pass_time(60)
    assert state() == "pending", "nat-gateway-time"
    desk.pass_time(61)
    assert state() == "available"
    with refused("InvalidIPAddress.InUse", "elastic-ip-in-use") as refusal:
        ec2.release_address(AllocationId=address)
    assert refusal.text.endswith(" is in use.")
    association = ec2.describe_addresses(AllocationIds=[address])["Addresses"][0]["AssociationId"]
    with refused("AuthFailure", "elastic-ip-in-use"):
        ec2.disassociate_address(AssociationId=association)
    with refused("DependencyViolation", "internet-gateway-dependency") as refusal:
        ec2.detach_internet_gateway(InternetGatewayId=network.gateway, VpcId=network.vpc)
    assert refusal.text == (
        f"Network {network.vpc} has some mapped public address(es). Please unmap those public address(es) "
        "before "
        "detaching the gateway."
    )
    ec2.delete_nat_gateway(NatGatewayId=gateway["NatGatewayId"])
    assert state() == "deleting"
    with refused("DependencyViolation", "subnet-dependency"):
        ec2.delete_subnet(SubnetId=network.public[0])
    desk.pass_time(61)
    assert state() == "deleted"
    ec2.release_address(AllocationId=address)
    ec2.delete_subnet(SubnetId=network.public[0])
    desk.pass_time(3700)
    assert ec2.describe_nat_gateways()["NatGateways"] == []


def test_a_security_group_in_use_or_named_by_another_cannot_be_deleted(desk: Desk, refused: Any) -> None:
    network = desk.network(nat=False)
    ec2 = desk.ec2

    def group(name: str) -> str:
        return str(ec2.create_security_group(GroupName=name, Description=name, VpcId=network.vpc)["GroupId"])

    first, second = group("first"), group("second")
    permission = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": first}]}
    ec2.authorize_security_group_ingress(GroupId=second, IpPermissions=[permission])
    with refused("DependencyViolation", "security-group-dependency") as refusal:
        ec2.delete_security_group(GroupId=first)
    assert refusal.text == f"resource {first} has a dependent object"
    ec2.revoke_security_group_ingress(GroupId=second, IpPermissions=[permission])
    interface = ec2.create_network_interface(SubnetId=network.private[0], Groups=[first])["NetworkInterface"]
    with refused("DependencyViolation", "security-group-dependency"):
        ec2.delete_security_group(GroupId=first)
    ec2.delete_network_interface(NetworkInterfaceId=interface["NetworkInterfaceId"])
    ec2.delete_security_group(GroupId=first)
    default = ec2.describe_security_groups(
        Filters=[{"Name": "vpc-id", "Values": [network.vpc]}, {"Name": "group-name", "Values": ["default"]}]
    )["SecurityGroups"][0]["GroupId"]
    with refused("CannotDelete", "default-security-group"):
        ec2.delete_security_group(GroupId=default)


def test_a_group_that_names_itself_can_be_deleted(desk: Desk) -> None:
    network = desk.network(nat=False)
    made = desk.ec2.create_security_group(GroupName="self", Description="self", VpcId=network.vpc)["GroupId"]
    permission = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": made}]}
    desk.ec2.authorize_security_group_ingress(GroupId=made, IpPermissions=[permission])
    desk.ec2.delete_security_group(GroupId=made)


def test_a_vpc_goes_last(desk: Desk, refused: Any) -> None:
    network = desk.network(nat=False)
    ec2 = desk.ec2
    words = f"The vpc '{network.vpc}' has dependencies and cannot be deleted."
    with refused("DependencyViolation", "vpc-dependency") as refusal:
        ec2.delete_vpc(VpcId=network.vpc)
    assert refusal.text == words
    for subnet in [*network.private, *network.public]:
        ec2.delete_subnet(SubnetId=subnet)
    for table in network.tables:
        ec2.delete_route_table(RouteTableId=table)
    with refused("DependencyViolation", "vpc-dependency"):
        ec2.delete_vpc(VpcId=network.vpc)
    with refused("DependencyViolation", "vpc-dependency"):
        ec2.delete_internet_gateway(InternetGatewayId=network.gateway)
    ec2.detach_internet_gateway(InternetGatewayId=network.gateway, VpcId=network.vpc)
    group = ec2.create_security_group(GroupName="left", Description="left", VpcId=network.vpc)["GroupId"]
    with refused("DependencyViolation", "vpc-dependency"):
        ec2.delete_vpc(VpcId=network.vpc)
    ec2.delete_security_group(GroupId=group)
    ec2.delete_vpc(VpcId=network.vpc)
    assert network.vpc not in [vpc["VpcId"] for vpc in ec2.describe_vpcs()["Vpcs"]]


def test_interface_endpoints_take_time_and_hold_their_subnets(desk: Desk, refused: Any) -> None:
    network = desk.network(nat=False)
    ec2 = desk.ec2
    made = ec2.create_vpc_endpoint(
        VpcId=network.vpc,
        ServiceName="com.amazonaws.us-west-2.sts",
        VpcEndpointType="Interface",
        SubnetIds=network.private,
    )["VpcEndpoint"]
    assert made["State"] == "pending"
    desk.pass_time(31)
    (endpoint,) = ec2.describe_vpc_endpoints(VpcEndpointIds=[made["VpcEndpointId"]])["VpcEndpoints"]
    assert endpoint["State"] == "available"
    ec2.delete_vpc_endpoints(VpcEndpointIds=[made["VpcEndpointId"]])
    with refused("DependencyViolation", "subnet-dependency"):
        ec2.delete_subnet(SubnetId=network.private[0])
    desk.pass_time(21)
    ec2.delete_subnet(SubnetId=network.private[0])
    with refused("InvalidVpcEndpointId.NotFound"):
        ec2.describe_vpc_endpoints(VpcEndpointIds=[made["VpcEndpointId"]])


def test_a_gateway_endpoint_is_there_at_once_and_leaves_its_routes_behind_it(desk: Desk) -> None:
    network = desk.network(nat=False)
    ec2 = desk.ec2
    made = ec2.create_vpc_endpoint(
        VpcId=network.vpc, ServiceName="com.amazonaws.us-west-2.s3", RouteTableIds=network.tables
    )["VpcEndpoint"]
    assert made["State"] == "available"
    ec2.delete_vpc_endpoints(VpcEndpointIds=[made["VpcEndpointId"]])
    (table,) = ec2.describe_route_tables(RouteTableIds=network.tables)["RouteTables"]
    assert all(not str(route.get("GatewayId")).startswith("vpce-") for route in table["Routes"])
    assert ec2.describe_vpc_endpoints()["VpcEndpoints"] == []


def test_tags_keep_to_their_limits(desk: Desk, refused: Any) -> None:
    vpc = desk.network(nat=False).vpc
    for key, value in (("k" * 128, "v"), ("k", "v" * 256), ("aws:mine", "v")):
        with refused("InvalidParameterValue", "ec2-tags"):
            desk.ec2.create_tags(Resources=[vpc], Tags=[{"Key": key, "Value": value}])
    with refused("TagLimitExceeded"):
        desk.ec2.create_tags(Resources=[vpc], Tags=[{"Key": f"k{n}", "Value": ""} for n in range(51)])


def test_a_dry_run_changes_nothing(desk: Desk, refused: Any) -> None:
    with refused("DryRunOperation", "ec2-dry-run") as refusal:
        desk.ec2.create_vpc(CidrBlock="10.0.0.0/16", DryRun=True)
    assert refusal.text == "Request would have succeeded, but DryRun flag is set."
    assert [vpc for vpc in desk.ec2.describe_vpcs()["Vpcs"] if not vpc["IsDefault"]] == []


def test_a_rule_with_a_description_is_revoked_without_it(desk: Desk) -> None:
    ec2 = desk.ec2
    vpc = ec2.create_vpc(CidrBlock="10.8.0.0/16")["Vpc"]["VpcId"]
    first, second = (
        ec2.create_security_group(GroupName=name, Description=name, VpcId=vpc)["GroupId"]
        for name in ("first", "second")
    )
    pair = {"GroupId": second, "Description": "nodes"}
    rule = {"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443}
    ec2.authorize_security_group_ingress(GroupId=first, IpPermissions=[{**rule, "UserIdGroupPairs": [pair]}])
    ec2.revoke_security_group_ingress(
        GroupId=first, IpPermissions=[{**rule, "UserIdGroupPairs": [{"GroupId": second}]}]
    )
    assert ec2.describe_security_groups(GroupIds=[first])["SecurityGroups"][0]["IpPermissions"] == []
