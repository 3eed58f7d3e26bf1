"""Inputs of Kubernetes objects: filled in, checked, and compared with what is there.

Follows ``Check`` and ``Diff`` of pulumi-kubernetes' ``provider.go`` (commit 94977969d).
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mlcc_rehearsal.plugins.kubernetes import differences, states
from mlcc_rehearsal.plugins.kubernetes.kinds import Kind, check_properties, is_custom, unknown_fields
from mlcc_rehearsal.plugins.kubernetes.session import Session
from mlcc_rehearsal.plugins.kubernetes.states import Object
from mlcc_rehearsal.plugins.serving import ProviderError
from mlcc_rehearsal.plugins.values import UNKNOWN, Secret, contains_unknown, name_of, unmarked

AUTONAMED = "pulumi.com/autonamed"


@dataclass(frozen=True)
class Naming:
    """What the engine says about names: its seed, and a name it proposes or forbids to make one."""

    seed: bytes = b""
    proposed: str = ""
    disabled: bool = False


@dataclass(frozen=True)
class Difference:
    """The answer to Diff."""

    changes: tuple[differences.Change, ...]
    replaces: tuple[str, ...]
    delete_before_replace: bool


class Inputs:
    """Inputs of one resource in one session."""

    def __init__(self, session: Session, kind: Kind, urn: str) -> None:
        self._session = session
        self._kind = kind
        self._urn = urn

    def check(self, news: Mapping[str, Any], olds: Mapping[str, Any], naming: Naming) -> Object:
        """Inputs with apiVersion, kind, name and namespace filled in; secret marks stay.

        Raises:
            ProviderError: unknown properties, or a name that cannot be made.
        """
        if not self._session.cluster.reachable and self._session.configuration.flag("skipUpdateUnreachable"):
            text = "Cluster is unreachable but skipUpdateUnreachable flag is set to true, skipping..."
            self._session.host.warn(self._urn, text)
            return dict(olds)
        inputs = dict(states.without_nulls(news))
        check_properties(self._kind, inputs)
        inputs.setdefault("apiVersion", self._kind.api_version)
        inputs.setdefault("kind", self._kind.kind)
        metadata = inputs.get("metadata", {})
        if metadata is not UNKNOWN:
            held = metadata.value if isinstance(metadata, Secret) else metadata
            named = self._named(dict(held), olds, naming)
            inputs["metadata"] = Secret(named) if isinstance(metadata, Secret) else named
        plain = states.to_object(inputs)
        if not contains_unknown(plain):
            wrong = unknown_fields(self._kind, plain) if not is_custom(self._kind) else []
            if wrong:
                raise ProviderError(f"{self._kind.token}: {'; '.join(wrong)}")
        return inputs

    def _named(self, metadata: Object, olds: Mapping[str, Any], naming: Naming) -> Object:
        old = unmarked(olds.get("metadata") or {})
        if not metadata.get("name"):
            if metadata.get("generateName") and self._session.configuration.flag("enableServerSideApply"):
                text = "the `.metadata.generateName` field is not supported in Server-Side Apply mode"
                raise ProviderError(text)
            if self._kind.patch:
                raise ProviderError("patch resources require the `.metadata.name` field to be set")
            if not metadata.get("generateName"):
                autonamed = (old.get("annotations") or {}).get(AUTONAMED) == "true"
                metadata["name"] = old["name"] if autonamed else self._new_name(naming)
                metadata["annotations"] = {**(metadata.get("annotations") or {}), AUTONAMED: "true"}
        api_version, kind = self._kind.api_version, self._kind.kind
        if not metadata.get("namespace") and self._session.namespaced(api_version, kind):
            metadata["namespace"] = self._session.configuration.namespace
        return metadata

    def _new_name(self, naming: Naming) -> str:
        if naming.disabled:
            text = "autonaming is disabled, resource requires the .metadata.name field to be set"
            raise ProviderError(text)
        if naming.proposed:
            return naming.proposed
        suffix = hashlib.sha256(naming.seed).hexdigest()[:8] if naming.seed else secrets.token_hex(4)
        return f"{name_of(self._urn)}-{suffix}"

    def diff(self, state: Mapping[str, Any], news: Mapping[str, Any], ignore: list[str]) -> Difference:
        """New inputs against the live object, cut to what the old inputs had."""
        old_inputs, live = states.parse(state)
        new = states.normalized(states.to_object(news))
        old = states.prune(live, states.normalized(old_inputs))
        old = states.normalized({**old, "apiVersion": new.get("apiVersion"), "kind": new.get("kind")})
        self._align_metadata(old, new, live)
        fields = ("metadata.name", "metadata.namespace")
        if not self._kind.patch:
            flag = self._session.configuration.flag
            fields = differences.replacing_fields(
                self._kind.api_version,
                self._kind.kind,
                new,
                mutable_maps=flag("enableConfigMapMutable"),
                mutable_secrets=flag("enableSecretMutable"),
            )
        found = [
            change for change in differences.changes(old, new) if not differences.ignored(change, ignore)
        ]
        replaces = [change.text for change in found if differences.replaces(change, fields)]
        metadata = new.get("metadata") or {}
        before = live.get("metadata") or {}
        autonamed = states.annotation_is_true(new, AUTONAMED)
        same_place = metadata.get("name") == before.get("name") and (
            (metadata.get("namespace") or "default") == (before.get("namespace") or "default")
        )
        return Difference(
            changes=tuple(found),
            replaces=tuple(replaces),
            delete_before_replace=bool(replaces) and not autonamed and same_place,
        )

    def _align_metadata(self, old: Object, new: Object, live: Object) -> None:
        """A namespace left out means the default one, and the live name counts as the old one."""
        if new.get("metadata") is UNKNOWN:
            return
        for obj in (old, new):
            obj["metadata"] = dict(obj.get("metadata") or {})
        if new["metadata"].get("name"):
            old["metadata"]["name"] = live["metadata"]["name"]
        if self._session.namespaced(self._kind.api_version, self._kind.kind):
            for obj, source in ((old, live), (new, new)):
                obj["metadata"]["namespace"] = (source.get("metadata") or {}).get("namespace") or "default"
        else:
            for obj in (old, new):
                obj["metadata"].pop("namespace", None)
