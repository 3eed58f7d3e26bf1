"""Who owns the fields of an object: field managers, their handing over, and patches.

Follows ``fixCSAFieldManagers``, ``handleSSAIgnoreFields`` of pulumi-kubernetes' ``await.go`` (commit
94977969d).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlcc_rehearsal.plugins.kubernetes.client import Cluster
from mlcc_rehearsal.plugins.kubernetes.states import Object

TAKEN_OVER = (
    ("kubectl", "Apply"),
    ("kubectl", "Update"),
    ("before-first-apply", "Update"),
    ("pulumi-kubernetes", "Update"),
    ("pulumi-kubernetes.exe", "Update"),
    ("pulumi-resource-kubernetes", "Update"),
)


def take_over(cluster: Cluster, live: Object, manager: str) -> Object:
    """Give ``manager`` what the provider's other names, and kubectl apply, own on an object."""
    entries = live["metadata"].get("managedFields") or []
    mine: list[Object] = []
    rest: list[Object] = []
    for entry in entries:
        if entry.get("subresource"):
            rest.append(entry)
        elif (entry["manager"], entry["operation"]) in TAKEN_OVER or (
            (entry["manager"], entry["operation"]) == (manager, "Apply")
        ):
            mine.append(entry)
        else:
            rest.append(entry)
    if all(entry["manager"] == manager for entry in mine):
        return live
    fields: Object = {}
    for entry in mine:
        fields = _union(fields, entry.get("fieldsV1") or {})
    owned = {**mine[0], "manager": manager, "operation": "Apply", "fieldsV1": fields}
    patch = [
        {"op": "replace", "path": "/metadata/managedFields", "value": [*rest, owned]},
        {
            "op": "replace",
            "path": "/metadata/resourceVersion",
            "value": live["metadata"]["resourceVersion"],
        },
    ]
    return cluster.patch(live, patch, "application/json-patch+json", manager)


def with_ignored(inputs: Object, live: Object, ignore: list[str]) -> Object:
    """Inputs with the live values of ignored fields."""
    wanted = dict(inputs)
    for path in ignore:
        steps = path.split(".")
        source: Any = live
        target: Any = wanted
        for step in steps[:-1]:
            source = source.get(step) if isinstance(source, Mapping) else None
            if not isinstance(target.get(step), Mapping):
                target = None
                break
            target[step] = dict(target[step])
            target = target[step]
        if target is not None and isinstance(source, Mapping) and steps[-1] in source:
            target[steps[-1]] = source[steps[-1]]
    return wanted


def merge_patch(old: Any, new: Any) -> Any:
    """An RFC 7396 patch from old to new inputs, for client-side apply."""
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return new
    patch: Object = {key: None for key in old if key not in new}
    for key, value in new.items():
        if key not in old:
            patch[key] = value
        elif old[key] != value:
            patch[key] = merge_patch(old[key], value)
    return patch


def _union(one: Object, other: Object) -> Object:
    result = dict(one)
    for key, value in other.items():
        result[key] = _union(result[key], value) if key in result else value
    return result
