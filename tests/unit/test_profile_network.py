"""Zones, blocks and subnets: the checks, and the arithmetic of an own VPC."""

from __future__ import annotations

import ipaddress
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlcc_infra.profile import Network, plan_network
from tests.unit.profile_support import load, problems, warnings

ZONES = ["usw2-az1", "usw2-az2"]
VPC = "vpc-0123456789abcdef0"
SUBNETS = ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]


def network(**keys: object) -> dict[str, object]:
    """Keys of a profile with these settings under `mlcc:network`."""
    return {"network": keys}


# ------------------------------------------------------------------------------------------ arithmetic


def test_a_16_of_two_zones_has_19s_for_pods_and_21s_for_load_balancers() -> None:
    plan = plan_network("10.0.0.0/16", ZONES)
    assert [(subnet.zone, subnet.cidr) for subnet in plan.private] == [
        ("usw2-az1", "10.0.0.0/19"),
        ("usw2-az2", "10.0.64.0/19"),
    ]
    assert [subnet.cidr for subnet in plan.public] == ["10.0.32.0/21", "10.0.96.0/21"]
    assert plan.private[0].usable_addresses == 8192 - 5


def test_a_third_and_fourth_zone_move_none_of_the_subnets() -> None:
    four = [f"usw2-az{number}" for number in range(1, 5)]
    plans = [plan_network("10.0.0.0/16", four[:count]) for count in (2, 3, 4)]
    for smaller, larger in pairwise(plans):
        assert larger.private[: len(smaller.private)] == smaller.private
        assert larger.public[: len(smaller.public)] == smaller.public


@given(
    st.integers(min_value=16, max_value=23),
    st.integers(min_value=0, max_value=2**32 - 1),
    st.integers(min_value=2, max_value=8),
)
def test_planned_subnets_lie_in_the_vpc_apart_from_each_other_within_awss_sizes(
    prefix: int, address: int, count: int
) -> None:
    block = ipaddress.IPv4Network((address, prefix), strict=False)
    zones = [f"zone{number}" for number in range(count)]
    if count > 4 and prefix > 22:
        with pytest.raises(ValueError, match="needs a block"):
            plan_network(str(block), zones)
        return
    plan = plan_network(str(block), zones)
    subnets = [ipaddress.IPv4Network(subnet.cidr) for subnet in (*plan.private, *plan.public)]
    assert len(subnets) == 2 * count
    assert [subnet.zone for subnet in plan.private] == [subnet.zone for subnet in plan.public] == zones
    for subnet in subnets:
        assert subnet.subnet_of(block)
        assert 16 <= subnet.prefixlen <= 28
    for first, second in combinations(subnets, 2):
        assert not first.overlaps(second)


@pytest.mark.parametrize(
    ("cidr", "zones", "reason"),
    [
        ("10.0.0.0/24", ZONES, "between /16 and /23"),
        ("10.0.0.0/15", ZONES, "between /16"),
        ("10.0.0.1/16", ZONES, "host bits"),
        ("nonsense", ZONES, "nonsense"),
        ("10.0.0.0/16", ["a"], "2 to 8"),
        ("10.0.0.0/16", ["a", "a"], "twice"),
        ("10.0.0.0/16", list("abcdefghi"), "2 to 8"),
    ],
)
def test_what_cannot_be_planned_is_an_error_that_says_why(cidr: str, zones: list[str], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        plan_network(cidr, zones)


def test_given_blocks_take_the_place_of_the_planned_ones() -> None:
    settings = Network(private_subnet_cidrs=("10.0.128.0/20", "10.0.144.0/20"))
    plan = settings.plan(ZONES)
    assert [subnet.cidr for subnet in plan.private] == ["10.0.128.0/20", "10.0.144.0/20"]
    assert [subnet.cidr for subnet in plan.public] == ["10.0.32.0/21", "10.0.96.0/21"]


def test_a_vpc_too_small_to_be_cut_takes_blocks_that_are_all_given() -> None:
    private, public = ("10.0.0.0/26", "10.0.0.64/26"), ("10.0.0.128/26", "10.0.0.192/26")
    plan = Network(cidr="10.0.0.0/24", private_subnet_cidrs=private, public_subnet_cidrs=public).plan(ZONES)
    assert plan.cidr == "10.0.0.0/24"
    assert [(subnet.zone, subnet.cidr) for subnet in plan.private] == list(zip(ZONES, private, strict=True))
    assert [(subnet.zone, subnet.cidr) for subnet in plan.public] == list(zip(ZONES, public, strict=True))


def test_nothing_is_planned_in_an_existing_vpc() -> None:
    with pytest.raises(ValueError, match="as it is"):
        Network(vpc_id=VPC).plan(ZONES)


# ----------------------------------------------------------------------------------------------- zones


@pytest.mark.parametrize(
    ("zones", "region", "reason"),
    [
        (["use2-az1", "usw2-az2"], "us-west-2", "a zone of us-east-2"),
        (["us-west-2a", "usw2-az2"], "us-west-2", "name of a zone"),
        (["use1-az3", "use1-az1"], "us-east-1", "UnsupportedAvailabilityZone"),
        (["usw1-az2", "usw1-az1"], "us-west-1", "UnsupportedAvailabilityZone"),
        (["cac1-az3", "cac1-az1"], "ca-central-1", "UnsupportedAvailabilityZone"),
        (["west", "usw2-az2"], "us-west-2", "no zone id"),
    ],
)
def test_a_zone_that_cannot_be_used_is_refused(zones: list[str], region: str, reason: str) -> None:
    found = problems(network(zones=zones), region=region)
    assert list(found) == ["mlcc:network.zones[0]"]
    assert reason in found["mlcc:network.zones[0]"].found


@pytest.mark.parametrize(
    "zones", [["usw2-az1"], [], [f"usw2-az{number}" for number in range(1, 6)], ["usw2-az1", "usw2-az1"]]
)
def test_two_to_four_different_zones_are_needed(zones: list[str]) -> None:
    assert "mlcc:network.zones" in problems(network(zones=zones))


# ---------------------------------------------------------------------------------------------- blocks


@pytest.mark.parametrize(
    ("cidr", "reason"),
    [
        ("10.0.0.0/15", "/16 to /23"),
        ("10.0.0.0/24", "/16 to /23"),
        ("10.0.0.1/16", "host bits; the block is 10.0.0.0/16"),
        ("10.0.0.0", "without a prefix length"),
        ("300.0.0.0/16", "no IPv4 block"),
        ("fd00::/48", "no IPv4 block"),
        ("", "without a prefix length"),
    ],
)
def test_a_vpc_block_that_aws_or_the_plan_refuses_is_refused(cidr: str, reason: str) -> None:
    assert reason in problems(network(cidr=cidr))["mlcc:network.cidr"].found


def test_a_public_block_is_allowed_with_a_warning() -> None:
    assert "RFC 1918" in warnings(network(cidr="100.64.0.0/16"))["mlcc:network.cidr"].found


def test_subnets_that_overlap_each_other_are_refused_with_both() -> None:
    found = problems(network(privateSubnetCidrs=["10.0.0.0/19", "10.0.16.0/20"]))
    first = found["mlcc:network.privateSubnetCidrs[1]"]
    assert "mlcc:network.privateSubnetCidrs[0] = 10.0.0.0/19" in first.found


def test_a_private_subnet_that_overlaps_a_planned_public_one_is_refused() -> None:
    found = problems(network(privateSubnetCidrs=["10.0.32.0/20", "10.0.128.0/20"]))
    assert "planned public subnet 10.0.32.0/21" in found["mlcc:network.privateSubnetCidrs[0]"].found


@pytest.mark.parametrize(
    ("blocks", "key", "reason"),
    [
        (["10.1.0.0/20", "10.0.128.0/20"], "[0]", "outside the VPC's 10.0.0.0/16"),
        (["10.0.0.0/29", "10.0.128.0/20"], "[0]", "/16 to /28"),
        (["10.0.0.0/33", "10.0.128.0/20"], "[0]", "no IPv4 block"),
        (["10.0.128.0/20"], "", "1 blocks for 2 zones"),
    ],
)
def test_a_subnet_block_that_does_not_fit_is_refused(blocks: list[str], key: str, reason: str) -> None:
    found = problems(network(privateSubnetCidrs=blocks, publicSubnetCidrs=["10.0.32.0/21", "10.0.96.0/21"]))
    assert reason in found[f"mlcc:network.privateSubnetCidrs{key}"].found


def test_too_few_addresses_for_the_nodes_are_refused_with_both_numbers() -> None:
    keys = {
        **network(
            privateSubnetCidrs=["10.0.0.0/28", "10.0.0.16/28"],
            publicSubnetCidrs=["10.0.1.0/28", "10.0.1.16/28"],
        ),
        "eks": {"nodeGroups": [{"name": "a", "minSize": 1, "desiredSize": 7, "maxSize": 7}]},
    }
    found = problems(keys)["mlcc:network.privateSubnetCidrs"].found
    assert "10 free addresses" in found
    assert "7 nodes need at least 14" in found


def test_few_addresses_are_warned_about() -> None:
    keys = {**network(cidr="10.0.0.0/23"), "eks": {"nodeGroups": [{"name": "a", "maxSize": 12}]}}
    assert "12 nodes take about 120" in warnings(keys)["mlcc:network.cidr"].found


# ------------------------------------------------------------------------------------- existing or own


def test_an_existing_vpc_is_taken_with_its_subnets() -> None:
    profile = load(network(vpcId=VPC, privateSubnetIds=SUBNETS))
    assert profile.network.existing
    assert profile.network.vpc_cidr is None


@pytest.mark.parametrize(
    "own",
    [
        {"cidr": "10.0.0.0/16"},
        {"zones": ZONES},
        {"nat": "one"},
        {"privateSubnetCidrs": ["10.0.0.0/19"]},
        {"publicSubnetCidrs": ["10.0.0.0/19"]},
    ],
)
def test_an_existing_vpc_excludes_every_setting_of_a_vpc_to_make(own: dict[str, object]) -> None:
    name = next(iter(own))
    found = problems(network(vpcId=VPC, privateSubnetIds=SUBNETS, **own))
    assert list(found) == [f"mlcc:network.{name}"]
    assert "remove vpcId" in found[f"mlcc:network.{name}"].remedy


@pytest.mark.parametrize("ids", [[], SUBNETS[:1]])
def test_an_existing_vpc_needs_subnets_in_two_zones(ids: list[str]) -> None:
    assert (
        "two private subnets"
        in problems(network(vpcId=VPC, privateSubnetIds=ids))["mlcc:network.privateSubnetIds"].found
    )


def test_a_subnet_is_private_or_public_not_both() -> None:
    found = problems(network(vpcId=VPC, privateSubnetIds=SUBNETS, publicSubnetIds=SUBNETS[:1]))
    assert "named twice" in found["mlcc:network.privateSubnetIds"].found


@pytest.mark.parametrize("name", ["privateSubnetIds", "publicSubnetIds"])
def test_subnet_ids_without_their_vpc_are_refused(name: str) -> None:
    assert "without mlcc:network.vpcId" in problems(network(**{name: SUBNETS}))[f"mlcc:network.{name}"].found


@pytest.mark.parametrize("vpc", ["vpc", "vpc-xyz", "subnet-0123456789abcdef0"])
def test_what_is_no_id_of_a_vpc_is_refused(vpc: str) -> None:
    assert "mlcc:network.vpcId" in problems(network(vpcId=vpc, privateSubnetIds=SUBNETS))


def test_no_nat_gateway_is_allowed_with_a_warning() -> None:
    assert "VPC endpoints" in warnings(network(nat="none"))["mlcc:network.nat"].found
