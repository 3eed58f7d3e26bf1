"""Which resources a cluster serves at this moment: the built-in ones and those of its CRDs."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from mlcc_rehearsal.kubernetes_api.catalogue import Resource, builtin_resources
from mlcc_rehearsal.kubernetes_api.status import Object

_PREFERRED = ("", "apiregistration.k8s.io", "apps")


class Registry:
    """Resources by path and by kind; custom ones come and go with their definitions."""

    def __init__(self, resources: Iterable[Resource] | None = None) -> None:
        self._lock = threading.RLock()
        self._builtin = list(resources if resources is not None else builtin_resources())
        self._custom: dict[str, list[Resource]] = {}
        self._definitions: dict[str, Object] = {}
        self.revision = 0

    def all(self) -> list[Resource]:
        """Every served resource, built-in ones first."""
        with self._lock:
            return [*self._builtin, *(item for items in self._custom.values() for item in items)]

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """The resource a request path names."""
        for resource in self.all():
            if (resource.group, resource.version, resource.plural) == (group, version, plural):
                return resource
        return None

    def by_kind(self, api_version: str, kind: str) -> Resource | None:
        """The resource that keeps objects of ``apiVersion`` and ``kind``."""
        for resource in self.all():
            if resource.api_version == api_version and resource.kind == kind:
                return resource
        return None

    def groups(self) -> dict[str, list[str]]:
        """Named API groups with their versions, the preferred version first."""
        found: dict[str, list[str]] = {}
        for resource in self.all():
            versions = found.setdefault(resource.group, [])
            if resource.version not in versions:
                versions.append(resource.version)
        for versions in found.values():
            versions.sort(key=version_priority, reverse=True)
        first = [group for group in _PREFERRED if group in found]
        return {group: found[group] for group in [*first, *sorted(set(found) - set(first))]}

    def define(self, definition: Object) -> list[Resource]:
        """Serve what a CustomResourceDefinition describes, in place of what it described before."""
        spec = definition["spec"]
        names = spec["names"]
        resources = []
        for version in spec.get("versions", []):
            if not version.get("served", True):
                continue
            subresources = tuple(key for key in ("status", "scale") if key in version.get("subresources", {}))
            resources.append(
                Resource(
                    group=spec["group"],
                    version=version["name"],
                    kind=names["kind"],
                    plural=names["plural"],
                    singular=names.get("singular") or names["kind"].lower(),
                    namespaced=spec.get("scope", "Namespaced") == "Namespaced",
                    short_names=tuple(names.get("shortNames", ())),
                    subresources=subresources,
                    categories=tuple(names.get("categories", ())),
                    custom=True,
                )
            )
        with self._lock:
            self._custom[definition["metadata"]["name"]] = resources
            self._definitions[definition["metadata"]["name"]] = definition
            self.revision += 1
        return resources

    def undefine(self, name: str) -> list[Resource]:
        """Stop serving a CustomResourceDefinition; answers what it had served."""
        with self._lock:
            self._definitions.pop(name, None)
            self.revision += 1
            return self._custom.pop(name, [])

    def custom_schema(self, resource: Resource) -> Object | None:
        """The OpenAPI schema a CRD gives for one of its versions."""
        with self._lock:
            definition = self._definitions.get(f"{resource.plural}.{resource.group}")
        if definition is None:
            return None
        for version in definition["spec"].get("versions", []):
            if version["name"] == resource.version:
                schema: Object | None = version.get("schema", {}).get("openAPIV3Schema")
                return schema
        return None

    def custom_version(self, resource: Resource) -> Object:
        """The version entry of the CRD that serves ``resource`` (subresource paths, printer columns)."""
        with self._lock:
            definition = self._definitions.get(f"{resource.plural}.{resource.group}", {})
        for version in definition.get("spec", {}).get("versions", []):
            if version["name"] == resource.version:
                return dict(version)
        return {}


def version_priority(version: str) -> tuple[int, int, int]:
    """Order of API versions as ``k8s.io/apimachinery/pkg/version`` has it: v2 > v1 > v1beta2 > v1alpha1."""
    number = version.lstrip("v")
    for rank, word in ((2, "beta"), (1, "alpha")):
        if word in number:
            major, _, minor = number.partition(word)
            return (rank, _as_int(major), _as_int(minor))
    return (3, _as_int(number), 0)


def _as_int(text: str) -> int:
    return int(text) if text.isdigit() else 0
