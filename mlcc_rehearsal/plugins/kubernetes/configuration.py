"""Configuration of one provider instance, and when a change of it replaces what lies under it.

Source: pulumi-kubernetes ``provider/pkg/provider/provider.go`` at commit 94977969d (July 2026): Configure,
DiffConfig, ``getActiveClusterFromConfig``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from mlcc_rehearsal.plugins.serving import ProviderError
from mlcc_rehearsal.plugins.values import UNKNOWN, contains_unknown

CLUSTER_IDENTIFIER = "clusterIdentifier"
_CLUSTER_KEYS = ("kubeconfig", "context", "cluster")
_FLAGS = {
    "deleteUnreachable": "PULUMI_K8S_DELETE_UNREACHABLE",
    "skipUpdateUnreachable": "PULUMI_K8S_SKIP_UPDATE_UNREACHABLE",
    "enableServerSideApply": "PULUMI_K8S_ENABLE_SERVER_SIDE_APPLY",
    "enablePatchForce": "PULUMI_K8S_ENABLE_PATCH_FORCE",
    "upsertExistingObjects": "PULUMI_K8S_UPSERT_EXISTING_OBJECTS",
    "enableConfigMapMutable": "PULUMI_K8S_ENABLE_CONFIGMAP_MUTABLE",
    "enableSecretMutable": "PULUMI_K8S_ENABLE_SECRET_MUTABLE",
    "suppressDeprecationWarnings": "PULUMI_K8S_SUPPRESS_DEPRECATION_WARNINGS",
    "suppressHelmHookWarnings": "PULUMI_K8S_SUPPRESS_HELM_HOOK_WARNINGS",
}
_ON_BY_DEFAULT = frozenset({"enableServerSideApply"})
_IGNORED = frozenset(
    {"kubeClientSettings", "helmReleaseSettings", "skipUpdateUnreachable", "suppressDeprecationWarnings",
     "suppressHelmHookWarnings", "strictMode", "version", "pluginDownloadURL"}
)  # fmt: skip
KNOWN = frozenset({*_FLAGS, *_IGNORED, *_CLUSTER_KEYS, CLUSTER_IDENTIFIER, "namespace"})
_NOT_MODELLED = ("renderYamlToDirectory", "alwaysRender")


@dataclass(frozen=True)
class Configuration:
    """What Configure was told.

    ``kubeconfig`` is the parsed kubeconfig or None, ``trouble`` why there is none; ``namespace`` is the
    default for objects that name none.
    """

    kubeconfig: Mapping[str, Any] | None
    trouble: str
    context: str
    cluster: str
    namespace: str
    flags: Mapping[str, bool]

    def flag(self, name: str) -> bool:
        """A boolean setting, from configuration, environment or default."""
        return self.flags[name]


def check_known(settings: Mapping[str, Any]) -> None:
    """Refuse configuration that this stand-in does not know.

    Raises:
        ProviderError: naming the setting and where to add it.
    """
    for name, value in settings.items():
        if name in _NOT_MODELLED and value not in (None, "", False, "false"):
            raise ProviderError(
                f"the kubernetes stand-in does not model the provider setting {name!r}: it is about "
                f"rendering "
                "YAML without a cluster. Use --real-plugins, or add it in "
                "mlcc_rehearsal/plugins/kubernetes/configuration.py"
            )
        if name not in KNOWN and name not in _NOT_MODELLED and not name.startswith("__"):
            raise ProviderError(
                f"the kubernetes provider has no setting {name!r} that this rehearsal knows. Known: "
                f"{', '.join(sorted(KNOWN))}. Add it in mlcc_rehearsal/plugins/kubernetes/configuration.py"
            )


def parse(settings: Mapping[str, Any]) -> Configuration:
    """Configuration from the settings of Configure.

    Raises:
        ProviderError: an unknown setting.
    """
    check_known(settings)
    flags = {name: _flag(settings, name, variable) for name, variable in _FLAGS.items()}
    given = settings.get("kubeconfig")
    kubeconfig: Mapping[str, Any] | None = None
    trouble = ""
    try:
        kubeconfig = read_kubeconfig(given) if given else _ambient_kubeconfig()
    except ValueError as error:
        trouble = f"failed to parse kubeconfig data in `kubernetes:config:kubeconfig`- {error}"
    if kubeconfig is None and not trouble:
        trouble = (
            "unable to load Kubernetes client configuration from kubeconfig file. Make sure you have: \n\n"
            " \t • set up the provider as per "
            "https://www.pulumi.com/registry/packages/kubernetes/installation-configuration/ \n\n"
            " invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER "
            "environment variable"
        )
    context = str(settings.get("context") or "")
    namespace = str(settings.get("namespace") or "")
    if not namespace and kubeconfig is not None:
        namespace = str(_context(kubeconfig, context).get("namespace") or "")
    return Configuration(
        kubeconfig=kubeconfig,
        trouble=trouble,
        context=context,
        cluster=str(settings.get("cluster") or ""),
        namespace=namespace or "default",
        flags=flags,
    )


def read_kubeconfig(value: Any) -> Mapping[str, Any]:
    """A kubeconfig from text (YAML or JSON), a map, or the path of a file.

    Raises:
        ValueError: it is none of these.
    """
    if isinstance(value, Mapping):
        return value
    text = str(value)
    if "\n" not in text and not text.lstrip().startswith("{"):
        path = Path(text).expanduser()
        if path.is_file():
            text = path.read_text()
    try:
        parsed = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    if not isinstance(parsed, Mapping):
        raise ValueError(f"couldn't get version/kind; json parse error: {text[:60]!r} is no kubeconfig")
    return parsed


def active_cluster(kubeconfig: Mapping[str, Any] | None, settings: Mapping[str, Any]) -> Any:
    """The cluster entry that is in use, or None."""
    if kubeconfig is None:
        return None
    name = settings.get("cluster") or _context(kubeconfig, str(settings.get("context") or "")).get("cluster")
    return named(kubeconfig, "clusters", "cluster", str(name or ""))


def named(kubeconfig: Mapping[str, Any], kind: str, entry: str, name: str) -> Any:
    """The entry of a kubeconfig's list (``clusters``, ``cluster``) with a name, or None."""
    for item in kubeconfig.get(kind) or []:
        if item.get("name") == name:
            return item.get(entry)
    return None


def differences(olds: Mapping[str, Any], news: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """(changed settings, those of them that replace the provider and all its resources)."""
    changed = sorted(key for key in {*olds, *news} if olds.get(key) != news.get(key))
    if not changed:
        return [], []
    before, after = olds.get(CLUSTER_IDENTIFIER), news.get(CLUSTER_IDENTIFIER)
    replaces: list[str] = []
    if before and after and before != after:
        replaces.append(CLUSTER_IDENTIFIER)
    pinned = bool(after) and before == after
    for key in _CLUSTER_KEYS:
        if contains_unknown(news.get(key)):
            return [key], [] if pinned else [*replaces, key]
    if _cluster_changed(olds, news):
        replaces += [key for key in _CLUSTER_KEYS if key in changed]
    return changed, [] if pinned else replaces


def _cluster_changed(olds: Mapping[str, Any], news: Mapping[str, Any]) -> bool:
    found = []
    for settings in (olds, news):
        given = settings.get("kubeconfig")
        try:
            kubeconfig = read_kubeconfig(given) if given and given is not UNKNOWN else None
        except ValueError as error:
            raise ProviderError(f"failed to parse kubeconfig: {error}") from error
        found.append(active_cluster(kubeconfig, settings))
    return found[0] is not None and found[1] is not None and found[0] != found[1]


def _context(kubeconfig: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = named(kubeconfig, "contexts", "context", name or str(kubeconfig.get("current-context") or ""))
    return found if isinstance(found, Mapping) else {}


def _flag(settings: Mapping[str, Any], name: str, variable: str) -> bool:
    given = settings.get(name)
    if given is None:
        given = os.environ.get(variable)
    if given is None:
        return name in _ON_BY_DEFAULT
    if isinstance(given, str):
        return given.lower() == "true"
    return bool(given)


def _ambient_kubeconfig() -> Mapping[str, Any] | None:
    places = os.environ.get("KUBECONFIG", "").split(os.pathsep)
    for place in [*filter(None, places), str(Path.home() / ".kube" / "config")]:
        path = Path(place)
        if path.is_file():
            return read_kubeconfig(path.read_text())
    return None


def settings_of(arguments: Mapping[str, Any], variables: Mapping[str, str]) -> dict[str, Any]:
    """Settings from Configure's arguments, or from its older variables; texts that hold JSON stay texts."""
    found = {key: value for key, value in arguments.items() if value is not None}
    for key, value in variables.items():
        found.setdefault(key.removeprefix("kubernetes:config:"), value)
    for key in ("kubeClientSettings", "helmReleaseSettings"):
        if isinstance(found.get(key), str):
            found[key] = json.loads(found[key] or "{}")
    return found
