"""vpc-template.yaml: a VPC with a public subnet in each zone, and one NAT gateway for all zones."""

from __future__ import annotations

from mlcc_rehearsal.cloud.cloudformation.nested.network import (
    TAG,
    associate,
    create_subnet,
    create_table,
    delete_subnet,
    delete_table,
    disassociate,
    octets,
    prefix_of,
    retag,
    route,
    unroute,
    zones,
)
from mlcc_rehearsal.cloud.cloudformation.parts import Part, Run, Template, at_once, retrying, until, wait
from mlcc_rehearsal.cloud.cloudformation.stacks import Stack
from mlcc_rehearsal.cloud.cloudformation.tasks import Work

_PUBLIC = (0, 32, 64, 96, 128)


def _create_vpc(run: Run) -> Work:
    cidr = run.stack.parameters["VpcCIDR"]
    tags = run.tags(**{TAG: f"{prefix_of(run.stack)}-VPC"})
    vpc = run.ec2.create_vpc(cidr, tags=[{"Key": k, "Value": v} for k, v in tags.items()])
    run.ec2.modify_vpc_attribute(vpc.id, "enable_dns_hostnames", "true")
    run.ec2.modify_vpc_attribute(vpc.id, "enable_dns_support", "true")
    run.made(vpc.id)
    yield from wait("cloudformation.vpc")


def _delete_vpc(run: Run) -> Work:
    vpc_id = run.resource.physical_id
    if vpc_id in run.ec2.vpcs:
        yield from retrying(lambda: run.ec2.delete_vpc(vpc_id))
    yield 2.0


def _create_gateway(run: Run) -> None:
    tags = run.tags(**{TAG: f"{prefix_of(run.stack)}-IGW"})
    run.made(run.ec2.create_internet_gateway([{"Key": k, "Value": v} for k, v in tags.items()]).id)


def _delete_gateway(run: Run) -> Work:
    gateway = run.resource.physical_id
    if gateway in run.ec2.internet_gateways:
        yield from retrying(lambda: run.ec2.delete_internet_gateway(gateway))
    yield 2.0


def _attach_gateway(run: Run) -> None:
    gateway, vpc = run.physical("InternetGateway"), run.physical("VPC")
    run.ec2.attach_internet_gateway(gateway, vpc)
    run.made(f"IGW|{vpc}")


def _detach_gateway(run: Run) -> Work:
    gateway, vpc = run.physical("InternetGateway"), run.physical("VPC")
    if gateway in run.ec2.internet_gateways and run.ec2.internet_gateways[gateway].vpc:
        yield from retrying(lambda: run.ec2.detach_internet_gateway(gateway, vpc))
    yield 2.0


def _create_address(run: Run) -> None:
    address = run.ec2.allocate_address("vpc", tags=run.tags())
    run.made(address.public_ip, AllocationId=address.allocation_id)


def _delete_address(run: Run) -> Work:
    allocation = run.resource.attributes.get("AllocationId")
    if any(address.allocation_id == allocation for address in run.ec2.addresses):
        yield from retrying(
            lambda: run.ec2.release_address(allocation_id=allocation),
            ("DependencyViolation", "InvalidIPAddress.InUse"),
        )
    yield 2.0


def _create_nat(run: Run) -> Work:
    allocation = run.stack.resources["NatGatewayEIP"].attributes["AllocationId"]
    gateway = run.ec2.create_nat_gateway(run.physical("PublicSubnet1"), allocation, run.tags())
    run.made(gateway.id)
    yield from until(lambda: gateway.state == "available")


def _delete_nat(run: Run) -> Work:
    gateway = run.ec2.nat_gateways.get(run.resource.physical_id)
    if gateway is None or gateway.state == "deleted":
        return
    run.ec2.delete_nat_gateway(gateway.id)
    yield from until(lambda: gateway.state == "deleted")


def _vpc_parts(stack: Stack) -> list[Part]:
    prefix, cidr = prefix_of(stack), stack.parameters["VpcCIDR"]
    named = {"ResourceNamePrefix": prefix}
    parts = [
        Part("VPC", "AWS::EC2::VPC", _create_vpc, _delete_vpc, properties={"CidrBlock": cidr, **named}),
        Part("InternetGateway", "AWS::EC2::InternetGateway", at_once(_create_gateway), _delete_gateway),
        Part(
            "InternetGatewayAttachment",
            "AWS::EC2::VPCGatewayAttachment",
            at_once(_attach_gateway, 15.0),
            _detach_gateway,
            ("VPC", "InternetGateway"),
        ),
        Part(
            "PublicRouteTable",
            "AWS::EC2::RouteTable",
            at_once(lambda run: create_table(run, run.physical("VPC"), "Public-Routes"), 10.0),
            delete_table,
            ("VPC",),
        ),
        Part(
            "DefaultPublicRoute",
            "AWS::EC2::Route",
            at_once(
                lambda run: route(
                    run, run.physical("PublicRouteTable"), gateway=run.physical("InternetGateway")
                )
            ),
            at_once(unroute),
            ("PublicRouteTable", "InternetGatewayAttachment"),
        ),
    ]
    for number, zone in enumerate(zones(stack), start=1):
        parts += _public_subnet(stack, number, zone, f"{octets(cidr)}.{_PUBLIC[number - 1]}.0/24")
    if zones(stack):
        parts += [
            Part(
                "NatGatewayEIP",
                "AWS::EC2::EIP",
                at_once(_create_address, 15.0),
                _delete_address,
                ("InternetGatewayAttachment",),
            ),
            Part(
                "NatGateway",
                "AWS::EC2::NatGateway",
                _create_nat,
                _delete_nat,
                ("NatGatewayEIP", "PublicSubnet1"),
            ),
        ]
    return parts


def _public_subnet(stack: Stack, number: int, zone: str, cidr: str) -> list[Part]:
    name, tags = f"PublicSubnet{number}", {TAG: f"{prefix_of(stack)}-Public-Subnet{number}"}

    def create(run: Run) -> Work:
        yield from create_subnet(run, run.physical("VPC"), zone, cidr, tags, public=True)

    return [
        Part(
            name,
            "AWS::EC2::Subnet",
            create,
            delete_subnet,
            ("VPC",),
            {"CidrBlock": cidr, "AvailabilityZoneId": zone},
            tagged=True,
            update=retag,
            create_only=("CidrBlock", "AvailabilityZoneId"),
        ),
        Part(
            f"{name}RouteTableAssociation",
            "AWS::EC2::SubnetRouteTableAssociation",
            at_once(lambda run: associate(run, run.physical("PublicRouteTable"), run.physical(name))),
            at_once(disassociate),
            (name, "PublicRouteTable"),
        ),
    ]


VPC = Template(
    "vpc-template.yaml",
    "VPC Stack",
    _vpc_parts,
    lambda stack: {
        "VpcId": str(stack.resources["VPC"].physical_id),
        "NatGatewayIds": str(stack.resources["NatGateway"].physical_id),
    },
)
