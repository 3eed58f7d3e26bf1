"""The VPC of a vanilla EKS cluster, or the tags an existing one needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, final

import pulumi
from pulumi_aws import ec2

from mlcc_infra.account.decisions import Wanted
from mlcc_infra.components.base import Component, StackContext

VPC = "aws:ec2/vpc:Vpc"
SUBNET = "aws:ec2/subnet:Subnet"
INTERNET_GATEWAY = "aws:ec2/internetGateway:InternetGateway"
EIP = "aws:ec2/eip:Eip"
NAT_GATEWAY = "aws:ec2/natGateway:NatGateway"
ROUTE_TABLE = "aws:ec2/routeTable:RouteTable"
ROUTE = "aws:ec2/route:Route"
ROUTE_TABLE_ASSOCIATION = "aws:ec2/routeTableAssociation:RouteTableAssociation"
VPC_ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
TAG = "aws:ec2/tag:Tag"

KIND = "network"
ANYWHERE = "0.0.0.0/0"
# Load balancer discovery (AWS Load Balancer Controller guide, "Subnet auto discovery").
PUBLIC_LOAD_BALANCER_TAG = "kubernetes.io/role/elb"
INTERNAL_LOAD_BALANCER_TAG = "kubernetes.io/role/internal-elb"


class NatMode(StrEnum):
    """How private subnets reach the internet: one gateway, one in each zone, or none."""

    ONE = "one"
    PER_ZONE = "perZone"
    NONE = "none"


@dataclass(frozen=True, kw_only=True)
class ZoneSubnets:
    """The two subnets of one zone. `zone_id` is an id such as `usw2-az1`: names differ by account."""

    zone_id: str
    public_cidr: str
    private_cidr: str


@final
@dataclass(frozen=True, kw_only=True)
class NetworkArgs:
    """A new VPC: its block, two subnets a zone (two zones or more), and how private subnets get out."""

    cidr: str
    zones: Sequence[ZoneSubnets]
    nat: NatMode = NatMode.ONE

    @property
    def nat_zones(self) -> tuple[str, ...]:
        """Zones that get a NAT gateway."""
        ids = tuple(zone.zone_id for zone in self.zones)
        return {NatMode.ONE: ids[:1], NatMode.PER_ZONE: ids, NatMode.NONE: ()}[self.nat]

    def nat_zone_for(self, zone_id: str) -> str | None:
        """The zone whose NAT gateway a zone's private subnet uses."""
        return zone_id if zone_id in self.nat_zones else next(iter(self.nat_zones), None)


@final
@dataclass(frozen=True, kw_only=True)
class NetworkResources:
    """The children of `Network`, by zone id where there is one a zone."""

    vpc: ec2.Vpc
    internet_gateway: ec2.InternetGateway
    public_subnets: Mapping[str, ec2.Subnet]
    private_subnets: Mapping[str, ec2.Subnet]
    nat_gateways: Mapping[str, ec2.NatGateway]
    public_route_table: ec2.RouteTable
    private_route_tables: Mapping[str, ec2.RouteTable]
    routes: Sequence[ec2.Route]
    associations: Sequence[ec2.RouteTableAssociation]
    s3_endpoint: ec2.VpcEndpoint


class Network(Component):
    """VPC, subnets in two zones or more, routes, NAT, and the S3 gateway endpoint.

    DNS resolution and host names are on because EKS needs both (EKS user guide, network requirements).
    Subnets carry the load balancer tags. Everything is found again by the tag `mlcc:resource`.

    `egress` lists what has to be in place before a private node can reach anything.
    """

    TOKEN: ClassVar[str] = "mlcc:network:Network"

    vpc_id: pulumi.Output[str]
    private_subnet_ids: pulumi.Output[list[str]]
    public_subnet_ids: pulumi.Output[list[str]]

    def __init__(
        self,
        name: str,
        args: NetworkArgs,
        *,
        context: StackContext,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(name, context, opts, module="eks")
        self._args = args
        self.resources = self._create()
        self.vpc_id = self.resources.vpc.id
        self.private_subnet_ids = self._ids(self.resources.private_subnets)
        self.public_subnet_ids = self._ids(self.resources.public_subnets)
        self.register_outputs(
            {
                "vpcId": self.vpc_id,
                "privateSubnetIds": self.private_subnet_ids,
                "publicSubnetIds": self.public_subnet_ids,
            }
        )

    @property
    def egress(self) -> tuple[pulumi.Resource, ...]:
        """Routes and associations: without them a node in a private subnet cannot join its cluster."""
        return (*self.resources.routes, *self.resources.associations)

    @staticmethod
    def _ids(subnets: Mapping[str, ec2.Subnet]) -> pulumi.Output[list[str]]:
        return pulumi.Output.all(*(subnets[zone].id for zone in sorted(subnets))).apply(list)

    def _create(self) -> NetworkResources:
        vpc = ec2.Vpc(
            self.logical_name("vpc"),
            cidr_block=self._args.cidr,
            enable_dns_support=True,
            enable_dns_hostnames=True,
            tags=self.tags(VPC, "vpc"),
            opts=self.child(VPC, "vpc"),
        )
        gateway = ec2.InternetGateway(
            self.logical_name("internet-gateway"),
            vpc_id=vpc.id,
            tags=self.tags(INTERNET_GATEWAY, "internet-gateway"),
            opts=self.child(INTERNET_GATEWAY, "internet-gateway"),
        )
        public = {
            zone.zone_id: self._subnet(vpc, zone.zone_id, "public", zone.public_cidr)
            for zone in self._args.zones
        }
        private = {
            zone.zone_id: self._subnet(vpc, zone.zone_id, "private", zone.private_cidr)
            for zone in self._args.zones
        }
        nats = {zone: self._nat_gateway(zone, public[zone], gateway) for zone in self._args.nat_zones}
        public_table = self._route_table(vpc, "public")
        private_tables = {zone: self._route_table(vpc, f"private-{zone}") for zone in private}
        routes = [self._route("public", public_table, gateway_id=gateway.id)]
        for zone, table in private_tables.items():
            nat_zone = self._args.nat_zone_for(zone)
            if nat_zone is not None:
                routes.append(self._route(f"private-{zone}", table, nat_gateway_id=nats[nat_zone].id))
        associations = [
            *(self._association(f"public-{zone}", public[zone], public_table) for zone in public),
            *(self._association(f"private-{zone}", private[zone], private_tables[zone]) for zone in private),
        ]
        endpoint = ec2.VpcEndpoint(
            self.logical_name("s3-endpoint"),
            vpc_id=vpc.id,
            service_name=f"com.amazonaws.{self.context.names.region}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=[private_tables[zone].id for zone in sorted(private_tables)],
            tags=self.tags(VPC_ENDPOINT, "s3-endpoint"),
            opts=self.child(VPC_ENDPOINT, "s3-endpoint"),
        )
        return NetworkResources(
            vpc=vpc,
            internet_gateway=gateway,
            public_subnets=public,
            private_subnets=private,
            nat_gateways=nats,
            public_route_table=public_table,
            private_route_tables=private_tables,
            routes=routes,
            associations=associations,
            s3_endpoint=endpoint,
        )

    def _subnet(self, vpc: ec2.Vpc, zone_id: str, tier: str, cidr: str) -> ec2.Subnet:
        child = f"{tier}-{zone_id}"
        role = PUBLIC_LOAD_BALANCER_TAG if tier == "public" else INTERNAL_LOAD_BALANCER_TAG
        return ec2.Subnet(
            self.logical_name(child),
            vpc_id=vpc.id,
            availability_zone_id=zone_id,
            cidr_block=cidr,
            map_public_ip_on_launch=False,
            tags=self.tags(SUBNET, child, {role: "1"}),
            opts=self.child(SUBNET, child),
        )

    def _nat_gateway(self, zone_id: str, subnet: ec2.Subnet, gateway: ec2.InternetGateway) -> ec2.NatGateway:
        address, nat = f"nat-address-{zone_id}", f"nat-{zone_id}"
        # A NAT gateway needs the internet gateway attached (VPC user guide); nothing else says so.
        eip = ec2.Eip(
            self.logical_name(address),
            domain="vpc",
            tags=self.tags(EIP, address),
            opts=self.child(EIP, address, depends_on=[gateway]),
        )
        return ec2.NatGateway(
            self.logical_name(nat),
            allocation_id=eip.id,
            subnet_id=subnet.id,
            tags=self.tags(NAT_GATEWAY, nat),
            opts=self.child(NAT_GATEWAY, nat, depends_on=[gateway]),
        )

    def _route_table(self, vpc: ec2.Vpc, child: str) -> ec2.RouteTable:
        child = f"routes-{child}"
        return ec2.RouteTable(
            self.logical_name(child),
            vpc_id=vpc.id,
            tags=self.tags(ROUTE_TABLE, child),
            opts=self.child(ROUTE_TABLE, child),
        )

    def _route(
        self,
        child: str,
        table: ec2.RouteTable,
        *,
        gateway_id: pulumi.Input[str] | None = None,
        nat_gateway_id: pulumi.Input[str] | None = None,
    ) -> ec2.Route:
        child = f"default-route-{child}"
        return ec2.Route(
            self.logical_name(child),
            route_table_id=table.id,
            destination_cidr_block=ANYWHERE,
            gateway_id=gateway_id,
            nat_gateway_id=nat_gateway_id,
            opts=self.child(ROUTE, child),
        )

    def _association(
        self, child: str, subnet: ec2.Subnet, table: ec2.RouteTable
    ) -> ec2.RouteTableAssociation:
        child = f"association-{child}"
        return ec2.RouteTableAssociation(
            self.logical_name(child),
            subnet_id=subnet.id,
            route_table_id=table.id,
            opts=self.child(ROUTE_TABLE_ASSOCIATION, child),
        )


@final
@dataclass(frozen=True, kw_only=True)
class ExistingNetworkArgs:
    """A VPC that somebody else made: its id and the subnets to use (two zones or more)."""

    vpc_id: str
    private_subnet_ids: Sequence[str]
    public_subnet_ids: Sequence[str] = ()


@final
@dataclass(frozen=True, kw_only=True)
class ExistingNetworkResources:
    """The children of `ExistingNetwork`: one load balancer tag a subnet."""

    tags: Mapping[str, ec2.Tag]


class ExistingNetwork(Component):
    """Load balancer tags on the subnets of an existing VPC; nothing else in it is touched.

    A tag that was there before is taken over and stays when the stack goes.
    """

    TOKEN: ClassVar[str] = "mlcc:network:ExistingNetwork"

    def __init__(
        self,
        name: str,
        args: ExistingNetworkArgs,
        *,
        context: StackContext,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(name, context, opts, module="eks")
        self.resources = ExistingNetworkResources(
            tags={subnet: self._tag(subnet, key) for subnet, key in _tagged_subnets(args)}
        )
        self.vpc_id = pulumi.Output.from_input(args.vpc_id)
        self.private_subnet_ids = pulumi.Output.from_input(list(args.private_subnet_ids))
        self.public_subnet_ids = pulumi.Output.from_input(list(args.public_subnet_ids))
        self.register_outputs({"vpcId": self.vpc_id, "privateSubnetIds": self.private_subnet_ids})

    @property
    def egress(self) -> tuple[pulumi.Resource, ...]:
        """Nothing of ours: the owner of the VPC routes it."""
        return ()

    def _tag(self, subnet_id: str, key: str) -> ec2.Tag:
        child = f"load-balancer-tag-{subnet_id}"
        return ec2.Tag(
            self.logical_name(child),
            resource_id=subnet_id,
            key=key,
            value="1",
            opts=self.child(TAG, child),
        )


def _tagged_subnets(args: ExistingNetworkArgs) -> list[tuple[str, str]]:
    return [
        *((subnet, INTERNAL_LOAD_BALANCER_TAG) for subnet in args.private_subnet_ids),
        *((subnet, PUBLIC_LOAD_BALANCER_TAG) for subnet in args.public_subnet_ids),
    ]


def wanted_network(name: str, args: NetworkArgs | ExistingNetworkArgs) -> list[Wanted]:
    """What the inventory looks up for a network of this name; pure."""
    if isinstance(args, ExistingNetworkArgs):
        return [
            Wanted(
                key=(TAG, f"{name}-load-balancer-tag-{subnet}"),
                kind=KIND,
                physical=f"tag {key} of {subnet}",
                lookup={"resource_id": subnet, "key": key},
            )
            for subnet, key in _tagged_subnets(args)
        ]
    zones = [zone.zone_id for zone in args.zones]
    tagged = [
        (VPC, "vpc"),
        (INTERNET_GATEWAY, "internet-gateway"),
        (VPC_ENDPOINT, "s3-endpoint"),
        (ROUTE_TABLE, "routes-public"),
        *((SUBNET, f"{tier}-{zone}") for zone in zones for tier in ("public", "private")),
        *((ROUTE_TABLE, f"routes-private-{zone}") for zone in zones),
        *((EIP, f"nat-address-{zone}") for zone in args.nat_zones),
        *((NAT_GATEWAY, f"nat-{zone}") for zone in args.nat_zones),
    ]
    tables = {"public": "routes-public", **{f"private-{zone}": f"routes-private-{zone}" for zone in zones}}
    routed = [table for table in tables if table == "public" or args.nat_zones]
    subnets = [f"{tier}-{zone}" for zone in zones for tier in ("public", "private")]
    return [
        *(_by_tag(name, token, child, {"resource": f"{name}/{child}"}) for token, child in tagged),
        *(
            _by_tag(
                name,
                ROUTE,
                f"default-route-{table}",
                {"route_table": f"{name}/{tables[table]}", "destination": ANYWHERE},
            )
            for table in routed
        ),
        *(
            _by_tag(
                name,
                ROUTE_TABLE_ASSOCIATION,
                f"association-{subnet}",
                {
                    "subnet": f"{name}/{subnet}",
                    "route_table": f"{name}/{tables.get(subnet, tables['public'])}",
                },
            )
            for subnet in subnets
        ),
    ]


def _by_tag(name: str, token: str, child: str, lookup: dict[str, str]) -> Wanted:
    return Wanted(
        key=(token, f"{name}-{child}"),
        kind=KIND,
        physical=f"{child} of the VPC",
        identified_by_name=False,
        lookup=lookup,
    )
