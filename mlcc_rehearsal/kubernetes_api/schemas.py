"""Field names and types of the built-in kinds, read from the official Python client's models.

The models are generated from Kubernetes' own OpenAPI document, so that no second list is kept here.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mlcc_rehearsal.kubernetes_api.catalogue import Resource
from mlcc_rehearsal.kubernetes_api.status import Object

_LIST = re.compile(r"^list\[(.+)\]$")
_MAP = re.compile(r"^dict\(str, (.+)\)$")
_QUANTITIES = frozenset(
    {"limits", "requests", "capacity", "allocatable", "hard", "used", "overhead", "sizeLimit", "divisor",
     "averageValue", "value", "default", "defaultRequest", "max", "min", "maxLimitRequestRatio"}
)  # fmt: skip
_MODEL_PREFIX = re.compile(r"^[A-Z][a-z]*?(?=V\d)V\d+(?:(?:alpha|beta)\d+)?|^V\d+(?:(?:alpha|beta)\d+)?")
_JSON_TYPES = {"str": "string", "int": "int32", "float": "float64", "bool": "bool"}
_PYTHON: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
}


@dataclass
class Findings:
    """What decoding an object into its Go type would have to say."""

    unknown: list[str]
    mistyped: list[str]


def model_of(resource: Resource) -> str | None:
    """Name of the client's model of a built-in resource (``V1Deployment``)."""
    if resource.custom:
        return None
    models = _models()
    version = resource.version[:1].upper() + resource.version[1:]
    for name in (f"{version}{resource.kind}", f"Core{version}{resource.kind}"):
        if hasattr(models, name):
            return name
    return None


def prune(resource: Resource, obj: Object) -> Findings:
    """Drop fields the kind does not have, in place, and report them with wrongly typed values."""
    findings = Findings([], [])
    model = model_of(resource)
    if model is not None:
        _walk(obj, model, "", "", findings)
    return findings


def prune_custom(schema: Object | None, obj: Object) -> list[str]:
    """Drop what a CRD's structural schema does not name, in place; answers the dropped fields."""
    dropped: list[str] = []
    if schema:
        for key in list(obj):
            if key in ("apiVersion", "kind", "metadata"):
                continue
            below = schema.get("properties", {}).get(key)
            if below is not None:
                _walk_custom(obj[key], below, key, dropped)
            elif not schema.get("x-kubernetes-preserve-unknown-fields"):
                dropped.append(key)
                del obj[key]
    return dropped


def definitions() -> Iterator[tuple[str, dict[str, str]]]:
    """(model, {JSON field: declared type}) of every model with fields."""
    models = _models()
    for name in sorted(vars(models)):
        found = getattr(models, name)
        if isinstance(found, type) and hasattr(found, "openapi_types"):
            yield name, _fields(name)


def _walk(value: Any, declared: str, path: str, owner: str, findings: Findings) -> None:
    if value is None or declared in ("object", "datetime", "date"):
        return
    if found := _LIST.match(declared):
        if not isinstance(value, list):
            findings.mistyped.append(_cannot(value, owner, path, f"[]{found[1]}"))
            return
        for index, item in enumerate(value):
            _walk(item, found[1], f"{path}[{index}]", owner, findings)
    elif found := _MAP.match(declared):
        if not isinstance(value, dict):
            wanted = "map[string]" + _JSON_TYPES.get(found[1], "")
            findings.mistyped.append(_cannot(value, owner, path, wanted))
            return
        for item in value.values():
            if not (_is_quantity(path) and isinstance(item, int | float)):
                _walk(item, found[1], path, owner, findings)
    elif declared in _PYTHON:
        if not _fits(value, declared) and not (_is_quantity(path) and isinstance(value, int | float)):
            findings.mistyped.append(_cannot(value, owner, path, _JSON_TYPES[declared]))
    elif isinstance(value, dict):
        _walk_fields(value, declared, path, findings)
    else:
        findings.mistyped.append(_cannot(value, owner, path, declared))


def _walk_fields(value: Object, model: str, path: str, findings: Findings) -> None:
    fields = _fields(model)
    go_type = _MODEL_PREFIX.sub("", model)
    for key in list(value):
        place = f"{path}.{key}" if path else key
        if key in fields:
            _walk(value[key], fields[key], place, go_type, findings)
        else:
            findings.unknown.append(place)
            del value[key]


def _is_quantity(path: str) -> bool:
    return path.rpartition(".")[2] in _QUANTITIES


def _fits(value: Any, declared: str) -> bool:
    if declared == "int" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _PYTHON[declared]) and (declared == "bool" or not isinstance(value, bool))


def _walk_custom(value: Any, schema: Object, path: str, dropped: list[str]) -> None:
    if schema.get("x-kubernetes-preserve-unknown-fields") and "properties" not in schema:
        return
    if isinstance(value, list):
        for item in value:
            _walk_custom(item, schema.get("items", {}), path, dropped)
    elif isinstance(value, dict) and not schema.get("x-kubernetes-embedded-resource"):
        further = schema.get("additionalProperties")
        for key in list(value):
            below = schema.get("properties", {}).get(key)
            if below is None and isinstance(further, dict):
                below = further
            if below is not None:
                _walk_custom(value[key], below, f"{path}.{key}", dropped)
            elif not further and not schema.get("x-kubernetes-preserve-unknown-fields"):
                dropped.append(f"{path}.{key}")
                del value[key]


def _cannot(value: Any, owner: str, path: str, wanted: str) -> str:
    given = {str: "string", bool: "bool", list: "array", dict: "object"}.get(type(value), "number")
    return f"json: cannot unmarshal {given} into Go struct field {owner}.{path} of type {wanted}"


@functools.cache
def _fields(model: str) -> dict[str, str]:
    found = getattr(_models(), model)
    names: dict[str, str] = found.attribute_map
    return {names[attribute]: declared for attribute, declared in found.openapi_types.items()}


@functools.cache
def _models() -> Any:
    import kubernetes.client.models as models  # heavy: only once an object is to be checked

    return models
