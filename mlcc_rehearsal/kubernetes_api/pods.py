"""Subresources of pods: logs and eviction."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping

from mlcc_rehearsal.kubernetes_api import status
from mlcc_rehearsal.kubernetes_api.catalogue import Resource
from mlcc_rehearsal.kubernetes_api.lifecycle import Lifecycle
from mlcc_rehearsal.kubernetes_api.selectors import label_matcher, selector_of
from mlcc_rehearsal.kubernetes_api.status import Object, bad_request

_TICK = 0.2


class PodLogs:
    """Texts that containers have written, by namespace, pod and container."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: dict[tuple[str, str, str], str] = {}

    def set(self, namespace: str, pod: str, container: str, text: str) -> None:
        """Replace what a container has written so far."""
        with self._lock:
            self._texts[(namespace, pod, container)] = text

    def get(self, namespace: str, pod: str, container: str) -> str:
        """What a container has written so far."""
        with self._lock:
            return self._texts.get((namespace, pod, container), "")

    def read(
        self, lifecycle: Lifecycle, pod: Object, query: Mapping[str, str], stopping: Callable[[], bool]
    ) -> Iterator[bytes]:
        """Chunks of a container's log; with ``follow`` until the pod ends.

        Raises:
            ApiError: 400 when no or a wrong container is named, or it has not started.
        """
        metadata = pod["metadata"]
        container = _container(pod, query.get("container"))
        if not pod["spec"].get("nodeName"):
            raise bad_request(f"pod {metadata['name']} does not have a host assigned")
        if pod.get("status", {}).get("phase") == "Pending":
            reason = _waiting_reason(pod, container)
            raise bad_request(
                f'container "{container}" in pod "{metadata["name"]}" is waiting to start: {reason}'
            )
        where = (metadata["namespace"], metadata["name"], container)
        follow = query.get("follow", "").lower() in ("true", "1")
        first = _tail(self.get(*where), query)

        def chunks() -> Iterator[bytes]:
            if first:
                yield first.encode()
            sent = len(self.get(*where))
            while follow and not stopping():
                text = self.get(*where)
                if len(text) > sent:
                    yield text[sent:].encode()
                sent = len(text)
                live = lifecycle.store.read("", "pods", metadata["namespace"], metadata["name"])
                if live is None or live.get("status", {}).get("phase") in ("Succeeded", "Failed"):
                    return
                lifecycle.store.wait(lifecycle.store.revision, _TICK, stopping)

        return chunks()


def evict(lifecycle: Lifecycle, resource: Resource, namespace: str, name: str) -> Object:
    """Delete a pod unless a disruption budget forbids it.

    Raises:
        ApiError: 429 when the budget allows no disruption.
    """
    pod = lifecycle.get(resource, namespace, name)
    for budget in lifecycle.store.scan("policy", "poddisruptionbudgets", namespace):
        covered = label_matcher(selector_of(budget["spec"].get("selector")))(pod)
        if covered and budget.get("status", {}).get("disruptionsAllowed", 1) < 1:
            message = "Cannot evict pod as it would violate the pod's disruption budget."
            raise status.ApiError(429, "TooManyRequests", message, name=name, kind="pods", retry_after=10)
    lifecycle.delete(resource, namespace, name, {})
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def _container(pod: Object, wanted: str | None) -> str:
    names = [container["name"] for container in pod["spec"].get("containers") or []]
    every = names + [container["name"] for container in pod["spec"].get("initContainers") or []]
    if wanted:
        if wanted not in every:
            raise bad_request(f"container {wanted} is not valid for pod {pod['metadata']['name']}")
        return wanted
    if len(names) != 1:
        listed = " ".join(names)
        raise bad_request(
            f"a container name must be specified for pod {pod['metadata']['name']}, choose one of: [{listed}]"
        )
    return str(names[0])


def _waiting_reason(pod: Object, container: str) -> str:
    for container_status in pod.get("status", {}).get("containerStatuses") or []:
        if container_status.get("name") == container:
            reason = container_status.get("state", {}).get("waiting", {}).get("reason")
            if reason:
                return str(reason)
    return "ContainerCreating"


def _tail(text: str, query: Mapping[str, str]) -> str:
    if "tailLines" in query:
        count = int(query["tailLines"])
        lines = text.splitlines(keepends=True)
        text = "".join(lines[-count:]) if count else ""
    if "limitBytes" in query:
        text = text.encode()[: int(query["limitBytes"])].decode(errors="ignore")
    return text
