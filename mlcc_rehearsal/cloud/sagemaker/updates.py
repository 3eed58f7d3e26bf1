"""UpdateCluster and the batch operations that change how many instances a group has."""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.cloud import durations, laws_hyperpod
from mlcc_rehearsal.cloud.sagemaker import provisioning
from mlcc_rehearsal.cloud.sagemaker.clusters import add_group
from mlcc_rehearsal.cloud.sagemaker.errors import ConflictException, ValidationException
from mlcc_rehearsal.cloud.sagemaker.events import note
from mlcc_rehearsal.cloud.sagemaker.models import Group, HyperPodCluster, RehearsedSageMakerBackend
from mlcc_rehearsal.cloud.sagemaker.operations import operation
from mlcc_rehearsal.cloud.sagemaker.requirements import (
    check_groups,
    check_network,
    check_quotas,
    eks_cluster_of,
)

_CHANGEABLE = ("NodeRecovery", "TieredStorageConfig", "NodeProvisioningMode", "ClusterRole", "AutoScaling")
_IMMUTABLE = ("OverrideVpcConfig", "InstanceType")


@operation("UpdateCluster")
def update_cluster(backend: RehearsedSageMakerBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Change groups and settings.

    Groups that are left out stay or go, as the account is set (``omitted_groups``); no public text says.
    This is the law "hyperpod-omitted-groups".
    """
    cluster = backend.find(parameters["ClusterName"])
    _changeable(cluster)
    given = [*(parameters.get("InstanceGroups") or []), *(parameters.get("RestrictedInstanceGroups") or [])]
    restricted = {spec["InstanceGroupName"] for spec in parameters.get("RestrictedInstanceGroups") or []}
    gone = _to_delete(backend, cluster, parameters, given)
    resulting = {name: group.spec for name, group in cluster.groups.items() if name not in gone}
    resulting |= {spec["InstanceGroupName"]: spec for spec in given}
    mode = parameters.get("NodeProvisioningMode") or cluster.settings.get("NodeProvisioningMode")
    check_groups(list(resulting.values()), continuous=mode == "Continuous")
    check_quotas(backend, list(resulting.values()), without=cluster.name)
    for spec in given:
        _check_change(backend, cluster, spec)
    cluster.settings.update({key: parameters[key] for key in _CHANGEABLE if parameters.get(key) is not None})
    changed = _apply(backend, cluster, given, restricted)
    for name in gone:
        _delete_group(backend, cluster, cluster.groups[name])
    if not cluster.continuous and (changed or gone):
        cluster.status = "Updating"
        cluster.failure = None
    note(backend, cluster, f"Cluster {cluster.name} update started")

    def go_on() -> None:
        for group in changed:
            provisioning.reconcile(backend, cluster, group)
        provisioning.settle(backend, cluster)

    backend.account.clock.after(durations.seconds("sagemaker.cluster.update"), go_on)
    return {"ClusterArn": cluster.arn}


def _changeable(cluster: HyperPodCluster) -> None:
    if cluster.status != "InService":
        message = (
            f"Cluster {cluster.name} is in status {cluster.status} and cannot be updated. Only clusters "
            f"in status "
            "InService can be updated."
        )
        raise laws_hyperpod.HYPERPOD_STATE.broken(ConflictException(message))
    if cluster.deep_health_checks_run:
        message = f"Cluster {cluster.name} cannot be updated while deep health checks are in progress."
        raise laws_hyperpod.HYPERPOD_DEEP_HEALTH.broken(ConflictException(message))


def _to_delete(
    backend: RehearsedSageMakerBackend,
    cluster: HyperPodCluster,
    parameters: dict[str, Any],
    given: list[dict[str, Any]],
) -> list[str]:
    named = list(parameters.get("InstanceGroupsToDelete") or [])
    unknown = [name for name in named if name not in cluster.groups]
    if unknown:
        message = f"Instance groups {', '.join(unknown)} do not exist in cluster {cluster.name}."
        raise laws_hyperpod.HYPERPOD_GROUPS.broken(ValidationException(message))
    both = [spec["InstanceGroupName"] for spec in given if spec["InstanceGroupName"] in named]
    if both:
        message = f"Instance groups {', '.join(both)} cannot be both updated and deleted."
        raise laws_hyperpod.HYPERPOD_GROUPS.broken(ValidationException(message))
    if backend.account.omitted_groups == "go" and parameters.get("InstanceGroups") is not None:
        mentioned = {spec["InstanceGroupName"] for spec in given}
        named += [name for name in cluster.groups if name not in mentioned and name not in named]
    return named


def _check_change(backend: RehearsedSageMakerBackend, cluster: HyperPodCluster, spec: dict[str, Any]) -> None:
    known = cluster.groups.get(spec["InstanceGroupName"])
    if known is None:
        if spec.get("OverrideVpcConfig"):
            check_network(backend, spec["OverrideVpcConfig"], eks_cluster_of(backend, cluster))
        return
    for key in _IMMUTABLE:
        if spec.get(key) != known.spec.get(key):
            message = f"{key} of instance group {known.name} cannot be changed after the group was created."
            raise laws_hyperpod.HYPERPOD_IMMUTABLE.broken(ValidationException(message))


def _apply(
    backend: RehearsedSageMakerBackend,
    cluster: HyperPodCluster,
    given: list[dict[str, Any]],
    restricted: set[str],
) -> list[Group]:
    changed = []
    for spec in given:
        name = spec["InstanceGroupName"]
        group = cluster.groups.get(name)
        if group is None:
            group = add_group(backend, cluster, spec, restricted=name in restricted)
            changed.append(group)
        elif group.spec != spec or len(group.nodes) != spec["InstanceCount"]:
            group.spec = dict(spec)
            if not cluster.continuous:
                group.status = "Updating"
            elif group.status == "Failed":
                group.status = "Creating"
            provisioning.watch_minimum(backend, cluster, group)
            changed.append(group)
    return changed


def _delete_group(backend: RehearsedSageMakerBackend, cluster: HyperPodCluster, group: Group) -> None:
    group.status = "Deleting"
    note(
        backend,
        cluster,
        f"InstanceGroup {group.name} of Cluster {cluster.name} is being deleted",
        group=group.name,
    )
    for node in list(group.nodes.values()):
        provisioning.end_node(backend, cluster, group, node)
    if not group.nodes:
        wait = durations.seconds("sagemaker.cluster.update")
        backend.account.clock.after(wait, lambda: _drop(backend, cluster, group))


def _drop(backend: RehearsedSageMakerBackend, cluster: HyperPodCluster, group: Group) -> None:
    if cluster.groups.get(group.name) is group and not group.nodes:
        del cluster.groups[group.name]
        provisioning.settle(backend, cluster)


@operation("BatchDeleteClusterNodes")
def batch_delete_cluster_nodes(
    backend: RehearsedSageMakerBackend, parameters: dict[str, Any]
) -> dict[str, Any]:
    """End chosen instances; their groups want as many fewer."""
    cluster = backend.find(parameters["ClusterName"])
    successful: list[str] = []
    failed: list[dict[str, str]] = []
    for node_id in parameters.get("NodeIds") or []:
        group = cluster.group_of(node_id)
        if group is None:
            failed.append(
                {"Code": "NodeIdNotFound", "Message": f"Node {node_id} not found.", "NodeId": node_id}
            )
            continue
        group.spec = {**group.spec, "InstanceCount": max(0, group.target - 1)}
        provisioning.end_node(backend, cluster, group, group.nodes[node_id])
        successful.append(node_id)
    answer: dict[str, Any] = {}
    if successful:
        answer["Successful"] = successful
    if failed:
        answer["Failed"] = failed
    return answer


@operation("BatchReplaceClusterNodes")
def batch_replace_cluster_nodes(
    backend: RehearsedSageMakerBackend, parameters: dict[str, Any]
) -> dict[str, Any]:
    """End chosen instances; others come in their place."""
    cluster = backend.find(parameters["ClusterName"])
    successful: list[str] = []
    failed: list[dict[str, str]] = []
    for node_id in parameters.get("NodeIds") or []:
        group = cluster.group_of(node_id)
        if group is None:
            message = f"Instance {node_id} not found."
            failed.append({"NodeId": node_id, "ErrorCode": "InstanceIdNotFound", "Message": message})
            continue
        provisioning.end_node(backend, cluster, group, group.nodes[node_id])
        provisioning.reconcile(backend, cluster, group)
        successful.append(node_id)
    return {"Successful": successful, "Failed": failed}
