"""Taking out of a cluster what would outlive it: models, Ingresses, LoadBalancer Services, what they made.

Controllers make load balancers and security groups for these objects and remove them only while they run
themselves, so this comes before add-ons and controllers go (field reports H2, H3). Nothing is forced: a
finalizer that holds an object is named, never removed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlcc_infra import clock
from mlcc_infra.account import cluster_client
from mlcc_infra.account.cluster_client import ClusterApi
from mlcc_infra.account.cluster_leftovers import leftovers
from mlcc_infra.account.session import AccountSession
from mlcc_infra.errors import UserError

INFERENCE_GROUP = "inference.sagemaker.aws.amazon.com"
# These have endpoints, Ingresses and registrations made for them, so they go before all others.
MODELS = ("inferenceendpointconfigs", "jumpstartmodels")

LIMIT_SECONDS = 20 * 60.0
INTERVAL_SECONDS = 10.0
# How long an endpoint may be silent before the drain gives up.
SILENCE_SECONDS = 120.0
_NOTHING_IN_IT = ("CREATING", "DELETING", "FAILED", "PENDING")

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Held:
    """An object that is to go: how it is called, where it lies, and what its metadata says."""

    kind: str
    path: str
    metadata: Mapping[str, Any]

    @property
    def name(self) -> str:
        """`Kind namespace/name`."""
        namespace = self.metadata.get("namespace")
        return f"{self.kind} {f'{namespace}/' if namespace else ''}{self.metadata['name']}"

    @property
    def line(self) -> str:
        """The object and what holds it."""
        finalizers = ", ".join(self.metadata.get("finalizers") or [])
        if not self.metadata.get("deletionTimestamp"):
            return f"{self.name} came back after its deletion, or was never deleted"
        return f"{self.name} is held by {f'finalizer {finalizers}' if finalizers else 'its dependents'}"


@dataclass
class Made:
    """Uids of what controllers made inside the cluster for the objects: deployments, replica sets, pods."""

    uids: set[str] = field(default_factory=set)

    def learn(self, objects: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Those of the objects that belong to what is known, whose uids are known from then on."""
        found = []
        for obj in objects:
            metadata = obj["metadata"]
            owners = {owner["uid"] for owner in metadata.get("ownerReferences") or []}
            if metadata["uid"] in self.uids or owners & self.uids:
                self.uids.add(metadata["uid"])
                found.append(obj)
        return found


def custom_kinds(api: ClusterApi) -> dict[str, tuple[str, str]]:
    """Kinds of the operator's group that the cluster serves: plural to path of the version, and kind.

    Not all need be served in the preferred version: the gateway's is v1alpha1 alone.
    """
    try:
        group = api.get(f"/apis/{INFERENCE_GROUP}")
    except cluster_client.ClusterRefusedError as error:
        if error.status == 404:
            return {}
        raise
    preferred = group["preferredVersion"]["groupVersion"]
    versions = [entry["groupVersion"] for entry in group["versions"]]
    found: dict[str, tuple[str, str]] = {}
    for version in sorted(versions, key=lambda name: name != preferred):
        for resource in api.get(f"/apis/{version}")["resources"]:
            if "/" not in resource["name"]:
                found.setdefault(resource["name"], (f"/apis/{version}", resource["kind"]))
    return found


def models(api: ClusterApi) -> list[Held]:
    """Custom resources that serve models, in all namespaces."""
    kinds = custom_kinds(api)
    return [held for plural in MODELS if plural in kinds for held in _custom(api, plural, kinds[plural])]


def everything(api: ClusterApi) -> list[Held]:
    """The operator's custom resources, all Ingresses, and Services of type LoadBalancer."""
    found = [
        held for plural, kind in sorted(custom_kinds(api).items()) for held in _custom(api, plural, kind)
    ]
    networking = "/apis/networking.k8s.io/v1"
    found += _held(networking, "ingresses", "Ingress", api.items(f"{networking}/ingresses"))
    services = api.items("/api/v1/services")
    balanced = [item for item in services if (item.get("spec") or {}).get("type") == "LoadBalancer"]
    return found + _held("/api/v1", "services", "Service", balanced)


def _custom(api: ClusterApi, plural: str, where: tuple[str, str]) -> list[Held]:
    base, kind = where
    return _held(base, plural, kind, api.items(f"{base}/{plural}"))


def _held(base: str, plural: str, kind: str, items: Iterable[Mapping[str, Any]]) -> list[Held]:
    held = []
    for item in items:
        metadata = item["metadata"]
        inside = f"/namespaces/{metadata['namespace']}" if metadata.get("namespace") else ""
        held.append(Held(kind=kind, path=f"{base}{inside}/{plural}/{metadata['name']}", metadata=metadata))
    return held


def drain(
    session: AccountSession,
    cluster_name: str,
    cluster_identity: str | None,
    say: Say,
    limit: float = LIMIT_SECONDS,
) -> None:
    """Take out what would block or outlive the cluster, within `limit` modelled seconds.

    Returns at once when EKS knows no such cluster, or one of another identity (OIDC issuer): then it was
    made anew and is not ours to empty. Raises `UserError` naming what blocks, or why the cluster, which
    exists, cannot be asked.
    """
    cluster = _living(session, cluster_name)
    if cluster is None:
        return
    issuer = ((cluster.get("identity") or {}).get("oidc") or {}).get("issuer")
    if cluster_identity and issuer and issuer != cluster_identity:
        say(f"The cluster {cluster_name} was made anew; nothing is taken out of it.")
        return
    _Drain(session, cluster, say).run(limit)


def _living(session: AccountSession, name: str) -> dict[str, Any] | None:
    """The cluster, unless it is gone or in a state in which nobody could be asked and nothing is in it."""
    try:
        cluster = cluster_client.describe(session, name)
    except cluster_client.ClusterGoneError:
        return None
    return None if cluster["status"] in _NOTHING_IN_IT else cluster


class _Drain:
    """One drain of one cluster."""

    def __init__(self, session: AccountSession, cluster: Mapping[str, Any], say: Say) -> None:
        self._session = session
        self._cluster = cluster
        self._say = say
        self._made = Made()
        self._told: set[str] = set()

    def run(self, limit: float) -> None:
        """Models first, then the rest: while a model lives, its operator makes its Ingress again."""
        deadline = clock.Deadline(limit)
        self._until_gone(lambda api: self._remove(api, models(api)), clock.Deadline(limit / 2), final=False)
        blockers = self._until_gone(self._step, deadline)
        if blockers:
            raise UserError(
                f"The cluster {self._cluster['name']} could not be emptied within {limit / 60:.0f} minutes:"
                + "".join(f"\n  - {line}" for line in blockers),
                remedy=(
                    "Mend what holds them (`kubectl describe` shows the controller's events) and run "
                    "`pulumi destroy` again. Finalizers are never removed here: what they guard would be "
                    "left behind."
                ),
            )

    def _step(self, api: ClusterApi) -> list[str]:
        return [*self._remove(api, everything(api)), *self._outside()]

    def _remove(self, api: ClusterApi, objects: list[Held]) -> list[str]:
        """Ask for each deletion that was not asked for; a line for whatever is still there, pods included."""
        self._made.uids |= {item.metadata["uid"] for item in objects}
        pods = self._pods(api)  # before the deletion, after which nothing tells whose they are
        for item in objects:
            if not item.metadata.get("deletionTimestamp"):
                self._tell(f"Removing {item.name}")
                api.delete(item.path)
        return [*(item.line for item in objects), *pods]

    def _pods(self, api: ClusterApi) -> list[str]:
        if not self._made.uids:
            return []
        for kind in ("deployments", "statefulsets", "replicasets"):
            self._made.learn(api.items(f"/apis/apps/v1/{kind}"))
        pods = self._made.learn(api.items("/api/v1/pods"))
        return [f"pod {pod['metadata']['namespace']}/{pod['metadata']['name']} still runs" for pod in pods]

    def _outside(self) -> list[str]:
        found = leftovers(self._session, self._cluster["name"])
        for text in found.denied:
            self._tell(text)
        return list(found.lines)

    def _until_gone(
        self, step: Callable[[ClusterApi], list[str]], deadline: clock.Deadline, *, final: bool = True
    ) -> list[str]:
        """Do a step until it finds nothing; what it still finds when the time is over.

        The last look is never the first: only after a deletion was asked for is it known what holds it.
        Where another phase follows, a last look that gets no answer ends this one only.
        """
        silence: clock.Deadline | None = None
        for looks in itertools.count():
            last = looks > 0 and deadline.expired()
            try:
                with cluster_client.connect(self._session, self._cluster) as api:
                    blockers = step(api)
                silence = None
            except (cluster_client.ClusterUnreachableError, cluster_client.ClusterRefusedError) as error:
                if _living(self._session, self._cluster["name"]) is None:
                    return []
                silence = silence or clock.Deadline(SILENCE_SECONDS)
                if silence.expired() or (last and final):
                    raise self._unasked(error) from error
                blockers = [str(error)]
            if not blockers:
                return []
            if last:
                return blockers
            self._tell(f"Waiting for {len(blockers)} to go: {'; '.join(blockers[:3])}")
            clock.sleep(min(INTERVAL_SECONDS, deadline.remaining()))
        raise AssertionError("the looks never end by themselves")

    def _unasked(self, error: Exception) -> UserError:
        name = self._cluster["name"]
        return UserError(
            f"The cluster {name} is {self._cluster['status']}, but what is in it cannot be removed: {error}.",
            remedy=(
                f"Try `aws eks update-kubeconfig --name {name} --region {self._session.region}` and "
                "`kubectl get ingress,service -A` from here, then `pulumi destroy` again. To leave behind "
                "what is in it, take this ClusterDrain out of the state: `pulumi state delete` with its URN."
            ),
        )

    def _tell(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._say(text)
