"""What AWS's template has to be told of an existing VPC."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from mlcc_infra.account.reader import Reader
from mlcc_infra.account.session import AccountSession
from mlcc_infra.profile.hyperpod import ExistingVpc
from mlcc_infra.targets.existing_vpc import read_existing_vpc

VPC = ExistingVpc.model_validate(
    {
        "vpcId": "vpc-0a1b2c3d4e5f60718",
        "privateSubnetIds": ["subnet-0a1b2c3d4e5f60711", "subnet-0a1b2c3d4e5f60712"],
        "eksSubnetIds": ["subnet-0a1b2c3d4e5f60713", "subnet-0a1b2c3d4e5f60714"],
    }
)
PRIVATE, EKS = VPC.private_subnet_ids, VPC.eks_subnet_ids


class Ec2:
    def __init__(self, error: str = "") -> None:
        self.error = error

    def get_paginator(self, operation: str) -> Any:
        self.operation = operation
        return self

    def paginate(self, **_asked: Any) -> list[dict[str, Any]]:
        if self.error:
            raise ClientError({"Error": {"Code": self.error, "Message": "no"}}, self.operation)
        if self.operation == "describe_subnets":
            zones = {PRIVATE[0]: "usw2-az3", PRIVATE[1]: "usw2-az1", EKS[0]: "usw2-az2", EKS[1]: "usw2-az3"}
            return [{"Subnets": [{"SubnetId": k, "AvailabilityZoneId": v} for k, v in zones.items()][::-1]}]
        return [
            {
                "RouteTables": [
                    {"RouteTableId": "rtb-main", "Associations": [{"Main": True}]},
                    {"RouteTableId": "rtb-own", "Associations": [{"SubnetId": EKS[0]}]},
                    {"RouteTableId": "rtb-other", "Associations": [{"SubnetId": PRIVATE[0]}]},
                ]
            }
        ]


def reader(monkeypatch: pytest.MonkeyPatch, error: str = "") -> Reader:
    client = Ec2(error)
    monkeypatch.setattr(AccountSession, "client", lambda _self, _service: client)
    return Reader(AccountSession(region="us-west-2"), profile="demo")


def test_zones_are_those_of_its_private_subnets_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_existing_vpc(reader(monkeypatch), VPC).zones == ("usw2-az3", "usw2-az1")


def test_all_zones_are_those_of_its_subnets_for_eks_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_existing_vpc(reader(monkeypatch), VPC).all_zones == ("usw2-az3", "usw2-az1", "usw2-az2")


def test_route_tables_are_those_of_the_subnets_for_eks_else_the_main_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert read_existing_vpc(reader(monkeypatch), VPC).eks_route_table_ids == ("rtb-own", "rtb-main")


@pytest.mark.parametrize(
    ("error", "verdict"), [("InvalidSubnetID.NotFound", "refused"), ("UnauthorizedOperation", "unknown")]
)
def test_a_refusal_of_ec2_is_a_result(monkeypatch: pytest.MonkeyPatch, error: str, verdict: str) -> None:
    facts = read_existing_vpc(reader(monkeypatch, error), VPC)
    assert (facts.zones, facts.all_zones, facts.eks_route_table_ids) == ((), (), ())
    [result] = facts.results
    assert result.verdict.value == verdict
    assert error in result.found
