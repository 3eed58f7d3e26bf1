"""Pods from Pending to their end: scheduler, kubelet and node controller in one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from mlcc_rehearsal.kubernetes_api.json_copy import copied
from mlcc_rehearsal.kubernetes_api.lifecycle import Lifecycle
from mlcc_rehearsal.kubernetes_api.scheduling import node_is_ready, place
from mlcc_rehearsal.kubernetes_api.status import Object

START_SECONDS = 8.0
"""Modelled seconds from binding to Ready: a pull of a cached or small image and a start."""
RUN_SECONDS = 5.0
"""Modelled seconds a container of a Job runs."""
FAULT_ANNOTATION = "rehearsal.mlcc/pod-fault"
"""On a pod or pod template: the containers wait for ever with this reason (``ImagePullBackOff``)."""
_HAS_RUN = "CrashLoopBackOff"
"""The fault of a container that was started: its pod counts as Running and has a log."""


class PodLife:
    """Moves pods along."""

    def __init__(self, lifecycle: Lifecycle, clock_now: Callable[[], float]) -> None:
        self._lifecycle = lifecycle
        self._store = lifecycle.store
        self._clock_now = clock_now
        self._latest = 0.0
        self._since: dict[str, float] = {}

    def _now(self) -> float:
        """Modelled time that never goes back, although two threads look: one may be at an earlier event."""
        self._latest = max(self._latest, self._clock_now())
        return self._latest

    def reconcile(self) -> bool:
        """One look; whether a pod waits for time to pass."""
        nodes = self._store.scan("", "nodes")
        self._evict_from_missing(nodes)
        under_way = False
        ready = {node["metadata"]["name"] for node in nodes if node_is_ready(node)}
        for stored in self._store.scan("", "pods"):
            if stored["metadata"].get("deletionTimestamp") or self._is_settled(stored, ready):
                continue
            pod = copied(stored)
            phase = pod.get("status", {}).get("phase")
            if phase == "Pending" and not pod["spec"].get("nodeName"):
                self._schedule(pod, nodes)
            elif phase in ("Pending", "Running"):
                under_way = self._run(pod, nodes) or under_way
        return under_way

    def _schedule(self, pod: Object, nodes: list[Object]) -> None:
        node, message = place(pod, nodes, self._store.scan("", "pods"))
        if node is None:
            condition = {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": message,
            }
            if self._set_conditions(pod, [condition]):
                self._event(pod, "Warning", "FailedScheduling", message)
            return
        pod["spec"]["nodeName"] = node
        self._since[pod["metadata"]["uid"]] = self._now()
        self._set_conditions(pod, [{"type": "PodScheduled", "status": "True"}], force=True)
        name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        self._event(pod, "Normal", "Scheduled", f"Successfully assigned {name} to {node}")

    def _run(self, pod: Object, nodes: list[Object]) -> bool:
        """Start or end a bound pod; whether it waits for time to pass."""
        status = pod["status"]
        uid = pod["metadata"]["uid"]
        if status.get("containerStatuses") and uid not in self._since:
            return False  # put with a status of its own: somebody else plays its kubelet
        since = self._since.setdefault(uid, self._now())
        elapsed = self._now() - since
        node = next((item for item in nodes if item["metadata"]["name"] == pod["spec"]["nodeName"]), None)
        if node is None:
            return False
        fault = (pod["metadata"].get("annotations") or {}).get(FAULT_ANNOTATION)
        if fault or elapsed < START_SECONDS:
            if fault == _HAS_RUN:
                status["phase"] = "Running"
            self._write_waiting(pod, fault or "ContainerCreating")
            return not fault
        if not node_is_ready(node):
            self._write_running(pod, node, ready=False)
            return False
        if elapsed < START_SECONDS + _first_probe(pod):
            self._write_running(pod, node, ready=False)
            return True
        if self._belongs_to_job(pod) and elapsed >= START_SECONDS + RUN_SECONDS:
            self._write_succeeded(pod)
            return False
        self._write_running(pod, node, ready=True)
        return self._belongs_to_job(pod)

    def _write_waiting(self, pod: Object, reason: str) -> None:
        names = [container["name"] for container in pod["spec"]["containers"]]
        statuses = [
            self._container_status(pod, name, {"waiting": {"reason": reason}}, ready=False) for name in names
        ]
        unready = f"containers with unready status: [{' '.join(names)}]"
        conditions = [
            {"type": "Initialized", "status": "True"},
            {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": unready},
            {
                "type": "ContainersReady",
                "status": "False",
                "reason": "ContainersNotReady",
                "message": unready,
            },
            {"type": "PodScheduled", "status": "True"},
        ]
        pod["status"]["containerStatuses"] = statuses
        self._set_conditions(pod, conditions, force=True)

    def _write_running(self, pod: Object, node: Object, *, ready: bool) -> None:
        status = pod["status"]
        started = status.setdefault("startTime", self._lifecycle.timestamp())
        status["phase"] = "Running"
        status["podIP"] = status.get("podIP") or _address(pod["metadata"]["uid"])
        status["podIPs"] = [{"ip": status["podIP"]}]
        for address in node.get("status", {}).get("addresses") or []:
            if address.get("type") == "InternalIP":
                status["hostIP"] = address["address"]
        status["containerStatuses"] = [
            self._container_status(pod, container["name"], {"running": {"startedAt": started}}, ready=ready)
            for container in pod["spec"]["containers"]
        ]
        state = "True" if ready else "False"
        kinds = {"Initialized": "True", "Ready": state, "ContainersReady": state, "PodScheduled": "True"}
        self._set_conditions(
            pod, [{"type": key, "status": value} for key, value in kinds.items()], force=True
        )

    def _write_succeeded(self, pod: Object) -> None:
        status = pod["status"]
        status["phase"] = "Succeeded"
        ended = {
            "terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": self._lifecycle.timestamp()}
        }
        status["containerStatuses"] = [
            self._container_status(pod, container["name"], ended, ready=False)
            for container in pod["spec"]["containers"]
        ]
        completed = [
            {"type": key, "status": "False", "reason": "PodCompleted"} for key in ("Ready", "ContainersReady")
        ]
        conditions = [{"type": "Initialized", "status": "True"}, {"type": "PodScheduled", "status": "True"}]
        self._set_conditions(pod, [*conditions, *completed], force=True)

    def _container_status(self, pod: Object, name: str, state: Object, *, ready: bool) -> Object:
        image = next(c.get("image", "") for c in pod["spec"]["containers"] if c["name"] == name)
        crashed = state.get("waiting", {}).get("reason") == _HAS_RUN
        last = {"terminated": {"exitCode": 1, "reason": "Error"}} if crashed else {}
        return {
            "name": name,
            "image": image,
            "imageID": "",
            "ready": ready,
            "started": "running" in state,
            "restartCount": 5 if crashed else 0,
            "state": state,
            "lastState": last,
        }

    def _set_conditions(self, pod: Object, conditions: list[Object], *, force: bool = False) -> bool:
        """Write conditions, keeping transition times that stay true; whether anything was written."""
        before = {item["type"]: item for item in pod["status"].get("conditions") or []}
        listed = []
        for condition in conditions:
            old = before.get(condition["type"], {})
            same = old.get("status") == condition["status"]
            moment = old.get("lastTransitionTime") if same else None
            listed.append({**condition, "lastTransitionTime": moment or self._lifecycle.timestamp()})
        if not force and pod["status"].get("conditions") == listed:
            return False
        pod["status"]["conditions"] = listed
        metadata = pod["metadata"]
        stored = self._store.read("", "pods", metadata["namespace"], metadata["name"])
        if stored == pod:
            return False
        self._store.write("", "pods", pod)
        return True

    def _is_settled(self, pod: Object, ready: set[str]) -> bool:
        """Whether nothing is to be done for a pod: it has ended, or runs and is ready on a ready node."""
        status = pod.get("status", {})
        phase = status.get("phase")
        if phase != "Running":
            return phase in ("Succeeded", "Failed")
        faulty = FAULT_ANNOTATION in (pod["metadata"].get("annotations") or {})
        return (
            not faulty
            and pod["spec"].get("nodeName") in ready
            and not self._belongs_to_job(pod)
            and any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions") or [])
        )

    def _belongs_to_job(self, pod: Object) -> bool:
        return any(owner.get("kind") == "Job" for owner in pod["metadata"].get("ownerReferences") or [])

    def _evict_from_missing(self, nodes: list[Object]) -> None:
        """Pods of a node that is gone are removed, as the pod garbage collector does."""
        names = {node["metadata"]["name"] for node in nodes}
        resource = self._lifecycle.registry.find("", "v1", "pods")
        if resource is None:
            return
        for pod in self._store.scan("", "pods"):
            node = pod["spec"].get("nodeName")
            if node and node not in names and not pod["metadata"].get("deletionTimestamp"):
                live = copied(pod)
                self._lifecycle.deletion.request(resource, live, {}, dry_run=False)
                self._since.pop(pod["metadata"]["uid"], None)

    def _event(self, pod: Object, kind: str, reason: str, message: str) -> None:
        metadata = pod["metadata"]
        digest = hashlib.sha256(f"{metadata['uid']} {reason} {message}".encode()).hexdigest()[:16]
        resource = self._lifecycle.registry.find("", "v1", "events")
        namespace = self._store.read("", "namespaces", "", metadata["namespace"])
        if resource is None or namespace is None or namespace["metadata"].get("deletionTimestamp"):
            return
        now = self._lifecycle.timestamp()
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{metadata['name']}.{digest}", "namespace": metadata["namespace"]},
            "involvedObject": {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": metadata["name"],
                "namespace": metadata["namespace"],
                "uid": metadata["uid"],
            },
            "type": kind,
            "reason": reason,
            "message": message,
            "source": {"component": "default-scheduler"},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        self._lifecycle.put(resource, event, "kube-scheduler")


def _first_probe(pod: Object) -> float:
    """Seconds after the start at which a container can count as started: its startup probe's delay."""
    probes = (container.get("startupProbe") or {} for container in pod["spec"]["containers"])
    return max((float(probe.get("initialDelaySeconds") or 0) for probe in probes), default=0.0)


def _address(uid: str) -> str:
    """A pod address of the range AWS gives VPCs in examples; the rehearsal has no packets."""
    digest = hashlib.sha256(uid.encode()).digest()
    return f"10.0.{digest[0]}.{digest[1] % 250 + 4}"
