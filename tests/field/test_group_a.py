"""Field reports, group A: configuration and naming."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlcc_infra.naming import name_problems
from mlcc_infra.profile import ProfileError, load_stack_file
from mlcc_infra.regions import REGIONS, region_of_zone_id
from tests.unit.profile_support import load, problems


def test_a1_a_profile_with_derived_names_too_long_is_refused_with_each_and_the_length_that_fits() -> None:
    found = problems({"profile": "a" * 36})["mlcc:profile"]
    assert f"mlcc-{'a' * 36}-hyperpod-inference-role" in found.found
    assert found.found.count("at most 35") == len(name_problems("a" * 36)) == 3
    assert "at most 35" in found.remedy
    assert load({"profile": "a" * 35}).name == "a" * 35


def test_a2_a_length_error_says_which_key_gives_which_name_and_what_the_limit_is() -> None:
    with pytest.raises(ProfileError) as error:
        load({"profile": "a" * 36})
    text = str(error.value)
    for part in (
        "mlcc:profile",
        f"mlcc-{'a' * 36}-hyperpod-inference-role",
        "has 65 characters",
        "at most 64",
    ):
        assert part in text


@pytest.mark.parametrize("digits", ["012345678901", "12345678901"])
def test_a4_an_unquoted_account_id_is_refused_with_the_advice_to_quote_it(
    tmp_path: Path, digits: str
) -> None:
    path = tmp_path / "Pulumi.mlcc-demo.yaml"
    path.write_text(
        f"config:\n  aws:region: us-west-2\n  mlcc:targets: [vanilla-eks]\n  mlcc:accountId: {digits}\n"
    )
    with pytest.raises(ProfileError, match=r"mlcc:accountId[\s\S]*quote it"):
        load_stack_file(path)


@pytest.mark.parametrize("text", ["12345678901", "1.2345678901e+10"])
def test_a4_what_pulumi_makes_of_an_unquoted_account_id_is_refused_too_and_never_padded(text: str) -> None:
    assert "quote it" in problems({"accountId": text})["mlcc:accountId"].remedy


@pytest.mark.parametrize("part", ["network", "hyperpod"])
def test_a5_a_zone_id_of_another_region_is_refused_before_any_call(part: str) -> None:
    keys = {"targets": ["vanilla-eks", "hyperpod-eks"], part: {"zones": ["use2-az1", "usw2-az1"]}}
    found = problems(keys, region="us-west-2")[f"mlcc:{part}.zones[0]"]
    assert (found.value, found.found) == ("use2-az1", "a zone of us-east-2, while the stack is in us-west-2")


@pytest.mark.parametrize("variable", ["AWS_REGION", "AWS_DEFAULT_REGION"])
def test_a7_a_region_of_the_environment_that_differs_from_the_profiles_is_an_error_that_names_both(
    variable: str,
) -> None:
    found = problems(region="us-east-2", environ={variable: "us-west-2"})["aws:region"]
    assert "us-east-2" in str(found)
    assert f"{variable}=us-west-2" in str(found)


def test_a8_a_region_that_is_in_no_table_is_refused() -> None:
    assert "does not know" in problems(region="ap-southeast-9")["aws:region"].found


@pytest.mark.parametrize("name", sorted(REGIONS))
def test_a8_every_entry_of_the_table_of_regions_is_whole(name: str) -> None:
    region = REGIONS[name]
    assert region.zone_prefix
    assert region.partition
    assert region_of_zone_id(f"{region.zone_prefix}-az1") is region


def test_a9_a_zone_in_which_eks_makes_no_cluster_is_refused() -> None:
    keys = {"network": {"zones": ["use1-az3", "use1-az1"]}}
    assert "EKS makes no cluster" in problems(keys, region="us-east-1")["mlcc:network.zones[0]"].found


def test_a10_a_service_block_outside_the_private_ranges_is_refused() -> None:
    assert (
        "172.16.0.0/12" in problems({"eks": {"serviceCidr": "176.22.0.0/16"}})["mlcc:eks.serviceCidr"].found
    )


def test_a10_a_service_block_that_is_the_vpcs_is_refused() -> None:
    keys = {"eks": {"serviceCidr": "172.20.0.0/16"}, "network": {"cidr": "172.20.0.0/16"}}
    assert "overlaps the VPC's 172.20.0.0/16" in problems(keys)["mlcc:eks.serviceCidr"].found


def test_a11_too_small_subnets_for_the_planned_nodes_are_refused_with_needed_and_free() -> None:
    keys = {
        "network": {
            "privateSubnetCidrs": ["10.0.0.0/28", "10.0.0.16/28"],
            "publicSubnetCidrs": ["10.0.1.0/28", "10.0.1.16/28"],
        },
        "eks": {"nodeGroups": [{"name": "nodes", "minSize": 7, "desiredSize": 7, "maxSize": 7}]},
    }
    found = problems(keys)["mlcc:network.privateSubnetCidrs"].found
    assert "10 free addresses" in found
    assert "need at least 14" in found


def test_a12_subnets_that_overlap_are_refused_with_both_blocks() -> None:
    found = problems({"network": {"privateSubnetCidrs": ["10.0.0.0/19", "10.0.16.0/20"]}})
    text = str(found["mlcc:network.privateSubnetCidrs[1]"])
    assert "10.0.16.0/20" in text
    assert "10.0.0.0/19" in text
