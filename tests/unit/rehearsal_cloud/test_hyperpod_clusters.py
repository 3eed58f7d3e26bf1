"""HyperPod clusters at the API: what they need, how nodes come and go, what updates do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mlcc_rehearsal.cloud import Cloud, CloudOptions
from tests.unit.rehearsal_cloud.conftest import _ACCOUNTS, Desk
from tests.unit.rehearsal_cloud.hyperpod_desk import CLUSTER, HyperPodDesk


@pytest.fixture
def hp(desk: Any) -> HyperPodDesk:
    return HyperPodDesk(desk).prepare().on_eks()


@pytest.fixture
def gone(monkeypatch: pytest.MonkeyPatch) -> Iterator[HyperPodDesk]:
    """A cloud in which groups that an update leaves out go."""
    monkeypatch.setenv("MLCC_REHEARSAL_OMITTED_GROUPS", "go")
    options = CloudOptions(account_id=str(next(_ACCOUNTS)), speed=1.0, kubernetes=False)
    with Cloud.start(options) as cloud:
        yield HyperPodDesk(Desk(cloud)).prepare().on_eks()


def gpu(hp: HyperPodDesk, count: int = 1, **more: Any) -> dict[str, Any]:
    spec = {**hp.spec(count), "InstanceGroupName": "gpu", "InstanceType": "ml.g5.8xlarge", **more}
    return {key: value for key, value in spec.items() if value is not None}


def out_of_capacity(hp: HyperPodDesk, **more: Any) -> None:
    hp.desk.cloud.faults.add(
        [{"effect": "no-capacity", "match": {"InstanceType": "ml.g5.*", **more.pop("match", {})}, **more}]
    )


def test_rule_02_a_continuous_cluster_is_in_service_before_it_has_a_node(hp: HyperPodDesk) -> None:
    """The law "hyperpod-continuous"."""
    arn = hp.create_cluster()
    assert len(arn.rsplit("/", 1)[-1]) == 12
    assert hp.cluster()["ClusterStatus"] == "Creating"
    hp.desk.pass_time(65)
    assert hp.cluster(arn)["ClusterStatus"] == "InService"
    group = hp.group()
    assert (group["Status"], group["CurrentCount"], group["TargetCount"]) == ("InService", 0, 2)
    assert {node["InstanceStatus"]["Status"] for node in hp.nodes()} == {"Pending"}
    hp.desk.pass_time(400)
    assert hp.group()["CurrentCount"] == 2
    node = hp.nodes()[0]
    assert node["InstanceStatus"]["Status"] == "Running"
    details = hp.sagemaker.describe_cluster_node(ClusterName=CLUSTER, NodeId=node["InstanceId"])[
        "NodeDetails"
    ]
    assert details["Placement"]["AvailabilityZone"].startswith("us-west-2")
    entries = hp.desk.eks.list_access_entries(clusterName="demo")["accessEntries"]
    entry = hp.desk.eks.describe_access_entry(clusterName="demo", principalArn=hp.role_arn)["accessEntry"]
    assert entry["type"] == "HYPERPOD_LINUX"
    assert any("AWSServiceRoleForSageMakerHyperPod" in each for each in entries)
    found = hp.sagemaker.list_clusters(NameContains="demo")["ClusterSummaries"]
    assert [each["ClusterArn"] for each in found] == [arn]


def test_another_cluster_is_in_service_with_all_its_nodes(
    hp: HyperPodDesk, refused: Callable[..., Any]
) -> None:
    hp.create_cluster(NodeProvisioningMode=None)
    hp.desk.pass_time(120)
    assert hp.cluster()["ClusterStatus"] == "Creating"
    with refused("ValidationException", "hyperpod-events"):
        hp.sagemaker.list_cluster_events(ClusterName=CLUSTER)
    hp.desk.pass_time(400)
    assert hp.cluster()["ClusterStatus"] == "InService"
    assert hp.group()["CurrentCount"] == 2


def test_without_capacity_a_continuous_group_waits_and_tries_again(hp: HyperPodDesk) -> None:
    """The law "hyperpod-capacity"."""
    out_of_capacity(hp, until=3000)
    hp.create_cluster(hp.spec(), gpu(hp))
    hp.desk.pass_time(900)
    assert hp.cluster()["ClusterStatus"] == "InService"
    assert hp.group()["CurrentCount"] == 2
    waiting = hp.group("gpu")
    assert (waiting["Status"], waiting["CurrentCount"], waiting["TargetCount"]) == ("InService", 0, 1)
    events = hp.sagemaker.list_cluster_events(ClusterName=CLUSTER, InstanceGroupName="gpu")["Events"]
    assert len(events) > 1
    assert events[0]["EventLevel"] == "Warn"
    assert "Insufficient capacity" in events[0]["Description"]
    details = hp.sagemaker.describe_cluster_event(ClusterName=CLUSTER, EventId=events[0]["EventId"])
    scaling = details["EventDetails"]["EventDetails"]["EventMetadata"]["InstanceGroupScaling"]
    assert "do not have sufficient capacity" in scaling["FailureMessage"]
    assert scaling["TargetCount"] == 1
    hp.desk.pass_time(3600)
    assert hp.group("gpu")["CurrentCount"] == 1


def test_without_capacity_another_cluster_fails_as_a_whole(hp: HyperPodDesk) -> None:
    out_of_capacity(hp)
    hp.create_cluster(hp.spec(), gpu(hp), NodeProvisioningMode=None)
    hp.desk.pass_time(900)
    found = hp.cluster()
    assert found["ClusterStatus"] == "Failed"
    assert "do not have sufficient capacity" in found["FailureMessage"]
    assert hp.nodes() == []
    hp.sagemaker.delete_cluster(ClusterName=CLUSTER)
    hp.desk.pass_time(600)
    assert hp.sagemaker.list_clusters()["ClusterSummaries"] == []


def test_capacity_is_by_type_and_zone(hp: HyperPodDesk) -> None:
    zone = hp.desk.ec2.describe_subnets(SubnetIds=hp.subnets[:1])["Subnets"][0]["AvailabilityZone"]
    out_of_capacity(hp, match={"AvailabilityZone": zone})
    both = {"SecurityGroupIds": hp.groups, "Subnets": hp.subnets}
    several = {"InstanceTypes": ["ml.g5.8xlarge", "ml.g6.8xlarge"]}
    flexible = gpu(hp, InstanceGroupName="flexible", InstanceType=None, InstanceRequirements=several)
    hp.create_cluster(gpu(hp, OverrideVpcConfig=both), flexible)
    hp.desk.pass_time(1200)
    assert hp.group("gpu")["CurrentCount"] == 1
    assert {node["InstanceType"] for node in hp.nodes() if node["InstanceGroupName"] == "flexible"} == {
        "ml.g6.8xlarge"
    }
    details = hp.group("flexible")["InstanceTypeDetails"]
    assert [(each["InstanceType"], each["CurrentCount"]) for each in details] == [
        ("ml.g5.8xlarge", 0),
        ("ml.g6.8xlarge", 1),
    ]


@pytest.mark.parametrize(
    ("case", "law", "said"),
    [
        ({"service": "ec2.amazonaws.com"}, "hyperpod-role-trust", "Execution role permissions are invalid"),
        ({"actions": ["ec2:Describe*"]}, "hyperpod-role-grants", "Execution role permissions are invalid"),
        (
            {"managed": False},
            "hyperpod-script-readable",
            "Execution role provided does not have permissions to access the bucket",
        ),
        ({"script": False}, "hyperpod-script-exists", "Lifecycle scripts did not run successfully"),
    ],
)
def test_rule_03_the_instance_role_and_the_script_decide_whether_instances_come_up(
    desk: Any, case: dict[str, Any], law: str, said: str
) -> None:
    hp = HyperPodDesk(desk).prepare(**case).on_eks()
    hp.create_cluster()
    hp.desk.pass_time(600)
    assert hp.cluster()["ClusterStatus"] == "InService"
    assert hp.group()["CurrentCount"] == 0
    assert f"[{law}]" in hp.why_not()
    events = hp.sagemaker.list_cluster_events(ClusterName=CLUSTER, ResourceType="Instance")["Events"]
    assert events[0]["EventLevel"] == "Error"
    found = hp.sagemaker.describe_cluster_event(ClusterName=CLUSTER, EventId=events[0]["EventId"])
    metadata = found["EventDetails"]["EventDetails"]["EventMetadata"]
    assert said in metadata["Instance"]["FailureMessage"]
    hp.create_cluster(name="all-at-once", NodeProvisioningMode=None)
    hp.desk.pass_time(600)
    failed = hp.cluster("all-at-once")
    assert failed["ClusterStatus"] == "Failed"
    assert failed["FailureMessage"].startswith("Instance i-")
    assert said in failed["FailureMessage"]


def test_a_role_that_may_list_but_not_read_gets_the_misleading_message(desk: Any) -> None:
    """The law "hyperpod-script-readable"; a grant that is added is found at the next attempt."""
    hp = HyperPodDesk(desk).prepare(managed=False, actions=["ec2:*", "ecr:*", "s3:ListBucket"]).on_eks()
    hp.create_cluster()
    hp.desk.pass_time(600)
    assert "is owned by account" in hp.why_not()
    policy = "arn:aws:iam::aws:policy/AmazonSageMakerClusterInstanceRolePolicy"
    desk.iam.attach_role_policy(RoleName="demo-instance-role", PolicyArn=policy)
    hp.desk.pass_time(900)
    assert hp.group()["CurrentCount"] == 2


def test_a_role_under_another_path_is_another_role(hp: HyperPodDesk) -> None:
    """The template and the operator build ``role/<name>``: the law "hyperpod-role-trust"."""
    arn = hp.role_arn.replace(":role/", ":role/elsewhere/")
    hp.create_cluster({**hp.spec(), "ExecutionRole": arn})
    hp.desk.pass_time(600)
    assert "[hyperpod-role-trust]" in hp.why_not()


def test_names_are_unique_and_arns_are_of_one_cluster(hp: HyperPodDesk, refused: Callable[..., Any]) -> None:
    first = hp.create_cluster()
    with refused("ResourceInUse", "hyperpod-exists"):
        hp.create_cluster()
    hp.desk.pass_time(100)
    hp.sagemaker.delete_cluster(ClusterName=first)
    assert hp.cluster()["ClusterStatus"] == "Deleting"
    hp.desk.pass_time(600)
    second = hp.create_cluster()
    assert second != first
    with refused("ResourceNotFound"):
        hp.cluster(first)


def test_a_cluster_needs_an_eks_cluster_with_access_entries(desk: Any, refused: Callable[..., Any]) -> None:
    hp = HyperPodDesk(desk).prepare().on_eks(accessConfig={"authenticationMode": "CONFIG_MAP"})
    with refused("ValidationException", "hyperpod-eks") as seen:
        hp.create_cluster()
    assert "CONFIG_MAP" in seen.text
    other = {"Eks": {"ClusterArn": desk.eks.describe_cluster(name="demo")["cluster"]["arn"] + "x"}}
    with refused("ValidationException", "hyperpod-eks"):
        hp.create_cluster(Orchestrator=other)
    vpc = {"Subnets": ["subnet-0123456789abcdef0"], "SecurityGroupIds": hp.groups}
    desk.eks.update_cluster_config(name="demo", accessConfig={"authenticationMode": "API_AND_CONFIG_MAP"})
    desk.pass_time(200)
    with refused("ValidationException", "hyperpod-eks"):
        hp.create_cluster(VpcConfig=vpc)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"MinInstanceCount": 3}, "MinInstanceCount is above InstanceCount"),
        ({"InstanceRequirements": {"InstanceTypes": ["ml.c5.4xlarge"]}}, "give InstanceType or"),
        ({"OnStartDeepHealthChecks": ["InstanceStress"]}, "only for GPU and Trainium"),
    ],
)
def test_groups_do_not_contradict_themselves(
    hp: HyperPodDesk, refused: Callable[..., Any], changes: dict[str, Any], words: str
) -> None:
    with refused("ValidationException", "hyperpod-groups") as seen:
        hp.create_cluster(hp.spec(**changes))
    assert words in seen.text
    with refused("ValidationException", "hyperpod-groups"):
        hp.create_cluster(hp.spec(), hp.spec())


def test_parameters_keep_to_the_model(hp: HyperPodDesk, refused: Callable[..., Any]) -> None:
    with refused("ValidationException", "hyperpod-parameters") as seen:
        hp.create_cluster(hp.spec(InstanceType="ml.z1.large"), name="-bad-")
    assert seen.text.startswith("2 validation errors detected: ")
    with refused("ValidationException", "hyperpod-parameters"):
        hp.create_cluster(Tags=[{"Key": "aws:mine", "Value": "x"}])


def test_a_quota_of_the_account_limits_instances(hp: HyperPodDesk, refused: Callable[..., Any]) -> None:
    hp.desk.cloud.faults.add([{"effect": "quota", "match": {"InstanceType": "ml.g5.8xlarge"}, "limit": 1}])
    with refused("ResourceLimitExceeded", "hyperpod-quota") as seen:
        hp.create_cluster(gpu(hp, 2))
    assert "'ml.g5.8xlarge for cluster usage' is 1 Instances" in seen.text
    hp.create_cluster(gpu(hp, 1))
    hp.desk.pass_time(100)
    with refused("ResourceLimitExceeded", "hyperpod-quota"):
        hp.sagemaker.update_cluster(ClusterName=CLUSTER, InstanceGroups=[gpu(hp, 2)])


def test_groups_grow_shrink_and_go(hp: HyperPodDesk) -> None:
    hp.create_cluster(hp.spec(2), gpu(hp))
    hp.desk.pass_time(900)
    hp.sagemaker.update_cluster(
        ClusterName=CLUSTER, InstanceGroups=[hp.spec(3)], InstanceGroupsToDelete=["gpu"]
    )
    assert hp.cluster()["ClusterStatus"] == "InService"
    hp.desk.pass_time(600)
    assert [each["InstanceGroupName"] for each in hp.cluster()["InstanceGroups"]] == ["default-worker"]
    assert hp.group()["CurrentCount"] == 3
    before = {node["InstanceId"] for node in hp.nodes()}
    hp.sagemaker.update_cluster(ClusterName=CLUSTER, InstanceGroups=[hp.spec(1)], NodeRecovery="None")
    hp.desk.pass_time(300)
    after = {node["InstanceId"] for node in hp.nodes()}
    assert len(after) == 1
    assert after < before
    assert hp.cluster()["NodeRecovery"] == "None"
    hp.sagemaker.batch_delete_cluster_nodes(ClusterName=CLUSTER, NodeIds=sorted(after))
    hp.desk.pass_time(300)
    assert (hp.group()["CurrentCount"], hp.group()["TargetCount"]) == (0, 0)


def test_groups_that_an_update_leaves_out_stay_by_default(hp: HyperPodDesk) -> None:
    """The law "hyperpod-omitted-groups"."""
    hp.create_cluster(hp.spec(), gpu(hp))
    hp.desk.pass_time(900)
    hp.sagemaker.update_cluster(ClusterName=CLUSTER, InstanceGroups=[hp.spec(3)])
    hp.desk.pass_time(600)
    assert {each["InstanceGroupName"] for each in hp.cluster()["InstanceGroups"]} == {"default-worker", "gpu"}


def test_groups_that_an_update_leaves_out_go_when_asked_to(gone: HyperPodDesk) -> None:
    gone.create_cluster(gone.spec(), gpu(gone))
    gone.desk.pass_time(900)
    gone.sagemaker.update_cluster(ClusterName=CLUSTER, NodeRecovery="None")
    gone.sagemaker.update_cluster(ClusterName=CLUSTER, InstanceGroups=[gone.spec(3)])
    gone.desk.pass_time(600)
    assert [each["InstanceGroupName"] for each in gone.cluster()["InstanceGroups"]] == ["default-worker"]


def test_rule_13_an_update_waits_for_deep_health_checks(
    hp: HyperPodDesk, refused: Callable[..., Any]
) -> None:
    """The laws "hyperpod-deep-health-checks" and "hyperpod-group-immutable"."""
    checked = gpu(hp, OnStartDeepHealthChecks=["InstanceStress"])
    hp.create_cluster(checked)
    hp.desk.pass_time(900)
    [node] = hp.nodes()
    assert node["InstanceStatus"]["Status"] == "DeepHealthCheckInProgress"
    with refused("ConflictException", "hyperpod-deep-health-checks"):
        hp.sagemaker.update_cluster(ClusterName=CLUSTER, InstanceGroups=[checked])
    hp.desk.pass_time(6000)
    assert hp.nodes()[0]["InstanceStatus"]["Status"] == "Running"
    override = {"Subnets": hp.subnets[1:], "SecurityGroupIds": hp.groups}
    with refused("ValidationException", "hyperpod-group-immutable"):
        hp.sagemaker.update_cluster(
            ClusterName=CLUSTER, InstanceGroups=[{**checked, "OverrideVpcConfig": override}]
        )


def test_only_clusters_in_service_are_changed_or_deleted(
    hp: HyperPodDesk, refused: Callable[..., Any]
) -> None:
    hp.create_cluster()
    with refused("ConflictException", "hyperpod-state"):
        hp.sagemaker.update_cluster(ClusterName=CLUSTER, InstanceGroups=[hp.spec(3)])
    with refused("ConflictException", "hyperpod-state"):
        hp.sagemaker.delete_cluster(ClusterName=CLUSTER)


def test_a_group_below_its_minimum_rolls_back_after_three_hours(hp: HyperPodDesk) -> None:
    """The law "hyperpod-group-minimum"."""
    out_of_capacity(hp)
    hp.create_cluster(gpu(hp, 2, MinInstanceCount=1))
    hp.desk.pass_time(3600)
    assert hp.group("gpu")["Status"] == "Creating"
    hp.desk.pass_time(2 * 3600 + 60)
    assert (hp.group("gpu")["Status"], hp.group("gpu")["TargetCount"]) == ("Failed", 0)


def test_interfaces_of_nodes_outlive_the_cluster(hp: HyperPodDesk) -> None:
    hp.create_cluster()
    hp.desk.pass_time(600)
    filters = [{"Name": "group-id", "Values": hp.groups}]
    assert len(hp.desk.ec2.describe_network_interfaces(Filters=filters)["NetworkInterfaces"]) == 2
    hp.sagemaker.delete_cluster(ClusterName=CLUSTER)
    hp.desk.pass_time(215)
    assert hp.sagemaker.list_clusters()["ClusterSummaries"] == []
    left = hp.desk.ec2.describe_network_interfaces(Filters=filters)["NetworkInterfaces"]
    assert [each["Status"] for each in left] == ["available", "available"]
    hp.desk.pass_time(120)
    assert hp.desk.ec2.describe_network_interfaces(Filters=filters)["NetworkInterfaces"] == []


def test_tags_can_be_added_listed_and_taken_away(hp: HyperPodDesk) -> None:
    arn = hp.create_cluster(Tags=[{"Key": "a", "Value": "1"}])
    hp.sagemaker.add_tags(ResourceArn=arn, Tags=[{"Key": "a", "Value": "2"}, {"Key": "b", "Value": ""}])
    assert hp.sagemaker.list_tags(ResourceArn=arn)["Tags"] == [
        {"Key": "a", "Value": "2"},
        {"Key": "b", "Value": ""},
    ]
    hp.sagemaker.delete_tags(ResourceArn=arn, TagKeys=["b"])
    tagging = hp.desk.client("resourcegroupstaggingapi")
    tagging.tag_resources(ResourceARNList=[arn], Tags={"c": "3"})
    found = tagging.get_resources(TagFilters=[{"Key": "c"}])["ResourceTagMappingList"]
    assert found == [{"ResourceARN": arn, "Tags": [{"Key": "a", "Value": "2"}, {"Key": "c", "Value": "3"}]}]
    tagging.untag_resources(ResourceARNList=[arn], TagKeys=["a"])
    assert hp.sagemaker.list_tags(ResourceArn=arn)["Tags"] == [{"Key": "c", "Value": "3"}]
