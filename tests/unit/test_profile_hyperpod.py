"""Checks of the HyperPod cluster. Rules are those of facts/hyperpod_native.md."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlcc_infra.instance_types import HYPERPOD_TYPES, instance_type
from mlcc_infra.profile.check_hyperpod import OPERATOR_PODS, SYSTEM_PODS, combination_problems
from tests.unit.profile_support import FLOOR, hyperpod, load, problems, warnings

GROUPS = "mlcc:hyperpod.instanceGroups"
URL = "https://aws-bucket.s3.us-west-2.amazonaws.com/templates/main.yaml"


def groups(*entries: Mapping[str, object]) -> dict[str, object]:
    """Keys of a HyperPod profile with these instance groups."""
    return hyperpod({"instanceGroups": list(entries)})


def group(name: str, kind: str, count: int = 1, **more: object) -> dict[str, object]:
    """An instance group."""
    return {"name": name, "instanceType": kind, "instanceCount": count, **more}


def test_the_default_profile_of_hyperpod_is_accepted() -> None:
    profile = load(hyperpod())
    assert profile.hyperpod.template_vpc_cidr == "10.192.0.0/16"
    assert [floor.name for floor in profile.hyperpod.floor_groups] == ["default-worker"]


def test_settings_of_hyperpod_are_checked_only_where_the_target_asks_for_it() -> None:
    keys = {"hyperpod": {"instanceGroups": [group("gpu", "ml.g5.xlarge")]}}
    assert problems(keys) == {}


# ----------------------------------------------------------------------------------------------- floor


def test_a_floor_beside_gpu_groups_is_accepted() -> None:
    profile = load(groups(FLOOR, group("gpu", "ml.p5.48xlarge", 4)))
    assert [floor.name for floor in profile.hyperpod.floor_groups] == ["default-worker"]


def test_gpu_groups_alone_are_refused_with_the_floor() -> None:
    found = problems(groups(group("gpu", "ml.g5.xlarge", 8)))[GROUPS]
    assert "no x86 CPU group" in found.found
    assert "default-worker: 2 × ml.c5.4xlarge" in found.remedy


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("ml.c6g.4xlarge", "amd64 only"),
        ("ml.m8g.4xlarge", "amd64 only"),
        ("ml.g5.xlarge", "accelerated type"),
    ],
)
def test_a_floor_of_arm_or_accelerated_types_is_refused(kind: str, reason: str) -> None:
    assert reason in problems(groups(group("default-worker", kind, 4)))[f"{GROUPS}[0]"].found


def test_a_floor_that_is_tainted_is_refused() -> None:
    tainted = {**FLOOR, "taints": [{"key": "x", "effect": "NoSchedule"}]}
    assert "tainted" in problems(groups(tainted))[f"{GROUPS}[0]"].found


@pytest.mark.parametrize(
    ("kind", "count", "fits"),
    [
        ("ml.c5.4xlarge", 2, True),
        ("ml.c5.4xlarge", 1, True),
        ("ml.c5.xlarge", 1, False),
        ("ml.c5.xlarge", 2, True),
        ("ml.t3.medium", 12, False),
        ("ml.t3.medium", 13, True),
        ("ml.c5.4xlarge", 0, False),
    ],
)
def test_the_floor_needs_room_for_thirteen_pods(kind: str, count: int, fits: bool) -> None:
    found = problems(groups(group("default-worker", kind, count)))
    assert (GROUPS not in found) == fits
    if not fits:
        assert "13" in found[GROUPS].found


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(HYPERPOD_TYPES)), st.integers(0, 30))
def test_a_floor_is_accepted_exactly_when_it_is_x86_and_has_room(name: str, count: int) -> None:
    kind = instance_type(name)
    room = count * max(0, kind.hyperpod_pods - SYSTEM_PODS)
    accepted = not problems(groups(group("default-worker", name, count)))
    assert accepted == (kind.is_x86_cpu and room >= OPERATOR_PODS)


def test_a_floor_may_be_marked_and_may_be_several_groups() -> None:
    marked = [group("a", "ml.c5.xlarge", 1, floor=True), group("b", "ml.c5.xlarge", 1, floor=True)]
    assert [floor.name for floor in load(groups(*marked)).hyperpod.floor_groups] == ["a", "b"]


def test_a_group_marked_as_no_floor_is_none() -> None:
    found = problems(groups({**FLOOR, "floor": False}))
    assert "no x86 CPU group" in found[GROUPS].found


def test_a_floor_with_a_minimum_is_refused_as_its_group_would_be_rolled_back() -> None:
    found = problems(groups({**FLOOR, "minInstanceCount": 1}))[f"{GROUPS}[0].minInstanceCount"]
    assert "rolled back" in found.found


# ---------------------------------------------------------------------------------------------- groups


@pytest.mark.parametrize(
    ("entry", "key", "reason"),
    [
        (group("gpu", "ml.g5.3xlarge"), "[1].instanceType", "HyperPod does not list"),
        (group("gpu", "g5.xlarge"), "[1].instanceType", "another form"),
        (group("default-worker", "ml.g5.xlarge"), "", "twice"),
        (group("a_b", "ml.g5.xlarge"), "[1].name", "another form"),
        (group("a" * 64, "ml.g5.xlarge"), "[1].name", "63"),
        (group("gpu", "ml.g5.xlarge", -1), "[1].instanceCount", "0"),
        (
            group("gpu", "ml.g5.xlarge", 2, minInstanceCount=3),
            "[1].minInstanceCount",
            "more than instanceCount",
        ),
        (group("cpu", "ml.c5.xlarge", 1, deepHealthChecks=["InstanceStress"]), "[1].deepHealthChecks", "GPU"),
        (
            group("gpu", "ml.g5.xlarge", 1, deepHealthChecks=["InstanceStress"], taints=[{"key": "x"}]),
            "[1].taints",
            "deep health checks",
        ),
        (group("gpu", "ml.g5.xlarge", 1, threadsPerCore=3), "[1].threadsPerCore", "unknown value"),
        ({"name": "gpu", "instanceType": "ml.g5.xlarge"}, "[1].instanceCount", "missing"),
    ],
)
def test_a_group_that_hyperpod_refuses_is_refused(entry: dict[str, object], key: str, reason: str) -> None:
    found = problems(groups(FLOOR, entry))
    assert reason in found[GROUPS + key].found


def test_more_than_twenty_groups_are_refused() -> None:
    many = [FLOOR, *(group(f"g{number}", "ml.g5.xlarge") for number in range(20))]
    assert "at most 20" in problems(groups(*many))[GROUPS].found


def test_another_provisioning_mode_than_continuous_is_refused() -> None:
    assert (
        "Continuous"
        in problems(hyperpod({"nodeProvisioningMode": "Batch"}))["mlcc:hyperpod.nodeProvisioningMode"].remedy
    )


# --------------------------------------------------------------------------- addresses, zones, version


@pytest.mark.parametrize("cidr", ["10.192.0.0/16", "10.0.0.0/16", "10.1.0.0/16", "10.3.0.0/16"])
def test_rule_18_a_16_within_10_apart_from_the_node_subnets_is_accepted(cidr: str) -> None:
    assert load(hyperpod({"vpcCidr": cidr})).hyperpod.template_vpc_cidr == cidr


@pytest.mark.parametrize(
    ("cidr", "zones", "reason"),
    [
        ("10.2.0.0/16", 2, "node subnets"),
        ("10.4.0.0/16", 4, "node subnets"),
        ("10.192.0.0/17", 2, "/16 within 10.0.0.0/8"),
        ("172.16.0.0/16", 2, "/16 within 10.0.0.0/8"),
        ("10.192.0.1/16", 2, "host bits"),
    ],
)
def test_rule_18_other_blocks_are_refused(cidr: str, zones: int, reason: str) -> None:
    ids = [f"usw2-az{number}" for number in range(1, zones + 1)]
    assert reason in problems(hyperpod({"vpcCidr": cidr, "zones": ids}))["mlcc:hyperpod.vpcCidr"].found


@pytest.mark.parametrize(
    "zones", [["usw2-az1"], [f"usw2-az{number}" for number in range(1, 6)], ["use2-az1", "usw2-az1"]]
)
def test_rule_18_two_to_four_zones_of_the_region_are_needed(zones: list[str]) -> None:
    assert any(key.startswith("mlcc:hyperpod.zones") for key in problems(hyperpod({"zones": zones})))


def test_a_group_in_a_zone_without_subnets_is_refused() -> None:
    keys = hyperpod(
        {
            "zones": ["usw2-az1", "usw2-az2"],
            "instanceGroups": [FLOOR, group("g", "ml.g5.xlarge", zone="usw2-az3")],
        }
    )
    assert "no subnets" in problems(keys)[f"{GROUPS}[1].zone"].found


def test_two_overlapping_vpcs_of_one_profile_are_warned_about() -> None:
    keys = {"targets": ["vanilla-eks", "hyperpod-eks"], "hyperpod": {"vpcCidr": "10.0.0.0/16"}}
    assert "never be peered" in warnings(keys)["mlcc:hyperpod.vpcCidr"].found


@pytest.mark.parametrize(
    ("version", "reason"), [("1.36", "documented 1.30 to 1.35"), ("1.31", "no longer supports")]
)
def test_a_kubernetes_version_outside_hyperpods_list_or_eks_support_is_refused(
    version: str, reason: str
) -> None:
    assert (
        reason in problems(hyperpod({"kubernetesVersion": version}))["mlcc:hyperpod.kubernetesVersion"].found
    )


# ---------------------------------------------------------------------------------- template, features


def test_a_strict_pin_without_a_mirror_is_refused_with_the_command() -> None:
    found = problems(hyperpod({"template": {"pin": "strict"}}))["mlcc:hyperpod.template.pin"]
    assert "unversioned" in found.found
    assert "aws s3 sync" in found.remedy
    assert "mlcc:hyperpod.template.mirrorBucket" in found.remedy


def test_a_pin_with_a_mirror_is_whole_and_one_without_is_said_to_be_partial() -> None:
    mirrored = hyperpod({"template": {"pin": "strict", "mirrorBucket": "mlcc-hp-templates-abc"}})
    assert "mlcc:hyperpod.template.mirrorBucket" not in warnings(mirrored)
    assert "partial" in warnings(hyperpod())["mlcc:hyperpod.template.mirrorBucket"].found


@pytest.mark.parametrize(
    "url",
    [
        "./main.yaml",
        "main.yaml",
        URL.replace("https", "http"),
        "s3://bucket/main.yaml",
        "https://example.com/x",
    ],
)
def test_an_address_that_cloudformation_does_not_take_is_refused(url: str) -> None:
    assert (
        "https address of an object in S3"
        in problems(hyperpod({"template": {"url": url}}))["mlcc:hyperpod.template.url"].found
    )


@pytest.mark.parametrize("url", [URL, "https://s3.us-west-2.amazonaws.com/bucket/templates/main.yaml"])
def test_an_address_in_s3_is_accepted_in_the_stacks_region_only(url: str) -> None:
    assert load(hyperpod({"template": {"url": url}})).hyperpod.template.url == url
    elsewhere = hyperpod({"template": {"url": url.replace("us-west-2", "us-east-1")}})
    assert "us-east-1" in problems(elsewhere)["mlcc:hyperpod.template.url"].found


@pytest.mark.parametrize("digest", ["abc", "A" * 64, "sha256:" + "a" * 64])
def test_what_is_no_digest_is_refused(digest: str) -> None:
    assert "mlcc:hyperpod.template.digest" in problems(hyperpod({"template": {"digest": digest}}))


def test_keeping_what_failed_is_allowed_and_said() -> None:
    assert (
        "by hand"
        in warnings(hyperpod({"template": {"keepFailed": True}}))["mlcc:hyperpod.template.keepFailed"].found
    )


@pytest.mark.parametrize(
    ("flags", "count"),
    [
        ({}, 0),
        ({"inference": True, "create_hyperpod": False}, 1),
        ({"create_helm": False}, 1),
        ({"create_helm": False, "create_eks": False}, 0),
        ({"task_governance": True}, 1),
        ({"task_governance": True, "inference": True}, 0),
        ({"task_governance": True, "training_operator": True}, 0),
        ({"task_governance": True, "create_helm": False}, 2),
    ],
)
def test_rule_21_combinations_that_break_the_template_are_found(flags: dict[str, bool], count: int) -> None:
    plain = {
        "create_eks": True,
        "create_helm": True,
        "create_hyperpod": True,
        "inference": False,
        "training_operator": False,
        "task_governance": False,
    }
    assert len(combination_problems(**(plain | flags))) == count


def test_rule_21_task_governance_alone_is_refused() -> None:
    alone = hyperpod({"taskGovernance": {"enabled": True}})
    assert "does not exist" in problems(alone)["mlcc:hyperpod.taskGovernance.enabled"].found
    assert not problems(
        hyperpod({"taskGovernance": {"enabled": True}, "trainingOperator": {"enabled": True}})
    )


@pytest.mark.parametrize(
    ("capacity", "accepted"), [(1200, True), (2400, True), (7200, True), (3600, False), (600, False)]
)
def test_fsx_has_1200_gib_or_a_multiple_of_2400(capacity: int, accepted: bool) -> None:
    found = problems(hyperpod({"fsx": {"enabled": True, "storageCapacity": capacity}}))
    assert ("mlcc:hyperpod.fsx.storageCapacity" not in found) == accepted


def test_an_existing_vpc_or_stack_excludes_a_block_to_make_and_each_other() -> None:
    vpc = {"vpcId": "vpc-0123456789abcdef0", "privateSubnetIds": ["subnet-0123456789abcdef0"]}
    assert load(hyperpod({"existingVpc": vpc})).hyperpod.template_vpc_cidr is None
    assert "mlcc:hyperpod.vpcCidr" in problems(hyperpod({"existingVpc": vpc, "vpcCidr": "10.192.0.0/16"}))
    assert "mlcc:hyperpod.vpcCidr" in problems(hyperpod({"existingStack": "hyp", "vpcCidr": "10.192.0.0/16"}))
    assert "mlcc:hyperpod.existingVpc" in problems(hyperpod({"existingStack": "hyp", "existingVpc": vpc}))
