"""Pinned versions, their support, and what is known of regions and instance types."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from moto.ec2.models.availability_zones_and_regions import RegionsAndZonesBackend

from mlcc_infra import versions
from mlcc_infra.instance_types import _EFA_FAMILIES, _EFA_SIZES, HYPERPOD_FAMILIES, HYPERPOD_TYPES
from mlcc_infra.regions import REGIONS, ZONE_ID, region_of_zone_id
from mlcc_infra.versions import Support, addon_version_key, instance_type, kubernetes_support

TODAY = date(2026, 11, 30)


@pytest.mark.parametrize(
    ("version", "on", "expected"),
    [
        ("1.35", TODAY, Support.STANDARD),
        ("1.34", TODAY, Support.STANDARD),
        ("1.34", date(2026, 12, 2), Support.STANDARD),
        ("1.34", date(2026, 12, 3), Support.EXTENDED),
        ("1.33", TODAY, Support.EXTENDED),
        ("1.32", TODAY, Support.EXTENDED),
        ("1.31", TODAY, Support.UNSUPPORTED),
        ("1.31", date(2026, 11, 26), Support.EXTENDED),
        ("1.24", TODAY, Support.UNSUPPORTED),
        ("1.40", TODAY, Support.UNKNOWN),
    ],
)
def test_support_of_a_kubernetes_version_depends_on_the_day(
    version: str, on: date, expected: Support
) -> None:
    assert kubernetes_support(version, on) is expected


def test_the_default_kubernetes_version_is_one_that_hyperpod_documents() -> None:
    assert versions.DEFAULT_KUBERNETES == "1.35"
    assert versions.HYPERPOD_KUBERNETES[-1] == "1.35"


@pytest.mark.parametrize("text", ["1.3.5", "v1.35", "1", "latest", "2.1"])
def test_what_is_no_kubernetes_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="Kubernetes"):
        versions.kubernetes_minor(text)


@pytest.mark.parametrize("kubernetes", ["1.32", "1.33", "1.34", "1.35", "1.36"])
@pytest.mark.parametrize("addon", sorted(versions.ADDONS))
def test_every_addon_is_pinned_for_the_supported_kubernetes_versions(addon: str, kubernetes: str) -> None:
    pin = versions.addon_pin(addon, kubernetes)
    assert all(number >= 0 for number in addon_version_key(pin.version))
    assert pin.source
    minimum = versions.PREREQUISITE_MINIMUM.get(addon)
    if minimum:
        assert addon_version_key(pin.version) >= addon_version_key(minimum)
    if addon == "kube-proxy":
        assert pin.version.startswith(f"v{kubernetes}.")
    if addon == "vpc-cni":
        assert addon_version_key(pin.version) >= addon_version_key(versions.VPC_CNI_MINIMUM)


def test_a_missing_pin_is_an_error_that_says_what_there_is() -> None:
    with pytest.raises(KeyError, match=r"1\.32, 1\.33, 1\.34, 1\.35"):
        versions.addon_version("coredns", "1.30")
    with pytest.raises(KeyError, match="vpc-cni"):
        versions.addon_version("made-up", "1.35")


@pytest.mark.parametrize("text", ["latest", "v1.2.3", "1.2.3-eksbuild.1", "", "v1.2.3-eksbuild.x"])
def test_a_moving_or_incomplete_addon_version_has_no_order(text: str) -> None:
    with pytest.raises(ValueError, match="eksbuild"):
        addon_version_key(text)


@given(st.tuples(*[st.integers(0, 99)] * 4), st.tuples(*[st.integers(0, 99)] * 4))
def test_addon_versions_are_compared_by_number_not_by_text(
    first: tuple[int, int, int, int], second: tuple[int, int, int, int]
) -> None:
    def text(parts: tuple[int, int, int, int]) -> str:
        return f"v{parts[0]}.{parts[1]}.{parts[2]}-eksbuild.{parts[3]}"

    assert (addon_version_key(text(first)) < addon_version_key(text(second))) == (first < second)


def test_the_operator_is_pinned_to_a_known_version() -> None:
    assert versions.OPERATOR_ADDON in versions.OPERATOR_ADDON_VERSIONS
    assert list(versions.OPERATOR_ADDON_VERSIONS) == sorted(
        versions.OPERATOR_ADDON_VERSIONS, key=addon_version_key
    )


@pytest.mark.parametrize("name", sorted(versions.CHARTS))
def test_a_chart_is_pinned_exactly_and_fetched_over_https(name: str) -> None:
    chart = versions.CHARTS[name]
    assert chart.name == name
    assert chart.repository.startswith("https://")
    assert all(part.isdigit() for part in chart.version.split("."))
    assert chart.source


# --------------------------------------------------------------------------------------------- regions


def test_zone_prefixes_agree_with_motos_table_of_zones() -> None:
    known = {name: {zone.zone_id for zone in zones} for name, zones in RegionsAndZonesBackend.zones.items()}
    for name, region in REGIONS.items():
        assert known[name], name
        assert {zone.rsplit("-", 1)[0] for zone in known[name]} == {region.zone_prefix}


@pytest.mark.parametrize("name", sorted(REGIONS))
def test_every_region_is_consistent_in_itself(name: str) -> None:
    region = REGIONS[name]
    assert region.name == name
    assert region_of_zone_id(f"{region.zone_prefix}-az1") is region
    assert all(region_of_zone_id(zone) is region for zone in region.excluded_zones)
    assert not region.inference_operator or region.hyperpod


def test_zones_that_eks_excludes_are_those_of_the_user_guide() -> None:
    excluded = {zone for region in REGIONS.values() for zone in region.excluded_zones}
    assert excluded == {"use1-az3", "usw1-az2", "cac1-az3"}
    assert all(ZONE_ID.match(zone) for zone in excluded)


@pytest.mark.parametrize("text", ["us-west-2a", "usw2", "usw2-az0", "xyz1-az1", ""])
def test_what_is_no_zone_id_belongs_to_no_region(text: str) -> None:
    assert region_of_zone_id(text) is None


# -------------------------------------------------------------------------------------- instance types


def test_hyperpods_list_of_types_has_the_length_of_botocores_enumeration() -> None:
    from botocore.session import Session

    shape: Any = Session().get_service_model("sagemaker").shape_for("ClusterInstanceType")
    assert set(shape.enum) == set(HYPERPOD_TYPES)


@pytest.mark.parametrize(
    ("name", "arm", "accelerated", "pods"),
    [
        ("ml.c5.4xlarge", False, False, 29),
        ("ml.g5.xlarge", False, True, 14),
        ("ml.c6g.4xlarge", True, False, 29),
        ("ml.g4dn.xlarge", False, True, 9),
        ("ml.trn1.32xlarge", False, True, 49),
        ("ml.p6e-gb200.36xlarge", True, True, 49),
        ("ml.gr6.4xlarge", False, True, 29),
        ("m6i.large", False, False, 9),
        ("g5g.xlarge", True, True, 14),
        ("im4gn.large", True, False, 9),
    ],
)
def test_architecture_accelerator_and_pods_follow_from_the_type(
    name: str, arm: bool, accelerated: bool, pods: int
) -> None:
    kind = instance_type(name)
    assert (kind.is_arm, kind.is_accelerated, kind.hyperpod_pods) == (arm, accelerated, pods)
    assert kind.is_x86_cpu == (not arm and not accelerated)
    assert kind.ec2_name == name.removeprefix("ml.")


def test_the_table_of_efa_types_names_only_types_that_hyperpod_has() -> None:
    assert set(HYPERPOD_FAMILIES) >= _EFA_FAMILIES
    for family, sizes in _EFA_SIZES.items():
        assert sizes <= set(HYPERPOD_FAMILIES[family]), family
    assert not _EFA_FAMILIES & set(_EFA_SIZES)


@pytest.mark.parametrize("text", ["", "ml.", "c5", "ml.c5", "C5.large", "ml.c5.4xlarge extra"])
def test_what_is_no_instance_type_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="instance type"):
        instance_type(text)
