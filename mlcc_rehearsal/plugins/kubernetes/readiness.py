"""When the provider takes an object for ready, and what it says when it does not become so.

Source: pulumi-kubernetes ``provider/pkg/await`` (commit 94977969d): deployment.go, pod.go, job.go,
service.go, statefulset.go, daemonset.go, awaiters.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlcc_rehearsal.kubernetes_api.selectors import selector_of
from mlcc_rehearsal.plugins.kubernetes.client import Cluster
from mlcc_rehearsal.plugins.kubernetes.states import Object

Verdict = list[str] | None
"""None: ready. Else what is missing, for the message of a timeout."""
Check = Callable[[Cluster, Object], Verdict]


class FailedError(Exception):
    """The object will not become ready any more."""


def check_of(obj: Mapping[str, Any]) -> Check | None:
    """The readiness check of an object's kind, or None when it is ready as soon as it exists."""
    return _CHECKS.get((str(obj.get("apiVersion")), str(obj.get("kind"))))


def _deployment(cluster: Cluster, obj: Object) -> Verdict:
    status, spec = obj.get("status") or {}, obj["spec"]
    conditions = {item["type"]: item for item in status.get("conditions") or []}
    progressing, available = conditions.get("Progressing", {}), conditions.get("Available", {})
    replicas = spec.get("replicas", 1)
    current = status.get("observedGeneration") == obj["metadata"].get("generation")
    rolled_out = progressing.get("reason") == "NewReplicaSetAvailable" and progressing.get("status") == "True"
    updated = status.get("updatedReplicas", 0) >= replicas and status.get("readyReplicas", 0) >= replicas
    if current and available.get("status") == "True" and rolled_out and updated:
        return None
    messages = [
        f"[{item['reason']}] {item.get('message', '')}"
        for item in (progressing, available)
        if item and item.get("status") != "True"
    ]
    if available.get("status") != "True":
        messages.append("Minimum number of live Pods was not attained")
    elif not rolled_out:
        messages.append("Minimum number of Pods to consider the application live was not attained")
    else:
        messages.append(
            "Attempted to roll forward to new ReplicaSet, but minimum number of Pods did not become live"
        )
    return messages + _pod_messages(cluster, obj)


def _stateful_set(cluster: Cluster, obj: Object) -> Verdict:
    status, replicas = obj.get("status") or {}, obj["spec"].get("replicas", 1)
    current = status.get("observedGeneration") == obj["metadata"].get("generation")
    if (
        current
        and status.get("readyReplicas", 0) >= replicas
        and status.get("updatedReplicas", 0) >= replicas
    ):
        return None
    ready = status.get("readyReplicas", 0)
    return [f"{ready} out of {replicas} replicas succeeded readiness checks", *_pod_messages(cluster, obj)]


def _daemon_set(cluster: Cluster, obj: Object) -> Verdict:
    status = obj.get("status") or {}
    wanted = status.get("desiredNumberScheduled", 0)
    current = status.get("observedGeneration") == obj["metadata"].get("generation")
    if (
        current
        and status.get("updatedNumberScheduled", 0) >= wanted
        and status.get("numberAvailable", 0) >= wanted
    ):
        return None
    return [f"{status.get('numberAvailable', 0)}/{wanted} pods available", *_pod_messages(cluster, obj)]


def _pod(cluster: Cluster, obj: Object) -> Verdict:
    status = obj.get("status") or {}
    if status.get("phase") == "Succeeded":
        return None
    if status.get("phase") == "Failed":
        raise FailedError(f"Pod {obj['metadata']['name']} failed: {status.get('reason', '')}")
    conditions = {item["type"]: item for item in status.get("conditions") or []}
    if conditions.get("Ready", {}).get("status") == "True":
        return None
    return pod_reasons(obj) or ["containers are not ready"]


def _job(cluster: Cluster, obj: Object) -> Verdict:
    for condition in (obj.get("status") or {}).get("conditions") or []:
        if condition["status"] != "True":
            continue
        if condition["type"] == "Complete":
            return None
        if condition["type"] == "Failed":
            raise FailedError(f"[{condition.get('reason', '')}] {condition.get('message', '')}")
    return _pod_messages(cluster, obj) or ["job has not completed"]


def _service(cluster: Cluster, obj: Object) -> Verdict:
    spec, metadata = obj["spec"], obj["metadata"]
    messages = []
    headless = spec.get("clusterIP") == "None"
    if spec.get("selector") and spec.get("type") != "ExternalName" and not headless:
        endpoints = cluster.get("v1", "Endpoints", metadata["namespace"], metadata["name"]) or {}
        if not any(subset.get("addresses") for subset in endpoints.get("subsets") or []):
            messages.append(
                "Service does not target any Pods. Selected Pods may not be ready, or field '.spec.selector' "
                "may not match labels on any Pods"
            )
    if spec.get("type") == "LoadBalancer" and not ((obj.get("status") or {}).get("loadBalancer") or {}).get(
        "ingress"
    ):
        messages.append("Service was not allocated an IP address; does your cloud provider support this?")
    return messages or None


def _ingress(cluster: Cluster, obj: Object) -> Verdict:
    if ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress"):
        return None
    return ["Ingress .status.loadBalancer field was not updated with a hostname/IP address."]


def _claim(cluster: Cluster, obj: Object) -> Verdict:
    phase = (obj.get("status") or {}).get("phase", "Pending")
    if phase == "Bound":
        return None
    name = obj["spec"].get("storageClassName")
    found = cluster.get("storage.k8s.io/v1", "StorageClass", "", name) if name else None
    if found is not None and found.get("volumeBindingMode") == "WaitForFirstConsumer":
        return None
    return [
        f"PersistentVolumeClaim: [{obj['metadata']['name']}] is not ready. status.phase currently at: {phase}"
    ]


def _namespace(cluster: Cluster, obj: Object) -> Verdict:
    phase = (obj.get("status") or {}).get("phase")
    return None if phase == "Active" else [f"Namespace is {phase}"]


def _definition(cluster: Cluster, obj: Object) -> Verdict:
    for condition in (obj.get("status") or {}).get("conditions") or []:
        if condition["type"] == "Established" and condition["status"] == "True":
            return None
    return ["CustomResourceDefinition is not established"]


_CHECKS: dict[tuple[str, str], Check] = {
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): _definition,
    ("apps/v1", "DaemonSet"): _daemon_set,
    ("apps/v1", "Deployment"): _deployment,
    ("apps/v1", "StatefulSet"): _stateful_set,
    ("batch/v1", "Job"): _job,
    ("networking.k8s.io/v1", "Ingress"): _ingress,
    ("v1", "Namespace"): _namespace,
    ("v1", "PersistentVolumeClaim"): _claim,
    ("v1", "Pod"): _pod,
    ("v1", "Service"): _service,
}


def pod_reasons(pod: Mapping[str, Any]) -> list[str]:
    """Why a pod is not ready, as the provider words it."""
    status, metadata = pod.get("status") or {}, pod["metadata"]
    where = f"[Pod {metadata.get('namespace', 'default')}/{metadata['name']}]: "
    messages = []
    for condition in status.get("conditions") or []:
        telling = condition["type"] in ("PodScheduled", "Ready") and condition.get("message")
        if telling and condition["status"] == "False":
            messages.append(f"{where}{condition['message']}")
    for container in status.get("containerStatuses") or []:
        waiting = (container.get("state") or {}).get("waiting")
        if waiting and waiting.get("reason") not in (None, "ContainerCreating"):
            detail = waiting.get("message") or waiting["reason"]
            messages.append(f"{where}[{waiting['reason']}] {detail}")
    return messages


def _pod_messages(cluster: Cluster, owner: Object) -> list[str]:
    selector = selector_of(owner["spec"].get("selector"))
    if not selector:
        return []
    pods = cluster.list("v1", "Pod", owner["metadata"]["namespace"], selector)
    return sorted({message for pod in pods for message in pod_reasons(pod)})
