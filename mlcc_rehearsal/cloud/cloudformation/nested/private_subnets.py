"""private-subnet-template.yaml: a /16 for nodes and a /24 for EKS in each zone.

Node subnets lead to the NAT gateway; EKS subnets have no default route.
"""

from __future__ import annotations

from functools import partial

from mlcc_rehearsal.cloud.cloudformation.nested.network import (
    MOST_ZONES,
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
from mlcc_rehearsal.cloud.cloudformation.parts import Part, Run, Template, at_once
from mlcc_rehearsal.cloud.cloudformation.stacks import Stack
from mlcc_rehearsal.cloud.cloudformation.tasks import Work

INTERNAL_LOAD_BALANCERS = "kubernetes.io/role/internal-elb"
_EKS = (16, 48, 80, 112, 144)


def node_cidr(vpc_cidr: str, number: int) -> str:
    """The block of the node subnet in the ``number``-th zone, a /16 of its own."""
    return f"10.{191 + number}.0.0/16" if vpc_cidr == "10.1.0.0/16" else f"10.{number}.0.0/16"


def _add_cidr(run: Run, cidr: str) -> Work:
    vpc = run.stack.parameters["VpcId"]
    association = run.ec2.associate_vpc_cidr_block(vpc, cidr, False)
    run.made(str(association["association_id"]))
    yield 10.0


def _drop_cidr(run: Run) -> None:
    association = run.resource.physical_id
    for vpc in run.ec2.vpcs.values():
        known = vpc._cidr_block_association_set.get(association)
        if known is not None and known["cidr_block_state"]["state"] != "disassociated":
            run.ec2.disassociate_vpc_cidr_block(association)
            return


def _private_parts(stack: Stack) -> list[Part]:
    parts: list[Part] = []
    for number, zone in enumerate(zones(stack), start=1):
        parts += _node_subnet(stack, number, zone)
        parts += _eks_subnet(stack, number, zone)
    for number in range(1, MOST_ZONES + 1):
        # Upstream these five carry no condition.
        parts.append(_table(stack, f"EksPrivateRouteTable{number}", f"EKS-Private-RT-{number}"))
    return parts


def _table(stack: Stack, logical_id: str, name: str) -> Part:
    vpc = stack.parameters["VpcId"]
    return Part(
        logical_id,
        "AWS::EC2::RouteTable",
        at_once(lambda run: create_table(run, vpc, name), 10.0),
        delete_table,
        properties={"VpcId": vpc},
    )


def _associated(subnet: str, logical_id: str, table: str) -> Part:
    return Part(
        logical_id,
        "AWS::EC2::SubnetRouteTableAssociation",
        at_once(lambda run: associate(run, run.physical(table), run.physical(subnet))),
        at_once(disassociate),
        (subnet, table),
    )


def _private_subnet(
    stack: Stack, logical_id: str, zone: str, cidr: str, tags: dict[str, str], depends: tuple[str, ...]
) -> Part:
    vpc = stack.parameters["VpcId"]

    def create(run: Run) -> Work:
        yield from create_subnet(run, vpc, zone, cidr, tags)

    return Part(
        logical_id,
        "AWS::EC2::Subnet",
        create,
        delete_subnet,
        depends,
        {"VpcId": vpc, "CidrBlock": cidr, "AvailabilityZoneId": zone},
        update=retag,
        create_only=("VpcId", "CidrBlock", "AvailabilityZoneId"),
        tagged=True,
    )


def _node_subnet(stack: Stack, number: int, zone: str) -> list[Part]:
    cidr = node_cidr(stack.parameters["VpcCidrBlock"], number)
    gateways = stack.parameters["NatGatewayIds"].split(",")
    # One gateway is made, and every zone uses it.
    gateway = gateways[number - 1] if number <= len(gateways) else gateways[0]
    block, name, table = (
        f"AdditionalCidrBlock{number}",
        f"PrivateSubnet{number}",
        f"PrivateRouteTable{number}",
    )
    tags = {TAG: f"{prefix_of(stack)}-Private{number}"}
    return [
        Part(
            block,
            "AWS::EC2::VPCCidrBlock",
            partial(_add_cidr, cidr=cidr),
            at_once(_drop_cidr),
            properties={"CidrBlock": cidr, "VpcId": stack.parameters["VpcId"]},
        ),
        _private_subnet(stack, name, zone, cidr, tags, (block,)),
        _table(stack, table, f"Private-RT-{number}"),
        _associated(name, f"PrivateSubnet{number}RouteTableAssociation", table),
        Part(
            f"DefaultPrivateRoute{number}",
            "AWS::EC2::Route",
            at_once(lambda run: route(run, run.physical(table), nat=gateway)),
            at_once(unroute),
            (table,),
            {"NatGatewayId": gateway},
        ),
    ]


def _eks_subnet(stack: Stack, number: int, zone: str) -> list[Part]:
    cidr = f"{octets(stack.parameters['VpcCidrBlock'])}.{_EKS[number - 1]}.0/24"
    tags = {TAG: f"{prefix_of(stack)}-Eks-Private{number}", INTERNAL_LOAD_BALANCERS: "1"}
    name = f"EksPrivateSubnet{number}"
    return [
        _private_subnet(stack, name, zone, cidr, tags, ()),
        _associated(name, f"PrivateEksSubnet{number}RouteTableAssociation", f"EksPrivateRouteTable{number}"),
    ]


def _joined(stack: Stack, logical_id: str) -> str:
    return ",".join(
        str(stack.resources[f"{logical_id}{number}"].physical_id)
        for number in range(1, len(zones(stack)) + 1)
    )


PRIVATE_SUBNETS = Template(
    "private-subnet-template.yaml",
    "Private Subnet Stack",
    _private_parts,
    lambda stack: {
        "PrivateRouteTableIds": _joined(stack, "PrivateRouteTable"),
        "PrivateSubnetIds": _joined(stack, "PrivateSubnet"),
        "EksPrivateRouteTableIds": _joined(stack, "EksPrivateRouteTable"),
        "EksPrivateSubnetIds": _joined(stack, "EksPrivateSubnet"),
    },
)
