"""Deployments, ReplicaSets, DaemonSets, StatefulSets and Jobs: the pods they want and what they report.

A Deployment's new ReplicaSet replaces the old one's pods at once: surge and unavailability of a rolling
update are not modelled.
"""

from __future__ import annotations

import json

from mlcc_rehearsal.kubernetes_api.catalogue import Resource
from mlcc_rehearsal.kubernetes_api.json_copy import copied
from mlcc_rehearsal.kubernetes_api.lifecycle import Lifecycle, WriteOptions
from mlcc_rehearsal.kubernetes_api.naming import stable_hash
from mlcc_rehearsal.kubernetes_api.podlife import FAULT_ANNOTATION
from mlcc_rehearsal.kubernetes_api.reports import REPORTS
from mlcc_rehearsal.kubernetes_api.scheduling import obstacle
from mlcc_rehearsal.kubernetes_api.selectors import label_matcher, selector_of
from mlcc_rehearsal.kubernetes_api.status import ApiError, Object

_MANAGER = "kube-controller-manager"
_HASH = "pod-template-hash"
_DAEMON_TOLERATIONS = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect}
    for key, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
]


class Workloads:
    """Makes and removes pods, and writes the status of what owns them."""

    def __init__(self, lifecycle: Lifecycle) -> None:
        self._lifecycle = lifecycle
        self._store = lifecycle.store

    def reconcile(self) -> None:
        """One look: the pods there should be."""
        for deployment in self._living("apps", "deployments"):
            self._deployment(deployment)
        for replica_set in self._living("apps", "replicasets"):
            self._replica_set(replica_set)
        for daemon_set in self._living("apps", "daemonsets"):
            self._daemon_set(daemon_set)
        for stateful_set in self._living("apps", "statefulsets"):
            self._stateful_set(stateful_set)
        for job in self._living("batch", "jobs"):
            self._job(job)

    def report(self) -> None:
        """Write the status of every workload from its pods."""
        for (group, plural), report in REPORTS.items():
            for stored in self._store.scan(group, plural):
                pods = self._selected(stored)
                wanted = report(stored, pods, self._store, self._lifecycle.timestamp())
                if stored.get("status") != wanted:
                    self._store.write(group, plural, {**copied(stored), "status": wanted})

    def _deployment(self, deployment: Object) -> None:
        metadata, spec = deployment["metadata"], deployment["spec"]
        template = copied(spec["template"])
        digest = stable_hash(json.dumps(template, sort_keys=True))
        name = f"{metadata['name']}-{digest}"
        owned = self._owned("apps", "replicasets", deployment)
        for other in owned:
            if other["metadata"]["name"] != name and other["spec"].get("replicas"):
                changed = copied(other)
                changed["spec"]["replicas"] = 0
                changed["metadata"]["generation"] = changed["metadata"].get("generation", 1) + 1
                self._store.write("apps", "replicasets", changed)
        current = next((item for item in owned if item["metadata"]["name"] == name), None)
        replicas = 0 if spec.get("paused") and current is None else spec.get("replicas", 1)
        if current is not None:
            if current["spec"].get("replicas") != replicas:
                changed = copied(current)
                changed["spec"]["replicas"] = replicas
                changed["metadata"]["generation"] = changed["metadata"].get("generation", 1) + 1
                self._store.write("apps", "replicasets", changed)
            return
        labels = {**(template.get("metadata", {}).get("labels") or {}), _HASH: digest}
        template.setdefault("metadata", {})["labels"] = labels
        selector = copied(spec["selector"])
        selector.setdefault("matchLabels", {})[_HASH] = digest
        self._create(
            "apps",
            "replicasets",
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "metadata": {
                    "name": name,
                    "namespace": metadata["namespace"],
                    "labels": labels,
                    "annotations": {"deployment.kubernetes.io/revision": str(len(owned) + 1)},
                    "ownerReferences": [_owner(deployment)],
                },
                "spec": {"replicas": replicas, "selector": selector, "template": template},
            },
        )
        live = self._store.read("apps", "deployments", metadata["namespace"], metadata["name"])
        if live is not None:
            revision = {"deployment.kubernetes.io/revision": str(len(owned) + 1)}
            live["metadata"]["annotations"] = {**(live["metadata"].get("annotations") or {}), **revision}
            self._store.write("apps", "deployments", live)

    def _replica_set(self, replica_set: Object) -> None:
        pods = [pod for pod in self._owned("", "pods", replica_set) if not _over(pod)]
        wanted = replica_set["spec"].get("replicas", 1)
        for _ in range(wanted - len(pods)):
            self._create_pod(replica_set, {"generateName": f"{replica_set['metadata']['name']}-"})
        for pod in pods[wanted:] if wanted < len(pods) else []:
            self._remove(pod)

    def _daemon_set(self, daemon_set: Object) -> None:
        template = copied(daemon_set["spec"]["template"])
        digest = stable_hash(json.dumps(template, sort_keys=True))
        tolerations = template["spec"].setdefault("tolerations", [])
        tolerations += [item for item in _DAEMON_TOLERATIONS if item not in tolerations]
        pods = {_target_node(pod): pod for pod in self._owned("", "pods", daemon_set)}
        nodes = {
            node["metadata"]["name"]
            for node in self._store.scan("", "nodes")
            if not obstacle({"spec": template["spec"]}, node)
        }
        for name, pod in pods.items():
            stale = pod["metadata"]["labels"].get("controller-revision-hash") != digest
            if name not in nodes or stale or _over(pod):
                self._remove(pod)
        for name in sorted(nodes):
            pod = pods.get(name, {})
            if not pod or pod["metadata"]["labels"].get("controller-revision-hash") != digest or _over(pod):
                bound = copied(template)
                bound["spec"]["affinity"] = {"nodeAffinity": _only(name)}
                extra = {"controller-revision-hash": digest}
                naming = {"generateName": f"{daemon_set['metadata']['name']}-"}
                self._create_pod(daemon_set, naming, bound, extra)

    def _stateful_set(self, stateful_set: Object) -> None:
        spec, metadata = stateful_set["spec"], stateful_set["metadata"]
        wanted = spec.get("replicas", 1)
        digest = stable_hash(json.dumps(spec["template"], sort_keys=True))
        pods = {pod["metadata"]["name"]: pod for pod in self._owned("", "pods", stateful_set)}
        names = [f"{metadata['name']}-{index}" for index in range(wanted)]
        for name, pod in pods.items():
            stale = pod["metadata"]["labels"].get("controller-revision-hash") != digest
            if name not in names or stale or _over(pod):
                self._remove(pod)
        for name in names:
            if self._store.read("", "pods", metadata["namespace"], name) is None:
                labels = {
                    "controller-revision-hash": digest,
                    "statefulset.kubernetes.io/pod-name": name,
                }
                self._create_pod(stateful_set, {"name": name}, None, labels)
            if spec.get("podManagementPolicy") != "Parallel":
                pod = self._store.read("", "pods", metadata["namespace"], name)
                if pod is None or pod["status"].get("phase") != "Running":
                    return

    def _job(self, job: Object) -> None:
        if job["spec"].get("suspend") or _finished(job):
            return
        pods = self._owned("", "pods", job)
        done = sum(1 for pod in pods if pod["status"].get("phase") == "Succeeded")
        active = sum(1 for pod in pods if not _over(pod))
        missing = min(job["spec"].get("parallelism", 1), job["spec"].get("completions", 1) - done) - active
        for _ in range(missing):
            self._create_pod(job, {"generateName": f"{job['metadata']['name']}-"})

    def _create_pod(
        self,
        owner: Object,
        naming: Object,
        template: Object | None = None,
        labels: dict[str, str] | None = None,
    ) -> None:
        wanted: Object = copied(template or owner["spec"]["template"])
        metadata = {
            key: value
            for key, value in (wanted.get("metadata") or {}).items()
            if key in ("labels", "annotations") and value
        }
        if FAULT_ANNOTATION in (owner["metadata"].get("annotations") or {}):
            fault = owner["metadata"]["annotations"][FAULT_ANNOTATION]
            metadata["annotations"] = {**metadata.get("annotations", {}), FAULT_ANNOTATION: fault}
        metadata["labels"] = {**metadata.get("labels", {}), **(labels or {})}
        metadata.update(naming)
        metadata["namespace"] = owner["metadata"]["namespace"]
        metadata["ownerReferences"] = [_owner(owner)]
        self._create(
            "", "pods", {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": wanted["spec"]}
        )

    def _create(self, group: str, plural: str, obj: Object) -> None:
        resource = self._resource(group, plural)
        namespace = obj["metadata"]["namespace"]
        try:
            self._lifecycle.create(resource, namespace, obj, WriteOptions(manager=_MANAGER))
        except ApiError as error:
            if error.code not in (403, 404, 409, 422, 500):
                raise
            self._note_failure(obj["metadata"]["ownerReferences"][0], namespace, error)

    def _note_failure(self, owner: Object, namespace: str, error: ApiError) -> None:
        """A failure to create is shown by the owner as ReplicaSets show it (condition ReplicaFailure)."""
        plural = {"ReplicaSet": "replicasets", "Deployment": "deployments"}.get(owner["kind"])
        live = self._store.read("apps", plural, namespace, owner["name"]) if plural else None
        if live is None or plural is None:
            return
        conditions = live.setdefault("status", {}).setdefault("conditions", [])
        if any(item["type"] == "ReplicaFailure" and item["message"] == error.message for item in conditions):
            return
        conditions[:] = [item for item in conditions if item["type"] != "ReplicaFailure"]
        conditions.append(
            {
                "type": "ReplicaFailure",
                "status": "True",
                "reason": "FailedCreate",
                "message": error.message,
                "lastTransitionTime": self._lifecycle.timestamp(),
            }
        )
        self._store.write("apps", plural, live)

    def _remove(self, pod: Object) -> None:
        metadata = pod["metadata"]
        live = self._store.read("", "pods", metadata["namespace"], metadata["name"])
        if live is not None and not live["metadata"].get("deletionTimestamp"):
            self._lifecycle.deletion.request(self._resource("", "pods"), live, {}, dry_run=False)

    def _living(self, group: str, plural: str) -> list[Object]:
        found = []
        for obj in self._store.scan(group, plural):
            namespace = self._store.read("", "namespaces", "", obj["metadata"]["namespace"])
            going = namespace is None or namespace["metadata"].get("deletionTimestamp")
            if not obj["metadata"].get("deletionTimestamp") and not going:
                found.append(obj)
        return found

    def _owned(self, group: str, plural: str, owner: Object) -> list[Object]:
        uid = owner["metadata"]["uid"]
        return [
            obj
            for obj in self._store.scan(group, plural, owner["metadata"]["namespace"])
            if any(item.get("uid") == uid for item in obj["metadata"].get("ownerReferences") or [])
        ]

    def _selected(self, owner: Object) -> list[Object]:
        if owner["kind"] != "Deployment":
            return self._owned("", "pods", owner)
        matches = label_matcher(selector_of(owner["spec"]["selector"]))
        return [pod for pod in self._store.scan("", "pods", owner["metadata"]["namespace"]) if matches(pod)]

    def _resource(self, group: str, plural: str) -> Resource:
        resource = self._lifecycle.registry.find(group, "v1", plural)
        if resource is None:
            raise LookupError(f"no resource serves {plural}")
        return resource


def _owner(obj: Object) -> Object:
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": obj["metadata"]["name"],
        "uid": obj["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _over(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def _finished(job: Object) -> bool:
    return any(
        condition["type"] in ("Complete", "Failed") and condition["status"] == "True"
        for condition in job.get("status", {}).get("conditions") or []
    )


def _only(node: str) -> Object:
    fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": fields}]}
    }


def _target_node(pod: Object) -> str:
    if pod["spec"].get("nodeName"):
        return str(pod["spec"]["nodeName"])
    terms = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return str(terms["nodeSelectorTerms"][0]["matchFields"][0]["values"][0])
