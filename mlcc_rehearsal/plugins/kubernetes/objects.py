"""Kubernetes objects as Pulumi resources: check, diff, create, read, update, delete.

Follows pulumi-kubernetes' ``provider.go`` and ``await.go`` (commit 94977969d): a create is a POST by the field
manager ``pulumi-kubernetes``, an update a server-side apply by ``pulumi-kubernetes-<hex>``, which takes over what
the former owned.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mlcc_rehearsal.plugins.kubernetes import differences, states
from mlcc_rehearsal.plugins.kubernetes.client import ApiFailureError, NoSuchKindError, UnreachableError
from mlcc_rehearsal.plugins.kubernetes.kinds import (
    Kind,
    check_properties,
    is_custom,
    properties_of,
    unknown_fields,
)
from mlcc_rehearsal.plugins.kubernetes.session import UNREACHABLE, Session
from mlcc_rehearsal.plugins.kubernetes.states import Object
from mlcc_rehearsal.plugins.kubernetes.waiting import NotReadyError, timeout_of
from mlcc_rehearsal.plugins.serving import InitializationError, ProviderError
from mlcc_rehearsal.plugins.values import UNKNOWN, Secret, contains_unknown, name_of, unmarked

CREATOR = "pulumi-kubernetes"
AUTONAMED = "pulumi.com/autonamed"
_PATCH_FORCE = "pulumi.com/patchForce"
_PATCH_MANAGER = "pulumi.com/patchFieldManager"
_PROPAGATION = "pulumi.com/deletionPropagationPolicy"
_RETRIES = 5
_TAKEN_OVER = (
    ("kubectl", "Apply"),
    ("kubectl", "Update"),
    ("before-first-apply", "Update"),
    ("pulumi-kubernetes", "Update"),
    ("pulumi-kubernetes.exe", "Update"),
    ("pulumi-resource-kubernetes", "Update"),
)
_CONFLICT_HELP = (
    "server-side apply field conflict detected, see https://www.pulumi.com/registry/packages/kubernetes/"
    "how-to-guides/managing-resources-with-server-side-apply/#handle-field-conflicts-on-existing-resources for "
    "troubleshooting help"
)
_EXISTS_HELP = (
    "\n\nThe resource already exists in the cluster. This can happen when:\n\n"
    "  - Renaming a Pulumi resource: use an alias to preserve the identity,\n"
    "    or use deleteBeforeReplace if the resource needs replacement.\n"
    "  - Managing an existing resource: use a Patch resource (e.g. NamespacePatch)\n"
    "    to manage specific fields without owning the resource lifecycle.\n"
    "  - Adopting a resource into Pulumi: use `pulumi import`. Note that\n"
    "    protected resources (e.g. kube-system) cannot be deleted on destroy.\n"
    "  - Intentional upsert: set upsertExistingObjects on the provider to allow\n"
    "    server-side apply to update existing objects on create."
)


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


class Objects:
    """Resources of one kind in one session."""

    def __init__(self, session: Session, kind: Kind, urn: str) -> None:
        self._session = session
        self._cluster = session.cluster
        self._kind = kind
        self._urn = urn

    def check(self, news: Mapping[str, Any], olds: Mapping[str, Any], naming: Naming) -> Object:
        """Inputs with apiVersion, kind, name and namespace filled in; secret marks stay.

        Raises:
            ProviderError: unknown properties, or a name that cannot be made.
        """
        if not self._cluster.reachable and self._session.configuration.flag("skipUpdateUnreachable"):
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

    def create(self, marked: Mapping[str, Any], timeout: float, *, preview: bool) -> tuple[str, Object]:
        """(id, state) of a new object; in a preview the server's dry run, or the inputs.

        Raises:
            ProviderError: the server refused, or the cluster is unreachable.
            InitializationError: made, but not ready in time.
        """
        inputs = states.to_object(marked)
        if not preview:
            self._session.require_cluster()
        known = not contains_unknown(inputs) and self._session.exists(inputs["apiVersion"], inputs["kind"])
        ssa = self._session.configuration.flag("enableServerSideApply")
        if preview and (not known or self._kind.patch or not ssa):
            return "", dict(marked)
        manager = self._manager({}, inputs)
        try:
            made = self._make(inputs, manager, preview=preview)
        except (ApiFailureError, NoSuchKindError, UnreachableError) as error:
            if preview and _cannot_preview(error):
                return "", dict(marked)
            raise self._not_created(inputs, error) from error
        if preview:
            made.pop("status", None)
            return "", states.make(inputs, made, marked, inputs["apiVersion"], manager)
        self._definitions_may_have_changed(inputs)
        try:
            made = self._session.waiter(self._urn).until_ready(inputs, made, timeout_of(timeout, inputs))
        except NotReadyError as error:
            text = (
                f'resource "{self._urn}" was successfully created, but the Kubernetes API server reported that it '
                f"failed to fully initialize or become live: {error}"
            )
            raise self._partial(text, error, inputs, marked, manager) from error
        state = states.make(inputs, made, marked, inputs["apiVersion"], manager)
        return states.identifier(made), state

    def _make(self, inputs: Object, manager: str, *, preview: bool) -> Object:
        """Create with retries while the namespace or the kind is missing, as the provider does."""
        attempt = 0
        while True:
            try:
                if self._kind.patch or self._session.configuration.flag("upsertExistingObjects"):
                    force = preview or self._forced(inputs)
                    return self._cluster.apply(inputs, manager, force=force, dry_run=preview)
                return self._cluster.create(inputs, CREATOR, dry_run=preview)
            except (ApiFailureError, NoSuchKindError) as error:
                missing = isinstance(error, NoSuchKindError) or error.code == 404
                if preview or not missing or attempt == _RETRIES:
                    raise
                attempt += 1
                text = f"Retry #{attempt}; creation failed: {error}"
                self._session.host.progress(self._urn, text)
                self._session.waiter(self._urn).pause(2.0 ** (attempt - 1))

    def _not_created(self, inputs: Object, error: Exception) -> ProviderError:
        if isinstance(error, UnreachableError):
            return ProviderError(f"configured Kubernetes cluster is unreachable: {error}")
        if isinstance(error, NoSuchKindError):
            return ProviderError(
                f'creation of resource "{self._urn}" with kind {inputs["apiVersion"]}/{inputs["kind"]} failed '
                "because the Kubernetes API server reported that the apiVersion for this resource does not exist. "
                f"Verify that any required CRDs have been created: {error}"
            )
        text = str(error)
        if isinstance(error, ApiFailureError) and error.code == 409:
            text = text + _EXISTS_HELP if error.reason == "AlreadyExists" else self._conflict(error, inputs)
        return ProviderError(
            f'resource "{self._urn}" was not successfully created by the Kubernetes API server: {text}'
        )

    def read(
        self, identifier: str, marked_inputs: Mapping[str, Any], state: Mapping[str, Any]
    ) -> tuple[str, Object, Object] | None:
        """(id, state, inputs) of the live object, or None when it is gone.

        Raises:
            ProviderError: the cluster is unreachable.
            InitializationError: it is there, but not ready.
        """
        if not self._cluster.reachable:
            return self._read_unreachable(identifier, marked_inputs, state)
        namespace, name = states.split_identifier(identifier)
        inputs = states.normalized(states.to_object(marked_inputs))
        importing = not inputs
        live = self._live(inputs, state, namespace, name)
        if live is None:
            return None
        if importing:
            found = {key: value for key, value in live.items() if key in self._input_properties()}
            found = states.normalized(found)
            annotations = found["metadata"].get("annotations") or {}
            for key in (
                "deployment.kubernetes.io/revision",
                "kubectl.kubernetes.io/last-applied-configuration",
            ):
                annotations.pop(key, None)
        else:
            found = states.prune(live, inputs)
        version = str(state.get(states.INITIAL_VERSION) or live["apiVersion"])
        manager = self._manager(state, found)
        kept = states.make(found, live, marked_inputs, version, manager)
        properties = states.to_properties(found)
        states.copy_marks(properties, marked_inputs)
        if not importing:
            self._require_ready(live, inputs, kept, properties)
        return states.identifier(live), kept, properties

    def _live(self, inputs: Object, state: Mapping[str, Any], namespace: str, name: str) -> Object | None:
        version = str(inputs.get("apiVersion") or state.get("apiVersion") or self._kind.api_version)
        try:
            return self._cluster.get(version, self._kind.kind, namespace, name)
        except NoSuchKindError:
            return None
        except (ApiFailureError, UnreachableError) as error:
            raise ProviderError(str(error)) from error

    def _require_ready(self, live: Object, inputs: Object, kept: Object, properties: Object) -> None:
        try:
            self._session.waiter(self._urn).until_ready(inputs, live, 0.0)
        except NotReadyError as error:
            text = f"Resource '{live['metadata']['name']}' was created but failed to initialize"
            raise InitializationError(
                text,
                id=states.identifier(live),
                properties=kept,
                inputs=properties,
                reasons=(text, *error.reasons),
            ) from error

    def _read_unreachable(
        self, identifier: str, inputs: Mapping[str, Any], state: Mapping[str, Any]
    ) -> tuple[str, Object, Object] | None:
        host = self._session.host
        host.warn(self._urn, f"configured Kubernetes cluster is unreachable: {self._cluster.trouble}")
        if self._session.configuration.flag("deleteUnreachable"):
            host.inform(self._urn, _DELETING)
            return None
        if self._session.configuration.flag("skipUpdateUnreachable"):
            host.inform(
                self._urn,
                "configured Kubernetes cluster is unreachable and the `skipUnreachable` option is enabled. "
                "Returned data could not reflect the actual cluster configuration.",
            )
            return identifier, dict(state), dict(inputs)
        raise ProviderError(
            "failed to read resource state due to unreachable cluster. If the cluster was deleted, you can remove "
            "this resource from Pulumi state by rerunning the operation with the PULUMI_K8S_DELETE_UNREACHABLE "
            'environment variable set to "true"'
        )

    def update(
        self,
        state: Mapping[str, Any],
        marked: Mapping[str, Any],
        timeout: float,
        ignore: list[str],
        *,
        preview: bool,
    ) -> Object:
        """The state after a server-side apply of new inputs.

        Raises:
            ProviderError: the server refused, or the cluster is unreachable.
            InitializationError: updated, but not ready in time.
        """
        inputs = states.normalized(states.to_object(marked))
        if not preview:
            self._session.require_cluster()
        known = not contains_unknown(inputs) and self._session.exists(inputs["apiVersion"], inputs["kind"])
        if preview and not known:
            return dict(marked)
        old_inputs, old_live = states.parse(state)
        manager = self._manager(state, inputs)
        version = str(state.get(states.INITIAL_VERSION) or inputs["apiVersion"])
        try:
            changed = self._changed(inputs, old_inputs, old_live, manager, ignore, preview=preview)
        except (ApiFailureError, NoSuchKindError, UnreachableError) as error:
            if preview and isinstance(error, ApiFailureError) and error.code == 403:
                return dict(marked)
            raise self._not_updated(inputs, error, manager) from error
        if preview:
            return states.make(inputs, changed, marked, version, manager)
        self._definitions_may_have_changed(inputs)
        try:
            changed = self._session.waiter(self._urn).until_ready(
                inputs, changed, timeout_of(timeout, inputs)
            )
        except NotReadyError as error:
            where = states.identifier(changed)
            text = (
                f'the Kubernetes API server reported that "{where}" failed to fully initialize or become live: '
                f"{error}"
            )
            raise self._partial(text, error, inputs, marked, manager) from error
        return states.make(inputs, changed, marked, version, manager)

    def _changed(
        self,
        inputs: Object,
        old_inputs: Object,
        old_live: Object,
        manager: str,
        ignore: list[str],
        *,
        preview: bool,
    ) -> Object:
        metadata = old_live["metadata"]
        live = self._cluster.get(
            inputs["apiVersion"], inputs["kind"], metadata.get("namespace", ""), metadata["name"]
        )
        if live is None:
            plural = self._cluster.served(inputs["apiVersion"], inputs["kind"]).plural
            raise ApiFailureError(
                404, {"message": f'{plural} "{metadata["name"]}" not found', "reason": "NotFound"}
            )
        wanted = _with_ignored(inputs, live, ignore)
        if inputs["kind"] == "CustomResourceDefinition":
            wanted["metadata"] = {
                **wanted["metadata"],
                "resourceVersion": live["metadata"]["resourceVersion"],
            }
            return self._cluster.replace(wanted, manager, dry_run=preview)
        if not self._session.configuration.flag("enableServerSideApply"):
            patch = _merge_patch(states.prune(live, states.normalized(old_inputs)), wanted)
            kind = "application/merge-patch+json"
            return self._cluster.patch(live, patch, kind, CREATOR, dry_run=preview)
        if not self._kind.patch and not preview:
            live = self._take_over(live, manager)
        force = self._forced(wanted) or not live["metadata"].get("managedFields")
        if preview:
            owners = {(e["manager"], e["operation"]) for e in live["metadata"].get("managedFields") or []}
            force = force or bool(owners & set(_TAKEN_OVER[3:]))
        return self._cluster.apply(wanted, manager, force=force, dry_run=preview)

    def _take_over(self, live: Object, manager: str) -> Object:
        """Give ``manager`` what the provider's other names, and kubectl apply, own on an object."""
        entries = live["metadata"].get("managedFields") or []
        mine: list[Object] = []
        rest: list[Object] = []
        for entry in entries:
            if entry.get("subresource"):
                rest.append(entry)
            elif (entry["manager"], entry["operation"]) in _TAKEN_OVER or (
                (entry["manager"], entry["operation"]) == (manager, "Apply")
            ):
                mine.append(entry)
            else:
                rest.append(entry)
        if all(entry["manager"] == manager for entry in mine):
            return live
        fields: Object = {}
        for entry in mine:
            fields = _merged(fields, entry.get("fieldsV1") or {})
        owned = {**mine[0], "manager": manager, "operation": "Apply", "fieldsV1": fields}
        patch = [
            {"op": "replace", "path": "/metadata/managedFields", "value": [*rest, owned]},
            {
                "op": "replace",
                "path": "/metadata/resourceVersion",
                "value": live["metadata"]["resourceVersion"],
            },
        ]
        return self._cluster.patch(live, patch, "application/json-patch+json", manager)

    def _not_updated(self, inputs: Object, error: Exception, manager: str) -> ProviderError:
        if isinstance(error, UnreachableError):
            return ProviderError(f"configured Kubernetes cluster is unreachable: {error}")
        if isinstance(error, NoSuchKindError):
            return ProviderError(
                f'update of resource "{self._urn}" failed because the Kubernetes API server reported that the '
                "apiVersion for this resource does not exist. Verify that any required CRDs have been created: "
                f"{error}"
            )
        text = str(error)
        if isinstance(error, ApiFailureError) and error.code == 409 and "Apply failed" in text:
            text = self._conflict(error, inputs, manager)
        return ProviderError(f'update of resource "{self._urn}" failed: {text}')

    def delete(self, state: Mapping[str, Any], identifier: str, timeout: float) -> None:
        """Delete the object and wait until it is gone.

        Raises:
            ProviderError: the cluster is unreachable, or the server refused.
            InitializationError: asked for, but the object lingers.
        """
        inputs, live = states.parse(state)
        if not self._cluster.reachable:
            host = self._session.host
            host.warn(self._urn, f"configured Kubernetes cluster is unreachable: {self._cluster.trouble}")
            if self._session.configuration.flag("deleteUnreachable"):
                host.inform(self._urn, _DELETING)
                return
            raise ProviderError(UNREACHABLE)
        namespace, name = states.split_identifier(identifier)
        version, kind = str(live.get("apiVersion") or self._kind.api_version), self._kind.kind
        manager = self._manager(state, inputs)
        policy = states.annotation(inputs, _PROPAGATION).capitalize()
        try:
            if self._kind.patch:
                empty: Object = {"apiVersion": version, "kind": kind, "metadata": {"name": name}}
                if namespace:
                    empty["metadata"]["namespace"] = namespace
                if self._cluster.get(version, kind, namespace, name) is not None:
                    self._cluster.apply(empty, manager)
                return
            chosen = policy if policy in ("Orphan", "Background") else "Foreground"
            if not self._cluster.delete(version, kind, namespace, name, chosen):
                return
            gone = {"apiVersion": version, "kind": kind, "metadata": live.get("metadata") or {"name": name}}
            self._session.waiter(self._urn).until_gone(gone, timeout_of(timeout, inputs))
        except NoSuchKindError:
            return
        except UnreachableError as error:
            raise ProviderError(f"configured Kubernetes cluster is unreachable: {error}") from error
        except ApiFailureError as error:
            raise ProviderError(str(error)) from error
        except NotReadyError as error:
            kept = states.make(inputs, error.obj, state, version, manager)
            raise InitializationError(
                str(error), id=identifier, properties=kept, reasons=(str(error), *error.reasons)
            ) from error
        self._definitions_may_have_changed({"kind": kind})

    def _manager(self, state: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
        if not self._session.configuration.flag("enableServerSideApply"):
            return CREATOR
        named = states.annotation(inputs, _PATCH_MANAGER)
        kept = unmarked(state.get(states.FIELD_MANAGER))
        return named or (str(kept) if kept else f"{CREATOR}-{secrets.token_hex(4)}")

    def _forced(self, inputs: Object) -> bool:
        return states.annotation_is_true(inputs, _PATCH_FORCE) or self._session.configuration.flag(
            "enablePatchForce"
        )

    def _conflict(self, error: ApiFailureError, inputs: Object, manager: str = "") -> str:
        name = manager or self._manager({}, inputs)
        return (
            f'{_CONFLICT_HELP}\nThe resource managed by field manager "{name}" had an apply conflict: {error}'
        )

    def _input_properties(self) -> frozenset[str]:
        return (properties_of(self._kind.token) or frozenset({"apiVersion", "kind", "metadata", "spec"})) - {
            "status"
        }

    def _definitions_may_have_changed(self, obj: Mapping[str, Any]) -> None:
        if obj.get("kind") == "CustomResourceDefinition":
            self._cluster.forget_kinds()

    def _partial(
        self, text: str, error: NotReadyError, inputs: Object, marked: Mapping[str, Any], manager: str
    ) -> InitializationError:
        kept = states.make(inputs, error.obj, marked, str(inputs["apiVersion"]), manager)
        return InitializationError(
            text, id=states.identifier(error.obj), properties=kept, reasons=(text, *error.reasons)
        )


_DELETING = (
    "configured Kubernetes cluster is unreachable and the `deleteUnreachable` option is enabled. Deleting the "
    "unreachable resource from Pulumi state"
)


def _cannot_preview(error: Exception) -> bool:
    """Whether a dry run failed for what only the real run can tell: the namespace comes later, and so on."""
    if isinstance(error, NoSuchKindError | UnreachableError):
        return True
    return isinstance(error, ApiFailureError) and (
        error.code == 403 or error.missing_namespace or error.reason == "AlreadyExists"
    )


def _with_ignored(inputs: Object, live: Object, ignore: list[str]) -> Object:
    """Inputs with the live values of ignored fields."""
    wanted = dict(inputs)
    for path in ignore:
        steps = path.split(".")
        source: Any = live
        target: Any = wanted
        for step in steps[:-1]:
            source = source.get(step) if isinstance(source, Mapping) else None
            if not isinstance(target.get(step), Mapping):
                target = None
                break
            target[step] = dict(target[step])
            target = target[step]
        if target is not None and isinstance(source, Mapping) and steps[-1] in source:
            target[steps[-1]] = source[steps[-1]]
    return wanted


def _merge_patch(old: Any, new: Any) -> Any:
    """An RFC 7396 patch from old to new inputs, for client-side apply."""
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return new
    patch: Object = {key: None for key in old if key not in new}
    for key, value in new.items():
        if key not in old:
            patch[key] = value
        elif old[key] != value:
            patch[key] = _merge_patch(old[key], value)
    return patch


def _merged(one: Object, other: Object) -> Object:
    result = dict(one)
    for key, value in other.items():
        result[key] = _merged(result[key], value) if key in result else value
    return result
