"""``kubernetes:helm.sh/v3:Release`` as a Pulumi resource.

Follows pulumi-kubernetes' ``helm_release.go`` (commit 94977969d). Different: no chart is downloaded, so
that a version is taken as given and never resolved.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

import yaml

from mlcc_rehearsal.plugins.kubernetes import differences, states
from mlcc_rehearsal.plugins.kubernetes.client import ApiFailureError, UnreachableError
from mlcc_rehearsal.plugins.kubernetes.helm import installation, records
from mlcc_rehearsal.plugins.kubernetes.helm.installation import ReleaseFailedError, Wanted
from mlcc_rehearsal.plugins.kubernetes.helm.records import Record
from mlcc_rehearsal.plugins.kubernetes.inputs import Difference
from mlcc_rehearsal.plugins.kubernetes.kinds import RELEASE, properties_of
from mlcc_rehearsal.plugins.kubernetes.session import Session
from mlcc_rehearsal.plugins.kubernetes.states import Object
from mlcc_rehearsal.plugins.serving import InitializationError, ProviderError
from mlcc_rehearsal.plugins.values import UNKNOWN, Asset, Secret, name_of, unmarked

DEFAULT_TIMEOUT = 300
_OUTPUTS_ONLY = ("resourceNames", "status", "manifest", "compat", "allowNullValues")
_REPLACING = ("name", "namespace")


class Releases:
    """Releases in one session."""

    def __init__(self, session: Session, urn: str) -> None:
        self._session = session
        self._cluster = session.cluster
        self._urn = urn

    def check(self, news: Mapping[str, Any], olds: Mapping[str, Any]) -> Object:
        """Inputs with name, namespace and timeout filled in.

        Raises:
            ProviderError: an unknown property, or no chart.
        """
        known = properties_of(RELEASE) or frozenset()
        inputs = {key: value for key, value in news.items() if value is not None}
        wrong = sorted(set(inputs) - known - {"compat"})
        if wrong:
            raise ProviderError(
                f"{RELEASE} of pulumi_kubernetes has no property {', '.join(map(repr, wrong))}. It has: "
                f"{', '.join(sorted(known))}"
            )
        if not inputs.get("chart"):
            raise ProviderError(f"{RELEASE}: the property 'chart' is required")
        inputs = {key: value for key, value in inputs.items() if key not in _OUTPUTS_ONLY}
        if not inputs.get("name"):
            old = unmarked(olds.get("name"))
            inputs["name"] = old or f"{name_of(self._urn)}-{secrets.token_hex(4)}"
        if not inputs.get("namespace"):
            inputs["namespace"] = self._session.configuration.namespace
        if not unmarked(inputs.get("skipAwait")):
            inputs.setdefault("timeout", DEFAULT_TIMEOUT)
        files = inputs.pop("valueYamlFiles", None)
        if files is not None:
            inputs["values"] = _deep_merged(_file_values(files), inputs.get("values") or {})
        empty = (False, "", 0, {}, [])
        return {
            key: value
            for key, value in inputs.items()
            if not any(value is item or value == item for item in empty) or value is UNKNOWN
        }

    def diff(self, state: Mapping[str, Any], news: Mapping[str, Any], ignore: list[str]) -> Difference:
        """New inputs against the state, and what the old inputs had and the new ones lack."""
        new = dict(unmarked(news))
        live = dict(unmarked(state))
        old = live.pop(states.INPUTS, None) or {}
        found = [
            change
            for change in (*differences.changes(_shared(live, new), new), *_dropped(old, new))
            if not differences.ignored(change, ignore)
        ]
        replaces = [change.text for change in found if differences.replaces(change, _REPLACING)]
        return Difference(tuple(found), tuple(replaces), delete_before_replace=False)

    def create(self, marked: Mapping[str, Any], *, preview: bool) -> tuple[str, Object]:
        """(id, state) of a new release.

        Raises:
            ProviderError: nothing was installed.
            InitializationError: installed, but failed.
        """
        if preview:
            return "", self._previewed(marked)
        if not self._cluster.reachable:
            text = f"can't create Helm Release with unreachable cluster: {self._cluster.trouble}"
            raise ProviderError(text)
        wanted = _wanted(marked)
        where = f"{wanted.namespace}/{wanted.name}"
        try:
            record = installation.install(self._cluster, wanted, self._session.waiter(self._urn), self._warn)
        except ReleaseFailedError as error:
            self._warn(
                f'Helm release "{wanted.name}" was created but has a failed status. Use the `helm` '
                f"command to "
                f"investigate the error, correct it, then retry. Reason: {error}"
            )
            text = (
                f'Helm release "{where}" was created, but failed to initialize completely. Use Helm CLI to '
                f"investigate: {_failed_words(where, error)}"
            )
            raise InitializationError(text, id=where, properties=_state(marked, error.record)) from error
        except (ApiFailureError, UnreachableError) as error:
            raise ProviderError(str(error)) from error
        return where, _state(marked, record)

    def read(
        self, identifier: str, inputs: Mapping[str, Any], state: Mapping[str, Any]
    ) -> tuple[str, Object, Object] | None:
        """(id, state, inputs) of a release from its record, or None when it is gone.

        Raises:
            ProviderError: the cluster is unreachable.
        """
        namespace, name = states.split_identifier(identifier)
        try:
            existing = records.find(self._cluster, namespace or self._session.configuration.namespace, name)
        except (ApiFailureError, UnreachableError) as error:
            raise ProviderError(str(error)) from error
        if not existing:
            return None
        record = existing[-1]
        kept = dict(inputs) or {
            "chart": record.chart,
            "name": record.name,
            "namespace": record.namespace,
            "timeout": DEFAULT_TIMEOUT,
            "values": dict(record.values),
            "version": record.version,
        }
        properties = {**kept, "values": _deep_merged(unmarked(kept.get("values") or {}), record.values)}
        properties["version"] = record.version
        found = _state(kept, record)
        for key in ("values", "version"):
            if properties[key]:
                held = properties[key]
                found[key] = Secret(held) if isinstance(kept.get(key), Secret) else held
        states.copy_marks(found, kept)
        return identifier, found, kept

    def update(self, state: Mapping[str, Any], marked: Mapping[str, Any], *, preview: bool) -> Object:
        """The state after an upgrade.

        Raises:
            ProviderError: nothing was changed.
            InitializationError: changed, but failed.
        """
        if preview:
            return self._previewed(marked)
        if not self._cluster.reachable:
            text = f"can't update Helm Release with unreachable cluster: {self._cluster.trouble}"
            raise ProviderError(text)
        wanted = _wanted(marked)
        where = f"{wanted.namespace}/{wanted.name}"
        try:
            record = installation.upgrade(self._cluster, wanted, self._session.waiter(self._urn), self._warn)
        except ReleaseFailedError as error:
            text = (
                f'Helm release "{where}" failed to initialize completely. Use Helm CLI to investigate: error '
                f"running update: {_failed_words(where, error)}"
            )
            raise InitializationError(text, id=where, properties=_state(marked, error.record)) from error
        except (ApiFailureError, UnreachableError) as error:
            raise ProviderError(str(error)) from error
        return _state(marked, record)

    def delete(self, identifier: str, state: Mapping[str, Any]) -> None:
        """Uninstall.

        Raises:
            ProviderError: the cluster is unreachable, the release unknown, or something stays.
        """
        if not self._cluster.reachable:
            reason = self._cluster.trouble.replace('"', '\\"')
            text = f'can\'t delete Helm Release with unreachable cluster. Reason: "{reason}"'
            raise ProviderError(text)
        plain = unmarked(state)
        namespace, name = states.split_identifier(identifier)
        wait = bool(plain.get("atomic")) or not plain.get("skipAwait")
        timeout = float(plain.get("timeout") or DEFAULT_TIMEOUT)
        try:
            installation.uninstall(
                self._cluster, namespace, name, self._session.waiter(self._urn), wait, timeout
            )
        except (ApiFailureError, UnreachableError) as error:
            raise ProviderError(str(error)) from error

    def _previewed(self, marked: Mapping[str, Any]) -> Object:
        return {
            **marked,
            states.INPUTS: Secret(unmarked(marked)),
            "resourceNames": UNKNOWN,
            "status": UNKNOWN,
        }

    def _warn(self, text: str) -> None:
        self._session.host.warn(self._urn, text)


def _wanted(marked: Mapping[str, Any]) -> Wanted:
    plain = unmarked(marked)
    return Wanted(
        name=str(plain["name"]),
        namespace=str(plain["namespace"]),
        chart=str(plain["chart"]),
        version=str(plain.get("version") or ""),
        values=plain.get("values") or {},
        wait=not plain.get("skipAwait"),
        timeout=float(plain.get("timeout") or DEFAULT_TIMEOUT),
        create_namespace=bool(plain.get("createNamespace")),
        skip_definitions=bool(plain.get("skipCrds")),
        description=str(plain.get("description") or ""),
        max_history=int(plain.get("maxHistory") or 0),
        replace=bool(plain.get("replace")),
        atomic=bool(plain.get("atomic")),
    )


def _state(marked: Mapping[str, Any], record: Record) -> Object:
    status = {
        "appVersion": record.app_version,
        "chart": record.chart,
        "name": record.name,
        "namespace": record.namespace,
        "revision": record.revision,
        "status": record.status,
        "version": record.version,
    }
    return {
        **marked,
        "resourceNames": installation.names_of(record),
        "status": {key: value for key, value in status.items() if value != ""},
        states.INPUTS: Secret(unmarked(marked)),
    }


def _failed_words(where: str, error: ReleaseFailedError) -> str:
    return f"failed to become available within allocated timeout. Error: Helm Release {where}: {error}"


def _shared(live: Any, new: Any) -> Any:
    """The state cut to the keys of the new inputs; lists are compared whole."""
    if isinstance(live, Mapping) and isinstance(new, Mapping):
        return {key: _shared(value, new[key]) for key, value in live.items() if key in new}
    return live


def _dropped(old: Any, new: Any, path: differences.Path = ()) -> list[differences.Change]:
    """What the old inputs had and the new ones lack."""
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return []
    found: list[differences.Change] = []
    for key in old:
        if key not in new:
            found.append(differences.Change((*path, key), "delete"))
        else:
            found += _dropped(old[key], new[key], (*path, key))
    return found


def _deep_merged(one: Any, other: Any) -> Any:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        result = dict(one)
        for key, value in other.items():
            result[key] = _deep_merged(result[key], value) if key in result else value
        return result
    return other


def _file_values(files: Any) -> Object:
    values: Object = {}
    for item in unmarked(files):
        if not isinstance(item, Asset):
            raise ProviderError(f"unsupported type for 'valueYamlFiles' arg: {type(item).__name__}")
        try:
            values = _deep_merged(values, yaml.safe_load(item.content()) or {})
        except (ValueError, OSError, yaml.YAMLError) as error:
            raise ProviderError(f"valueYamlFiles: {error}") from error
    return values
