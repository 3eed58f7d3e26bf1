"""Discovery: which groups, versions and resources there are, in the plain and the aggregated form."""

from __future__ import annotations

from mlcc_rehearsal.kubernetes_api.catalogue import Resource
from mlcc_rehearsal.kubernetes_api.registry import Registry
from mlcc_rehearsal.kubernetes_api.status import Object

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
_SUBRESOURCE_VERBS = {
    "status": ["get", "patch", "update"],
    "scale": ["get", "patch", "update"],
    "log": ["get"],
    "eviction": ["create"],
    "binding": ["create"],
    "finalize": ["update"],
    "approval": ["get", "patch", "update"],
}
_SUBRESOURCE_KINDS = {
    "eviction": ("policy", "v1", "Eviction"),
    "scale": ("autoscaling", "v1", "Scale"),
    "binding": ("", "v1", "Binding"),
}


def core_versions(server: str) -> Object:
    """``/api``."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": server}],
    }


def group_list(registry: Registry) -> Object:
    """``/apis``."""
    groups = [_group(name, versions) for name, versions in registry.groups().items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(registry: Registry, name: str) -> Object | None:
    """``/apis/<group>``, or None for a group that is not served."""
    versions = registry.groups().get(name)
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)} if versions else None


def resource_list(registry: Registry, name: str, version: str) -> Object | None:
    """``/api/v1`` and ``/apis/<group>/<version>``."""
    served = [r for r in registry.all() if (r.group, r.version) == (name, version)]
    if not served:
        return None
    listed: list[Object] = []
    for resource in served:
        entry: Object = {
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": list(resource.verbs),
        }
        if resource.short_names:
            entry["shortNames"] = list(resource.short_names)
        if resource.categories:
            entry["categories"] = list(resource.categories)
        listed.append(entry)
        for subresource in resource.subresources:
            below: Object = {
                "name": f"{resource.plural}/{subresource}",
                "singularName": "",
                "namespaced": resource.namespaced,
                "kind": resource.kind,
                "verbs": _SUBRESOURCE_VERBS[subresource],
            }
            if subresource in _SUBRESOURCE_KINDS:
                kind_group, kind_version, kind = _SUBRESOURCE_KINDS[subresource]
                below.update({"group": kind_group, "version": kind_version, "kind": kind})
            listed.append(below)
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{name}/{version}" if name else version,
        "resources": listed,
    }


def aggregated(registry: Registry, *, core: bool, version: str) -> Object:
    """``/api`` or ``/apis`` as an ``APIGroupDiscoveryList`` (``apidiscovery.k8s.io`` v2 or v2beta1)."""
    items = []
    for name, versions in registry.groups().items():
        if (not name) is not core:
            continue
        described = [
            {
                "version": served,
                "resources": [
                    _described(resource)
                    for resource in registry.all()
                    if (resource.group, resource.version) == (name, served)
                ],
                "freshness": "Current",
            }
            for served in versions
        ]
        metadata: Object = {"creationTimestamp": None}
        if name:
            metadata["name"] = name
        items.append({"metadata": metadata, "versions": described})
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": items,
    }


def _group(name: str, versions: list[str]) -> Object:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _described(resource: Resource) -> Object:
    entry: Object = {
        "resource": resource.plural,
        "responseKind": {"group": resource.group, "version": resource.version, "kind": resource.kind},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    below = []
    for subresource in resource.subresources:
        group_, version, kind = _SUBRESOURCE_KINDS.get(
            subresource, (resource.group, resource.version, resource.kind)
        )
        below.append(
            {
                "subresource": subresource,
                "responseKind": {"group": group_, "version": version, "kind": kind},
                "verbs": _SUBRESOURCE_VERBS[subresource],
            }
        )
    if below:
        entry["subresources"] = below
    return entry
