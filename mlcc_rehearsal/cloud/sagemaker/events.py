"""Events of clusters: what Continuous clusters say of what they do.

Source: SageMaker developer guide, 'SageMaker HyperPod cluster events reference' (descriptions of failed
instances as in its example; the other descriptions are unverified).
"""

from __future__ import annotations

import uuid
from typing import Any

from mlcc_rehearsal.cloud import laws_hyperpod
from mlcc_rehearsal.cloud.sagemaker.errors import ResourceNotFound, ValidationException
from mlcc_rehearsal.cloud.sagemaker.models import HyperPodCluster, RehearsedSageMakerBackend
from mlcc_rehearsal.cloud.sagemaker.operations import operation, page


def note(
    backend: RehearsedSageMakerBackend,
    cluster: HyperPodCluster,
    description: str,
    *,
    group: str | None = None,
    instance: str | None = None,
    level: str = "Info",
    metadata: dict[str, Any] | None = None,
) -> None:
    """Add an event to the cluster; of its group or instance when they are named."""
    kind = "Instance" if instance else "InstanceGroup" if group else "Cluster"
    event: dict[str, Any] = {
        "EventId": str(uuid.uuid4()),
        "ClusterArn": cluster.arn,
        "ClusterName": cluster.name,
        "ResourceType": kind,
        "EventTime": backend.account.clock.timestamp(),
        "Description": description,
        "EventLevel": level,
        "OperationId": cluster.operation,
    }
    if group:
        event["InstanceGroupName"] = group
    if instance:
        event["InstanceId"] = instance
    if metadata:
        event["EventDetails"] = {"EventMetadata": metadata}
    cluster.events.append(event)


def _continuous(backend: RehearsedSageMakerBackend, parameters: dict[str, Any]) -> HyperPodCluster:
    cluster = backend.find(parameters["ClusterName"])
    if not cluster.continuous:
        message = "This operation is only supported for clusters with NodeProvisioningMode set to Continuous."
        raise laws_hyperpod.HYPERPOD_EVENTS.broken(ValidationException(message))
    return cluster


@operation("ListClusterEvents")
def list_cluster_events(backend: RehearsedSageMakerBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Events of a Continuous cluster, newest first unless asked otherwise."""
    cluster = _continuous(backend, parameters)
    wanted = {
        "InstanceGroupName": parameters.get("InstanceGroupName"),
        "InstanceId": parameters.get("NodeId"),
        "ResourceType": parameters.get("ResourceType"),
        "OperationId": parameters.get("OperationId"),
    }
    found = [
        {key: value for key, value in event.items() if key != "EventDetails"}
        for event in cluster.events
        if all(value is None or event.get(key) == value for key, value in wanted.items())
        and _within(event["EventTime"], parameters.get("EventTimeAfter"), parameters.get("EventTimeBefore"))
    ]
    if parameters.get("SortOrder") != "Ascending":
        found.reverse()
    return page(found, parameters, "Events")


def _within(moment: Any, after: Any, before: Any) -> bool:
    return (after is None or moment > after) and (before is None or moment < before)


@operation("DescribeClusterEvent")
def describe_cluster_event(backend: RehearsedSageMakerBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """One event with its details."""
    cluster = _continuous(backend, parameters)
    for event in cluster.events:
        if event["EventId"] == parameters["EventId"]:
            return {"EventDetails": event}
    raise ResourceNotFound(f"Event {parameters['EventId']} not found.")
