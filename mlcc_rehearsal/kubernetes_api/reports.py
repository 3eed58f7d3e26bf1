"""What workloads report: their status from their pods.

Source: ``pkg/controller/{deployment,replicaset,daemon,statefulset,job}`` of Kubernetes. Conditions of a
Deployment: Progressing with NewReplicaSetAvailable or ProgressDeadlineExceeded, Available with
MinimumReplicasAvailable or MinimumReplicasUnavailable.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable

from mlcc_rehearsal.kubernetes_api.status import Object
from mlcc_rehearsal.kubernetes_api.store import Store

Report = Callable[[Object, list[Object], Store, str], Object]


def _deployment(obj: Object, pods: list[Object], store: Store, now: str) -> Object:
    spec, metadata = obj["spec"], obj["metadata"]
    owned = [
        replica_set
        for replica_set in store.scan("apps", "replicasets", metadata["namespace"])
        if any(
            item["uid"] == metadata["uid"] for item in replica_set["metadata"].get("ownerReferences") or []
        )
    ]
    active = [item for item in owned if item["spec"].get("replicas")]
    newest = active[-1]["metadata"]["name"] if active else metadata["name"]
    digest = active[-1]["metadata"]["labels"].get("pod-template-hash") if active else None
    live = [pod for pod in pods if pod["status"].get("phase") not in ("Succeeded", "Failed")]
    updated = [pod for pod in live if pod["metadata"]["labels"].get("pod-template-hash") == digest]
    ready = [pod for pod in live if _ready(pod)]
    wanted = spec.get("replicas", 1)
    complete = len(updated) == len(live) == len(ready) == wanted
    conditions = _Conditions(obj, now)
    enough = len(ready) >= wanted - _quarter(wanted)
    conditions.set(
        "Available",
        enough,
        "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
        "Deployment has minimum availability."
        if enough
        else "Deployment does not have minimum availability.",
    )
    late = _seconds(metadata["creationTimestamp"], now) > spec.get("progressDeadlineSeconds", 600)
    if complete:
        text = f'ReplicaSet "{newest}" has successfully progressed.'
        conditions.set("Progressing", True, "NewReplicaSetAvailable", text)
    elif late and not enough:
        text = f'ReplicaSet "{newest}" has timed out progressing.'
        conditions.set("Progressing", False, "ProgressDeadlineExceeded", text)
    else:
        text = f'ReplicaSet "{newest}" is progressing.'
        conditions.set("Progressing", True, "ReplicaSetUpdated", text)
    for replica_set in active:
        for condition in replica_set.get("status", {}).get("conditions") or []:
            if condition["type"] == "ReplicaFailure":
                conditions.set("ReplicaFailure", True, condition["reason"], condition["message"])
    return _nonzero(
        {"observedGeneration": metadata.get("generation", 1), "conditions": conditions.listed},
        replicas=len(live),
        updatedReplicas=len(updated),
        readyReplicas=len(ready),
        availableReplicas=len(ready),
        unavailableReplicas=max(wanted - len(ready), 0),
    )


def _replica_set(obj: Object, pods: list[Object], store: Store, now: str) -> Object:
    live = [pod for pod in pods if pod["status"].get("phase") not in ("Succeeded", "Failed")]
    ready = [pod for pod in live if _ready(pod)]
    status: Object = {"observedGeneration": obj["metadata"].get("generation", 1), "replicas": len(live)}
    kept = [c for c in obj.get("status", {}).get("conditions") or [] if c["type"] == "ReplicaFailure"]
    if kept and len(live) < obj["spec"].get("replicas", 1):
        status["conditions"] = kept
    return _nonzero(
        status,
        fullyLabeledReplicas=len(live),
        readyReplicas=len(ready),
        availableReplicas=len(ready),
    )


def _daemon_set(obj: Object, pods: list[Object], store: Store, now: str) -> Object:
    scheduled = [pod for pod in pods if pod["spec"].get("nodeName")]
    ready = [pod for pod in scheduled if _ready(pod)]
    status = {
        "observedGeneration": obj["metadata"].get("generation", 1),
        "desiredNumberScheduled": len(pods),
        "currentNumberScheduled": len(scheduled),
        "numberReady": len(ready),
        "numberMisscheduled": 0,
    }
    return _nonzero(
        status,
        updatedNumberScheduled=len(scheduled),
        numberAvailable=len(ready),
        numberUnavailable=len(pods) - len(ready),
    )


def _stateful_set(obj: Object, pods: list[Object], store: Store, now: str) -> Object:
    ready = [pod for pod in pods if _ready(pod)]
    revisions = {pod["metadata"]["labels"].get("controller-revision-hash", "") for pod in pods}
    revision = f"{obj['metadata']['name']}-{min(revisions)}" if revisions else obj["metadata"]["name"]
    return {
        "observedGeneration": obj["metadata"].get("generation", 1),
        "replicas": len(pods),
        "readyReplicas": len(ready),
        "availableReplicas": len(ready),
        "currentReplicas": len(pods),
        "updatedReplicas": len(pods),
        "currentRevision": revision,
        "updateRevision": revision,
        "collisionCount": 0,
    }


def _job(obj: Object, pods: list[Object], store: Store, now: str) -> Object:
    phases = [pod["status"].get("phase") for pod in pods]
    succeeded, failed = phases.count("Succeeded"), phases.count("Failed")
    active = len(pods) - succeeded - failed
    before = obj.get("status", {})
    status: Object = {"startTime": before.get("startTime", now), "terminating": 0}
    conditions = _Conditions(obj, now)
    if before.get("completionTime"):
        return dict(before)
    if succeeded >= obj["spec"].get("completions", 1):
        text = "Reached expected number of succeeded pods"
        conditions.set("SuccessCriteriaMet", True, "CompletionsReached", text)
        conditions.set("Complete", True, "CompletionsReached", text)
        status["completionTime"] = now
    elif obj["spec"].get("suspend"):
        conditions.set("Suspended", True, "JobSuspended", "Job suspended")
        status.pop("startTime")
    if conditions.listed:
        status["conditions"] = conditions.listed
    ready = sum(1 for pod in pods if _ready(pod))
    return _nonzero({**status, "ready": ready}, active=active, succeeded=succeeded, failed=failed)


REPORTS: dict[tuple[str, str], Report] = {
    ("apps", "replicasets"): _replica_set,
    ("apps", "deployments"): _deployment,
    ("apps", "daemonsets"): _daemon_set,
    ("apps", "statefulsets"): _stateful_set,
    ("batch", "jobs"): _job,
}


class _Conditions:
    """Conditions of an object with the times at which they last changed."""

    def __init__(self, obj: Object, now: str) -> None:
        self._before = {item["type"]: item for item in obj.get("status", {}).get("conditions") or []}
        self._now = now
        self.listed: list[Object] = []

    def set(self, kind: str, state: bool, reason: str, message: str) -> None:
        """Add a condition."""
        old = self._before.get(kind, {})
        status = "True" if state else "False"
        same = old.get("status") == status
        entry = {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": old["lastTransitionTime"] if same else self._now,
        }
        unchanged = same and old.get("reason") == reason
        entry["lastUpdateTime"] = old.get("lastUpdateTime", self._now) if unchanged else self._now
        self.listed.append(entry)


def _ready(pod: Object) -> bool:
    return any(
        item.get("type") == "Ready" and item.get("status") == "True"
        for item in pod.get("status", {}).get("conditions") or []
    )


def _quarter(replicas: int) -> int:
    """``maxUnavailable: 25%``, rounded down."""
    return replicas // 4


def _seconds(earlier: str, later: str) -> float:
    def moment(text: str) -> datetime.datetime:
        return datetime.datetime.fromisoformat(text)

    return (moment(later) - moment(earlier)).total_seconds()


def _nonzero(status: Object, **numbers: int) -> Object:
    return {**status, **{key: number for key, number in numbers.items() if number}}
