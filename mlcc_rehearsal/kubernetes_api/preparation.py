"""What happens to an object between decoding and storage: admission, defaults, allocation, checks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from mlcc_rehearsal.kubernetes_api import status, validation
from mlcc_rehearsal.kubernetes_api.catalogue import Resource
from mlcc_rehearsal.kubernetes_api.defaults import apply_defaults
from mlcc_rehearsal.kubernetes_api.registry import Registry
from mlcc_rehearsal.kubernetes_api.status import Object
from mlcc_rehearsal.kubernetes_api.store import Store
from mlcc_rehearsal.kubernetes_api.webhooks import call_webhooks


class Preparation:
    """Admission and defaulting of one cluster."""

    def __init__(self, registry: Registry, store: Store, timestamp: Callable[[], str]) -> None:
        self._registry = registry
        self._store = store
        self._timestamp = timestamp

    def require_namespace(self, resource: Resource, namespace: str, name: str) -> None:
        """Refuse an object for a namespace that is not there, or is going.

        Raises:
            ApiError: 404 for a missing namespace, 403 for a terminating one.
        """
        if not resource.namespaced:
            return
        found = self._store.read("", "namespaces", "", namespace)
        if found is None:
            raise status.not_found("namespaces", "", namespace)
        if found["metadata"].get("deletionTimestamp"):
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise status.forbidden(resource.plural, resource.group, name, why)

    def admit(self, resource: Resource, obj: Object, operation: str) -> None:
        """Admission: webhooks whose service must answer, and a pod's service account.

        Raises:
            ApiError: 403 or 500 in the admission chain's words.
        """
        call_webhooks(self._store, resource, obj, operation)
        if resource.kind == "Pod" and not resource.group and operation == "CREATE":
            account = obj.get("spec", {}).get("serviceAccountName") or "default"
            namespace = obj["metadata"]["namespace"]
            if self._store.read("", "serviceaccounts", namespace, account) is None:
                why = (
                    f"error looking up service account {namespace}/{account}: "
                    f'serviceaccount "{account}" not found'
                )
                raise status.forbidden("pods", "", obj["metadata"]["name"], why)

    def prepare(self, resource: Resource, obj: Object, live: Object | None) -> None:
        """Defaults, allocations and checks, in place."""
        if not resource.custom:
            apply_defaults(obj)
        if resource.kind == "Service" and not resource.group:
            self._allocate_address(obj, live)
        if resource.kind == "Namespace" and not resource.group:
            obj.setdefault("status", {}).setdefault("phase", "Active")
        if resource.kind == "CustomResourceDefinition":
            self._establish(obj)
        if resource.kind == "Pod" and not resource.group:
            obj.setdefault("status", {}).setdefault("phase", "Pending")
            obj["status"].setdefault("qosClass", "BestEffort")
        if resource.kind == "APIService":
            self._available(obj)
        validation.check_object(resource, obj)

    def _allocate_address(self, obj: Object, live: Object | None) -> None:
        spec = obj["spec"]
        if spec.get("type") == "ExternalName":
            return
        if live is not None and live["spec"].get("clusterIP") and not spec.get("clusterIP"):
            spec["clusterIP"] = live["spec"]["clusterIP"]
        if not spec.get("clusterIP"):
            spec["clusterIP"] = self._free_address(obj["metadata"]["uid"])
        spec["clusterIPs"] = [spec["clusterIP"]]
        if spec["type"] in ("NodePort", "LoadBalancer"):
            taken = {port.get("nodePort") for port in (live or {}).get("spec", {}).get("ports") or []}
            base = 30000 + int(hashlib.sha256(obj["metadata"]["uid"].encode()).hexdigest()[:8], 16) % 2700
            for index, port in enumerate(spec.get("ports") or []):
                before = next(
                    (
                        old.get("nodePort")
                        for old in (live or {}).get("spec", {}).get("ports") or []
                        if old.get("port") == port.get("port") and old.get("nodePort")
                    ),
                    None,
                )
                port.setdefault("nodePort", before or base + index + (1 if base in taken else 0))
        obj.setdefault("status", {}).setdefault("loadBalancer", {})

    def _free_address(self, seed: str) -> str:
        """An address of EKS' default service range 172.20.0.0/16."""
        taken = {service["spec"].get("clusterIP") for service in self._store.scan("", "services")}
        number = int(hashlib.sha256(seed.encode()).hexdigest()[:8], 16)
        while True:
            address = f"172.20.{number // 250 % 250}.{number % 250 + 2}"
            if address not in taken:
                return address
            number += 1

    def _establish(self, obj: Object) -> None:
        spec = obj["spec"]
        now = self._timestamp()
        kept = obj.get("status", {})
        obj["status"] = {
            "conditions": kept.get("conditions")
            or [
                {
                    "type": "NamesAccepted",
                    "status": "True",
                    "lastTransitionTime": now,
                    "reason": "NoConflicts",
                    "message": "no conflicts found",
                },
                {
                    "type": "Established",
                    "status": "True",
                    "lastTransitionTime": now,
                    "reason": "InitialNamesAccepted",
                    "message": "the initial names have been accepted",
                },
            ],
            "acceptedNames": spec.get("names", {}),
            "storedVersions": kept.get("storedVersions")
            or [version["name"] for version in spec.get("versions", []) if version.get("storage")],
        }

    def _available(self, obj: Object) -> None:
        if obj.get("status", {}).get("conditions"):
            return
        local = obj.get("spec", {}).get("service") is None
        condition = {
            "type": "Available",
            "status": "True" if local else "False",
            "lastTransitionTime": self._timestamp(),
            "reason": "Local" if local else "ServiceNotFound",
            "message": "Local APIServices are always available"
            if local
            else f"service/{obj['spec']['service'].get('name')} in "
            f'"{obj["spec"]["service"].get("namespace")}" is not present',
        }
        obj["status"] = {"conditions": [condition]}
