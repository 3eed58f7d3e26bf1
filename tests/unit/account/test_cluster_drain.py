"""Emptying a cluster: what goes, what is waited for, what is named, and when it is left alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import dill
import pytest
from moto import mock_aws

from mlcc_infra.account import cluster_drain
from mlcc_infra.account.cluster_leftovers import CONTROLLER_TAG, leftovers
from mlcc_infra.components import cluster_drain as component
from mlcc_infra.components.cluster_drain import ClusterDrainProvider
from mlcc_infra.errors import UserError
from mlcc_rehearsal.kubernetes_api import KubernetesApi
from tests.unit.account.conftest import SPEED
from tests.unit.account.hyperpod_fakes import Eks, Session, eks_cluster, node

ISSUER = "https://oidc.eks.us-west-2.amazonaws.com/id/ONE"
GROUP = cluster_drain.INFERENCE_GROUP
INGRESS_FINALIZER = "ingress.k8s.aws/resources"
KINDS = {
    "InferenceEndpointConfig": ("inferenceendpointconfigs", ("v1", "v1alpha1")),
    "JumpStartModel": ("jumpstartmodels", ("v1", "v1alpha1")),
    "SageMakerEndpointRegistration": ("sagemakerendpointregistrations", ("v1", "v1alpha1")),
    "InferenceGatewayConfig": ("inferencegatewayconfigs", ("v1alpha1",)),
}


def definition(kind: str) -> dict[str, Any]:
    plural, versions = KINDS[kind]
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [
                {
                    "name": name,
                    "served": True,
                    "storage": name == versions[0],
                    "schema": {"openAPIV3Schema": schema},
                }
                for name in versions
            ],
        },
    }


class World:
    """A cluster with its account, and a controller that lets go of what it guards."""

    def __init__(self, api: KubernetesApi) -> None:
        self.api, self.objects = api, api.objects
        self.objects.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
        self.objects.put(node("n"))
        clients: dict[str, Any] = {
            name: boto3.client(name, region_name="us-west-2") for name in ("ec2", "elb", "elbv2")
        }
        self.ec2, self.elb, self.elbv2 = clients["ec2"], clients["elb"], clients["elbv2"]
        self.vpc = self.ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        made = self.ec2.create_subnet(VpcId=self.vpc, CidrBlock="10.0.1.0/24")
        self.subnet = made["Subnet"]["SubnetId"]
        self.eks = Eks(eks_cluster(api, identity={"oidc": {"issuer": ISSUER}}))
        self.session: Any = Session(eks=self.eks, **clients)
        self.said: list[str] = []
        self.gone: list[str] = []
        self._stop = threading.Event()

    def put(self, api_version: str, kind: str, name: str, *finalizers: str, **more: Any) -> dict[str, Any]:
        metadata: dict[str, Any] = {"name": name, "namespace": "team", **more.pop("metadata", {})}
        if finalizers:
            metadata["finalizers"] = list(finalizers)
        return self.objects.put({"apiVersion": api_version, "kind": kind, "metadata": metadata, **more})

    def model(
        self, name: str = "llama", kind: str = "InferenceEndpointConfig", *finalizers: str
    ) -> dict[str, Any]:
        self.objects.put(definition(kind))
        version = KINDS[kind][1][0]
        return self.put(f"{GROUP}/{version}", kind, name, *finalizers, spec={})

    def ingress(self, name: str = "web", *finalizers: str) -> dict[str, Any]:
        return self.put("networking.k8s.io/v1", "Ingress", name, *finalizers, spec={"rules": []})

    def service(self, name: str = "api", kind: str = "LoadBalancer", *finalizers: str) -> dict[str, Any]:
        spec = {"type": kind, "ports": [{"port": 80}], "selector": {"a": "b"}}
        return self.put("v1", "Service", name, *finalizers, spec=spec)

    def load_balancer(self, name: str = "k8s-team-web", cluster: str = "demo") -> str:
        made = self.elbv2.create_load_balancer(
            Name=name, Subnets=[self.subnet], Type="network", Tags=[{"Key": CONTROLLER_TAG, "Value": cluster}]
        )
        arn: str = made["LoadBalancers"][0]["LoadBalancerArn"]
        return arn

    def security_group(self, name: str = "k8s-traffic-demo", tagged: bool = True) -> str:
        made: str = self.ec2.create_security_group(GroupName=name, Description=name, VpcId=self.vpc)[
            "GroupId"
        ]
        if tagged:
            self.ec2.create_tags(Resources=[made], Tags=[{"Key": CONTROLLER_TAG, "Value": "demo"}])
        return made

    def controller(self, kinds: dict[str, str], after: Callable[[str], None] = lambda _kind: None) -> None:
        """Let go of deleted objects of these kinds (kind to API version) two modelled minutes later, and not
        before somebody has said what holds one."""

        def held_is_said() -> bool:
            return any("is held by finalizer" in line for line in self.said)

        def run() -> None:
            while not self._stop.is_set():
                for kind, version in kinds.items():
                    for obj in self.objects.list(version, kind):
                        if obj["metadata"].get("deletionTimestamp") and obj["metadata"].get("finalizers"):
                            time.sleep(120 / SPEED)
                            while not held_is_said() and not self._stop.is_set():
                                time.sleep(0.01)
                            after(kind)
                            self.gone.append(kind)
                            obj["metadata"]["finalizers"] = []
                            self.objects.put(obj)
                time.sleep(0.01)

        threading.Thread(target=run, daemon=True).start()

    def drain(self, identity: str | None = ISSUER, limit: float = cluster_drain.LIMIT_SECONDS) -> None:
        cluster_drain.drain(self.session, "demo", identity, self.said.append, limit)

    def close(self) -> None:
        self._stop.set()


@pytest.fixture
def world(kubernetes_api: KubernetesApi, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "made-up")
    with mock_aws():
        made = World(kubernetes_api)
        yield made
        made.close()


NETWORKING = "networking.k8s.io/v1"


def test_an_empty_cluster_is_done_at_once(world: World) -> None:
    world.drain()
    assert world.said == []


def test_a_model_an_ingress_and_a_load_balancer_service_leave_nothing_that_blocks(world: World) -> None:
    world.model("llama", "InferenceEndpointConfig", "inference/finalizer")
    world.ingress("web", INGRESS_FINALIZER)
    world.service("api", "LoadBalancer", "service.k8s.aws/resources")
    world.service("internal", "ClusterIP")
    balancer, group = world.load_balancer(), world.security_group()

    def clean(kind: str) -> None:
        if kind == "Ingress":
            world.elbv2.delete_load_balancer(LoadBalancerArn=balancer)
            world.ec2.delete_security_group(GroupId=group)

    world.controller(
        {"Ingress": NETWORKING, "Service": "v1", "InferenceEndpointConfig": f"{GROUP}/v1"}, clean
    )
    world.drain()
    assert world.gone[0] == "InferenceEndpointConfig", "models go before what was made for them"
    assert set(world.gone) == {"InferenceEndpointConfig", "Ingress", "Service"}
    assert world.objects.list(NETWORKING, "Ingress") == []
    assert [item["metadata"]["name"] for item in world.objects.list("v1", "Service", "team")] == ["internal"]
    assert world.said[0] == "Removing InferenceEndpointConfig team/llama"
    assert any("is held by finalizer" in line for line in world.said)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_of_the_operator_goes_in_whatever_version_it_is_served(world: World, kind: str) -> None:
    world.model("one", kind)
    world.drain()
    assert world.objects.list(f"{GROUP}/{KINDS[kind][1][0]}", kind) == []


def test_pods_of_a_model_are_waited_for(world: World) -> None:
    owner = world.model()
    reference = {"apiVersion": f"{GROUP}/v1", "kind": owner["kind"], "name": "llama"}
    metadata = {"ownerReferences": [{**reference, "uid": owner["metadata"]["uid"]}]}
    container = {"name": "main", "image": "vllm:1"}
    template = {"metadata": {"labels": {"app": "llama"}}, "spec": {"containers": [container]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "llama"}}, "template": template}
    world.put("apps/v1", "Deployment", "llama", metadata=metadata, spec=spec)
    deadline = time.monotonic() + 5
    while not world.objects.list("v1", "Pod", "team"):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    (pod,) = world.objects.list("v1", "Pod", "team")
    pod["metadata"]["finalizers"] = ["a/b"]
    world.objects.put(pod)
    with pytest.raises(UserError, match=f"pod team/{pod['metadata']['name']} still runs"):
        world.drain(limit=240)
    pod["metadata"]["finalizers"] = []
    world.objects.put({**pod, "metadata": {**pod["metadata"], "finalizers": []}})
    world.drain()


def test_what_blocks_is_named_and_no_finalizer_is_taken_away(world: World) -> None:
    world.model("llama", "InferenceEndpointConfig", "inference/finalizer")
    world.ingress("web", INGRESS_FINALIZER)
    balancer, group = world.load_balancer(), world.security_group()
    nodes = world.security_group("nodes", tagged=False)
    pair = {"GroupId": group}
    permission = {"IpProtocol": "tcp", "FromPort": 1, "ToPort": 2, "UserIdGroupPairs": [pair]}
    world.ec2.authorize_security_group_ingress(GroupId=nodes, IpPermissions=[permission])
    world.load_balancer("k8s-other", cluster="another")
    with pytest.raises(UserError) as failure:
        world.drain(limit=240)
    lines = failure.value.message.splitlines()
    assert lines[0] == "The cluster demo could not be emptied within 4 minutes:"
    assert set(lines[1:]) == {
        "  - InferenceEndpointConfig team/llama is held by finalizer inference/finalizer",
        f"  - Ingress team/web is held by finalizer {INGRESS_FINALIZER}",
        f"  - load balancer {balancer}",
        f"  - security group {group} (k8s-traffic-demo), which rules of {nodes} (nodes) refer to",
    }
    assert "Finalizers are never removed" in failure.value.remedy
    (ingress,) = world.objects.list(NETWORKING, "Ingress")
    assert ingress["metadata"]["finalizers"] == [INGRESS_FINALIZER]


def test_classic_load_balancers_of_the_cluster_are_found_too(world: World) -> None:
    world.elb.create_load_balancer(
        LoadBalancerName="classic",
        Listeners=[{"Protocol": "tcp", "LoadBalancerPort": 1, "InstancePort": 1}],
        AvailabilityZones=["us-west-2a"],
        Tags=[{"Key": "kubernetes.io/cluster/demo", "Value": "owned"}],
    )
    assert leftovers(world.session, "demo").load_balancers == ("classic load balancer classic",)
    assert leftovers(world.session, "another").lines == ()


def test_what_may_not_be_looked_for_is_said_and_blocks_nothing(world: World) -> None:
    class Denied:
        def get_paginator(self, operation: str) -> Any:
            from botocore.exceptions import ClientError

            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "not you"}}, operation)

    world.session.clients["elb"] = Denied()
    world.drain()
    assert world.said == ["classic load balancers could not be looked for: not you"]


def test_a_cluster_that_is_really_gone_is_fine(world: World) -> None:
    world.eks.cluster = None
    world.drain()
    assert world.said == []


@pytest.mark.parametrize("status", ["DELETING", "FAILED", "CREATING"])
def test_a_cluster_in_a_state_that_nobody_can_ask_is_left_alone(world: World, status: str) -> None:
    world.ingress()
    world.eks.cluster = {**world.eks.cluster, "status": status}  # pyright: ignore[reportGeneralTypeIssues]
    world.drain()
    assert world.objects.list(NETWORKING, "Ingress") != []


def test_a_cluster_made_anew_under_the_same_name_is_not_emptied(world: World) -> None:
    world.ingress()
    world.drain(identity="https://oidc/older")
    assert world.objects.list(NETWORKING, "Ingress") != []
    assert "was made anew" in world.said[0]


def test_one_that_is_active_but_cannot_be_reached_fails_with_what_to_run(world: World) -> None:
    world.eks.cluster = {**world.eks.cluster, "endpoint": "https://127.0.0.1:1"}  # pyright: ignore[reportGeneralTypeIssues]
    with pytest.raises(UserError, match="is ACTIVE, but what is in it cannot be removed") as failure:
        world.drain()
    assert "could not be reached" in failure.value.message
    assert "aws eks update-kubeconfig --name demo --region us-west-2" in failure.value.remedy
    assert "pulumi state delete" in failure.value.remedy


def test_one_that_does_not_know_the_caller_fails_with_its_words(world: World) -> None:
    world.session = Session("AKIASTRANGER0000", eks=world.eks)
    with pytest.raises(UserError, match="the cluster answered 401"):
        world.drain()


# The provider


def props(**more: Any) -> dict[str, Any]:
    return {
        "cluster_name": "demo",
        "cluster_identity": ISSUER,
        "account": "123456789012",
        "region": "us-west-2",
        "aws_profile": None,
        "limit_minutes": 20.0,
        **more,
    }


def test_it_does_nothing_until_it_is_destroyed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(component, "guarded_session", lambda _props: world.session)
    world.ingress()
    provider = ClusterDrainProvider()
    made = provider.create(props())
    assert (made.id, made.outs) == ("demo/drain", props())
    assert provider.update("id", props(), props(limit_minutes=5.0)).outs == props(limit_minutes=5.0)
    assert provider.read("id", props()).outs == props()
    assert world.objects.list(NETWORKING, "Ingress") != []
    provider.delete("id", props())
    assert world.objects.list(NETWORKING, "Ingress") == []
    world.eks.cluster = None
    assert provider.read("id", props()).id == ""


def test_the_providers_class_is_stored_by_reference() -> None:
    assert b"mlcc_infra.components.cluster_drain" in dill.dumps(ClusterDrainProvider())


@pytest.mark.parametrize("key", ["cluster_name", "cluster_identity", "account", "region"])
def test_another_cluster_is_another_drain(key: str) -> None:
    found = ClusterDrainProvider().diff("id", props(), props(**{key: "other"}))
    assert found.replaces == [key]
    assert not ClusterDrainProvider().diff("id", props(), props()).changes
    assert ClusterDrainProvider().diff("id", props(), props(limit_minutes=1.0)).replaces == []
