"""Endpoints and EndpointSlices of services with a selector."""

from __future__ import annotations

from mlcc_rehearsal.kubernetes_api.lifecycle import Lifecycle
from mlcc_rehearsal.kubernetes_api.naming import stable_hash
from mlcc_rehearsal.kubernetes_api.selectors import label_matcher, selector_of
from mlcc_rehearsal.kubernetes_api.status import Object

_MANAGER = "kube-controller-manager"
_MANAGED = {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}


class Endpoints:
    """Keeps the addresses of services' ready pods."""

    def __init__(self, lifecycle: Lifecycle) -> None:
        self._lifecycle = lifecycle
        self._store = lifecycle.store

    def reconcile(self) -> None:
        """One look at all services."""
        services = [s for s in self._store.scan("", "services") if s["spec"].get("selector")]
        named = {(s["metadata"]["namespace"], s["metadata"]["name"]) for s in services}
        for service in services:
            if not self._going(service):
                self._describe(service)
        for endpoints in self._store.scan("", "endpoints"):
            metadata = endpoints["metadata"]
            ours = (metadata.get("labels") or {}).items() >= _MANAGED.items()
            if ours and (metadata["namespace"], metadata["name"]) not in named:
                self._store.erase("", "endpoints", metadata["namespace"], metadata["name"])

    def _describe(self, service: Object) -> None:
        metadata = service["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        matches = label_matcher(selector_of(service["spec"]["selector"]))
        ready: list[tuple[str, Object]] = []
        unready: list[tuple[str, Object]] = []
        for pod in self._store.scan("", "pods", namespace):
            address = pod.get("status", {}).get("podIP")
            if not address or not matches(pod):
                continue
            (ready if _ready(pod) else unready).append((address, pod))
        ports = [
            {
                **({"name": port["name"]} if port.get("name") else {}),
                "port": port["targetPort"] if isinstance(port.get("targetPort"), int) else port["port"],
                "protocol": port.get("protocol", "TCP"),
            }
            for port in service["spec"].get("ports") or []
        ]
        subset: Object = {"ports": ports}
        if ready:
            subset["addresses"] = [_address(*item) for item in ready]
        if unready:
            subset["notReadyAddresses"] = [_address(*item) for item in unready]
        self._put(
            {
                "apiVersion": "v1",
                "kind": "Endpoints",
                "metadata": {"name": name, "namespace": namespace, "labels": dict(_MANAGED)},
                **({"subsets": [subset]} if ready or unready else {}),
            }
        )
        self._put(
            {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {
                    "name": f"{name}-{stable_hash(metadata['uid'])[:5]}",
                    "namespace": namespace,
                    "labels": {
                        "kubernetes.io/service-name": name,
                        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
                    },
                    "ownerReferences": [
                        {
                            "apiVersion": "v1",
                            "kind": "Service",
                            "name": name,
                            "uid": metadata["uid"],
                            "controller": True,
                            "blockOwnerDeletion": True,
                        }
                    ],
                },
                "addressType": "IPv4",
                "ports": ports,
                "endpoints": [
                    {
                        "addresses": [address],
                        "conditions": {"ready": good, "serving": good, "terminating": False},
                        "nodeName": pod["spec"].get("nodeName", ""),
                        "targetRef": _reference(pod),
                    }
                    for good, group in ((True, ready), (False, unready))
                    for address, pod in group
                ],
            }
        )

    def _put(self, obj: Object) -> None:
        resource = self._lifecycle.registry.by_kind(obj["apiVersion"], obj["kind"])
        if resource is None:
            raise LookupError(f"no resource serves {obj['kind']}")
        self._lifecycle.put(resource, obj, _MANAGER)

    def _going(self, service: Object) -> bool:
        namespace = self._store.read("", "namespaces", "", service["metadata"]["namespace"])
        return (
            namespace is None
            or bool(namespace["metadata"].get("deletionTimestamp"))
            or bool(service["metadata"].get("deletionTimestamp"))
        )


def _ready(pod: Object) -> bool:
    return any(
        condition.get("type") == "Ready" and condition.get("status") == "True"
        for condition in pod.get("status", {}).get("conditions") or []
    )


def _reference(pod: Object) -> Object:
    metadata = pod["metadata"]
    return {
        "kind": "Pod",
        "name": metadata["name"],
        "namespace": metadata["namespace"],
        "uid": metadata["uid"],
    }


def _address(address: str, pod: Object) -> Object:
    return {"ip": address, "nodeName": pod["spec"].get("nodeName", ""), "targetRef": _reference(pod)}
