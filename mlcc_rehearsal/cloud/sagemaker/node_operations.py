"""What the API says of nodes."""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.cloud.ec2.network import find_subnet
from mlcc_rehearsal.cloud.sagemaker.errors import ResourceNotFound
from mlcc_rehearsal.cloud.sagemaker.kubernetes_nodes import address_of
from mlcc_rehearsal.cloud.sagemaker.models import Group, Node, RehearsedSageMakerBackend
from mlcc_rehearsal.cloud.sagemaker.operations import operation, page


def _hostname(backend: RehearsedSageMakerBackend, node: Node) -> str | None:
    address = address_of(backend, node)
    if address is None:
        return None
    return f"ip-{address.replace('.', '-')}.{backend.region_name}.compute.internal"


def _summary(backend: RehearsedSageMakerBackend, node: Node, *, logical_ids: bool) -> dict[str, Any]:
    summary: dict[str, Any] = {
        "InstanceGroupName": node.group,
        "InstanceId": node.instance_id,
        "InstanceType": node.instance_type,
        "LaunchTime": node.launched,
        "InstanceStatus": {"Status": node.status, **({"Message": node.message} if node.message else {})},
    }
    if logical_ids:
        summary["NodeLogicalId"] = node.logical_id
    hostname = _hostname(backend, node)
    if hostname:
        summary["PrivateDnsHostname"] = hostname
    return summary


@operation("ListClusterNodes")
def list_cluster_nodes(backend: RehearsedSageMakerBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Instances of a cluster, those that are coming up included."""
    cluster = backend.find(parameters["ClusterName"])
    wanted = parameters.get("InstanceGroupNameContains", "")
    after, before = parameters.get("CreationTimeAfter"), parameters.get("CreationTimeBefore")
    nodes = [
        node
        for group in cluster.groups.values()
        if wanted in group.name
        for node in group.nodes.values()
        if (after is None or node.launched > after) and (before is None or node.launched < before)
    ]
    if parameters.get("SortBy") == "NAME":
        nodes.sort(key=lambda node: node.instance_id)
    else:
        nodes.sort(key=lambda node: node.launched)
    if parameters.get("SortOrder") == "Descending":
        nodes.reverse()
    logical_ids = bool(parameters.get("IncludeNodeLogicalIds"))
    summaries = [_summary(backend, node, logical_ids=logical_ids) for node in nodes]
    return page(summaries, parameters, "ClusterNodeSummaries", default=10)


@operation("DescribeClusterNode")
def describe_cluster_node(backend: RehearsedSageMakerBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """One instance, by its id or its logical id."""
    cluster = backend.find(parameters["ClusterName"])
    for group in cluster.groups.values():
        for node in group.nodes.values():
            if (
                parameters.get("NodeId") == node.instance_id
                or parameters.get("NodeLogicalId") == node.logical_id
            ):
                return {"NodeDetails": _details(backend, group, node)}
    named = parameters.get("NodeId") or parameters.get("NodeLogicalId")
    raise ResourceNotFound(f"Instance with id {named} not found in cluster {cluster.name}.")


def _details(backend: RehearsedSageMakerBackend, group: Group, node: Node) -> dict[str, Any]:
    details = _summary(backend, node, logical_ids=True)
    for key in ("LifeCycleConfig", "OverrideVpcConfig", "InstanceStorageConfigs"):
        if group.spec.get(key):
            details[key] = group.spec[key]
    details["ThreadsPerCore"] = group.spec.get("ThreadsPerCore", 1)
    address = address_of(backend, node)
    if address:
        details["PrivatePrimaryIp"] = address
    subnet = find_subnet(backend.account, backend.region_name, node.subnet)
    if subnet is not None:
        details["Placement"] = {
            "AvailabilityZone": str(subnet.availability_zone),
            "AvailabilityZoneId": str(subnet.availability_zone_id),
        }
    return details
