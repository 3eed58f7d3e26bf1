"""What every namespace is given: the default service account and the cluster's root certificate."""

from __future__ import annotations

from mlcc_rehearsal.kubernetes_api.lifecycle import Lifecycle
from mlcc_rehearsal.kubernetes_api.status import Object

_MANAGER = "kube-controller-manager"


def equip_namespaces(lifecycle: Lifecycle) -> None:
    """Make what is missing in every namespace that is not going."""
    for namespace in lifecycle.store.scan("", "namespaces"):
        if not namespace["metadata"].get("deletionTimestamp"):
            equip(lifecycle, namespace["metadata"]["name"])


def equip(lifecycle: Lifecycle, namespace: str) -> None:
    """Make what is missing in one namespace."""
    where: Object = {"namespace": namespace}
    wanted: list[Object] = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {**where, "name": "default"}},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {**where, "name": "kube-root-ca.crt"},
            "data": {"ca.crt": ""},
        },
    ]
    for obj in wanted:
        plural = "serviceaccounts" if obj["kind"] == "ServiceAccount" else "configmaps"
        if lifecycle.store.read("", plural, namespace, obj["metadata"]["name"]) is None:
            resource = lifecycle.registry.by_kind("v1", obj["kind"])
            if resource is None:
                raise LookupError(f"no resource serves {obj['kind']}")
            lifecycle.put(resource, obj, _MANAGER)
