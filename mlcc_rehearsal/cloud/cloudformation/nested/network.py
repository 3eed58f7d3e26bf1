"""VPC, private subnets, security group and S3 endpoint.

One NAT gateway serves all zones; EKS subnets have no default route; the tag's key is misspelt upstream.
"""

from __future__ import annotations

from functools import partial

from mlcc_rehearsal.cloud import laws_hyperpod
from mlcc_rehearsal.cloud.cloudformation.parts import (
    Action,
    Part,
    Run,
    Template,
    at_once,
    retrying,
    until,
    wait,
)
from mlcc_rehearsal.cloud.cloudformation.stacks import Stack
from mlcc_rehearsal.cloud.cloudformation.tasks import Work, handler_failed
from mlcc_rehearsal.cloud.ec2.network import find_subnet

TAG = "aws-sagemaker-hyperpod-prerequiste"
INTERNAL_LOAD_BALANCERS = "kubernetes.io/role/internal-elb"
_PUBLIC = (0, 32, 64, 96, 128)
_EKS = (16, 48, 80, 112, 144)
_MOST_ZONES = 5


def zones(stack: Stack) -> list[str]:
    """The zone ids of a stack's parameter, at most five; empty places are skipped from the end."""
    return [zone for zone in stack.parameters["AvailabilityZoneIds"].split(",")[:_MOST_ZONES] if zone]


def _prefix(stack: Stack) -> str:
    return stack.parameters["ResourceNamePrefix"]


def _octets(cidr: str) -> str:
    return ".".join(cidr.split(".")[:2])


# --- vpc-template.yaml -----------------------------------------------------------------------------------


def _create_vpc(run: Run) -> Work:
    cidr = run.stack.parameters["VpcCIDR"]
    tags = run.tags(**{TAG: f"{_prefix(run.stack)}-VPC"})
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
    tags = run.tags(**{TAG: f"{_prefix(run.stack)}-IGW"})
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


def _create_table(run: Run, vpc: str, name: str) -> None:
    tags = run.tags(**{TAG: f"{_prefix(run.stack)}-{name}"})
    run.made(run.ec2.create_route_table(vpc, [{"Key": k, "Value": v} for k, v in tags.items()]).id)


def _delete_table(run: Run) -> Work:
    table = run.resource.physical_id
    if table in run.ec2.route_tables:
        yield from retrying(lambda: run.ec2.delete_route_table(table))
    yield 2.0


def _route(run: Run, table: str, *, gateway: str | None = None, nat: str | None = None) -> None:
    run.ec2.create_route(table, "0.0.0.0/0", gateway_id=gateway, nat_gateway_id=nat)
    run.made(f"{table}|0.0.0.0/0")


def _unroute(run: Run) -> None:
    table = str(run.resource.physical_id).split("|", 1)[0]
    if table in run.ec2.route_tables and any(
        route.destination_cidr_block == "0.0.0.0/0" for route in run.ec2.route_tables[table].routes
    ):
        run.ec2.delete_route(table, "0.0.0.0/0")


def _subnet(run: Run, vpc: str, zone: str, cidr: str, tags: dict[str, str], *, public: bool = False) -> Work:
    known = {each.zone_id for each in run.ec2.describe_availability_zones()}
    if zone not in known:
        message = (
            f"Value ({zone}) for parameter availabilityZoneId is invalid. "
            f"Subnets can currently only be created in the following availability zones: "
            f"{', '.join(sorted(known))}."
        )
        raise laws_hyperpod.ZONE_IDS.broken(
            handler_failed(f"{message} (Service: Ec2, Status Code: 400)", "InvalidRequest")
        )
    subnet = run.ec2.create_subnet(
        vpc, cidr, availability_zone=None, availability_zone_id=zone, tags={"subnet": run.tags(**tags)}
    )
    subnet.map_public_ip_on_launch = public
    run.made(subnet.id, zone=zone)
    yield from wait("cloudformation.subnet")


def _delete_subnet(run: Run) -> Work:
    subnet_id = str(run.resource.physical_id)
    if find_subnet(run.account, run.region, subnet_id) is not None:
        yield from retrying(lambda: run.ec2.delete_subnet(subnet_id))
    yield 2.0


def _associate(run: Run, table: str, subnet: str) -> None:
    run.made(run.ec2.associate_route_table(table, subnet_id=subnet))


def _disassociate(run: Run) -> None:
    association = run.resource.physical_id
    if any(association in table._associations for table in run.ec2.route_tables.values()):
        run.ec2.disassociate_route_table(association)


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
    prefix, cidr = _prefix(stack), stack.parameters["VpcCIDR"]
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
            at_once(lambda run: _create_table(run, run.physical("VPC"), "Public-Routes"), 10.0),
            _delete_table,
            ("VPC",),
        ),
        Part(
            "DefaultPublicRoute",
            "AWS::EC2::Route",
            at_once(
                lambda run: _route(
                    run, run.physical("PublicRouteTable"), gateway=run.physical("InternetGateway")
                )
            ),
            at_once(_unroute),
            ("PublicRouteTable", "InternetGatewayAttachment"),
        ),
    ]
    for number, zone in enumerate(zones(stack), start=1):
        parts += _public_subnet(stack, number, zone, f"{_octets(cidr)}.{_PUBLIC[number - 1]}.0/24")
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
    name, tags = f"PublicSubnet{number}", {TAG: f"{_prefix(stack)}-Public-Subnet{number}"}

    def create(run: Run) -> Work:
        yield from _subnet(run, run.physical("VPC"), zone, cidr, tags, public=True)

    return [
        Part(
            name,
            "AWS::EC2::Subnet",
            create,
            _delete_subnet,
            ("VPC",),
            {"CidrBlock": cidr, "AvailabilityZoneId": zone},
            tagged=True,
            update=_retag,
            create_only=("CidrBlock", "AvailabilityZoneId"),
        ),
        Part(
            f"{name}RouteTableAssociation",
            "AWS::EC2::SubnetRouteTableAssociation",
            at_once(lambda run: _associate(run, run.physical("PublicRouteTable"), run.physical(name))),
            at_once(_disassociate),
            (name, "PublicRouteTable"),
        ),
    ]


def _retag(run: Run, before: dict[str, object]) -> Work:
    del before
    run.ec2.create_tags([str(run.resource.physical_id)], run.tags())
    yield 5.0


VPC = Template(
    "vpc-template.yaml",
    "VPC Stack",
    _vpc_parts,
    lambda stack: {
        "VpcId": str(stack.resources["VPC"].physical_id),
        "NatGatewayIds": str(stack.resources["NatGateway"].physical_id),
    },
)

# --- private-subnet-template.yaml ------------------------------------------------------------------------


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
    for number in range(1, _MOST_ZONES + 1):
        # Upstream these five carry no condition.
        parts.append(_table(stack, f"EksPrivateRouteTable{number}", f"EKS-Private-RT-{number}"))
    return parts


def _table(stack: Stack, logical_id: str, name: str) -> Part:
    vpc = stack.parameters["VpcId"]
    return Part(
        logical_id,
        "AWS::EC2::RouteTable",
        at_once(lambda run: _create_table(run, vpc, name), 10.0),
        _delete_table,
        properties={"VpcId": vpc},
    )


def _associated(subnet: str, logical_id: str, table: str) -> Part:
    return Part(
        logical_id,
        "AWS::EC2::SubnetRouteTableAssociation",
        at_once(lambda run: _associate(run, run.physical(table), run.physical(subnet))),
        at_once(_disassociate),
        (subnet, table),
    )


def _private_subnet(
    stack: Stack, logical_id: str, zone: str, cidr: str, tags: dict[str, str], depends: tuple[str, ...]
) -> Part:
    vpc = stack.parameters["VpcId"]

    def create(run: Run) -> Work:
        yield from _subnet(run, vpc, zone, cidr, tags)

    return Part(
        logical_id,
        "AWS::EC2::Subnet",
        create,
        _delete_subnet,
        depends,
        {"VpcId": vpc, "CidrBlock": cidr, "AvailabilityZoneId": zone},
        update=_retag,
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
    tags = {TAG: f"{_prefix(stack)}-Private{number}"}
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
            at_once(lambda run: _route(run, run.physical(table), nat=gateway)),
            at_once(_unroute),
            (table,),
            {"NatGatewayId": gateway},
        ),
    ]


def _eks_subnet(stack: Stack, number: int, zone: str) -> list[Part]:
    cidr = f"{_octets(stack.parameters['VpcCidrBlock'])}.{_EKS[number - 1]}.0/24"
    tags = {TAG: f"{_prefix(stack)}-Eks-Private{number}", INTERNAL_LOAD_BALANCERS: "1"}
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

# --- security-group-template.yaml ------------------------------------------------------------------------


def _create_group(run: Run) -> Work:
    name = f"{_prefix(run.stack)}-sg"
    group = run.ec2.create_security_group(
        name, "Security group with no ingress rule", run.stack.parameters["VpcId"], run.tags(**{TAG: name})
    )
    run.made(group.id, GroupId=group.id)
    yield 10.0


def _delete_group(run: Run) -> Work:
    group_id = run.resource.physical_id
    if run.ec2.get_security_group_from_id(group_id) is not None:
        yield from retrying(lambda: run.ec2.delete_security_group(group_id=group_id))
    yield 2.0


def _group(stack: Stack) -> str:
    return stack.parameters["SecurityGroupId"] or str(stack.resources["NoIngressSecurityGroup"].physical_id)


def _rule(
    ports: tuple[int, int] | None, *, egress: bool = False, everywhere: bool = False
) -> tuple[Action, Action]:
    protocol, low, high = ("tcp", *ports) if ports else ("-1", None, None)

    def call(run: Run, verb: str) -> None:
        group = _group(run.stack)
        direction = "egress" if egress else "ingress"
        ranges = [{"CidrIp": "0.0.0.0/0"}] if everywhere else []
        sources = [] if everywhere else [{"GroupId": group}]
        getattr(run.ec2, f"{verb}_security_group_{direction}")(
            group, protocol, low, high, ranges, source_groups=sources
        )

    def create(run: Run) -> None:
        if not (egress and everywhere):  # every group has that rule from the start
            call(run, "authorize")
        run.made(f"sgr-{run.resource.logical_id.lower()}")

    def delete(run: Run) -> None:
        if not (egress and everywhere) and run.ec2.get_security_group_from_id(_group(run.stack)) is not None:
            call(run, "revoke")

    return at_once(create), at_once(delete)


def _group_parts(stack: Stack) -> list[Part]:
    own = not stack.parameters["SecurityGroupId"]
    depends = ("NoIngressSecurityGroup",) if own else ()
    parts: list[Part] = []
    if own:
        properties = {"GroupName": f"{_prefix(stack)}-sg", "VpcId": stack.parameters["VpcId"]}
        parts.append(
            Part(
                "NoIngressSecurityGroup",
                "AWS::EC2::SecurityGroup",
                _create_group,
                _delete_group,
                properties=properties,
                update=_retag,
                create_only=("GroupName", "VpcId"),
                tagged=True,
            )
        )
    rules: dict[str, tuple[Action, Action]] = {
        "IntraSGCommunicationRule": _rule(None),
        "FSxForLustreRule1": _rule((988, 988)),
        "FSxForLustreRule2": _rule((1018, 1023)),
        "IntraSGCommunicationRuleEgress": _rule(None, egress=True),
        "InternetCommunicationRuleEgress": _rule(None, egress=True, everywhere=True),
    }
    for logical_id, (create, delete) in rules.items():
        kind = "AWS::EC2::SecurityGroupEgress" if "Egress" in logical_id else "AWS::EC2::SecurityGroupIngress"
        parts.append(Part(logical_id, kind, create, delete, depends))
    return parts


SECURITY_GROUP = Template(
    "security-group-template.yaml",
    "Security Group Stack",
    _group_parts,
    lambda stack: {"SecurityGroupId": _group(stack)},
)

# --- s3-endpoint-template.yaml ---------------------------------------------------------------------------


def _create_endpoint(run: Run) -> Work:
    parameters = run.stack.parameters
    tables = [
        table
        for key in ("PrivateRouteTableIds", "EksPrivateRouteTableIds")
        for table in parameters[key].split(",")
        if table
    ]
    endpoint = run.ec2.create_vpc_endpoint(
        parameters["VpcId"],
        f"com.amazonaws.{run.region}.s3",
        "Gateway",
        None,
        tables,
        tags=run.tags(**{TAG: f"{_prefix(run.stack)}-s3-vpc-endpoint"}),
    )
    run.made(endpoint.id)
    yield 10.0


def _delete_endpoint(run: Run) -> None:
    run.ec2.delete_vpc_endpoints([str(run.resource.physical_id)])


def _endpoint_parts(stack: Stack) -> list[Part]:
    properties = {
        key: stack.parameters[key] for key in ("VpcId", "PrivateRouteTableIds", "EksPrivateRouteTableIds")
    }
    return [
        Part(
            "S3Endpoint",
            "AWS::EC2::VPCEndpoint",
            _create_endpoint,
            at_once(_delete_endpoint, 10.0),
            properties=properties,
        )
    ]


S3_ENDPOINT = Template("s3-endpoint-template.yaml", "S3 Endpoint Stack", _endpoint_parts, lambda _: {})

__all__ = ["PRIVATE_SUBNETS", "S3_ENDPOINT", "SECURITY_GROUP", "TAG", "VPC"]
