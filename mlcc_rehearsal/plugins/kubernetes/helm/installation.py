"""Install, upgrade and uninstall, as Helm does them.

Source: helm.sh/helm/v3 ``pkg/action/{install,upgrade,uninstall,validate}.go`` and ``pkg/kube/ready.go``;
sentences are Helm's. Objects are applied in Helm's order of kinds, webhooks last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mlcc_rehearsal.plugins.kubernetes.client import ApiFailureError, Cluster, NoSuchKindError
from mlcc_rehearsal.plugins.kubernetes.helm import records
from mlcc_rehearsal.plugins.kubernetes.helm.charts import CHARTS, chart_name
from mlcc_rehearsal.plugins.kubernetes.helm.common import ChartError
from mlcc_rehearsal.plugins.kubernetes.helm.records import Record
from mlcc_rehearsal.plugins.kubernetes.states import Object
from mlcc_rehearsal.plugins.kubernetes.waiting import NotReadyError, Waiter
from mlcc_rehearsal.plugins.serving import ProviderError

_MANAGER = "helm"
_MANAGED_BY = "app.kubernetes.io/managed-by"
_NAME, _NAMESPACE = "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"
_ORDER = [
    "PriorityClass",
    "Namespace",
    "ServiceAccount",
    "Secret",
    "ConfigMap",
    "StorageClass",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "Service",
    "DaemonSet",
    "Pod",
    "Deployment",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
]
_WAITED_FOR = frozenset({"DaemonSet", "Deployment", "StatefulSet", "Pod", "PersistentVolumeClaim"})


@dataclass(frozen=True)
class Wanted:
    """A release as a program asks for it."""

    name: str
    namespace: str
    chart: str
    version: str
    values: Mapping[str, Any]
    wait: bool
    timeout: float
    create_namespace: bool = False
    skip_definitions: bool = False
    description: str = ""
    max_history: int = 0
    replace: bool = False
    atomic: bool = False


class ReleaseFailedError(Exception):
    """The release exists with status ``failed``."""

    def __init__(self, record: Record, why: str) -> None:
        super().__init__(why)
        self.record = record


def install(cluster: Cluster, wanted: Wanted, waiter: Waiter, warn: Callable[[str], None]) -> Record:
    """Install a release.

    Raises:
        ProviderError: nothing was installed.
        ReleaseFailedError: installed, but failed.
    """
    existing = records.find(cluster, wanted.namespace, wanted.name)
    if existing and not (wanted.replace and existing[-1].status in ("failed", "uninstalled")):
        raise ProviderError("cannot re-use a name that is still in use")
    objects = _rendered(wanted, warn)
    if wanted.create_namespace:
        namespace = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": wanted.namespace, "labels": {"name": wanted.namespace}},
        }
        if cluster.get("v1", "Namespace", "", wanted.namespace) is None:
            cluster.create(namespace, _MANAGER)
    _install_definitions(cluster, wanted)
    _check_ownership(cluster, wanted, objects, "install")
    record = _record(wanted, 1 + (existing[-1].revision if existing else 0), objects, "pending-install")
    try:
        records.save(cluster, record)
    except ApiFailureError as error:
        raise ProviderError(f"create: failed to create: {error}") from error
    done = _rolled_out(cluster, wanted, record, waiter, (), "Install")
    records.save(cluster, done)
    return done


def upgrade(cluster: Cluster, wanted: Wanted, waiter: Waiter, warn: Callable[[str], None]) -> Record:
    """Make the next revision of a release.

    Raises:
        ProviderError: nothing was changed.
        ReleaseFailedError: changed, but failed.
    """
    existing = records.find(cluster, wanted.namespace, wanted.name)
    if not existing:
        raise ProviderError(f'"{wanted.name}" has no deployed releases')
    last = existing[-1]
    if last.status.startswith("pending"):
        raise ProviderError("another operation (install/upgrade/rollback) is in progress")
    objects = _rendered(wanted, warn)
    _check_ownership(cluster, wanted, objects, "upgrade")
    record = _record(wanted, last.revision + 1, objects, "pending-upgrade")
    records.save(cluster, record)
    done = _rolled_out(cluster, wanted, record, waiter, last.manifest, "Upgrade")
    records.save(cluster, last.with_status("superseded", last.description))
    records.save(cluster, done)
    if wanted.max_history > 0:
        for old in [*existing, done][: -wanted.max_history]:
            records.forget(cluster, old)
    return done


def uninstall(
    cluster: Cluster, namespace: str, name: str, waiter: Waiter, wait: bool, timeout: float
) -> None:
    """Remove what a release made, and its record.

    Raises:
        ProviderError: there is no such release, or something stays.
    """
    existing = records.find(cluster, namespace, name)
    if not existing:
        raise ProviderError(f"uninstall: Release not loaded: {name}: release: not found")
    asked: list[Object] = []
    for obj in reversed(_sorted(existing[-1].manifest)):
        metadata = obj["metadata"]
        where = metadata.get("namespace", "")
        try:
            live = cluster.get(obj["apiVersion"], obj["kind"], where, metadata["name"])
            if live is not None and cluster.delete(
                obj["apiVersion"], obj["kind"], where, metadata["name"], "Background"
            ):
                asked.append(live)
        except NoSuchKindError:
            continue  # its definition is gone, and the object with it
    if wait:
        for obj in asked:
            try:
                waiter.until_gone(obj, timeout)
            except NotReadyError as error:
                raise ProviderError(
                    f"uninstallation completed with 1 error(s): {error}: {'; '.join(error.reasons)}"
                ) from error
    for record in existing:
        records.forget(cluster, record)


def names_of(record: Record) -> dict[str, list[str]]:
    """Names of a release's objects by ``Kind.group/version``."""
    found: dict[str, list[str]] = {}
    for obj in record.manifest:
        group = obj["apiVersion"].rpartition("/")[0]
        key = f"{obj['kind']}.{group}/{obj['apiVersion']}" if group else f"{obj['kind']}/{obj['apiVersion']}"
        metadata = obj["metadata"]
        name = (
            f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else metadata["name"]
        )
        found.setdefault(key, []).append(name)
    return {key: sorted(names) for key, names in sorted(found.items())}


def _rendered(wanted: Wanted, warn: Callable[[str], None]) -> tuple[Object, ...]:
    chart = CHARTS.get(chart_name(wanted.chart))
    if chart is None:
        warn(
            f"the objects of the chart {wanted.chart!r} are not modelled: this rehearsal makes the "
            f"release's record "
            "only. Known charts: "
            + ", ".join(sorted(CHARTS))
            + " (mlcc_rehearsal/plugins/kubernetes/helm/charts.py)"
        )
        return ()
    try:
        objects = chart.render(wanted.name, wanted.namespace, wanted.version, wanted.values)
    except ChartError as error:
        raise ProviderError(str(error)) from error
    return tuple(_sorted(objects))


def _sorted(objects: Any) -> list[Object]:
    def place(obj: Object) -> int:
        return _ORDER.index(obj["kind"]) if obj["kind"] in _ORDER else len(_ORDER)

    return sorted(objects, key=place)


def _install_definitions(cluster: Cluster, wanted: Wanted) -> None:
    chart = CHARTS.get(chart_name(wanted.chart))
    if chart is None or wanted.skip_definitions:
        return
    for definition in chart.definitions:
        name = definition["metadata"]["name"]
        if cluster.get(definition["apiVersion"], definition["kind"], "", name) is None:
            cluster.create(definition, _MANAGER)
            cluster.forget_kinds()


def _check_ownership(cluster: Cluster, wanted: Wanted, objects: tuple[Object, ...], doing: str) -> None:
    for obj in objects:
        metadata = obj["metadata"]
        try:
            live = cluster.get(
                obj["apiVersion"], obj["kind"], metadata.get("namespace", ""), metadata["name"]
            )
        except NoSuchKindError as error:
            raise ProviderError(
                f"unable to build kubernetes objects from release manifest: resource mapping not "
                f"found for name: "
                f'"{metadata["name"]}" namespace: "" from "": {error}\nensure CRDs are installed first'
            ) from error
        if live is None:
            continue
        labels = live["metadata"].get("labels") or {}
        annotations = live["metadata"].get("annotations") or {}
        faults = []
        for kind, held, key, value in (
            ("label", labels, _MANAGED_BY, "Helm"),
            ("annotation", annotations, _NAME, wanted.name),
            ("annotation", annotations, _NAMESPACE, wanted.namespace),
        ):
            if key not in held:
                faults.append(f'{kind} validation error: missing key "{key}": must be set to "{value}"')
            elif held[key] != value:
                faults.append(
                    f'{kind} validation error: key "{key}" must equal "{value}": current value is '
                    f'"{held[key]}"'
                )
        if faults:
            raise ProviderError(
                f'Unable to continue with {doing}: {obj["kind"]} "{metadata["name"]}" in namespace '
                f'"{metadata.get("namespace", "")}" exists and cannot be imported into the current release: '
                f"invalid ownership metadata; {'; '.join(faults)}"
            )


def _record(wanted: Wanted, revision: int, objects: tuple[Object, ...], status: str) -> Record:
    name = chart_name(wanted.chart)
    chart = CHARTS.get(name)
    return Record(
        name=wanted.name,
        namespace=wanted.namespace,
        revision=revision,
        status=status,
        chart=name,
        version=wanted.version,
        app_version=chart.app_version if chart else "",
        values=wanted.values,
        manifest=objects,
        description="Initial install underway" if status == "pending-install" else "Preparing upgrade",
    )


def _rolled_out(
    cluster: Cluster,
    wanted: Wanted,
    record: Record,
    waiter: Waiter,
    before: tuple[Object, ...],
    doing: str,
) -> Record:
    """Apply a revision's objects, remove those of the last one it lacks, wait."""
    try:
        live = [cluster.apply(_owned(obj, wanted), _MANAGER, force=True) for obj in record.manifest]
        kept = {_place(obj) for obj in record.manifest}
        for obj in before:
            if _place(obj) not in kept:
                metadata = obj["metadata"]
                where = metadata.get("namespace", "")
                cluster.delete(obj["apiVersion"], obj["kind"], where, metadata["name"], "Background")
        if wanted.wait:
            for obj in live:
                if obj["kind"] in _WAITED_FOR:
                    waiter.until_live({}, obj, wanted.timeout)
    except (ApiFailureError, NotReadyError) as error:
        why = "context deadline exceeded" if isinstance(error, NotReadyError) else str(error)
        details = (
            f" ({'; '.join(error.reasons)})" if isinstance(error, NotReadyError) and error.reasons else ""
        )
        failed = record.with_status("failed", f'{doing} "{wanted.name}" failed: {why}')
        records.save(cluster, failed)
        if wanted.atomic and doing == "Install":
            uninstall(cluster, wanted.namespace, wanted.name, waiter, wait=True, timeout=wanted.timeout)
            raise ProviderError(
                f"release {wanted.name} failed, and has been uninstalled due to atomic being set: {why}"
            ) from error
        raise ReleaseFailedError(failed, why + details) from error
    return record.with_status("deployed", wanted.description or f"{doing} complete")


def _owned(obj: Object, wanted: Wanted) -> Object:
    metadata = dict(obj["metadata"])
    metadata["labels"] = {**(metadata.get("labels") or {}), _MANAGED_BY: "Helm"}
    owner = {_NAME: wanted.name, _NAMESPACE: wanted.namespace}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), **owner}
    return {**obj, "metadata": metadata}


def _place(obj: Object) -> tuple[str, str, str, str]:
    metadata = obj["metadata"]
    return (
        obj["apiVersion"].rpartition("/")[0],
        obj["kind"],
        metadata.get("namespace", ""),
        metadata["name"],
    )
