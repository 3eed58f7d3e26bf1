"""Deleting objects: finalizers, propagation, namespaces and definitions with content.

Source: https://kubernetes.io/docs/concepts/architecture/garbage-collection/ and
https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/
"""

from __future__ import annotations

from collections.abc import Callable

from mlcc_rehearsal.kubernetes_api import status
from mlcc_rehearsal.kubernetes_api.aggregation import discovery_failure, undiscovered
from mlcc_rehearsal.kubernetes_api.catalogue import Resource
from mlcc_rehearsal.kubernetes_api.registry import Registry
from mlcc_rehearsal.kubernetes_api.status import Object
from mlcc_rehearsal.kubernetes_api.store import Store

CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
_ALWAYS_THERE = ("default", "kube-system", "kube-public", "kube-node-lease")


class Deletion:
    """Removes objects, now or when nothing holds them any more."""

    def __init__(self, registry: Registry, store: Store, timestamp: Callable[[], str]) -> None:
        self._registry = registry
        self._store = store
        self._timestamp = timestamp

    def request(self, resource: Resource, live: Object, options: Object, *, dry_run: bool) -> Object | None:
        """Start a deletion; answers the object when it lingers, None when it is gone.

        Raises:
            ApiError: 409 when a precondition fails, 403 for a namespace that cannot be deleted.
        """
        self._check_preconditions(resource, live, options)
        name = live["metadata"]["name"]
        namespace_kind = resource.kind == "Namespace" and not resource.group
        if namespace_kind and name in _ALWAYS_THERE:
            raise status.forbidden("namespaces", "", name, "this namespace may not be deleted")
        if dry_run:
            return live
        policy = options.get("propagationPolicy") or (
            "Orphan" if options.get("orphanDependents") else "Background"
        )
        if policy == "Orphan":
            self._orphan_dependents(live["metadata"]["uid"])
        holds = bool(live["metadata"].get("finalizers"))
        if namespace_kind:
            holds = True
            live["status"] = {**live.get("status", {}), "phase": "Terminating"}
        if _is_definition(resource) and self._instances(live):
            live["metadata"].setdefault("finalizers", []).append(CLEANUP_FINALIZER)
            holds = True
        if not holds:
            self.finish(resource, live)
            return None
        if not live["metadata"].get("deletionTimestamp"):
            live["metadata"]["deletionTimestamp"] = self._timestamp()
            live["metadata"]["deletionGracePeriodSeconds"] = 0
            live["metadata"]["generation"] = live["metadata"].get("generation", 1) + 1
        return self._store.write(resource.group, resource.plural, live)

    def finish(self, resource: Resource, obj: Object) -> None:
        """Remove an object that nothing holds, and what depends on it."""
        metadata = obj["metadata"]
        erased = self._store.erase(
            resource.group, resource.plural, metadata.get("namespace", ""), metadata["name"]
        )
        if erased is None:
            return
        if _is_definition(resource):
            for served in self._registry.undefine(metadata["name"]):
                self._store.drop_resource(served.group, served.plural)
        self._collect_garbage(metadata["uid"])

    def sweep(self) -> None:
        """Go on with namespaces and definitions that wait for their content to go."""
        with self._store.lock:
            for namespace in self._store.scan("", "namespaces"):
                if namespace["metadata"].get("deletionTimestamp"):
                    self._empty_namespace(namespace)
            for definition in self._store.scan("apiextensions.k8s.io", "customresourcedefinitions"):
                if definition["metadata"].get("deletionTimestamp"):
                    self._empty_definition(definition)

    def _empty_namespace(self, namespace: Object) -> None:
        name = namespace["metadata"]["name"]
        left = 0
        for resource in self._distinct():
            if not resource.namespaced:
                continue
            for obj in self._store.scan(resource.group, resource.plural, name):
                left += self._remove(resource, obj)
        groups = undiscovered(self._store)
        if groups and left == 0:
            self._note_discovery_failure(namespace, groups)
            return
        if left == 0 and not namespace["metadata"].get("finalizers"):
            resource_of = self._registry.find("", "v1", "namespaces")
            if resource_of is not None:
                self.finish(resource_of, namespace)

    def _note_discovery_failure(self, namespace: Object, groups: list[str]) -> None:
        before = namespace.get("status", {}).get("conditions") or []
        failure = discovery_failure(groups, self._timestamp())
        if any(each["type"] == failure["type"] and each["message"] == failure["message"] for each in before):
            return
        conditions = [each for each in before if each["type"] != failure["type"]] + [failure]
        noted = {**namespace, "status": {**namespace.get("status", {}), "conditions": conditions}}
        self._store.write("", "namespaces", noted)

    def _empty_definition(self, definition: Object) -> None:
        left = 0
        for resource, obj in self._instances(definition):
            left += self._remove(resource, obj)
        finalizers = definition["metadata"].get("finalizers") or []
        if left or CLEANUP_FINALIZER not in finalizers:
            return
        rest = [item for item in finalizers if item != CLEANUP_FINALIZER]
        resource_of = self._registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        if resource_of is None:
            return
        if rest:
            metadata = {**definition["metadata"], "finalizers": rest}
            self._store.write(resource_of.group, resource_of.plural, {**definition, "metadata": metadata})
        else:
            self.finish(resource_of, definition)

    def _remove(self, resource: Resource, obj: Object) -> int:
        """Ask for an object's deletion; 1 when it lingers."""
        metadata = obj["metadata"]
        live = self._store.read(
            resource.group, resource.plural, metadata.get("namespace", ""), metadata["name"]
        )
        if live is None:
            return 0
        if live["metadata"].get("deletionTimestamp"):
            return 1
        return 0 if self.request(resource, live, {}, dry_run=False) is None else 1

    def _instances(self, definition: Object) -> list[tuple[Resource, Object]]:
        spec = definition["spec"]
        plural = spec["names"]["plural"]
        served = [r for r in self._registry.all() if (r.group, r.plural) == (spec["group"], plural)]
        if not served:
            return []
        return [(served[0], obj) for obj in self._store.scan(spec["group"], plural)]

    def _distinct(self) -> list[Resource]:
        """One resource for each place objects are kept in."""
        found: dict[tuple[str, str], Resource] = {}
        for resource in self._registry.all():
            found.setdefault((resource.group, resource.plural), resource)
        return list(found.values())

    def _collect_garbage(self, uid: str) -> None:
        places = {(resource.group, resource.plural): resource for resource in self._distinct()}
        for group, plural, obj in self._store.everything():
            owners = obj["metadata"].get("ownerReferences") or []
            if not any(owner.get("uid") == uid for owner in owners):
                continue
            rest = [owner for owner in owners if owner.get("uid") != uid]
            if rest:
                metadata = {**obj["metadata"], "ownerReferences": rest}
                self._store.write(group, plural, {**obj, "metadata": metadata})
            elif (group, plural) in places:
                self._remove(places[(group, plural)], obj)

    def _orphan_dependents(self, uid: str) -> None:
        for group, plural, obj in self._store.everything():
            owners = obj["metadata"].get("ownerReferences") or []
            rest = [owner for owner in owners if owner.get("uid") != uid]
            if len(rest) != len(owners):
                metadata = {**obj["metadata"], "ownerReferences": rest}
                self._store.write(group, plural, {**obj, "metadata": metadata})

    def _check_preconditions(self, resource: Resource, live: Object, options: Object) -> None:
        wanted = options.get("preconditions") or {}
        for key, word in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
            given, had = wanted.get(key), live["metadata"][key]
            if given and given != had:
                why = f"Precondition failed: {word} in precondition: {given}, {word} in object meta: {had}"
                raise status.conflict(resource.plural, resource.group, live["metadata"]["name"], why)


def _is_definition(resource: Resource) -> bool:
    return resource.kind == "CustomResourceDefinition" and resource.group == "apiextensions.k8s.io"
