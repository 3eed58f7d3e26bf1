"""What the verbs do to objects: create, update, patch, apply, delete, list.

Everything a real API server checks between a request and etcd happens here, for HTTP requests and for the
rehearsal's own writes alike. Semantics: ``k8s.io/apiserver/pkg/registry/generic/registry``.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mlcc_rehearsal.kubernetes_api import schemas, status
from mlcc_rehearsal.kubernetes_api.apply import Writer, apply, track_update
from mlcc_rehearsal.kubernetes_api.catalogue import Resource
from mlcc_rehearsal.kubernetes_api.deletion import Deletion
from mlcc_rehearsal.kubernetes_api.json_copy import copied
from mlcc_rehearsal.kubernetes_api.naming import generated_name
from mlcc_rehearsal.kubernetes_api.patches import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    json_patch,
    merge_patch,
    strategic_merge,
)
from mlcc_rehearsal.kubernetes_api.preparation import Preparation
from mlcc_rehearsal.kubernetes_api.registry import Registry
from mlcc_rehearsal.kubernetes_api.selectors import field_matcher, label_matcher
from mlcc_rehearsal.kubernetes_api.shapes import Shape
from mlcc_rehearsal.kubernetes_api.status import Object
from mlcc_rehearsal.kubernetes_api.store import Store
from mlcc_rehearsal.kubernetes_api.validation import check_name, check_update


@dataclass(frozen=True)
class WriteOptions:
    """Query parameters of a write: manager, ``force``, ``dryRun=All``, ``fieldValidation``, subresource."""

    manager: str = "unknown"
    force: bool = False
    dry_run: bool = False
    field_validation: str = "Warn"
    subresource: str = ""


class Lifecycle:
    """The verbs over a store and a registry."""

    def __init__(self, registry: Registry, store: Store, timestamp: Callable[[], str]) -> None:
        self.registry = registry
        self.store = store
        self.timestamp = timestamp
        self.deletion = Deletion(registry, store, timestamp)
        self.preparation = Preparation(registry, store, timestamp)

    def get(self, resource: Resource, namespace: str, name: str) -> Object:
        """One object, or 404."""
        found = self.store.read(resource.group, resource.plural, namespace, name)
        if found is None:
            raise status.not_found(resource.plural, resource.group, name)
        return self.presented(resource, found)

    def presented(self, resource: Resource, obj: Object) -> Object:
        """An object as seen through one version of its resource."""
        if obj.get("apiVersion") != resource.api_version:
            obj = {**obj, "apiVersion": resource.api_version}
        return obj

    def select(
        self, resource: Resource, namespace: str | None, labels: str | None, fields: str | None
    ) -> list[Object]:
        """Stored objects that satisfy both selectors; read only."""
        by_label, by_field = label_matcher(labels), field_matcher(fields)
        return [
            self.presented(resource, obj)
            for obj in self.store.scan(resource.group, resource.plural, namespace)
            if by_label(obj) and by_field(obj)
        ]

    def create(
        self, resource: Resource, namespace: str, body: Object, options: WriteOptions
    ) -> tuple[Object, list[str]]:
        """A new object and the warnings to send along.

        Raises:
            ApiError: 400, 403, 404 (namespace), 409 (name taken) or 422.
        """
        with self.store.lock:
            obj, warnings = self._decoded(resource, namespace, body, options)
            metadata = obj["metadata"]
            if not metadata.get("name") and metadata.get("generateName"):
                metadata["name"] = generated_name(metadata["generateName"])
            self._new_metadata(resource, obj)
            if self.store.read(resource.group, resource.plural, namespace, metadata["name"]) is not None:
                raise status.already_exists(resource.plural, resource.group, metadata["name"])
            self._drop_status(resource, obj)
            self.preparation.admit(resource, obj, "CREATE")
            self.preparation.prepare(resource, obj, None)
            track_update(None, obj, self.shape(resource), self._writer(resource, options))
            return self._committed(resource, obj, options), warnings

    def update(
        self, resource: Resource, namespace: str, name: str, body: Object, options: WriteOptions
    ) -> tuple[Object, list[str]]:
        """Replace an object (PUT); a stale resourceVersion is refused with 409."""
        with self.store.lock:
            live = self._live(resource, namespace, name)
            obj, warnings = self._decoded(resource, namespace, body, options)
            if obj["metadata"].get("name", name) != name:
                given = obj["metadata"]["name"]
                raise status.bad_request(
                    f"the name of the object ({given}) does not match the name on the URL ({name})"
                )
            return self._rewritten(resource, live, obj, options), warnings

    def patch(
        self, resource: Resource, namespace: str, name: str, kind: str, patch: Any, options: WriteOptions
    ) -> tuple[Object, bool, list[str]]:
        """Patch an object; answers it, whether it was created (apply only), and warnings."""
        with self.store.lock:
            if kind in APPLY_PATCH:
                return self._apply(resource, namespace, name, patch, options)
            live = self._live(resource, namespace, name)
            shape = self.shape(resource)
            if kind == JSON_PATCH:
                changed = json_patch(live, patch)
            elif kind == MERGE_PATCH:
                changed = merge_patch(live, patch)
            elif kind == STRATEGIC_PATCH and not resource.custom:
                changed = strategic_merge(live, patch, shape)
            else:
                raise status.ApiError(
                    415,
                    "UnsupportedMediaType",
                    "the body of the request was in an unknown format - accepted media types include: "
                    "application/json-patch+json, application/merge-patch+json, "
                    "application/apply-patch+yaml",
                )
            given = (patch.get("metadata") or {}).get("resourceVersion") if isinstance(patch, dict) else None
            if given is None and kind != JSON_PATCH:
                changed["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
            obj, warnings = self._decoded(resource, namespace, changed, options)
            return self._rewritten(resource, live, obj, options), False, warnings

    def delete(
        self, resource: Resource, namespace: str, name: str, options: Object, *, dry_run: bool = False
    ) -> Object:
        """Delete an object; answers it when it lingers (finalizers), else a ``Status`` of success."""
        with self.store.lock:
            live = self._live(resource, namespace, name)
            self.preparation.admit(resource, live, "DELETE")
            left = self.deletion.request(resource, live, options, dry_run=dry_run)
        if left is not None:
            return self.presented(resource, left)
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {
                "name": name,
                **({"group": resource.group} if resource.group else {}),
                "kind": resource.plural,
                "uid": live["metadata"]["uid"],
            },
        }

    def shape(self, resource: Resource) -> Shape:
        """Merge rules of a resource."""
        return Shape(self.registry.custom_schema(resource), custom=resource.custom)

    def put(self, resource: Resource, obj: Object, manager: str) -> Object:
        """Create or replace an object with its status, as a controller with all rights would."""
        with self.store.lock:
            obj = copied(obj)
            metadata = obj.setdefault("metadata", {})
            namespace = metadata.get("namespace", "")
            live = self.store.read(resource.group, resource.plural, namespace, metadata.get("name", ""))
            if live is None:
                self.preparation.require_namespace(resource, namespace, metadata.get("name", ""))
                self._new_metadata(resource, obj)
            else:
                kept = {key: value for key, value in live["metadata"].items() if key not in metadata}
                metadata.update(kept)
                metadata["resourceVersion"] = live["metadata"]["resourceVersion"]
                if "status" not in obj and "status" in live:
                    obj["status"] = live["status"]
                self._bump_generation(live, obj)
            self.preparation.prepare(resource, obj, live)
            options = WriteOptions(manager=manager)
            track_update(live, obj, self.shape(resource), self._writer(resource, options))
            if live is not None and _same(live, obj):
                return live
            return self._committed(resource, obj, options)

    def _apply(
        self, resource: Resource, namespace: str, name: str, body: Any, options: WriteOptions
    ) -> tuple[Object, bool, list[str]]:
        config, warnings = self._decoded(resource, namespace, body, options)
        given = config["metadata"].setdefault("name", name)
        if given != name:
            raise status.bad_request(
                f"the name of the object ({given}) does not match the name on the URL ({name})"
            )
        if config["metadata"].get("managedFields"):
            raise status.bad_request("metadata.managedFields must be nil")
        live = self.store.read(resource.group, resource.plural, namespace, name)
        ignore = ("status",) if resource.has_status and options.subresource != "status" else ()
        writer = self._writer(resource, options)
        force = options.force
        version = config["metadata"].pop("resourceVersion", None)
        uid = config["metadata"].get("uid")
        if uid and (live is None or live["metadata"]["uid"] != uid):
            had = live["metadata"]["uid"] if live else ""
            why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {had}"
            raise status.conflict(resource.plural, resource.group, name, why)
        shape = self.shape(resource)
        if live is None:
            if options.subresource:
                raise status.not_found(resource.plural, resource.group, name)
            obj = apply(None, config, shape, writer, force=force, ignore=ignore)
            self._new_metadata(resource, obj)
            self.preparation.admit(resource, obj, "CREATE")
            self.preparation.prepare(resource, obj, None)
            return self._committed(resource, obj, options), True, warnings
        merged = apply(live, config, shape, writer, force=force, ignore=ignore)
        if version is not None:
            merged["metadata"]["resourceVersion"] = version
        return self._rewritten(resource, live, merged, options, applied=True), False, warnings

    def _rewritten(
        self,
        resource: Resource,
        live: Object,
        obj: Object,
        options: WriteOptions,
        *,
        applied: bool = False,
    ) -> Object:
        """Store ``obj`` over ``live`` with all checks of an update."""
        before = live["metadata"]
        self._check_current(resource, before, obj["metadata"])
        self._carry_over(before, obj["metadata"], applied=applied)
        obj = _through(resource, live, obj, options.subresource)
        if before.get("deletionTimestamp"):
            self._no_new_finalizers(resource, before, obj["metadata"])
        self.preparation.admit(resource, obj, "UPDATE")
        self._bump_generation(live, obj)
        self.preparation.prepare(resource, obj, live)
        check_update(resource, live, obj)
        if not applied:
            track_update(live, obj, self.shape(resource), self._writer(resource, options))
        if _same(live, obj):
            return self.presented(resource, live)
        return self._committed(resource, obj, options)

    def _check_current(self, resource: Resource, before: Object, metadata: Object) -> None:
        version = metadata.get("resourceVersion")
        if version and version != before["resourceVersion"]:
            raise status.stale(resource.plural, resource.group, before["name"])
        if metadata.get("uid") not in (None, "", before["uid"]):
            why = (
                f"Precondition failed: UID in precondition: {metadata['uid']}, "
                f"UID in object meta: {before['uid']}"
            )
            raise status.conflict(resource.plural, resource.group, before["name"], why)

    def _carry_over(self, before: Object, metadata: Object, *, applied: bool) -> None:
        """What a client cannot change stays as it was."""
        for key in ("uid", "creationTimestamp", "generation", "deletionTimestamp", "resourceVersion"):
            if key in before:
                metadata[key] = before[key]
            else:
                metadata.pop(key, None)
        metadata.setdefault("name", before["name"])
        if before.get("namespace"):
            metadata["namespace"] = before["namespace"]
        if not applied:
            metadata.setdefault("managedFields", before.get("managedFields", []))

    def _committed(self, resource: Resource, obj: Object, options: WriteOptions) -> Object:
        if options.dry_run:
            shown = copied(obj)
            return self.presented(resource, shown)
        stored = self.store.write(resource.group, resource.plural, obj)
        if resource.kind == "CustomResourceDefinition" and resource.group == "apiextensions.k8s.io":
            self.registry.define(stored)
        if stored["metadata"].get("deletionTimestamp") and not stored["metadata"].get("finalizers"):
            self.deletion.finish(resource, stored)
        return self.presented(resource, stored)

    def _decoded(
        self, resource: Resource, namespace: str, body: Any, options: WriteOptions
    ) -> tuple[Object, list[str]]:
        """A checked copy of a request's body, and warnings about unknown fields."""
        if not isinstance(body, dict):
            raise status.bad_request("the body of the request must be an object")
        obj = copied(body)
        given = obj.setdefault("apiVersion", resource.api_version)
        if given != resource.api_version:
            raise status.bad_request(
                f"the API version in the data ({given}) does not match the expected API version "
                f"({resource.api_version})"
            )
        if obj.setdefault("kind", resource.kind) != resource.kind:
            raise status.bad_request(
                f"{obj['kind']} in version {given!r} cannot be handled as a {resource.kind}: "
                "the kind in the data does not match the resource"
            )
        metadata = obj.get("metadata")
        if metadata is None:
            metadata = obj["metadata"] = {}
        if resource.namespaced:
            if metadata.get("namespace") not in (None, "", namespace):
                raise status.bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request"
                )
            metadata["namespace"] = namespace
        else:
            metadata.pop("namespace", None)
        return obj, self._checked_fields(resource, obj, options)

    def _checked_fields(self, resource: Resource, obj: Object, options: WriteOptions) -> list[str]:
        where = f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: '
        if resource.custom:
            unknown = schemas.prune_custom(self.registry.custom_schema(resource), obj)
        else:
            findings = schemas.prune(resource, obj)
            if findings.mistyped:
                raise status.bad_request(where + findings.mistyped[0])
            unknown = findings.unknown
        if unknown and options.field_validation == "Strict":
            listed = ", ".join(f'unknown field "{field}"' for field in unknown)
            raise status.bad_request(f"{where}strict decoding error: {listed}")
        return [f'unknown field "{field}"' for field in unknown] if options.field_validation == "Warn" else []

    def _new_metadata(self, resource: Resource, obj: Object) -> None:
        metadata = obj["metadata"]
        name = metadata.get("name")
        if not name:
            fault = (
                "metadata.name",
                "FieldValueRequired",
                "Required value: name or generateName is required",
            )
            raise status.invalid(resource.kind, resource.group, "", [fault])
        check_name(resource, name)
        self.preparation.require_namespace(resource, metadata.get("namespace", ""), name)
        if metadata.pop("resourceVersion", ""):
            raise status.bad_request("resourceVersion should not be set on objects to be created")
        metadata["uid"] = str(uuid.uuid4())
        metadata["creationTimestamp"] = self.timestamp()
        metadata["generation"] = 1
        for key in ("deletionTimestamp", "selfLink"):
            metadata.pop(key, None)
        if "managedFields" in metadata and not metadata["managedFields"]:
            del metadata["managedFields"]

    def _drop_status(self, resource: Resource, obj: Object) -> None:
        if resource.has_status:
            obj.pop("status", None)

    def _bump_generation(self, live: Object, obj: Object) -> None:
        ignored = ("metadata", "status", "apiVersion", "kind")
        before = {key: value for key, value in live.items() if key not in ignored}
        after = {key: value for key, value in obj.items() if key not in ignored}
        if before != after:
            obj["metadata"]["generation"] = live["metadata"].get("generation", 1) + 1

    def _no_new_finalizers(self, resource: Resource, before: Object, metadata: Object) -> None:
        added = set(metadata.get("finalizers") or []) - set(before.get("finalizers") or [])
        if added:
            text = (
                "Forbidden: no new finalizers can be added if the object is being deleted, found new "
                f"finalizers []string{{{', '.join(map(json.dumps, sorted(added)))}}}"
            )
            fault = ("metadata.finalizers", "FieldValueForbidden", text)
            raise status.invalid(resource.kind, resource.group, before["name"], [fault])

    def _live(self, resource: Resource, namespace: str, name: str) -> Object:
        found = self.store.read(resource.group, resource.plural, namespace, name)
        if found is None:
            raise status.not_found(resource.plural, resource.group, name)
        return self.presented(resource, found)

    def _writer(self, resource: Resource, options: WriteOptions) -> Writer:
        return Writer(options.manager, resource.api_version, self.timestamp(), options.subresource)


def _through(resource: Resource, live: Object, obj: Object, subresource: str) -> Object:
    """``obj`` as a write sees it: its status only through that subresource, nothing else through it."""
    if subresource == "status":
        fields = obj["metadata"].get("managedFields", [])
        metadata = {**live["metadata"], "managedFields": fields}
        return {**copied(live), "status": obj.get("status", {}), "metadata": metadata}
    if resource.has_status:
        obj.pop("status", None)
        if "status" in live:
            obj["status"] = copied(live["status"])
    return obj


def _same(one: Object, other: Object) -> bool:
    """Whether two states differ in nothing but resourceVersion and the times of managed fields."""

    def bare(obj: Object) -> Object:
        metadata = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
        metadata["managedFields"] = [
            {key: value for key, value in entry.items() if key != "time"}
            for entry in metadata.get("managedFields") or []
        ]
        return {**obj, "metadata": metadata}

    return bare(one) == bare(other)
