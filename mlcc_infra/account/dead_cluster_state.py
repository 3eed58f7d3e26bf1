"""What a state still has of things inside clusters that are really gone.

With its cluster gone nothing in it can be read or deleted: pulumi-kubernetes then fails every run with
"configured Kubernetes cluster is unreachable", and its escape flag does not reach Helm releases
(pulumi/pulumi-kubernetes issues 2517 and 2675). So EKS is asked: where it says that there is no such cluster,
or that another one has its name, what was inside is dropped from the state, and the next `up` makes it again.
A cluster that exists and does not answer is another matter: nothing is dropped, and it is said.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from mlcc_infra.account import cluster_client
from mlcc_infra.account.reader import error_code
from mlcc_infra.account.recorded_state import index_export
from mlcc_infra.account.session import AccountSession, require_account
from mlcc_infra.account.state_transfer import export_state, import_state
from mlcc_infra.account.stored_identity import KUBERNETES_PROVIDER, resources
from mlcc_infra.errors import UserError


@dataclass(frozen=True, kw_only=True)
class ClusterInState:
    """An EKS cluster that a Kubernetes provider of the state speaks to, and what the state has in it.

    `endpoint` tells it from another of the same name. `resources` are the URNs of what is inside.
    """

    name: str
    region: str
    endpoint: str
    resources: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Dropped:
    """What was dropped from a state, and why: `because` names each cluster with what EKS says of it."""

    because: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()


def clusters_in_state(export: Mapping[str, Any]) -> list[ClusterInState]:
    """The clusters in which an exported state has resources; pure.

    Clusters are those of kubeconfigs that call `aws eks get-token`; others are not ours to judge.
    """
    found = []
    for provider in resources(export):
        if provider.get("type") != KUBERNETES_PROVIDER:
            continue
        reference = f"{provider['urn']}::{provider.get('id')}"
        inside = tuple(one["urn"] for one in resources(export) if one.get("provider") == reference)
        cluster = _cluster(provider.get("inputs") or {}, inside)
        if inside and cluster is not None:
            found.append(cluster)
    return found


def _cluster(provider: Mapping[str, Any], inside: tuple[str, ...]) -> ClusterInState | None:
    text = provider.get("kubeconfig")
    try:
        config: Any = json.loads(text) if isinstance(text, str) else text
        context = next(one for one in config["contexts"] if one["name"] == config["current-context"])
        cluster = next(one for one in config["clusters"] if one["name"] == context["context"]["cluster"])
        user = next(one for one in config["users"] if one["name"] == context["context"]["user"])
        arguments = list(user["user"]["exec"]["args"])
        return ClusterInState(
            name=arguments[arguments.index("--cluster-name") + 1],
            region=arguments[arguments.index("--region") + 1],
            endpoint=cluster["cluster"]["server"],
            resources=inside,
        )
    except (ValueError, TypeError, KeyError, IndexError, StopIteration):
        return None


def without(export: Mapping[str, Any], urns: Collection[str]) -> dict[str, Any]:
    """The export without those resources, and without whatever else in it names them; pure.

    The engine refuses a state in which a resource depends on one that is not there.
    """
    gone = frozenset(urns)
    kept = [_unbound(one, gone) for one in resources(export) if one["urn"] not in gone]
    return {**export, "deployment": {**export["deployment"], "resources": kept}}


def _unbound(resource: Mapping[str, Any], gone: frozenset[str]) -> dict[str, Any]:
    result = dict(resource)
    if "dependencies" in result:
        result["dependencies"] = _less(result["dependencies"], gone)
    if result.get("propertyDependencies"):
        result["propertyDependencies"] = {
            key: _less(urns, gone) for key, urns in result["propertyDependencies"].items()
        }
    if result.get("deletedWith") in gone:
        del result["deletedWith"]
    if "replaceWith" in result:
        result["replaceWith"] = _less(result["replaceWith"], gone)
    return result


def _less(urns: Iterable[str] | None, gone: frozenset[str]) -> list[str]:
    return [urn for urn in urns or [] if urn not in gone]


def why_gone(session: AccountSession, cluster: ClusterInState) -> str | None:
    """EKS's word that a cluster is really gone, or None while it exists. Raises what AWS answers else."""
    try:
        described = cluster_client.describe(session, cluster.name)
    except cluster_client.ClusterGoneError as gone:
        return str(gone).removesuffix(".")
    endpoint = described.get("endpoint")
    if endpoint and endpoint != cluster.endpoint:
        return f"The EKS cluster {cluster.name} was made anew"
    return None


def why_silent(session: AccountSession, cluster: ClusterInState) -> str | None:
    """Why a cluster that exists does not answer, or None when it does. A refusal is an answer."""
    try:
        with cluster_client.connect(session, cluster_client.describe(session, cluster.name)) as api:
            api.get("/version")
    except cluster_client.ClusterUnreachableError as error:
        return str(error)
    except (cluster_client.ClusterGoneError, cluster_client.ClusterRefusedError):
        return None
    return None


def drop_in_cluster_state(stack: str, session_of: Callable[[str], AccountSession]) -> Dropped:
    """Drop from a stack's state what lies in clusters that EKS says are gone; safe to call at any time.

    `session_of` gives the session of a region. Nothing is written while every cluster exists. Raises
    `UserError` when a cluster exists and does not answer, when AWS does not tell whether it exists, when the
    credentials are for another account than the state's (there every cluster would seem gone), and when the
    state cannot be read or written.
    """
    export = export_state(stack)
    clusters = clusters_in_state(export)
    account = index_export(export).account
    because, urns = _judged(clusters, account, session_of)
    if urns:
        import_state(stack, without(export, urns))
    return Dropped(because=because, resources=tuple(urns))


def _judged(
    clusters: Sequence[ClusterInState], account: str | None, session_of: Callable[[str], AccountSession]
) -> tuple[tuple[str, ...], list[str]]:
    because: list[str] = []
    urns: list[str] = []
    for cluster in clusters:
        session = session_of(cluster.region)
        if account is not None:
            require_account(session, account)
        try:
            reason = why_gone(session, cluster)
            silent = None if reason else why_silent(session, cluster)
        except (ClientError, BotoCoreError) as error:
            code = error_code(error) if isinstance(error, ClientError) else str(error)
            raise UserError(
                f"Whether the EKS cluster {cluster.name} still exists could not be read: {code}.",
                remedy="Give the caller eks:DescribeCluster on it, or run again once AWS answers.",
            ) from error
        if silent is not None:
            raise UserError(
                f"The EKS cluster {cluster.name} exists but cannot be asked: {silent}.",
                remedy=(
                    "What the state has in it is kept. Run from where its endpoint can be reached (`aws eks "
                    f"describe-cluster --name {cluster.name} --region {cluster.region} --query "
                    "cluster.resourcesVpcConfig` shows from where). To leave behind what is in it, take "
                    f"these out of the state with `pulumi state delete`: {', '.join(cluster.resources)}"
                ),
            )
        if reason is not None:
            because.append(reason)
            urns.extend(cluster.resources)
    return tuple(dict.fromkeys(because)), urns
