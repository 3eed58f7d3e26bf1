"""Kubernetes objects as Pulumi resources: create, read, update, delete.

Follows pulumi-kubernetes' ``provider.go`` and ``await.go`` (commit 94977969d): a create is a POST by the
field manager ``pulumi-kubernetes``, an update a server-side apply by ``pulumi-kubernetes-<hex>``, which takes
over what the former owned.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from mlcc_rehearsal.plugins.kubernetes import states
from mlcc_rehearsal.plugins.kubernetes.client import ApiFailureError, NoSuchKindError, UnreachableError
from mlcc_rehearsal.plugins.kubernetes.kinds import (
    Kind,
    properties_of,
)
from mlcc_rehearsal.plugins.kubernetes.ownership import TAKEN_OVER, merge_patch, take_over, with_ignored
from mlcc_rehearsal.plugins.kubernetes.session import UNREACHABLE, Session
from mlcc_rehearsal.plugins.kubernetes.states import Object
from mlcc_rehearsal.plugins.kubernetes.waiting import NotReadyError, timeout_of
from mlcc_rehearsal.plugins.serving import InitializationError, ProviderError
from mlcc_rehearsal.plugins.values import contains_unknown, unmarked

CREATOR = "pulumi-kubernetes"
_PATCH_FORCE = "pulumi.com/patchForce"
_PATCH_MANAGER = "pulumi.com/patchFieldManager"
_PROPAGATION = "pulumi.com/deletionPropagationPolicy"
_RETRIES = 5
_CONFLICT_HELP = (
    "server-side apply field conflict detected, see https://www.pulumi.com/registry/packages/kubernetes/"
    "how-to-guides/managing-resources-with-server-side-apply/"
    "#handle-field-conflicts-on-existing-resources for troubleshooting help"
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


class Objects:
    """Resources of one kind in one session."""

    def __init__(self, session: Session, kind: Kind, urn: str) -> None:
        self._session = session
        self._cluster = session.cluster
        self._kind = kind
        self._urn = urn

    def create(self, marked: Mapping[str, Any], timeout: float, *, preview: bool) -> tuple[str, Object]:
        """(id, state) of a new object; in a preview the server's dry run, or the inputs.

        Raises:
            ProviderError: the server refused, or the cluster is unreachable.
            InitializationError: made, but not ready in time.
        """
        inputs = states.to_object(marked)
        if not preview:
            self._session.require_cluster()
        known = (
            preview
            and not contains_unknown(inputs)
            and self._session.exists(inputs["apiVersion"], inputs["kind"])
        )
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
                f'resource "{self._urn}" was successfully created, but the Kubernetes API server '
                f"reported that it "
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
                f'creation of resource "{self._urn}" with kind '
                f"{inputs['apiVersion']}/{inputs['kind']} failed "
                "because the Kubernetes API server reported that the apiVersion for this resource "
                "does not exist. "
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
            self._session.waiter(self._urn).until_live(inputs, live, 0.0)
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
            "failed to read resource state due to unreachable cluster. If the cluster was deleted, "
            "you can remove "
            "this resource from Pulumi state by rerunning the operation with the "
            "PULUMI_K8S_DELETE_UNREACHABLE "
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
        known = (
            preview
            and not contains_unknown(inputs)
            and self._session.exists(inputs["apiVersion"], inputs["kind"])
        )
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
                f'the Kubernetes API server reported that "{where}" failed to fully initialize or '
                f"become live: "
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
        wanted = with_ignored(inputs, live, ignore)
        if inputs["kind"] == "CustomResourceDefinition":
            wanted["metadata"] = {
                **wanted["metadata"],
                "resourceVersion": live["metadata"]["resourceVersion"],
            }
            return self._cluster.replace(wanted, manager, dry_run=preview)
        if not self._session.configuration.flag("enableServerSideApply"):
            patch = merge_patch(states.prune(live, states.normalized(old_inputs)), wanted)
            kind = "application/merge-patch+json"
            return self._cluster.patch(live, patch, kind, CREATOR, dry_run=preview)
        if not self._kind.patch and not preview:
            live = take_over(self._cluster, live, manager)
        force = self._forced(wanted) or not live["metadata"].get("managedFields")
        if preview:
            owners = {(e["manager"], e["operation"]) for e in live["metadata"].get("managedFields") or []}
            force = force or bool(owners & set(TAKEN_OVER[3:]))
        return self._cluster.apply(wanted, manager, force=force, dry_run=preview)

    def _not_updated(self, inputs: Object, error: Exception, manager: str) -> ProviderError:
        if isinstance(error, UnreachableError):
            return ProviderError(f"configured Kubernetes cluster is unreachable: {error}")
        if isinstance(error, NoSuchKindError):
            return ProviderError(
                f'update of resource "{self._urn}" failed because the Kubernetes API server reported '
                f"that the "
                "apiVersion for this resource does not exist. Verify that any required CRDs have "
                "been created: "
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
    "configured Kubernetes cluster is unreachable and the `deleteUnreachable` option is enabled. "
    "Deleting the "
    "unreachable resource from Pulumi state"
)


def _cannot_preview(error: Exception) -> bool:
    """Whether a dry run failed for what only the real run can tell: the namespace comes later, and so on."""
    if isinstance(error, NoSuchKindError | UnreachableError):
        return True
    return isinstance(error, ApiFailureError) and (
        error.code == 403 or error.missing_namespace or error.reason == "AlreadyExists"
    )
