"""The state the provider keeps of an object: the live object, and the inputs that made it.

Source: pulumi-kubernetes ``checkpointObject``, ``parseCheckpointObject``, ``pruneMap``, ``normalizeInputs``
(``provider/pkg/provider`` at commit 94977969d).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from mlcc_rehearsal.plugins.values import UNKNOWN, Secret, contains_unknown, unmarked

Object = dict[str, Any]

INPUTS = "__inputs"
FIELD_MANAGER = "__fieldManager"
INITIAL_VERSION = "__initialApiVersion"
_KEPT_ASIDE = (INPUTS, FIELD_MANAGER, INITIAL_VERSION)
_READ_ONLY = (
    "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields",
    "resourceVersion", "uid",
)  # fmt: skip


def to_object(properties: Mapping[str, Any]) -> Object:
    """Kubernetes' form of a property map: no secret marks, dashes where Pulumi has underscores."""
    return dict(_renamed(unmarked(properties), "x_kubernetes_", "x-kubernetes-"))


def to_properties(obj: Mapping[str, Any]) -> Object:
    """Pulumi's form of an object."""
    return dict(_renamed(obj, "x-kubernetes-", "x_kubernetes_"))


def parse(state: Mapping[str, Any]) -> tuple[Object, Object]:
    """(inputs, live object) of a state."""
    plain = to_object(state)
    inputs = plain.get(INPUTS) or {}
    return dict(inputs), {key: value for key, value in plain.items() if key not in _KEPT_ASIDE}


def make(inputs: Object, live: Object, marked: Mapping[str, Any], version: str, manager: str) -> Object:
    """A state; what is marked secret in ``marked`` is so in inputs and live object too."""
    properties, kept = to_properties(live), to_properties(inputs)
    copy_marks(properties, marked)
    copy_marks(kept, marked)
    plain = marked.get("stringData")
    if live.get("kind") == "Secret" and plain is not None and "data" in properties:
        if isinstance(plain, Secret) or _all_secret(plain):
            properties["data"] = Secret(unmarked(properties["data"]))
        elif isinstance(plain, Mapping):
            copy_marks(properties["data"], plain)
    return {**properties, INPUTS: kept, INITIAL_VERSION: version, FIELD_MANAGER: manager}


def copy_marks(outputs: Any, marked: Any) -> None:
    """Mark in ``outputs`` (in place) what is marked secret at the same path of ``marked``."""
    if isinstance(outputs, dict) and isinstance(marked, Mapping):
        for key, value in marked.items():
            if key in outputs:
                outputs[key] = _with_mark(outputs[key], value)
    elif isinstance(outputs, list) and isinstance(marked, list):
        for index, value in enumerate(marked[: len(outputs)]):
            outputs[index] = _with_mark(outputs[index], value)


def normalized(inputs: Object) -> Object:
    """Inputs in the form the server keeps them: no read-only metadata, ``stringData`` in ``data``."""
    obj = dict(inputs)
    if isinstance(obj.get("metadata"), Mapping):
        obj["metadata"] = {key: value for key, value in obj["metadata"].items() if key not in _READ_ONLY}
    text = obj.get("stringData")
    if obj.get("kind") == "Secret" and isinstance(text, Mapping) and not contains_unknown(text):
        encoded = {key: base64.b64encode(str(value).encode()).decode("ascii") for key, value in text.items()}
        obj = {key: value for key, value in obj.items() if key != "stringData"}
        obj["data"] = {**(obj.get("data") or {}), **encoded}
    return obj


def prune(source: Any, target: Any) -> Any:
    """``source`` cut to the shape of ``target``: the keys and list items that ``target`` has."""
    if isinstance(source, Mapping) and isinstance(target, Mapping):
        return {key: prune(value, target[key]) for key, value in source.items() if key in target}
    if isinstance(source, list) and isinstance(target, list):
        if not source or not target:
            return []
        return [prune(value, wanted) for value, wanted in zip(source, target, strict=False)]
    return source


def without_nulls(value: Any) -> Any:
    """``value`` without map entries that are null: an SDK sends null for what is not set."""
    if isinstance(value, Mapping):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    if isinstance(value, Secret):
        return Secret(without_nulls(value.value))
    return value


def annotation(obj: Mapping[str, Any], name: str) -> str:
    """An annotation's text, "" without it."""
    metadata = obj.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    value = annotations.get(name) if isinstance(annotations, Mapping) else None
    return "" if value is None or value is UNKNOWN else str(value)


def annotation_is_true(obj: Mapping[str, Any], name: str) -> bool:
    """Whether an annotation says true."""
    return annotation(obj, name).lower() == "true"


def identifier(obj: Mapping[str, Any]) -> str:
    """``namespace/name``, or the name of an object without namespace."""
    metadata = obj["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else metadata["name"]


def split_identifier(text: str) -> tuple[str, str]:
    """(namespace, name) of an id."""
    namespace, _, name = text.rpartition("/")
    return namespace, name


def _renamed(value: Any, old: str, new: str) -> Any:
    if isinstance(value, Mapping):
        return {
            (
                new + key[len(old) :].replace("_", "-")
                if new.endswith("-")
                else new + key[len(old) :].replace("-", "_")
            )
            if key.startswith(old)
            else key: _renamed(item, old, new)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_renamed(item, old, new) for item in value]
    return value


def _with_mark(value: Any, marked: Any) -> Any:
    if isinstance(value, Secret):
        return value
    if isinstance(marked, Secret):
        return Secret(value)
    copy_marks(value, marked)
    return value


def _all_secret(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value) and all(isinstance(v, Secret) for v in value.values())
