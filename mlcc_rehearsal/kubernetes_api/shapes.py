"""How lists and maps of an object merge: the ``x-kubernetes-list-type`` and patch merge keys.

Source: the ``+listType``, ``+listMapKey``, ``+mapType`` and ``patchMergeKey`` marks of ``k8s.io/api`` for
built-in kinds, and the CRD's own schema for custom ones.
"""

from __future__ import annotations

import json
from typing import Any

from mlcc_rehearsal.kubernetes_api.status import Object

_NAME = ("name",)
_MAP_LISTS: dict[str, tuple[str, ...]] = {
    "containers": _NAME,
    "initContainers": _NAME,
    "ephemeralContainers": _NAME,
    "volumes": _NAME,
    "env": _NAME,
    "imagePullSecrets": _NAME,
    "secrets": _NAME,
    "webhooks": _NAME,
    "resourceClaims": _NAME,
    "schedulingGates": _NAME,
    "drivers": _NAME,
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "hostAliases": ("ip",),
    "podIPs": ("ip",),
    "hostIPs": ("ip",),
    "ownerReferences": ("uid",),
    "conditions": ("type",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
}
_CONTAINER_PORTS = ("containerPort", "protocol")
_SERVICE_PORTS = ("port", "protocol")
_KEY_DEFAULTS = {"protocol": "TCP"}
_ATOMIC_MAPS = frozenset(
    {"nodeSelector", "selector", "labelSelector", "namespaceSelector", "objectSelector", "podSelector",
     "fieldRef", "secretKeyRef", "configMapKeyRef", "resourceFieldRef", "claimRef", "roleRef", "targetRef",
     "scaleTargetRef", "dataSource"}
)  # fmt: skip


class Shape:
    """List and map types of one kind; a path is the tuple of field names from the object's root."""

    def __init__(self, custom_schema: Object | None = None, *, custom: bool = False) -> None:
        self._custom = custom
        self._schema = custom_schema or {}

    def list_keys(self, path: tuple[str, ...]) -> tuple[str, ...] | None:
        """Key fields when the list at ``path`` is a map keyed by them."""
        name = path[-1] if path else ""
        if path[:1] == ("metadata",):
            return ("uid",) if name == "ownerReferences" else None
        if self._custom:
            schema = self._at(path)
            if schema.get("x-kubernetes-list-type") == "map":
                return tuple(schema.get("x-kubernetes-list-map-keys", ())) or None
            return None
        if name == "ports":
            if "containers" in path or "initContainers" in path:
                return _CONTAINER_PORTS
            return _SERVICE_PORTS if path == ("spec", "ports") else None
        return _MAP_LISTS.get(name)

    def is_set(self, path: tuple[str, ...]) -> bool:
        """Whether the list at ``path`` is a set of scalars."""
        if path == ("metadata", "finalizers"):
            return True
        return self._custom and self._at(path).get("x-kubernetes-list-type") == "set"

    def is_atomic_map(self, path: tuple[str, ...]) -> bool:
        """Whether the map at ``path`` has one owner as a whole."""
        if self._custom and path[:1] != ("metadata",):
            return self._at(path).get("x-kubernetes-map-type") == "atomic"
        return bool(path) and path[-1] in _ATOMIC_MAPS

    def _at(self, path: tuple[str, ...]) -> Object:
        schema: Any = self._schema
        for step in path:
            while schema.get("type") == "array":
                schema = schema.get("items", {})
            further = schema.get("additionalProperties")
            schema = schema.get("properties", {}).get(step) or (further if isinstance(further, dict) else {})
        return dict(schema)


def item_key(item: Any, keys: tuple[str, ...]) -> str | None:
    """Identity of a list item by its key fields, as FieldsV1 writes it; None when one is missing."""
    if not isinstance(item, dict):
        return None
    found = {key: item.get(key, _KEY_DEFAULTS.get(key)) for key in keys}
    if any(value is None for value in found.values()):
        return None
    return json.dumps(found, sort_keys=True, separators=(",", ":"))


def patch_merge_key(model: str, name: str) -> str | None:
    """The strategic merge key of a list field; ``model`` is the Python client's (``V1Container``)."""
    if name == "ports":
        return {"V1Container": "containerPort", "V1ServiceSpec": "port"}.get(model)
    keys = _MAP_LISTS.get(name)
    return keys[0] if keys else None
