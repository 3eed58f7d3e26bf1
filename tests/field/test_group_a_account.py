"""Field reports, group A: what the account says about names, zones and blocks. On the rehearsed account."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mlcc_infra.account.network_checks import check_existing_network
from mlcc_infra.account.preflight import CheckResult, Verdict
from mlcc_infra.account.reader import Reader
from mlcc_infra.account.recorded_state import RecordedState
from mlcc_infra.errors import UserError
from mlcc_infra.targets.deployment import plan_deployment
from tests.unit.desk_reader import desk_reader
from tests.unit.profile_support import load, operator_only
from tests.unit.rehearsal_cloud.conftest import Desk, desk

__all__ = ["desk"]


@pytest.fixture
def reader(desk: Desk) -> Iterator[Reader]:
    with desk_reader(desk) as made:
        yield made


def refusals(results: list[CheckResult]) -> str:
    """What the refused results say, one text."""
    return "\n".join(str(result) for result in results if result.verdict is Verdict.REFUSED)


def changed(desk: Desk, before: int) -> list[str]:
    """Mutating calls since a number of calls."""
    return [call["operation"] for call in desk.calls()[before:] if call["mutating"]]


def test_a6_a_cluster_that_is_not_there_is_one_error_with_name_region_and_account(
    desk: Desk, reader: Reader
) -> None:
    before = len(desk.calls())
    with pytest.raises(UserError) as caught:
        plan_deployment(load(operator_only()), recorded=RecordedState())
    text = str(caught.value)
    for part in ("theirs", "us-west-2", desk.cloud.options.account_id):
        assert part in text
    assert changed(desk, before) == []


def test_a6_of_two_clusters_the_one_that_is_missing_is_named(desk: Desk, reader: Reader) -> None:
    desk.cluster(desk.network(nat=False), name="theirs")
    before = len(desk.calls())
    with pytest.raises(UserError) as caught:
        plan_deployment(load(operator_only()), recorded=RecordedState())
    text = str(caught.value)
    for part in ("cluster/abcdefghijkl", "us-west-2", desk.cloud.options.account_id):
        assert part in text
    assert changed(desk, before) == []


def test_a6_a_subnet_that_is_not_there_is_refused_and_not_unknown(desk: Desk, reader: Reader) -> None:
    network = desk.network(nat=False)
    missing = "subnet-0123456789abcdef0"
    found = check_existing_network(reader, network.vpc, [network.private[0], missing], [], 1)
    assert missing in refusals(found)
    assert "us-west-2" in refusals(found)


def test_a9_subnets_where_eks_makes_no_cluster_are_refused_with_the_zone(desk: Desk) -> None:
    desk.region = "us-east-1"
    ec2 = desk.client("ec2", region="us-east-1")
    zones = {
        zone["ZoneId"]: zone["ZoneName"] for zone in ec2.describe_availability_zones()["AvailabilityZones"]
    }
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    ec2.modify_vpc_attribute(VpcId=vpc, EnableDnsHostnames={"Value": True})
    subnets = [
        ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.0.{number}.0/24", AvailabilityZone=zones[zone])["Subnet"][
            "SubnetId"
        ]
        for number, zone in enumerate(("use1-az1", "use1-az3"))
    ]
    with desk_reader(desk) as reader:
        found = refusals(check_existing_network(reader, vpc, subnets, [], 1, {"use1-az3"}))
    assert f"{subnets[1]} in use1-az3" in found
    assert subnets[0] not in found


def test_a10_a_service_block_that_overlaps_an_existing_vpc_is_refused_with_its_block(
    desk: Desk, reader: Reader
) -> None:
    network = desk.network(nat=False)
    desk.ec2.associate_vpc_cidr_block(VpcId=network.vpc, CidrBlock="172.20.0.0/16")

    def found(service_cidr: str) -> str:
        results = check_existing_network(reader, network.vpc, network.private, [], 1, (), service_cidr)
        return refusals([result for result in results if "serviceCidr" in result.found])

    assert "172.20.0.0/16" in found("172.20.128.0/20")
    assert found("192.168.0.0/20") == ""


def test_a11_two_small_subnets_for_seven_nodes_are_refused_with_needed_and_free(
    desk: Desk, reader: Reader
) -> None:
    network = desk.network(nat=False)
    zones = [zone["ZoneName"] for zone in desk.ec2.describe_availability_zones()["AvailabilityZones"]]
    small = [
        desk.ec2.create_subnet(
            VpcId=network.vpc, CidrBlock=f"10.0.200.{number * 16}/28", AvailabilityZone=zones[number]
        )["Subnet"]["SubnetId"]
        for number in range(2)
    ]
    # A /28 has sixteen addresses; five are EC2's and six EKS's.
    found = refusals(check_existing_network(reader, network.vpc, small, [], 7))
    assert "10 addresses" in found, "seven nodes need an address each and one for a pod each"
    assert "at least 14" in found
