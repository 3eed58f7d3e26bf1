"""Choosing zones."""

from __future__ import annotations

from mlcc_infra.account.zones import choose_zones, missing_offers, recorded_zones

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
    assert recorded_zones(recorded, "eks-network-private-") == ("usw2-az1", "usw2-az4")


def test_missing_offers_name_the_type_and_the_zones() -> None:
    offers = {"m6i.large": ["a", "b"], "g5.xlarge": ["b"]}
    assert missing_offers(["a", "b"], offers) == {"g5.xlarge": ["a"]}
