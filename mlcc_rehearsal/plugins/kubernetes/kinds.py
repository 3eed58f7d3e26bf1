"""Type tokens, and the properties that the installed SDK gives them.

``kubernetes:apps/v1:Deployment`` is the class ``pulumi_kubernetes.apps.v1.Deployment``; a token or a
property the SDK does not have is refused here too. Fields below the first level are held against the
official Kubernetes client's models.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mlcc_rehearsal.kubernetes_api import schemas
from mlcc_rehearsal.kubernetes_api.catalogue import Resource
from mlcc_rehearsal.plugins.serving import ProviderError

RELEASE = "kubernetes:helm.sh/v3:Release"
_NOT_OBJECTS = (
    "kubernetes:helm.sh/v3:Chart",
    "kubernetes:helm.sh/v4:",
    "kubernetes:yaml",
    "kubernetes:kustomize",
)


@dataclass(frozen=True)
class Kind:
    """What a type token stands for; ``patch`` for the SDK's patch resources (``ConfigMapPatch``)."""

    token: str
    api_version: str
    kind: str
    patch: bool = False

    @property
    def group(self) -> str:
        """The API group, "" for core."""
        return self.api_version.rpartition("/")[0]


def parse_token(token: str) -> Kind:
    """The kind behind a type token.

    Raises:
        ProviderError: a token of another form, a list, or a component of the real plugin.
    """
    if token.startswith(_NOT_OBJECTS):
        raise ProviderError(
            f"the kubernetes stand-in does not model {token}: it is a component of the real plugin. Use "
            "the resources themselves or helm.v3.Release, or --real-plugins; it would be added in "
            "mlcc_rehearsal/plugins/kubernetes/servicer.py"
        )
    found = re.fullmatch(r"kubernetes:(?P<version>[^:]+):(?P<kind>[^:]+)", token)
    if found is None:
        raise ProviderError(f"{token!r} is no type token of the kubernetes provider")
    version = found["version"].removeprefix("core/")
    kind = found["kind"]
    if kind.endswith("List") and kind != "List" and _known_class(token):
        raise ProviderError(
            "list resources exist for compatibility with YAML manifests and Helm charts, and cannot "
            "be created "
            "directly. Use the underlying resource type instead"
        )
    if kind.endswith("Patch") and _known_class(token):
        return Kind(token, version, kind.removesuffix("Patch"), patch=True)
    return Kind(token, version, kind)


def check_properties(kind: Kind, inputs: Mapping[str, Any]) -> None:
    """Refuse properties that the kind does not have.

    Raises:
        ProviderError: naming the property, and where this is decided.
    """
    known = properties_of(kind.token)
    if known is None:
        return  # a custom resource: its CRD says what it may hold
    wrong = sorted(key for key in inputs if key not in known)
    if wrong:
        raise ProviderError(
            f"{kind.token} of pulumi_kubernetes has no property "
            f"{', '.join(repr(key) for key in wrong)}. It has: "
            f"{', '.join(sorted(known))} (checked in mlcc_rehearsal/plugins/kubernetes/kinds.py)"
        )


def unknown_fields(kind: Kind, obj: Mapping[str, Any]) -> list[str]:
    """Fields, at any depth, that a built-in kind does not have, and values of a wrong type."""
    group, _, version = kind.api_version.rpartition("/")
    resource = Resource(group, version, kind.kind, "", "", namespaced=True)
    findings = schemas.prune(resource, _copied(obj))
    return [f'unknown field "{field}"' for field in findings.unknown] + findings.mistyped


@functools.cache
def properties_of(token: str) -> frozenset[str] | None:
    """Input properties of a type token as the SDK's class has them; None for custom resources."""
    found = _known_class(token)
    if found is None:
        return None
    names = set()
    for attribute, value in vars(found).items():
        if isinstance(value, property) and attribute != "urn":
            getter = getattr(value, "fget", None)
            names.add(getattr(getter, "_pulumi_name", attribute))
    return frozenset(names)


def is_custom(kind: Kind) -> bool:
    """Whether the SDK has no class of its own for the kind."""
    return _known_class(kind.token) is None


@functools.cache
def _known_class(token: str) -> Any:
    """The SDK's class of a token, or None."""
    _, path, name = token.split(":")
    group, _, version = path.partition("/")
    try:
        module = importlib.import_module(f"pulumi_kubernetes.{group.partition('.')[0]}.{version}")
    except ImportError:
        return None
    found = getattr(module, name, None)
    own = getattr(found, "pulumi_type", None)
    return found if isinstance(found, type) and own == token else None


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value
