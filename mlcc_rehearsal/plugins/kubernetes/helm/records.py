"""Where Helm keeps what it has installed: Secrets of type ``helm.sh/release.v1``.

Source: helm.sh/helm/v3 ``pkg/storage/driver/{secrets,util}.go``: base64 of gzip of JSON under
``data.release``, labels name, owner, status and version.
"""

from __future__ import annotations

import base64
import datetime
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from mlcc_rehearsal.plugins.kubernetes.client import Cluster
from mlcc_rehearsal.plugins.kubernetes.states import Object

TYPE = "helm.sh/release.v1"
_MANAGER = "helm"


def utc_now() -> str:
    """The moment, as Helm writes it."""
    return datetime.datetime.now(datetime.UTC).isoformat()


@dataclass(frozen=True)
class Record:
    """One revision of a release."""

    name: str
    namespace: str
    revision: int
    status: str
    chart: str
    version: str
    app_version: str
    values: Mapping[str, Any]
    manifest: tuple[Object, ...]
    description: str = ""
    first_deployed: str = field(default_factory=utc_now)

    def with_status(self, status: str, description: str) -> Record:
        """The record in another status."""
        return replace(self, status=status, description=description)


def find(cluster: Cluster, namespace: str, name: str) -> list[Record]:
    """All revisions of a release, oldest first."""
    selector = f"owner=helm,name={name}"
    secrets = cluster.list("v1", "Secret", namespace, selector)
    found = [_decode(item) for item in secrets if item.get("type") == TYPE]
    return sorted(found, key=lambda record: record.revision)


def save(cluster: Cluster, record: Record) -> None:
    """Keep a revision, over what was kept of it."""
    cluster.apply(_encode(record), _MANAGER, force=True)


def forget(cluster: Cluster, record: Record) -> None:
    """Drop a revision."""
    cluster.delete("v1", "Secret", record.namespace, secret_name(record.name, record.revision), "Background")


def secret_name(name: str, revision: int) -> str:
    """``sh.helm.release.v1.<name>.v<revision>``."""
    return f"sh.helm.release.v1.{name}.v{revision}"


def _encode(record: Record) -> Object:
    text = "".join(f"---\n{yaml.safe_dump(obj, sort_keys=True)}" for obj in record.manifest)
    release = {
        "name": record.name,
        "info": {
            "first_deployed": record.first_deployed,
            "last_deployed": utc_now(),
            "deleted": "",
            "description": record.description,
            "status": record.status,
        },
        "chart": {
            "metadata": {
                "name": record.chart,
                "version": record.version,
                "appVersion": record.app_version,
                "apiVersion": "v2",
            },
            "templates": [],
            "values": {},
        },
        "config": dict(record.values),
        "manifest": text,
        "version": record.revision,
        "namespace": record.namespace,
    }
    packed = base64.b64encode(gzip.compress(json.dumps(release).encode()))
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": secret_name(record.name, record.revision),
            "namespace": record.namespace,
            "labels": {
                "name": record.name,
                "owner": "helm",
                "status": record.status,
                "version": str(record.revision),
            },
        },
        "type": TYPE,
        "data": {"release": base64.b64encode(packed).decode("ascii")},
    }


def _decode(secret: Object) -> Record:
    packed = base64.b64decode(base64.b64decode(secret["data"]["release"]))
    release = json.loads(gzip.decompress(packed) if packed[:2] == b"\x1f\x8b" else packed)
    metadata = (release.get("chart") or {}).get("metadata") or {}
    info = release.get("info") or {}
    return Record(
        name=release["name"],
        namespace=release["namespace"],
        revision=int(release["version"]),
        status=str(info.get("status", "")),
        chart=str(metadata.get("name", "")),
        version=str(metadata.get("version", "")),
        app_version=str(metadata.get("appVersion", "")),
        values=release.get("config") or {},
        manifest=tuple(obj for obj in yaml.safe_load_all(release.get("manifest") or "") if obj),
        description=str(info.get("description", "")),
        first_deployed=str(info.get("first_deployed", "")),
    )
