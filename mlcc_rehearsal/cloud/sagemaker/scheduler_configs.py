"""Cluster scheduler configurations: the policy of task governance.

Source: botocore's service model sagemaker, CreateClusterSchedulerConfig and its sisters; SageMaker developer
guide, 'Set up for SageMaker HyperPod task governance' (one policy a cluster; its add-on must be there).
"""

from __future__ import annotations

import secrets
from typing import Any

from moto.eks.models import eks_backends

from mlcc_rehearsal.cloud import laws_hyperpod
from mlcc_rehearsal.cloud.sagemaker.errors import ConflictException, ResourceNotFound, ValidationException
from mlcc_rehearsal.cloud.sagemaker.models import RehearsedSageMakerBackend
from mlcc_rehearsal.cloud.sagemaker.operations import operation, page

ADDON = "amazon-sagemaker-hyperpod-taskgovernance"


def create(
    backend: RehearsedSageMakerBackend, *, name: str, cluster_arn: str, config: dict[str, Any]
) -> dict[str, Any]:
    """Make one; answers its ARN and id.

    :raises ServiceException: without the cluster or the add-on, or beside another one.
    """
    cluster = backend.find(cluster_arn)
    if any(each["ClusterArn"] == cluster_arn for each in backend.scheduler_configs.values()):
        raise laws_hyperpod.SCHEDULER_CONFIG.broken(
            ConflictException(f"A cluster scheduler configuration exists for cluster {cluster_arn}.")
        )
    backends: Any = eks_backends
    clusters = backends[backend.account_id][backend.region_name].clusters
    eks = clusters.get(str(cluster.eks_arn).rsplit("/", 1)[-1])
    if eks is None or ADDON not in eks.addons:
        raise laws_hyperpod.SCHEDULER_CONFIG.broken(
            ValidationException(f"The EKS add-on {ADDON} is not installed on the cluster's orchestrator.")
        )
    config_id = secrets.token_hex(6)
    arn = (
        f"arn:{backend.partition}:sagemaker:{backend.region_name}:{backend.account_id}:"
        f"cluster-scheduler-config/{config_id}"
    )
    backend.scheduler_configs[config_id] = {
        "ClusterSchedulerConfigArn": arn,
        "ClusterSchedulerConfigId": config_id,
        "ClusterSchedulerConfigVersion": 1,
        "Name": name,
        "ClusterArn": cluster_arn,
        "SchedulerConfig": config,
        "Status": "Created",
        "CreationTime": backend.account.clock.timestamp(),
    }
    return {"ClusterSchedulerConfigArn": arn, "ClusterSchedulerConfigId": config_id}


@operation("CreateClusterSchedulerConfig")
def create_cluster_scheduler_config(
    backend: RehearsedSageMakerBackend, parameters: dict[str, Any]
) -> dict[str, Any]:
    """Give a cluster its policy."""
    return create(
        backend,
        name=parameters["Name"],
        cluster_arn=parameters["ClusterArn"],
        config=parameters["SchedulerConfig"],
    )


@operation("DescribeClusterSchedulerConfig")
def describe_cluster_scheduler_config(
    backend: RehearsedSageMakerBackend, parameters: dict[str, Any]
) -> dict[str, Any]:
    """One policy."""
    return dict(_find(backend, parameters["ClusterSchedulerConfigId"]))


@operation("ListClusterSchedulerConfigs")
def list_cluster_scheduler_configs(
    backend: RehearsedSageMakerBackend, parameters: dict[str, Any]
) -> dict[str, Any]:
    """All policies, or those of one cluster."""
    wanted = parameters.get("ClusterArn")
    found = [
        {key: value for key, value in each.items() if key != "SchedulerConfig"}
        for each in backend.scheduler_configs.values()
        if wanted in (None, each["ClusterArn"])
    ]
    return page(found, parameters, "ClusterSchedulerConfigSummaries")


@operation("DeleteClusterSchedulerConfig")
def delete_cluster_scheduler_config(
    backend: RehearsedSageMakerBackend, parameters: dict[str, Any]
) -> dict[str, Any]:
    """Take a policy away."""
    _find(backend, parameters["ClusterSchedulerConfigId"])
    del backend.scheduler_configs[parameters["ClusterSchedulerConfigId"]]
    return {}


def _find(backend: RehearsedSageMakerBackend, config_id: str) -> dict[str, Any]:
    if config_id not in backend.scheduler_configs:
        raise ResourceNotFound(f"ClusterSchedulerConfig with ID {config_id} could not be found.")
    return backend.scheduler_configs[config_id]
