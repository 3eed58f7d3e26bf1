"""What HyperPod and the template leave in the cluster's Kubernetes API."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest
from moto.eks.models import eks_backends

from mlcc_rehearsal.cloud import Cloud, CloudOptions
from tests.unit.rehearsal_cloud.conftest import _ACCOUNTS, Desk
from tests.unit.rehearsal_cloud.hyperpod_desk import CLUSTER, STACK, HyperPodDesk, worker


@pytest.fixture
def hp() -> Iterator[HyperPodDesk]:
    options = CloudOptions(account_id=str(next(_ACCOUNTS)), speed=1.0)
    with Cloud.start(options) as cloud:
        yield HyperPodDesk(Desk(cloud)).prepare()


def kubernetes(hp: HyperPodDesk) -> Any:
    """The objects of the stack's cluster."""
    cluster: Any = eks_backends[hp.desk.cloud.account.account_id]["us-west-2"]
    return cluster.clusters[f"{STACK}-eks"].kubernetes._api.objects


def test_nodes_come_with_their_labels_and_go(hp: HyperPodDesk) -> None:
    groups = [
        worker(1),
        {
            "InstanceGroupName": "arm",
            "InstanceType": "ml.c6g.xlarge",
            "InstanceCount": 1,
            "KubernetesConfig": {
                "Labels": {"team": "a"},
                "Taints": [{"Key": "only", "Value": "arm", "Effect": "NoSchedule"}],
            },
        },
    ]
    hp.create(parameters={"InstanceGroupSettings1": json.dumps(groups)})
    hp.desk.pass_time(600)
    nodes = {
        node["metadata"]["labels"]["sagemaker.amazonaws.com/instance-group-name"]: node
        for node in kubernetes(hp).list("v1", "Node")
    }
    floor, arm = nodes["default-worker"], nodes["arm"]
    assert floor["metadata"]["name"].startswith("hyperpod-i-")
    labels = floor["metadata"]["labels"]
    assert labels["sagemaker.amazonaws.com/node-health-status"] == "Schedulable"
    assert labels["node.kubernetes.io/instance-type"] == "ml.c5.4xlarge"
    assert (labels["kubernetes.io/arch"], arm["metadata"]["labels"]["kubernetes.io/arch"]) == (
        "amd64",
        "arm64",
    )
    assert floor["status"]["capacity"]["pods"] == "29"
    assert arm["metadata"]["labels"]["team"] == "a"
    assert arm["spec"]["taints"] == [{"key": "only", "value": "arm", "effect": "NoSchedule"}]
    addon = hp.desk.eks.describe_addon(clusterName=f"{STACK}-eks", addonName="coredns")["addon"]
    assert addon["status"] == "ACTIVE"
    group = hp.group("arm")
    hp.sagemaker.update_cluster(ClusterName=CLUSTER, InstanceGroupsToDelete=[group["InstanceGroupName"]])
    hp.desk.pass_time(300)
    assert [node["metadata"]["name"] for node in kubernetes(hp).list("v1", "Node")] == [
        floor["metadata"]["name"]
    ]


def test_the_base_chart_is_a_release_of_helm(hp: HyperPodDesk) -> None:
    hp.create()
    secret = kubernetes(hp).get("v1", "Secret", "kube-system", "sh.helm.release.v1.dependencies.v1")
    assert secret["metadata"]["labels"]["owner"] == "helm"
    packed = base64.b64decode(base64.b64decode(secret["data"]["release"]))
    release = json.loads(gzip.decompress(packed))
    assert (release["name"], release["info"]["status"]) == ("dependencies", "deployed")
    assert release["config"]["health-monitoring-agent"]["enabled"] is True
