"""Instance groups over UpdateCluster, and the floor by its nodes (rules 2 and 13)."""

from __future__ import annotations

from typing import Any

import pytest

from mlcc_infra.account import floor_nodes, instance_groups
from mlcc_infra.account.instance_group_plan import Cluster, WantedGroup
from mlcc_infra.account.instance_groups import Outcome, Request
from mlcc_infra.errors import UserError
from mlcc_rehearsal.kubernetes_api import KubernetesApi
from tests.unit.account.hyperpod_fakes import ARN, Ec2, Eks, SageMaker, Session, eks_cluster, group, node

pytestmark = pytest.mark.usefixtures("fast")

FLOOR = WantedGroup(name="default-worker", instance_type="ml.c5.4xlarge", instance_count=2, floor=True)
GPU = WantedGroup(name="gpu", instance_type="ml.g5.8xlarge", instance_count=1)


def request(*groups: WantedGroup, **more: Any) -> Request:
    return Request(cluster=ARN, eks_cluster="demo", groups=groups or (FLOOR,), **more)


@pytest.fixture
def api(kubernetes_api: KubernetesApi) -> KubernetesApi:
    for number in range(2):
        kubernetes_api.objects.put(node(f"hyperpod-i-default-worker{number}", "default-worker"))
    return kubernetes_api


def ensure(client: SageMaker, api: KubernetesApi, asked: Request, said: list[str] | None = None) -> Outcome:
    session: Any = Session(sagemaker=client, ec2=Ec2(), eks=Eks(eks_cluster(api)))
    return instance_groups.ensure(session, asked, (said if said is not None else []).append)


def test_rule_13_a_cluster_that_is_as_wanted_is_not_touched(api: KubernetesApi) -> None:
    client = SageMaker(group("default-worker"))
    outcome = ensure(client, api, request())
    assert client.updates == []
    assert outcome.changes == ()
    assert outcome.warnings == ()
    assert outcome.statuses["default-worker"].state == "ready"


def test_a_gpu_group_without_capacity_holds_nothing_up_and_is_warned_about_once(api: KubernetesApi) -> None:
    client = SageMaker(group("default-worker"))
    client.short["gpu"] = 0
    client.say("an older trouble", "gpu")
    client.say("short text", "gpu", detail="We currently do not have sufficient capacity for ml.g5.8xlarge")
    outcome = ensure(client, api, request(FLOOR, GPU))
    assert len(client.updates) == 1
    status = outcome.statuses["gpu"]
    assert (status.state, status.current, status.wanted) == ("waiting for capacity", 0, 1)
    assert status.reason == "We currently do not have sufficient capacity for ml.g5.8xlarge"
    (warning,) = outcome.warnings
    assert "gpu is waiting for capacity: 0 of 1" in warning
    assert status.reason in warning


def test_trouble_before_the_newest_success_is_over(api: KubernetesApi) -> None:
    client = SageMaker(group("default-worker"))
    client.short["gpu"] = 0
    client.say("no capacity", "gpu")
    client.say("Instance creation in Cluster demo and InstanceGroup gpu succeeded", "gpu", "Info")
    status = ensure(client, api, request(FLOOR, GPU)).statuses["gpu"]
    assert (status.state, status.reason) == ("starting", "")


def test_a_group_that_has_just_begun_is_starting(api: KubernetesApi) -> None:
    client = SageMaker(group("default-worker"))
    client.short["gpu"] = 0
    client.say("Provisioning started", "gpu", "Info")
    assert ensure(client, api, request(FLOOR, GPU)).statuses["gpu"].state == "starting"


def test_rule_02_floor_by_nodes_in_service_proves_nothing(api: KubernetesApi) -> None:
    client = SageMaker(group("default-worker"))
    client.short["default-worker"] = 1
    client.say("later consequence", "gpu")
    client.say("the quota was reached", "default-worker", detail="ResourceLimitExceeded: quota is 1")
    client.say("group did not scale", "default-worker")
    with pytest.raises(UserError) as failure:
        ensure(client, api, request(floor_seconds=120))
    text = str(failure.value)
    assert "default-worker: 1 of 2 instances are running" in text
    assert "within 2 minutes" in text
    assert "First cause: ResourceLimitExceeded: quota is 1; latest: group did not scale" in text
    assert "later consequence" not in text


def test_rule_02_floor_by_nodes_each_must_be_ready_schedulable_and_amd64(api: KubernetesApi) -> None:
    client = SageMaker(group("default-worker"))
    api.objects.put(node("hyperpod-i-default-worker1", "default-worker", unschedulable=True))
    said: list[str] = []
    with pytest.raises(UserError, match="1 of 2 nodes are Ready and schedulable amd64 nodes"):
        ensure(client, api, request(floor_seconds=120), said)
    assert said == [
        "Waiting for the floor: default-worker: 1 of 2 nodes are Ready and schedulable amd64 nodes"
    ]


@pytest.mark.parametrize(
    "spoiled",
    [
        {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
        {"labels": {"kubernetes.io/arch": "arm64"}},
        {"unschedulable": True},
        {"taints": [{"key": "sagemaker.amazonaws.com/node-health-status", "effect": "NoSchedule"}]},
    ],
    ids=["not ready", "arm64", "cordoned", "tainted"],
)
def test_what_makes_a_node_useless_for_the_operator(spoiled: dict[str, Any]) -> None:
    assert floor_nodes.is_usable(node("a"), FLOOR)
    assert not floor_nodes.is_usable(node("a", **spoiled), FLOOR)


def test_taints_of_the_profile_itself_do_not_count() -> None:
    tainted = WantedGroup(
        name="default-worker",
        instance_type="ml.c5.4xlarge",
        instance_count=1,
        taints=({"key": "team", "value": "a", "effect": "NoSchedule"},),
    )
    assert floor_nodes.is_usable(
        node("a", taints=[{"key": "team", "value": "a", "effect": "NoSchedule"}]), tainted
    )


def test_nodes_are_known_by_their_label_their_instance_or_else_all_count() -> None:
    cluster = Cluster(
        described={},
        nodes=[{"InstanceGroupName": "default-worker", "InstanceId": "i-1", "InstanceStatus": {}}],
    )
    one = WantedGroup(name="default-worker", instance_type="ml.c5.4xlarge", instance_count=1)
    missing = floor_nodes.missing_in_kubernetes
    assert missing(cluster, [one], [node("a", "default-worker")]) == []
    assert missing(cluster, [one], [node("hyperpod-i-1"), node("b", "gpu")]) == []
    assert missing(cluster, [one], [node("b", providerID="aws:///usw2-az1/x/cluster/y-i-1")]) == []
    assert missing(cluster, [one], [node("b", "gpu")]) != []
    assert missing(cluster, [one], [node("nobody-knows")]) == []


def test_an_endpoint_that_cannot_be_reached_is_a_warning_not_a_stop(api: KubernetesApi) -> None:
    client = SageMaker(group("default-worker"))
    session: Any = Session(sagemaker=client, eks=Eks(eks_cluster(api, endpoint="https://127.0.0.1:1")))
    outcome = instance_groups.ensure(session, request(), lambda _text: None)
    (warning,) = outcome.warnings
    assert "could not be looked at in Kubernetes" in warning


def test_a_cluster_in_creation_is_waited_for_and_a_conflict_tried_again(api: KubernetesApi) -> None:
    client = SageMaker(group("default-worker", 1))
    client.statuses = ["Creating", "Creating", "Updating"]
    client.conflicts = 2
    said: list[str] = []
    ensure(client, api, request(), said)
    assert len(client.updates) == 1
    assert [line for line in said if " is " in line] == [
        f"HyperPod cluster {ARN} is Creating",
        f"HyperPod cluster {ARN} is Updating",
    ]


def test_a_failed_cluster_says_why_at_once(api: KubernetesApi) -> None:
    client = SageMaker(group("default-worker", 1))
    client.status = "Failed"
    client.more = {"FailureMessage": "execution role permissions are invalid"}
    with pytest.raises(UserError, match="is Failed: execution role permissions are invalid"):
        ensure(client, api, request())
    assert client.updates == []


def test_a_floor_group_that_failed_says_why_at_once(api: KubernetesApi) -> None:
    client = SageMaker(group("default-worker"))
    client.groups["default-worker"]["Status"] = "Failed"
    client.say("the lifecycle script could not be read", "default-worker")
    with pytest.raises(UserError, match="default-worker failed: the lifecycle script could not be read"):
        ensure(client, api, request())


def test_rule_13_refused_while_deep_health_checks_run(api: KubernetesApi) -> None:
    client = SageMaker(group("default-worker"), group("gpu", 2, "ml.g5.8xlarge"))
    client.node_status["gpu"] = "DeepHealthCheckInProgress"
    with pytest.raises(UserError, match=r"deep health checks run \(gpu\)"):
        ensure(client, api, request(FLOOR, GPU))
    assert client.updates == []
    client.groups["gpu"]["TargetCount"] = 1
    assert ensure(client, api, request(FLOOR, GPU)).statuses["gpu"].state == "starting"


def test_events_before_the_call_are_not_its_causes(api: KubernetesApi) -> None:
    client = SageMaker(group("default-worker", 1))
    client.say("long ago", "default-worker")
    client.short["default-worker"] = 1
    with pytest.raises(UserError, match="events give no reason") as failure:
        ensure(client, api, request(floor_seconds=60))
    assert "long ago" not in str(failure.value)


def test_what_cannot_be_is_refused_before_any_call(api: KubernetesApi) -> None:
    client = SageMaker(group("default-worker"))
    nowhere = WantedGroup(name="gpu", instance_type="ml.g5.8xlarge", instance_count=1, zone="usw2-az4")
    with pytest.raises(UserError, match="wants usw2-az4") as failure:
        ensure(client, api, request(FLOOR, nowhere))
    assert failure.value.remedy
    assert client.updates == []


def test_a_look_finds_a_group_that_is_gone_and_a_count_that_was_changed(api: KubernetesApi) -> None:
    session: Any = Session(sagemaker=SageMaker(group("default-worker", 3)))
    found = instance_groups.look(session, request(FLOOR, GPU))
    assert found is not None
    assert found.drift == ("default-worker: InstanceCount 3 → 2", "gpu: to be made, 1 × ml.g5.8xlarge")
    absent = SageMaker()
    absent.absent = True
    gone: Any = Session(sagemaker=absent)
    assert instance_groups.look(gone, request()) is None
    with pytest.raises(UserError, match="no HyperPod cluster"):
        instance_groups.ensure(gone, request(), lambda _text: None)
