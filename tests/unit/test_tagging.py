"""Tags: ours, the user's, and what somebody's tags say about the owner."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlcc_infra.tagging import (
    MAX_TAGS,
    Origin,
    Owner,
    OwnerKind,
    case_problems,
    owner_of,
    tag_list,
    tag_problems,
    tags,
)

OURS = tags(
    profile="demo",
    region="us-west-2",
    stack="mlcc-demo",
    module="eks",
    resource="network/vpc",
    origin="adopted",
)
PREDECESSOR = {
    "mlcc:managed-by": "ml-container-creator",
    "mlcc:profile": "demo",
    "mlcc:module": "hyperpod-cluster",
    "mlcc:stack": "eks-cluster",
}
TEXT = st.text(max_size=12)


def owner(found: dict[str, str], profile: str = "demo", region: str = "us-west-2") -> Owner:
    """The owner as profile demo in us-west-2 sees it."""
    return owner_of(found, profile=profile, region=region)


def test_every_tag_of_the_contract_is_set_and_sorted() -> None:
    assert list(OURS.items()) == [
        ("mlcc:managed-by", "mlcc-infra"),
        ("mlcc:module", "eks"),
        ("mlcc:origin", "adopted"),
        ("mlcc:profile", "demo"),
        ("mlcc:region", "us-west-2"),
        ("mlcc:resource", "network/vpc"),
        ("mlcc:stack", "mlcc-demo"),
    ]


def test_the_profiles_own_tags_come_beside_ours() -> None:
    found = tags(
        profile="demo",
        region="us-west-2",
        stack="mlcc-demo",
        module="eks",
        resource="network/subnet",
        extra={"team": "ml", "kubernetes.io/role/elb": "1"},
    )
    assert found["team"] == "ml"
    assert found["kubernetes.io/role/elb"] == "1"
    assert found["mlcc:origin"] == "created"


@pytest.mark.parametrize(
    ("given_tags", "reason"),
    [
        ({"aws:x": "1"}, "reserved"),
        ({"AWS:x": "1"}, "reserved"),
        ({"mlcc:profile": "other"}, "reserved"),
        ({"": "1"}, "1 to 128"),
        ({"k" * 129: "1"}, "1 to 128"),
        ({"k": ""}, "1 to 256"),
        ({"k": "v" * 257}, "1 to 256"),
        ({"k": "a#b"}, "letters, digits"),
        ({"k!": "b"}, "letters, digits"),
        ({f"k{number}": "v" for number in range(44)}, "43 fit"),
    ],
)
def test_tags_that_aws_would_refuse_are_refused(given_tags: dict[str, str], reason: str) -> None:
    assert any(reason in text for _, text in tag_problems(given_tags))
    with pytest.raises(ValueError, match=reason):
        tags(profile="demo", region="us-west-2", stack="s", module="eks", resource="a/b", extra=given_tags)


def test_tags_at_the_limits_are_accepted() -> None:
    most = {f"k{number}": "v" for number in range(MAX_TAGS - 7 - 2)} | {
        "k" * 128: "v" * 256,
        "é ü_.:/=+-@": "Ω 1",
    }
    assert tag_problems(most) == ()


def test_an_unknown_module_is_refused() -> None:
    with pytest.raises(ValueError, match="mlcc:module"):
        tags(profile="demo", region="us-west-2", stack="s", module="sagemaker", resource="a/b")


def test_what_carries_our_tags_is_ours_with_its_origin() -> None:
    assert owner(OURS) == Owner(
        kind=OwnerKind.OURS, evidence="mlcc:managed-by=mlcc-infra", origin=Origin.ADOPTED
    )


@pytest.mark.parametrize("key", ["mlcc:profile", "mlcc:region"])
def test_ours_but_of_another_profile_or_region_is_foreign_and_says_which(key: str) -> None:
    found = owner(OURS | {key: "elsewhere"})
    assert found.kind is OwnerKind.FOREIGN
    assert found.evidence == f"{key}=elsewhere"
    assert not found.adoptable


@pytest.mark.parametrize("key", ["mlcc:profile", "mlcc:region"])
def test_ours_without_profile_or_region_is_not_taken_for_ours(key: str) -> None:
    found = owner({name: value for name, value in OURS.items() if name != key})
    assert found.kind is OwnerKind.FOREIGN
    assert key in found.evidence


def test_a_predecessors_thing_of_the_same_profile_is_adoptable_though_it_has_no_region() -> None:
    assert owner(PREDECESSOR).kind is OwnerKind.PREDECESSOR
    assert owner(PREDECESSOR).adoptable
    assert owner(PREDECESSOR | {"mlcc:profile": "other"}).kind is OwnerKind.FOREIGN


def test_a_third_manager_is_foreign_whatever_the_profile() -> None:
    found = owner(OURS | {"mlcc:managed-by": "somebody"})
    assert (found.kind, found.evidence) == (OwnerKind.FOREIGN, "mlcc:managed-by=somebody")


def test_other_peoples_tags_alone_mean_untagged() -> None:
    assert owner({"Name": "x", "team": "ml"}).kind is OwnerKind.UNTAGGED
    assert owner({}).adoptable


def test_a_mark_of_another_profile_counts_even_without_the_managers_tag() -> None:
    assert owner({"mlcc:profile": "other"}).evidence == "mlcc:profile=other"
    assert owner({"mlcc:profile": "demo"}).kind is OwnerKind.UNTAGGED


def test_an_origin_that_nobody_wrote_is_no_origin() -> None:
    assert owner(OURS | {"mlcc:origin": "stolen"}).origin is None


@given(st.dictionaries(st.sampled_from(list(OURS)), TEXT, max_size=7), TEXT, TEXT)
def test_ours_always_means_the_same_profile_and_region(
    found: dict[str, str], profile: str, region: str
) -> None:
    if owner_of(found, profile=profile, region=region).kind is OwnerKind.OURS:
        assert found["mlcc:managed-by"] == "mlcc-infra"
        assert found["mlcc:profile"] == profile
        assert found["mlcc:region"] == region


def test_the_lists_that_services_answer_become_a_mapping() -> None:
    assert tag_list([{"Key": "a", "Value": "1"}, {"key": "b", "value": "2"}]) == {"a": "1", "b": "2"}


def test_keys_that_differ_in_case_only_are_found_once_each() -> None:
    found = case_problems({"Team": "a", "cost": "b", "team": "c", "TEAM": "d"})
    assert [key for key, _ in found] == ["team", "TEAM"]
    assert all("'Team'" in reason for _, reason in found)
    assert not case_problems({"Team": "a", "Teams": "b"})
