"""Choosing zones."""

from __future__ import annotations

from mlcc_infra.account.zones import (
    choose_zones,
    in_place,
    missing_offers,
    recorded_zones,
    settle_zones,
)

ALL = ["usw2-az3", "usw2-az1", "usw2-az4", "usw2-az2"]


def test_the_first_two_by_id_that_offer_everything_are_chosen() -> None:
    offered = {"m6i.large": ALL, "g5.xlarge": ["usw2-az2", "usw2-az4"]}
    assert choose_zones(ALL, offered, set()) == ("usw2-az2", "usw2-az4")


def test_zones_that_eks_excludes_are_never_chosen() -> None:
    available = ["use1-az1", "use1-az2", "use1-az3", "use1-az4"]
    assert choose_zones(available, {"m6i.large": available}, {"use1-az1", "use1-az3"}) == (
        "use1-az2",
        "use1-az4",
    )


def test_too_few_suitable_zones_come_back_as_they_are_for_the_check_to_refuse() -> None:
    assert choose_zones(ALL, {"p5.48xlarge": ["usw2-az2"]}, set()) == ("usw2-az2",)


def test_a_stack_keeps_the_zones_it_is_in() -> None:
    recorded = [
        ("aws:ec2/subnet:Subnet", "eks-network-private-usw2-az4"),
        ("aws:ec2/subnet:Subnet", "eks-network-public-usw2-az4"),
        ("aws:ec2/subnet:Subnet", "eks-network-private-usw2-az1"),
        ("aws:ec2/routeTable:RouteTable", "eks-network-private-usw2-az9"),
    ]
    assert recorded_zones(recorded, "eks-network") == {"usw2-az1", "usw2-az4"}


def test_a_zone_whose_subnets_somebody_deleted_is_filled_up_again() -> None:
    assert settle_zones({"usw2-az2"}, ("usw2-az1", "usw2-az2")) == ("usw2-az1", "usw2-az2")
    assert settle_zones({"usw2-az4"}, ("usw2-az1", "usw2-az2")) == ("usw2-az1", "usw2-az4")
    assert settle_zones(set(), ("usw2-az1", "usw2-az2")) == ("usw2-az1", "usw2-az2")
    assert settle_zones({"usw2-az1", "usw2-az3", "usw2-az4"}, ("usw2-az2",)) == (
        "usw2-az1",
        "usw2-az3",
        "usw2-az4",
    )


SLOTS = [{"10.0.0.0/19", "10.0.32.0/21"}, {"10.0.64.0/19", "10.0.96.0/21"}]


def test_zones_come_in_the_order_in_which_no_subnet_moves() -> None:
    # The second zone was lost, and its place is taken by one that sorts first.
    assert in_place(["az1", "az2"], SLOTS, [("az2", "10.0.0.0/19")]) == ("az2", "az1")
    assert in_place(["az1", "az2"], SLOTS, [("az2", "10.0.96.0/21")]) == ("az1", "az2")
    assert in_place(["az1", "az2"], SLOTS, []) == ("az1", "az2")


def test_blocks_that_no_plan_has_decide_nothing() -> None:
    assert in_place(["az1", "az2"], SLOTS, [("az1", "172.16.0.0/19")]) == ("az1", "az2")
    both_in_one = [("az1", "10.0.0.0/19"), ("az1", "10.0.96.0/21")]
    assert in_place(["az1", "az2"], SLOTS, both_in_one) == ("az1", "az2")


def test_missing_offers_name_the_type_and_the_zones() -> None:
    offers = {"m6i.large": ["a", "b"], "g5.xlarge": ["b"]}
    assert missing_offers(["a", "b"], offers) == {"g5.xlarge": ["a"]}
