"""A cloud for each test, and the few lines that every test needs to have something in it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from mlcc_rehearsal.cloud import Cloud, CloudOptions
from mlcc_rehearsal.cloud.state import summarize

_ACCOUNTS = itertools.count(100000000001)


def trust(service: str, **condition: Any) -> dict[str, Any]:
    """A trust policy for one service."""
    statement: dict[str, Any] = {
        "Effect": "Allow",
        "Principal": {"Service": service},
        "Action": "sts:AssumeRole",
    }
    if condition:
        statement["Condition"] = condition
    return {"Version": "2012-10-17", "Statement": [statement]}


@dataclass
class Desk:
    """A cloud with clients and with shorthand for what stands before the thing under test."""

    cloud: Cloud
    region: str = "us-west-2"
    _clients: dict[str, Any] = field(default_factory=dict)

    def client(
        self, service: str, credentials: tuple[str, str] | None = None, region: str | None = None
    ) -> Any:
        key = f"{service}/{credentials}/{region}"
        if key not in self._clients:
            access, secret = credentials or (self.cloud.access_key_id, self.cloud.secret_access_key)
            self._clients[key] = boto3.client(
                service,
                endpoint_url=self.cloud.endpoint,
                region_name=region or self.region,
                aws_access_key_id=access,
                aws_secret_access_key=secret,
                config=Config(retries={"total_max_attempts": 1}),
            )
        return self._clients[key]

    @property
    def ec2(self) -> Any:
        return self.client("ec2")

    @property
    def eks(self) -> Any:
        return self.client("eks")

    @property
    def iam(self) -> Any:
        return self.client("iam")

    def pass_time(self, seconds: float) -> None:
        self.cloud.clock.advance(seconds)

    def role(self, name: str, policy: dict[str, Any], *managed: str, seen: bool = True) -> str:
        arn = self.iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(policy))["Role"]["Arn"]
        for each in managed:
            self.iam.attach_role_policy(RoleName=name, PolicyArn=f"arn:aws:iam::aws:policy/{each}")
        if seen:
            self.pass_time(30)
        return str(arn)

    def cluster_role(self, name: str = "cluster-role") -> str:
        return self.role(name, trust("eks.amazonaws.com"), "AmazonEKSClusterPolicy")

    def node_role(self, name: str = "node-role", *without: str) -> str:
        policies = [
            "AmazonEKSWorkerNodePolicy",
            "AmazonEC2ContainerRegistryPullOnly",
            "AmazonEKS_CNI_Policy",
        ]
        return self.role(name, trust("ec2.amazonaws.com"), *[p for p in policies if p not in without])

    def network(self, *, nat: bool = True) -> Network:
        ec2 = self.ec2
        zones = [z["ZoneName"] for z in ec2.describe_availability_zones()["AvailabilityZones"]]
        vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]

        def subnet(number: int) -> str:
            made = ec2.create_subnet(
                VpcId=vpc, CidrBlock=f"10.0.{number}.0/24", AvailabilityZone=zones[number % 2]
            )
            return str(made["Subnet"]["SubnetId"])

        private, public = [subnet(0), subnet(1)], [subnet(2), subnet(3)]
        gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
        ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
        table = ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
        ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
        for each in public:
            ec2.associate_route_table(RouteTableId=table, SubnetId=each)
        made = Network(vpc, private, public, gateway, [table])
        if nat:
            made.address = ec2.allocate_address(Domain="vpc")["AllocationId"]
            made.nat = ec2.create_nat_gateway(SubnetId=public[0], AllocationId=made.address)["NatGateway"][
                "NatGatewayId"
            ]
            self.pass_time(130)
            inner = ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
            ec2.create_route(RouteTableId=inner, DestinationCidrBlock="0.0.0.0/0", NatGatewayId=made.nat)
            for each in private:
                ec2.associate_route_table(RouteTableId=inner, SubnetId=each)
            made.tables.append(inner)
        return made

    def cluster(self, network: Network | None = None, name: str = "demo", **options: Any) -> Network:
        network = network or self.network()
        role = options.pop("roleArn", None) or self.cluster_role(f"{name}-cluster-role")
        options.setdefault("accessConfig", {"authenticationMode": "API"})
        self.eks.create_cluster(
            name=name, roleArn=role, resourcesVpcConfig={"subnetIds": network.private}, **options
        )
        self.pass_time(600)
        assert self.eks.describe_cluster(name=name)["cluster"]["status"] == "ACTIVE"
        return network

    def node_group(self, network: Network, name: str = "cpu", cluster: str = "demo", **options: Any) -> None:
        role = options.pop("nodeRole", None) or self.node_role(f"{name}-node-role")
        self.eks.create_nodegroup(
            clusterName=cluster, nodegroupName=name, subnets=network.private, nodeRole=role, **options
        )
        self.pass_time(200)

    def waiting(self, cluster: str = "demo", group: str = "cpu") -> str:
        """What keeps a node group from becoming ready, as the control address tells."""
        with self.cloud.account.lock:
            state = summarize(self.cloud.account)
        return str(state["regions"][self.region]["clusters"][cluster]["node_groups_waiting"][group])

    def calls(self) -> list[dict[str, Any]]:
        return self.cloud.journal.calls()

    def last_law(self) -> str | None:
        return self.calls()[-1].get("law")


@dataclass
class Network:
    vpc: str
    private: list[str]
    public: list[str]
    gateway: str
    tables: list[str]
    nat: str = ""
    address: str = ""


@pytest.fixture
def desk() -> Iterator[Desk]:
    """A fast cloud whose clusters have no Kubernetes API; each test has an account of its own."""
    options = CloudOptions(account_id=str(next(_ACCOUNTS)), speed=1.0, kubernetes=False)
    with Cloud.start(options) as cloud:
        yield Desk(cloud)


@pytest.fixture
def refused(desk: Desk) -> Callable[..., Any]:
    """``with refused("Code", "law"):`` expects AWS's refusal and its law; ``.text`` has the words."""

    class Expect:
        def __init__(self, code: str | None, law: str | None) -> None:
            self.code, self.law, self.text = code, law, ""

        def __enter__(self) -> Expect:
            return self

        def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
            assert isinstance(error, ClientError), f"expected {self.code}, the call went through ({error!r})"
            assert self.code in (None, error.response["Error"]["Code"]), error
            self.text = error.response["Error"]["Message"]
            if self.law is not None:
                assert desk.last_law() == self.law
            return True

    return lambda code, law=None: Expect(code, law)
