"""What a change of inputs means: updated in place, or replaced.

The table of replacing fields is pulumi-kubernetes' ``provider/pkg/provider/diff.go`` (commit 94977969d).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mlcc_rehearsal.kubernetes_api.scheduling import quantity
from mlcc_rehearsal.plugins.values import UNKNOWN

Path = tuple[str | int, ...]

_ALWAYS = ("metadata.name", "metadata.namespace")
_STATEFUL_SET = (
    "spec.podManagementPolicy", "spec.revisionHistoryLimit", "spec.selector", "spec.serviceName",
    "spec.volumeClaimTemplates",
)  # fmt: skip
_CONTAINER = (
    "args command env image imagePullPolicy lifecycle livenessProbe ports readinessProbe resources "
    "securityContext stdin stdinOnce terminationMessagePath terminationMessagePolicy tty volumeDevices "
    "volumeMounts workingDir"
)
_POD = (
    "affinity automountServiceAccountToken dnsConfig dnsPolicy enableServiceLinks hostAliases hostIPC "
    "hostNetwork hostPID hostname imagePullSecrets nodeName nodeSelector overhead preemptionPolicy priority "
    "priorityClassName readinessGates restartPolicy runtimeClassName schedulerName securityContext "
    "serviceAccount serviceAccountName shareProcessNamespace subdomain terminationGracePeriodSeconds volumes"
)
_VOLUME_SOURCES = (
    "awsElasticBlockStore azureDisk azureFile cephfs cinder csi fc flexVolume flocker gcePersistentDisk "
    "glusterfs hostPath iscsi local nfs photonPersistentDisk portworxVolume quobyte rbd scaleIO storageos "
    "vsphereVolume"
)
_REPLACING: dict[tuple[str, str], tuple[str, ...]] = {
    ("apps/v1", "DaemonSet"): ("spec.selector",),
    ("apps/v1", "Deployment"): ("spec.selector",),
    ("apps/v1", "StatefulSet"): _STATEFUL_SET,
    ("batch/v1", "Job"): ("spec.completions", "spec.parallelism", "spec.selector", "spec.template"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): ("roleRef",),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): ("roleRef",),
    ("storage.k8s.io/v1", "StorageClass"): ("parameters", "provisioner"),
    ("v1", "PersistentVolume"): tuple(f"spec.{name}" for name in _VOLUME_SOURCES.split()),
    ("v1", "PersistentVolumeClaim"): (
        "spec.accessModes", "spec.selector", "spec.storageClassName", "spec.volumeName",
    ),
    ("v1", "Pod"): (
        *(f"spec.{name}" for name in _POD.split()),
        *(f"spec.containers.{name}" for name in _CONTAINER.split()),
        *(f"spec.initContainers.{name}" for name in _CONTAINER.split()),
    ),
    ("v1", "ResourceQuota"): ("spec.scopes",),
    ("v1", "Service"): ("spec.clusterIP",),
}  # fmt: skip
_QUANTITY_FIELDS = frozenset({"limits", "requests", "capacity", "hard", "storage"})


@dataclass(frozen=True)
class Change:
    """One changed place: ``kind`` is add, delete or update."""

    path: Path
    kind: str

    @property
    def text(self) -> str:
        """The path as the engine writes it: ``spec.ports[0].port``, ``data["a.b"]``."""
        written = ""
        for step in self.path:
            if isinstance(step, int):
                written += f"[{step}]"
            elif re.fullmatch(r"[A-Za-z_$][A-Za-z0-9_$]*", step):
                written += f".{step}" if written else step
            else:
                written += f'["{step}"]'
        return written


def changes(old: Any, new: Any, path: Path = ()) -> list[Change]:
    """Places where ``new`` differs from ``old``, the deepest that say so."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        found: list[Change] = []
        for key in sorted({*old, *new}):
            if key not in new or (new[key] is None and old.get(key) is not None):
                found.append(Change((*path, key), "delete"))
            elif key not in old:
                if new[key] is not None and new[key] not in ({}, []):
                    found.append(Change((*path, key), "add"))
            else:
                found += changes(old[key], new[key], (*path, key))
        return found
    if isinstance(old, list) and isinstance(new, list):
        found = []
        for index in range(max(len(old), len(new))):
            if index >= len(new):
                found.append(Change((*path, index), "delete"))
            elif index >= len(old):
                found.append(Change((*path, index), "add"))
            else:
                found += changes(old[index], new[index], (*path, index))
        return found
    return [] if _same(old, new, path) else [Change(path, "update")]


def replacing_fields(
    api_version: str, kind: str, inputs: Mapping[str, Any], *, mutable_maps: bool, mutable_secrets: bool
) -> tuple[str, ...]:
    """Fields of a kind whose change replaces the object."""
    fields = _ALWAYS + _REPLACING.get((api_version, kind), ())
    immutable = inputs.get("immutable") is True
    if (api_version, kind) == ("v1", "Secret"):
        return (*fields, "type", *(() if mutable_secrets and not immutable else ("stringData", "data")))
    if (api_version, kind) == ("v1", "ConfigMap") and (not mutable_maps or immutable):
        return (*fields, "binaryData", "data")
    return fields


def replaces(change: Change, fields: tuple[str, ...]) -> bool:
    """Whether a change lies in a replacing field, or takes one away with what holds it."""
    steps = [step for step in change.path if isinstance(step, str)]
    for name in fields:
        wanted = name.split(".")
        if steps[: len(wanted)] == wanted:
            return True
    return False


def ignored(change: Change, ignore: list[str]) -> bool:
    """Whether ``ignoreChanges`` covers a change."""
    return any(change.text == path or change.text.startswith((f"{path}.", f"{path}[")) for path in ignore)


def _same(old: Any, new: Any, path: Path) -> bool:
    if old is UNKNOWN or new is UNKNOWN:
        return False
    if old == new:
        return isinstance(old, bool) == isinstance(new, bool)
    holders = {step for step in path[-2:] if isinstance(step, str)}
    if holders & _QUANTITY_FIELDS:
        try:
            return quantity(old) == quantity(new)
        except ValueError:
            return False
    return False
