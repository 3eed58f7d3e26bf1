"""The rehearsal's own way to a cluster's objects: no HTTP, no authorization."""

from __future__ import annotations

from mlcc_rehearsal.kubernetes_api.catalogue import Resource
from mlcc_rehearsal.kubernetes_api.json_copy import copied
from mlcc_rehearsal.kubernetes_api.lifecycle import Lifecycle
from mlcc_rehearsal.kubernetes_api.pods import PodLogs
from mlcc_rehearsal.kubernetes_api.selectors import label_matcher
from mlcc_rehearsal.kubernetes_api.status import ApiError, Object

MANAGER = "mlcc-rehearsal"


class ObjectStore:
    """Objects of one cluster, for the cloud that plays its controllers."""

    def __init__(self, lifecycle: Lifecycle, logs: PodLogs) -> None:
        self._lifecycle = lifecycle
        self._logs = logs

    def put(self, obj: Object) -> Object:
        """Create or replace an object, status included; answers it as stored.

        An object without ``status`` keeps the one it had; metadata left out stays. A namespaced object
        without a namespace goes to ``default``.

        Raises:
            LookupError: no resource of that apiVersion and kind is served.
            ApiError: the namespace is missing, or the object breaks its kind's rules.
        """
        resource = self._resource(obj["apiVersion"], obj["kind"])
        obj = copied(obj)
        if resource.namespaced:
            obj["metadata"].setdefault("namespace", "default")
        return self._lifecycle.put(resource, obj, MANAGER)

    def get(self, api_version: str, kind: str, namespace: str | None, name: str) -> Object | None:
        """One object, or None."""
        resource = self._resource(api_version, kind)
        return self._lifecycle.store.read(resource.group, resource.plural, namespace or "", name)

    def delete(self, api_version: str, kind: str, namespace: str | None, name: str) -> bool:
        """Ask for an object's deletion (its finalizers hold it); False when there is none."""
        resource = self._resource(api_version, kind)
        try:
            self._lifecycle.delete(resource, namespace or "", name, {})
        except ApiError as error:
            if error.code == 404:
                return False
            raise
        return True

    def list(
        self, api_version: str, kind: str, namespace: str | None = None, label_selector: str | None = None
    ) -> list[Object]:
        """Objects of a kind, of one namespace or all, that a label selector matches."""
        resource = self._resource(api_version, kind)
        matches = label_matcher(label_selector)
        found = self._lifecycle.store.scan(resource.group, resource.plural, namespace)
        return [copied(obj) for obj in found if matches(obj)]

    def set_log(self, namespace: str, pod: str, container: str, text: str) -> None:
        """Replace what a container has written so far."""
        self._logs.set(namespace, pod, container, text)

    def _resource(self, api_version: str, kind: str) -> Resource:
        resource = self._lifecycle.registry.by_kind(api_version, kind)
        if resource is None:
            raise LookupError(
                f"the cluster serves no {kind} of {api_version}: put its CustomResourceDefinition first, or "
                "add the kind to mlcc_rehearsal/kubernetes_api/catalogue.py"
            )
        return resource
