"""Workloads get pods where nodes have room, and report as a real cluster would."""

from typing import Any

from mlcc_rehearsal.kubernetes_api import KubernetesApi
from mlcc_rehearsal.kubernetes_api.podlife import FAULT_ANNOTATION
from tests.unit.kubernetes_api.support import Client, deployment, eventually, node

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def conditions(obj: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {
        item["type"]: (item["status"], item.get("reason", "")) for item in obj["status"].get("conditions", [])
    }


def test_a_deployment_becomes_available_when_its_pods_are_ready(api: KubernetesApi, admin: Client) -> None:
    api.objects.put(node("one"))
    admin.ok("POST", DEPLOYMENTS, deployment("web", 3))

    def done() -> Any:
        live = admin.ok("GET", f"{DEPLOYMENTS}/web")
        return live if live.get("status", {}).get("readyReplicas") == 3 else None

    live = eventually(done)
    assert conditions(live) == {
        "Available": ("True", "MinimumReplicasAvailable"),
        "Progressing": ("True", "NewReplicaSetAvailable"),
    }
    pods = api.objects.list("v1", "Pod", "default", "app=web")
    assert {pod["spec"]["nodeName"] for pod in pods} == {"one"}
    assert {pod["status"]["phase"] for pod in pods} == {"Running"}
    (replica_set,) = api.objects.list("apps/v1", "ReplicaSet", "default")
    assert replica_set["metadata"]["ownerReferences"][0]["name"] == "web"


def test_pods_wait_for_room_and_say_what_is_missing(api: KubernetesApi, admin: Client) -> None:
    api.objects.put(node("small", pods=2))
    api.objects.put(
        node("tainted", taints=[{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}])
    )
    api.objects.put(node("down", ready=False))
    admin.ok("POST", DEPLOYMENTS, deployment("web", 3))

    def waiting() -> Any:
        pods = [pod for pod in api.objects.list("v1", "Pod") if not pod["spec"].get("nodeName")]
        return pods if len(pods) == 1 and conditions(pods[0]) else None

    (pod,) = eventually(waiting)
    found = pod["status"]["conditions"]
    message = next(item["message"] for item in found if item["type"] == "PodScheduled")
    assert message.startswith(
        "0/3 nodes are available: 1 Too many pods, 1 node(s) had untolerated taint "
        "{node.kubernetes.io/not-ready: }, 1 node(s) had untolerated taint {nvidia.com/gpu: true}. "
        "preemption:"
    )
    api.objects.put(node("more"))
    eventually(lambda: all(pod["spec"].get("nodeName") for pod in api.objects.list("v1", "Pod")))


def test_pods_of_a_node_that_is_gone_come_back_elsewhere(api: KubernetesApi, admin: Client) -> None:
    api.objects.put(node("one"))
    admin.ok("POST", DEPLOYMENTS, deployment("web", 2))
    eventually(lambda: admin.ok("GET", f"{DEPLOYMENTS}/web").get("status", {}).get("readyReplicas") == 2)
    api.objects.delete("v1", "Node", None, "one")
    eventually(lambda: "readyReplicas" not in admin.ok("GET", f"{DEPLOYMENTS}/web")["status"])
    api.objects.put(node("two"))
    eventually(lambda: admin.ok("GET", f"{DEPLOYMENTS}/web").get("status", {}).get("readyReplicas") == 2)


def test_a_daemon_set_has_a_pod_on_every_node_it_tolerates(api: KubernetesApi, admin: Client) -> None:
    for name in ("one", "two"):
        api.objects.put(node(name))
    api.objects.put(node("gpu", taints=[{"key": "gpu", "effect": "NoSchedule"}]))
    wanted = deployment("agent", 0)
    wanted["kind"] = "DaemonSet"
    del wanted["spec"]["replicas"]
    path = "/apis/apps/v1/namespaces/default/daemonsets"
    admin.ok("POST", path, wanted)
    eventually(lambda: admin.ok("GET", f"{path}/agent").get("status", {}).get("numberReady") == 2)
    tolerant = {"spec": {"template": {"spec": {"tolerations": [{"operator": "Exists"}]}}}}
    admin.ok("PATCH", f"{path}/agent", tolerant, "application/merge-patch+json")
    eventually(lambda: admin.ok("GET", f"{path}/agent")["status"].get("numberReady") == 3)


def test_stateful_sets_and_jobs_run(api: KubernetesApi, admin: Client) -> None:
    api.objects.put(node("one"))
    stateful = deployment("db", 2)
    stateful["kind"] = "StatefulSet"
    stateful["spec"]["serviceName"] = "db"
    admin.ok("POST", "/apis/apps/v1/namespaces/default/statefulsets", stateful)
    eventually(lambda: {"db-0", "db-1"} <= {pod["metadata"]["name"] for pod in api.objects.list("v1", "Pod")})
    job = {
        "metadata": {"name": "once"},
        "spec": {
            "template": {
                "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox:1"}]}
            }
        },
    }
    admin.ok("POST", "/apis/batch/v1/namespaces/default/jobs", job)
    path = "/apis/batch/v1/namespaces/default/jobs/once"
    eventually(lambda: conditions({"status": {}, **admin.ok("GET", path)}).get("Complete"))
    assert admin.ok("GET", path)["status"]["succeeded"] == 1


def test_services_find_their_ready_pods(api: KubernetesApi, admin: Client) -> None:
    api.objects.put(node("one"))
    admin.ok("POST", DEPLOYMENTS, deployment("web", 2))
    service = {"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}
    made = admin.ok("POST", "/api/v1/namespaces/default/services", service)
    assert made["spec"]["clusterIP"].startswith("172.20.")

    def addresses() -> bool:
        found = api.objects.get("v1", "Endpoints", "default", "web") or {}
        return any(len(subset.get("addresses", [])) == 2 for subset in found.get("subsets", []))

    eventually(addresses)
    (endpoints,) = api.objects.list("discovery.k8s.io/v1", "EndpointSlice", "default")
    assert endpoints["metadata"]["labels"]["kubernetes.io/service-name"] == "web"


def test_a_webhook_without_pods_refuses_what_it_watches(api: KubernetesApi, admin: Client) -> None:
    system = "/api/v1/namespaces/kube-system/services"
    admin.ok(
        "POST",
        system,
        {"metadata": {"name": "hook"}, "spec": {"selector": {"a": "b"}, "ports": [{"port": 443}]}},
    )
    webhook = {
        "name": "mservice.elbv2.k8s.aws",
        "clientConfig": {
            "service": {"name": "hook", "namespace": "kube-system", "path": "/mutate-v1-service"}
        },
        "rules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["services"]}
        ],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    admin.ok("POST", path, {"metadata": {"name": "hook"}, "webhooks": [webhook]})
    service = {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}
    refused = admin.call("POST", "/api/v1/namespaces/default/services", service)
    assert refused.code == 500
    assert refused.body["message"] == (
        'Internal error occurred: failed calling webhook "mservice.elbv2.k8s.aws": failed to call webhook: '
        'Post "https://hook.kube-system.svc:443/mutate-v1-service?timeout=10s": no endpoints available for '
        'service "hook"'
    )


def test_logs_follow_what_is_written(api: KubernetesApi, admin: Client) -> None:
    path = "/api/v1/namespaces/default/pods"
    spec = {"containers": [{"name": "main", "image": "busybox:1"}]}
    admin.ok("POST", path, {"metadata": {"name": "talker"}, "spec": spec})
    fault = {FAULT_ANNOTATION: "ImagePullBackOff"}
    admin.ok("POST", path, {"metadata": {"name": "stuck", "annotations": fault}, "spec": spec})
    early = admin.call("GET", f"{path}/talker/log")
    assert (early.code, early.body["message"]) == (400, "pod talker does not have a host assigned")
    api.objects.put(node("one"))
    waiting = 'container "main" in pod "stuck" is waiting to start: ImagePullBackOff'
    eventually(lambda: admin.call("GET", f"{path}/stuck/log").body["message"] == waiting)
    eventually(lambda: admin.ok("GET", f"{path}/talker")["status"]["phase"] == "Running")
    api.objects.set_log("default", "talker", "main", "one\ntwo\n")
    assert admin.call("GET", f"{path}/talker/log?tailLines=1").body == "two\n"
    with admin.open("GET", f"{path}/talker/log?follow=true") as stream:
        assert stream.readline() == b"one\n"
        api.objects.set_log("default", "talker", "main", "one\ntwo\nthree\n")
        assert [stream.readline(), stream.readline()] == [b"two\n", b"three\n"]


def test_scale_changes_the_replicas(api: KubernetesApi, admin: Client) -> None:
    admin.ok("POST", DEPLOYMENTS, deployment("web", 0))
    scale = admin.ok("GET", f"{DEPLOYMENTS}/web/scale")
    assert (scale["kind"], scale["apiVersion"], scale["spec"]) == ("Scale", "autoscaling/v1", {"replicas": 0})
    scale["spec"]["replicas"] = 4
    admin.ok("PUT", f"{DEPLOYMENTS}/web/scale", scale)
    assert admin.ok("GET", f"{DEPLOYMENTS}/web")["spec"]["replicas"] == 4
