"""OpenAPI documents, as far as clients read them: kinds, fields, merge keys, write parameters.

``kubectl`` looks for the ``fieldValidation`` and ``dryRun`` parameters of PATCH and for patch merge keys
(``k8s.io/kubectl/pkg/validation``, ``k8s.io/cli-runtime/pkg/resource``); the pulumi-kubernetes provider
looks for the same in version 2. Descriptions are left out.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

from mlcc_rehearsal.kubernetes_api import schemas
from mlcc_rehearsal.kubernetes_api.catalogue import Resource
from mlcc_rehearsal.kubernetes_api.openapi_binary import encode_document
from mlcc_rehearsal.kubernetes_api.registry import Registry
from mlcc_rehearsal.kubernetes_api.shapes import patch_merge_key
from mlcc_rehearsal.kubernetes_api.status import Object

PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
_PREFIX = "io.k8s.api."
_GVK = "x-kubernetes-group-version-kind"
_PATCH_TYPES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
_WRITE_PARAMETERS = ("dryRun", "fieldManager", "fieldValidation", "force")


def version_two(registry: Registry, accept: str) -> tuple[bytes, str]:
    """The whole document as (bytes, content type): protobuf where a client asks for it, else JSON."""
    document = _document_two(registry, registry.revision)
    if "protobuf" in accept:
        return encode_document(document), PROTOBUF
    return json.dumps(document).encode(), "application/json"


def version_three_index(registry: Registry) -> Object:
    """``/openapi/v3``: a document for each group and version."""
    paths: Object = {}
    for group, versions in registry.groups().items():
        for version in versions:
            path = f"apis/{group}/{version}" if group else f"api/{version}"
            digest = hashlib.sha256(f"{path} {registry.revision}".encode()).hexdigest()[:32]
            paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
    return {"paths": paths}


def version_three(registry: Registry, path: str) -> Object | None:
    """``/openapi/v3/<path>``; None for a group and version that is not served."""
    parts = path.split("/")
    if parts[0] == "api" and len(parts) == 2:
        group, version = "", parts[1]
    elif parts[0] == "apis" and len(parts) == 3:
        group, version = parts[1], parts[2]
    else:
        return None
    served = [r for r in registry.all() if (r.group, r.version) == (group, version)]
    if not served:
        return None
    components: Object = {}
    for resource in served:
        components.update(_definitions_of(registry, resource, "#/components/schemas/"))
    paths = {
        path: {
            "patch": {
                _GVK: _gvk(resource),
                "x-kubernetes-action": "patch",
                "parameters": [
                    {"name": name, "in": "query", "schema": {"type": "string"}} for name in _WRITE_PARAMETERS
                ],
                "requestBody": {"content": {kind: {} for kind in _patch_types(resource)}},
                "responses": {"200": {"description": "OK"}},
            }
        }
        for resource in served
        for path in (_path(resource),)
    }
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "rehearsal"},
        "paths": paths,
        "components": {"schemas": components},
    }


@functools.lru_cache(maxsize=4)
def _document_two(registry: Registry, revision: int) -> Object:
    definitions: Object = {}
    paths: Object = {}
    for resource in registry.all():
        definitions.update(_definitions_of(registry, resource, "#/definitions/"))
        paths[_path(resource)] = {
            "patch": {
                _GVK: _gvk(resource),
                "x-kubernetes-action": "patch",
                "consumes": list(_patch_types(resource)),
                "parameters": [{"name": name, "in": "query", "type": "string"} for name in _WRITE_PARAMETERS],
            }
        }
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "rehearsal"},
        "paths": paths,
        "definitions": definitions,
    }


def _path(resource: Resource) -> str:
    base = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    scope = "/namespaces/{namespace}" if resource.namespaced else ""
    return f"{base}{scope}/{resource.plural}/{{name}}"


def _patch_types(resource: Resource) -> Iterator[str]:
    return (kind for kind in _PATCH_TYPES if not (resource.custom and "strategic" in kind))


def _gvk(resource: Resource) -> Object:
    return {"group": resource.group, "kind": resource.kind, "version": resource.version}


def _definitions_of(registry: Registry, resource: Resource, prefix: str) -> Object:
    model = schemas.model_of(resource)
    if model is None:
        name = ".".join([*reversed(resource.group.split(".")), resource.version, resource.kind])
        schema = dict(registry.custom_schema(resource) or {"type": "object"})
        if prefix == "#/definitions/":
            schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        return {name: {**schema, _GVK: [_gvk(resource)]}}
    found: Object = {}
    for name in _reachable(model):
        found[_PREFIX + name] = _schema(name, prefix)
    found[_PREFIX + model] = {**found[_PREFIX + model], _GVK: [_gvk(resource)]}
    return found


@functools.cache
def _reachable(model: str) -> tuple[str, ...]:
    """A model and all those its fields lead to."""
    fields = _all_fields()
    seen: list[str] = []
    waiting = [model]
    while waiting:
        name = waiting.pop()
        if name in seen or name not in fields:
            continue
        seen.append(name)
        for declared in fields[name].values():
            waiting += re.findall(r"[A-Z][A-Za-z0-9]+", declared)
    return tuple(seen)


@functools.cache
def _all_fields() -> dict[str, dict[str, str]]:
    return dict(schemas.definitions())


@functools.cache
def _schema(model: str, prefix: str) -> Object:
    properties: Object = {}
    for name, declared in _all_fields()[model].items():
        schema = _declared(declared, prefix)
        key = patch_merge_key(model, name)
        if key and schema.get("type") == "array":
            schema = {
                **schema,
                "x-kubernetes-patch-merge-key": key,
                "x-kubernetes-patch-strategy": "merge",
            }
        properties[name] = schema
    return {"type": "object", "properties": properties}


def _declared(declared: str, prefix: str) -> Object:
    if found := re.match(r"^list\[(.+)\]$", declared):
        return {"type": "array", "items": _declared(found[1], prefix)}
    if found := re.match(r"^dict\(str, (.+)\)$", declared):
        return {"type": "object", "additionalProperties": _declared(found[1], prefix)}
    simple: dict[str, Any] = {
        "str": {"type": "string"},
        "int": {"type": "integer"},
        "float": {"type": "number"},
        "bool": {"type": "boolean"},
        "object": {},
        "datetime": {"type": "string", "format": "date-time"},
    }
    if declared in simple:
        return dict(simple[declared])
    return {"$ref": f"{prefix}{_PREFIX}{declared}"}
