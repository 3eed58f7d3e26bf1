"""Clusters: made on an EKS cluster, described, listed, deleted."""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.cloud import durations, laws_hyperpod, log_groups
from mlcc_rehearsal.cloud.eks import access
from mlcc_rehearsal.cloud.sagemaker import provisioning
from mlcc_rehearsal.cloud.sagemaker.errors import ConflictException, ResourceInUse
from mlcc_rehearsal.cloud.sagemaker.events import note
from mlcc_rehearsal.cloud.sagemaker.models import Group, HyperPodCluster, RehearsedSageMakerBackend
from mlcc_rehearsal.cloud.sagemaker.operations import operation, page
from mlcc_rehearsal.cloud.sagemaker.requirements import (
    check_groups,
    check_orchestrator,
    check_quotas,
    eks_cluster_of,
    eks_of,
)
from mlcc_rehearsal.cloud.sagemaker.tags import checked

# What CreateCluster takes and DescribeCluster answers as it is.
_SETTINGS = (
    "VpcConfig",
    "Orchestrator",
    "NodeRecovery",
    "TieredStorageConfig",
    "NodeProvisioningMode",
    "ClusterRole",
    "AutoScaling",
    "RestrictedInstanceGroupsConfig",
)
_SERVICE_ROLE = "role/aws-service-role/hyperpod.sagemaker.amazonaws.com/AWSServiceRoleForSageMakerHyperPod"


@operation("CreateCluster")
def create_cluster(backend: RehearsedSageMakerBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Begin to make a cluster."""
    name = parameters["ClusterName"]
    if name in backend.hyperpod:
        message = (
            f"Resource Already Exists: Cluster with name {name} already exists. Choose a different name."
        )
        raise laws_hyperpod.HYPERPOD_EXISTS.broken(ResourceInUse(message))
    check_orchestrator(backend, parameters)
    restricted = parameters.get("RestrictedInstanceGroups") or []
    groups = parameters.get("InstanceGroups") or []
    check_groups([*groups, *restricted], continuous=parameters.get("NodeProvisioningMode") == "Continuous")
    check_quotas(backend, [*groups, *restricted])
    settings = {key: parameters[key] for key in _SETTINGS if parameters.get(key) is not None}
    settings.setdefault("NodeRecovery", "Automatic")
    cluster = HyperPodCluster(
        name, backend.new_arn(), backend.account.clock.timestamp(), settings, checked(parameters.get("Tags"))
    )
    for spec in groups:
        add_group(backend, cluster, spec)
    for spec in restricted:
        add_group(backend, cluster, spec, restricted=True)
    backend.hyperpod[name] = cluster
    note(backend, cluster, f"Cluster {name} creation started")
    backend.account.clock.after(
        durations.seconds("sagemaker.cluster.create"), lambda: _provision(backend, cluster)
    )
    return {"ClusterArn": cluster.arn}


def add_group(
    backend: RehearsedSageMakerBackend,
    cluster: HyperPodCluster,
    spec: dict[str, Any],
    *,
    restricted: bool = False,
) -> Group:
    """Enter a group that has no instances yet."""
    group = Group(dict(spec), restricted)
    cluster.groups[group.name] = group
    provisioning.watch_minimum(backend, cluster, group)
    return group


def _provision(backend: RehearsedSageMakerBackend, cluster: HyperPodCluster) -> None:
    """Start the instances; a Continuous cluster is InService before any: the law "hyperpod-continuous"."""
    if backend.hyperpod.get(cluster.name) is not cluster or cluster.status != "Creating":
        return
    eks = eks_cluster_of(backend, cluster)
    if eks is not None:
        service_role = f"arn:{backend.partition}:iam::{backend.account_id}:{_SERVICE_ROLE}"
        if service_role not in eks.access_entries:
            access.make_entry(eks_of(backend), eks, service_role)
    if cluster.continuous:
        cluster.status = "InService"
        note(backend, cluster, f"Cluster {cluster.name} is InService")
    for group in list(cluster.groups.values()):
        provisioning.reconcile(backend, cluster, group)
    provisioning.settle(backend, cluster)


@operation("DescribeCluster")
def describe_cluster(backend: RehearsedSageMakerBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """One cluster with its groups, by name or ARN."""
    cluster = backend.find(parameters["ClusterName"])
    settings = provisioning.described_settings(cluster.settings)
    answer: dict[str, Any] = {
        "ClusterArn": cluster.arn,
        "ClusterName": cluster.name,
        "ClusterStatus": cluster.status,
        "CreationTime": cluster.created,
        "InstanceGroups": [_group(each) for each in cluster.groups.values() if not each.restricted],
        **settings,
    }
    restricted = [_group(each) for each in cluster.groups.values() if each.restricted]
    if restricted:
        answer["RestrictedInstanceGroups"] = restricted
    if "AutoScaling" in answer:
        answer["AutoScaling"] = {**answer["AutoScaling"], "Status": "InService"}
    answer.pop("RestrictedInstanceGroupsConfig", None)
    if cluster.failure:
        answer["FailureMessage"] = cluster.failure
    return answer


def _group(group: Group) -> dict[str, Any]:
    """A group as DescribeCluster answers it; some members have other names than CreateCluster takes."""
    spec = group.spec
    answer: dict[str, Any] = {
        "InstanceGroupName": group.name,
        "CurrentCount": len(group.running),
        "TargetCount": group.target,
        "ExecutionRole": spec["ExecutionRole"],
        "ThreadsPerCore": spec.get("ThreadsPerCore", 1),
        "Status": group.status,
    }
    same = (
        "InstanceType",
        "LifeCycleConfig",
        "InstanceStorageConfigs",
        "OnStartDeepHealthChecks",
        "TrainingPlanArn",
        "OverrideVpcConfig",
        "ScheduledUpdateConfig",
        "CapacityRequirements",
        "NetworkInterface",
        "SlurmConfig",
        "EnvironmentConfig",
    )
    answer |= {key: spec[key] for key in same if spec.get(key) is not None}
    if spec.get("MinInstanceCount") is not None:
        answer["MinCount"] = spec["MinInstanceCount"]
    requirements = spec.get("InstanceRequirements")
    if requirements:
        answer["InstanceRequirements"] = {
            "CurrentInstanceTypes": requirements["InstanceTypes"],
            "DesiredInstanceTypes": requirements["InstanceTypes"],
        }
        answer["InstanceTypeDetails"] = [
            {
                "InstanceType": each,
                "CurrentCount": sum(node.instance_type == each for node in group.running),
                "ThreadsPerCore": spec.get("ThreadsPerCore", 1),
            }
            for each in group.types
        ]
    kubernetes = spec.get("KubernetesConfig")
    if kubernetes:
        answer["KubernetesConfig"] = {
            f"{state}{kind}": kubernetes[kind]
            for kind in ("Labels", "Taints")
            if kubernetes.get(kind)
            for state in ("Current", "Desired")
        }
    _images(answer, spec)
    return answer


def _images(answer: dict[str, Any], spec: dict[str, Any]) -> None:
    for key in ("ImageId", "ImageReleaseVersion"):
        if spec.get(key):
            answer[f"Current{key}"] = answer[f"Desired{key}"] = spec[key]
    patching = spec.get("AutoPatchConfig")
    if patching:
        schedule = patching.get("PatchSchedule")
        answer["AutoPatchConfig"] = {
            **{key: value for key, value in patching.items() if key != "PatchSchedule"},
            **({"CurrentPatchSchedule": schedule, "DesiredPatchSchedule": schedule} if schedule else {}),
        }


@operation("ListClusters")
def list_clusters(backend: RehearsedSageMakerBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Summaries of the region's clusters."""
    after, before = parameters.get("CreationTimeAfter"), parameters.get("CreationTimeBefore")
    found = [
        cluster
        for cluster in backend.hyperpod.values()
        if parameters.get("NameContains", "") in cluster.name
        and (after is None or cluster.created > after)
        and (before is None or cluster.created < before)
    ]
    if parameters.get("SortBy") == "NAME":
        found.sort(key=lambda cluster: cluster.name)
    else:
        found.sort(key=lambda cluster: cluster.created)
    if parameters.get("SortOrder") == "Descending":
        found.reverse()
    summaries = [
        {
            "ClusterArn": cluster.arn,
            "ClusterName": cluster.name,
            "CreationTime": cluster.created,
            "ClusterStatus": cluster.status,
        }
        for cluster in found
    ]
    return page(summaries, parameters, "ClusterSummaries", default=10)


@operation("DeleteCluster")
def delete_cluster(backend: RehearsedSageMakerBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Begin to delete a cluster; its instances end first."""
    cluster = backend.find(parameters["ClusterName"])
    if cluster.status not in ("InService", "Failed"):
        message = (
            f"Cluster {cluster.name} is in status {cluster.status}. Only clusters in status InService or "
            f"Failed can "
            "be deleted."
        )
        raise laws_hyperpod.HYPERPOD_STATE.broken(ConflictException(message))
    cluster.status = "Deleting"
    for group in cluster.groups.values():
        group.status = "Deleting"
        for node in list(group.nodes.values()):
            if node.status == "Pending" and node.interface is None:
                del group.nodes[node.instance_id]
            else:
                provisioning.end_node(backend, cluster, group, node)
    wait = durations.seconds("sagemaker.node.terminate") + durations.seconds("sagemaker.cluster.delete")
    backend.account.clock.after(wait, lambda: _vanish(backend, cluster))
    return {"ClusterArn": cluster.arn}


def _vanish(backend: RehearsedSageMakerBackend, cluster: HyperPodCluster) -> None:
    if backend.hyperpod.get(cluster.name) is cluster:
        del backend.hyperpod[cluster.name]
    if cluster.settings.get("logged"):
        log_groups.write_last(backend.account, backend.region_name, provisioning.log_group(cluster))
