"""Which UpdateCluster call, if any: rule 13, as properties of the plan."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlcc_infra.account.instance_group_plan import Cluster, Plan, WantedGroup, plan
from tests.unit.account.hyperpod_fakes import LIFECYCLE, ROLE, SageMaker, described, group

NAMES = ("default-worker", "gpu", "big", "old", "console")
ZONES = {"subnet-1": "usw2-az1", "subnet-2": "usw2-az2", "subnet-9": "usw2-az9"}
TYPES = st.sampled_from(["ml.c5.4xlarge", "ml.g5.8xlarge", "ml.p5.48xlarge"])
TAINT = {"key": "nvidia.com/gpu", "effect": "NoSchedule", "value": ""}


def wanted_group(name: str) -> st.SearchStrategy[WantedGroup]:
    return st.builds(
        WantedGroup,
        name=st.just(name),
        instance_type=TYPES,
        instance_count=st.integers(0, 4),
        min_instance_count=st.none() | st.integers(1, 2),
        threads_per_core=st.none() | st.sampled_from([1, 2]),
        ebs_volume_size=st.none() | st.integers(1, 500),
        labels=st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy"), max_size=2),
        taints=st.sampled_from([(), (TAINT,)]),
        deep_health_checks=st.sampled_from([(), ("InstanceStress",)]),
        training_plan_arn=st.none() | st.just("arn:aws:sagemaker:us-west-2:1:training-plan/x"),
        floor=st.booleans(),
    )


def found_group(name: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda count, kind, more: group(name, count, kind, **more),
        st.integers(0, 4),
        TYPES,
        st.fixed_dictionaries(
            {},
            optional={
                "ThreadsPerCore": st.sampled_from([1, 2]),
                "OverrideVpcConfig": st.just({"Subnets": ["subnet-2"], "SecurityGroupIds": ["sg-1"]}),
                "InstanceStorageConfigs": st.just([{"EbsVolumeConfig": {"VolumeSizeInGB": 100}}]),
                "KubernetesConfig": st.just({"Labels": {"a": "z"}, "Taints": []}),
                "NetworkInterface": st.just({"InterfaceType": "efa"}),
            },
        ),
    )


def subsets(make: Any, minimum: int) -> st.SearchStrategy[list[Any]]:
    chosen = st.lists(st.sampled_from(NAMES), unique=True, min_size=minimum)
    return chosen.flatmap(lambda names: st.tuples(*map(make, names)).map(list))


FOUND, WANTED = subsets(found_group, 1), subsets(wanted_group, 1)
OWNED = st.sets(st.sampled_from(NAMES))


def cluster_of(client: SageMaker, **more: Any) -> Cluster:
    return Cluster(described=client.describe_cluster(), nodes=client.nodes(), zones=ZONES, **more)


@pytest.mark.parametrize("omitted", ["stay", "go"])
@settings(max_examples=60, deadline=None)
@given(found=FOUND, wanted=WANTED, owned=OWNED)
def test_rule_13_one_call_reaches_the_wish_whatever_happens_to_omitted_groups(
    omitted: str, found: list[dict[str, Any]], wanted: list[WantedGroup], owned: set[str]
) -> None:
    client = SageMaker(*found, omitted=omitted)
    first = plan(cluster_of(client), wanted, owned)
    assert first.problems == ()
    if first.call is None:
        assert first.differences == ()
    else:
        client.update_cluster(**first.call)
    names = {item.name for item in wanted}
    foreign = {item["InstanceGroupName"] for item in found} - owned - names
    assert set(client.groups) == names | foreign
    for item in wanted:
        assert client.groups[item.name]["TargetCount"] == item.instance_count
        assert client.groups[item.name]["InstanceType"] == item.instance_type
    again = plan(cluster_of(client), wanted, names)
    assert (again.call, again.differences) == (None, ())


@settings(max_examples=60, deadline=None)
@given(found=FOUND, wanted=WANTED, owned=OWNED)
def test_rule_13_every_call_carries_the_whole_set_and_names_what_goes(
    found: list[dict[str, Any]], wanted: list[WantedGroup], owned: set[str]
) -> None:
    call = plan(cluster_of(SageMaker(*found)), wanted, owned).call
    if call is None:
        return
    sent = {item["InstanceGroupName"]: item for item in call["InstanceGroups"]}
    gone = set(call.get("InstanceGroupsToDelete", ()))
    before = {item["InstanceGroupName"]: item for item in found}
    assert gone.isdisjoint(sent)
    assert gone | set(sent) == set(before) | {item.name for item in wanted}
    for name, specification in sent.items():
        assert specification["ExecutionRole"] == ROLE
        assert specification["LifeCycleConfig"] == LIFECYCLE
        if name in before:
            assert specification.get("OverrideVpcConfig") == before[name].get("OverrideVpcConfig")
        if name not in {item.name for item in wanted}:
            assert described(specification) == described(before[name])


@settings(max_examples=60, deadline=None)
@given(wanted=WANTED)
def test_groups_survive_the_state(wanted: list[WantedGroup]) -> None:
    for item in wanted:
        stored = {key: float(value) if type(value) is int else value for key, value in item.as_dict().items()}
        again = WantedGroup.from_dict(stored)
        assert again.as_dict() == item.as_dict()
        assert type(again.instance_count) is int


FLOOR = WantedGroup(name="default-worker", instance_type="ml.c5.4xlarge", instance_count=2, floor=True)


def of(*found: dict[str, Any], wanted: tuple[WantedGroup, ...] = (FLOOR,), owned: Any = ()) -> Plan:
    return plan(cluster_of(SageMaker(*found)), wanted, owned)


def test_rule_13_equal_means_no_call() -> None:
    assert of(group("default-worker")).call is None


def test_what_the_profile_leaves_out_stays_as_it_is_found() -> None:
    found = group("default-worker", 2, ThreadsPerCore=1, MinInstanceCount=1, NetworkInterface={"a": "efa"})
    assert of(found).call is None
    call = of({**found, "InstanceCount": 3}).call
    assert call is not None
    assert call["InstanceGroups"] == [found]


def test_labels_and_taints_are_those_of_the_profile_alone() -> None:
    found = group("default-worker", KubernetesConfig={"Labels": {"a": "b"}, "Taints": []})
    call = of(found).call
    assert call is not None
    assert call["InstanceGroups"][0]["KubernetesConfig"] == {"Labels": {}, "Taints": []}


def test_a_group_of_somebody_else_is_sent_as_it_is_and_named_once() -> None:
    found = of(group("default-worker", 1), group("theirs", 1, "ml.g5.8xlarge", ThreadsPerCore=2))
    assert found.call is not None
    assert found.call["InstanceGroups"][1] == group("theirs", 1, "ml.g5.8xlarge", ThreadsPerCore=2)
    assert "InstanceGroupsToDelete" not in found.call
    assert [line for line in found.warnings if "theirs" in line] == list(found.warnings)
    assert len(found.warnings) == 1


def test_a_group_no_longer_wanted_is_named_for_removal() -> None:
    call = of(group("default-worker"), group("old"), owned={"default-worker", "old"}).call
    assert call is not None
    assert call["InstanceGroupsToDelete"] == ["old"]
    assert [item["InstanceGroupName"] for item in call["InstanceGroups"]] == ["default-worker"]


def test_restricted_groups_go_along_as_they_are() -> None:
    client = SageMaker(group("default-worker", 1))
    restricted = described(group("rig", 1, "ml.p5.48xlarge"))
    restricted["EnvironmentConfig"] = {"FSxLustreConfig": {"SizeInGiB": 12000}, "S3OutputPath": "s3://x"}
    client.more = {"RestrictedInstanceGroups": [restricted]}
    call = plan(cluster_of(client), (FLOOR,), ()).call
    assert call is not None
    (sent,) = call["RestrictedInstanceGroups"]
    assert sent["EnvironmentConfig"] == {"FSxLustreConfig": {"SizeInGiB": 12000}}
    assert sent["InstanceCount"] == 1


def gpu(zone: str | None) -> WantedGroup:
    return WantedGroup(name="gpu", instance_type="ml.g5.8xlarge", instance_count=1, zone=zone)


def test_a_new_group_in_a_zone_gets_one_subnet_of_it_and_the_clusters_security_groups() -> None:
    call = of(group("default-worker"), wanted=(FLOOR, gpu("usw2-az2"))).call
    assert call is not None
    made = call["InstanceGroups"][1]
    assert made["OverrideVpcConfig"] == {"Subnets": ["subnet-2"], "SecurityGroupIds": ["sg-1"]}
    assert (made["ExecutionRole"], made["LifeCycleConfig"]) == (ROLE, LIFECYCLE)


def test_a_zone_without_a_subnet_is_refused_with_those_there_are() -> None:
    found = of(group("default-worker"), wanted=(FLOOR, gpu("usw2-az4")))
    assert found.call is None
    assert "usw2-az1, usw2-az2" in found.problems[0]


def test_rule_13_a_group_cannot_move_to_another_zone() -> None:
    place = {"Subnets": ["subnet-9"], "SecurityGroupIds": ["sg-1"]}
    found = group("gpu", 1, "ml.g5.8xlarge", OverrideVpcConfig=place)
    moved = of(group("default-worker"), found, wanted=(FLOOR, gpu("usw2-az1")))
    assert moved.call is None
    assert "cannot move to usw2-az1" in moved.problems[0]
    assert of(group("default-worker"), found, wanted=(FLOOR, gpu("usw2-az9"))).problems == ()


def test_a_group_in_the_clusters_own_subnets_outside_its_zone_is_a_warning() -> None:
    found = of(group("default-worker"), group("gpu", 1, "ml.g5.8xlarge"), wanted=(FLOOR, gpu("usw2-az4")))
    assert found.problems == ()
    assert "usw2-az4" in found.warnings[0]


def test_without_any_group_left_the_known_role_and_lifecycle_are_used() -> None:
    client = SageMaker()
    known = {"ExecutionRole": ROLE, "LifeCycleConfig": LIFECYCLE}
    call = plan(cluster_of(client, defaults=known), (FLOOR,), ()).call
    assert call is not None
    assert call["InstanceGroups"][0]["ExecutionRole"] == ROLE
    assert "no group left" in plan(cluster_of(client), (FLOOR,), ()).problems[0]


def test_a_volume_keeps_its_neighbours() -> None:
    storage = [
        {"EbsVolumeConfig": {"RootVolume": True, "VolumeSizeInGB": 50}},
        {"EbsVolumeConfig": {"VolumeSizeInGB": 100, "VolumeKmsKeyId": "k"}},
        {"FsxLustreConfig": {"DnsName": "d", "MountName": "m"}},
    ]
    larger = WantedGroup(name="a", instance_type="ml.c5.4xlarge", instance_count=2, ebs_volume_size=200)
    call = of(group("a", InstanceStorageConfigs=storage), wanted=(larger,)).call
    assert call is not None
    sent = call["InstanceGroups"][0]["InstanceStorageConfigs"]
    assert sent == [
        storage[0],
        {"EbsVolumeConfig": {"VolumeSizeInGB": 200, "VolumeKmsKeyId": "k"}},
        storage[2],
    ]


def test_a_flexible_group_that_has_the_wanted_type_stays_flexible() -> None:
    flexible = group("a", InstanceRequirements={"InstanceTypes": ["ml.g5.8xlarge", "ml.c5.4xlarge"]})
    del flexible["InstanceType"]
    wish = WantedGroup(name="a", instance_type="ml.c5.4xlarge", instance_count=2)
    assert of(flexible, wanted=(wish,)).call is None
