"""Whether the inference operator really serves: by its controller, in the cluster.

DescribeCluster's InferenceConfig means nothing and is never read. Names of namespace, deployment and
container: facts/inference_addon.json (AWS's migration script, the operator's chart).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mlcc_infra import clock
from mlcc_infra.account import cluster_client
from mlcc_infra.account.cluster_client import ClusterApi
from mlcc_infra.account.session import AccountSession
from mlcc_infra.account.watcher_log import LogReading, read_log
from mlcc_infra.errors import UserError

NAMESPACE = "hyperpod-inference-system"
DEPLOYMENT = "hyperpod-inference-controller-manager"
CONTAINER = "manager"

LIMIT_SECONDS = 25 * 60.0
INTERVAL_SECONDS = 15.0
# How long the cluster's endpoint may be silent before the look is given up.
SILENCE_SECONDS = 180.0
LOG_LINES = 5000

ACTIVE, PENDING = "active", "pending"

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Sight:
    """One look: what the log says, and what keeps the controller's pods from running."""

    reading: LogReading
    obstacle: str = ""

    @property
    def progress(self) -> str:
        """One line on how far it is."""
        if self.reading.draining:
            return "the watcher of an earlier cluster of this name is still being deleted"
        return self.reading.line or self.obstacle or "the controller has not asked for its watcher yet"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """How the watch ended: `active` with the line that says so, or `pending` with the reason."""

    state: str
    reason: str = ""
    line: str = ""


def look(session: AccountSession, eks_cluster: str, hyperpod_cluster_arn: str) -> Sight:
    """Look once.

    Raises `ClusterGoneError` without a cluster, `ClusterUnreachableError` and `ClusterRefusedError` when
    its API does not tell.
    """
    with cluster_client.connect(session, cluster_client.describe(session, eks_cluster)) as api:
        pods = [
            pod
            for pod in api.items(f"/api/v1/namespaces/{NAMESPACE}/pods")
            if pod["metadata"]["name"].startswith(f"{DEPLOYMENT}-")
            and not pod["metadata"].get("deletionTimestamp")
        ]
        if not pods:
            where = f"deployment {DEPLOYMENT} in namespace {NAMESPACE}"
            return Sight(reading=LogReading(), obstacle=f"there is no pod of the {where}")
        readings = [read_log(_log(api, pod), hyperpod_cluster_arn) for pod in pods]
    best = max(readings, key=lambda reading: (reading.active, bool(reading.line)))
    obstacle = next((text for text in map(_obstacle, pods) if text), "")
    return Sight(reading=best, obstacle=obstacle)


def _log(api: ClusterApi, pod: Mapping[str, Any]) -> str:
    names = [container["name"] for container in pod["spec"]["containers"]]
    container = CONTAINER if CONTAINER in names else names[0]
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod['metadata']['name']}/log"
    try:
        return api.text(path, container=container, tailLines=str(LOG_LINES))
    except cluster_client.ClusterRefusedError as error:
        # A container that has not started has no log: 400 (Kubernetes API, read log of the specified pod).
        if error.status in (400, 404):
            return ""
        raise


def _obstacle(pod: Mapping[str, Any]) -> str:
    """Why a pod does not run, in Kubernetes' words; empty for one that does."""
    name, status = pod["metadata"]["name"], pod.get("status") or {}
    for entry in [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]:
        waiting = (entry.get("state") or {}).get("waiting") or {}
        ended = (entry.get("lastState") or {}).get("terminated") or {}
        if waiting.get("reason") in (
            "CrashLoopBackOff",
            "ErrImagePull",
            "ImagePullBackOff",
            "RunContainerError",
        ):
            detail = ended.get("message") or waiting.get("message") or ""
            return f"pod {name}: {entry['name']}: {waiting['reason']} {detail}".strip()
    if status.get("phase") == "Pending":
        for condition in status.get("conditions") or []:
            if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
                return f"pod {name} is not scheduled: {condition.get('message') or condition.get('reason')}"
        return f"pod {name} is starting"
    return ""


def watch(
    session: AccountSession,
    eks_cluster: str,
    hyperpod_cluster_arn: str,
    say: Say,
    limit: float = LIMIT_SECONDS,
) -> Verdict:
    """Look until the watcher is there, for `limit` modelled seconds.

    A watcher that is still being deleted is waited out within the same limit. Raises `UserError` when the
    EKS cluster does not exist.
    """
    deadline = clock.Deadline(limit)
    silence: clock.Deadline | None = None
    said = ""
    while True:
        last = deadline.expired()
        try:
            sight = look(session, eks_cluster, hyperpod_cluster_arn)
        except cluster_client.ClusterGoneError as error:
            raise UserError(str(error)) from error
        except (cluster_client.ClusterUnreachableError, cluster_client.ClusterRefusedError) as error:
            silence = silence or clock.Deadline(SILENCE_SECONDS)
            if last or silence.expired():
                return Verdict(state=PENDING, reason=str(error))
            now = str(error)
        else:
            silence = None
            if sight.reading.active:
                return Verdict(state=ACTIVE, line=sight.reading.line)
            if last:
                return Verdict(state=PENDING, reason=_reason(sight, limit), line=sight.reading.line)
            now = sight.progress
        if now != said:
            say(f"Waiting for the inference watcher: {now}")
            said = now
        clock.sleep(min(INTERVAL_SECONDS, deadline.remaining()))


def _reason(sight: Sight, limit: float) -> str:
    parts = [f"the watcher did not come within {limit / 60:.0f} minutes"]
    if sight.reading.failures:
        parts += [f"the controller says: {text}" for text in sight.reading.failures]
    elif sight.reading.draining:
        parts.append(sight.progress)
    if sight.obstacle:
        parts.append(sight.obstacle)
    if len(parts) == 1:
        parts.append(
            f"the controller's last word is: {sight.reading.line}"
            if sight.reading.line
            else "the controller's log says nothing about it"
        )
    return "; ".join(parts)
