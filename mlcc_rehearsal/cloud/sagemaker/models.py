"""What SageMaker knows of HyperPod in one region of the account."""

from __future__ import annotations

import secrets
import string
import uuid
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from moto.sagemaker.models import SageMakerModelBackend

from mlcc_rehearsal.cloud.account import RehearsedAccount, account_of
from mlcc_rehearsal.cloud.sagemaker.errors import ResourceNotFound


@dataclass
class Node:
    """An instance of a group.

    :ivar status: as ClusterInstanceStatus; Pending until it has joined.
    :ivar interface: id of its network interface in the account's VPC, once it has one.
    """

    instance_id: str
    logical_id: str
    group: str
    instance_type: str
    subnet: str
    launched: datetime
    status: str = "Pending"
    message: str = ""
    interface: str | None = None
    name: str = ""


@dataclass
class Group:
    """An instance group.

    :ivar spec: as CreateCluster or UpdateCluster gave it.
    :ivar why_not: what kept its last instance from coming up; for events and the control address.
    :ivar attempts: instances that are being launched.
    """

    spec: dict[str, Any]
    restricted: bool = False
    status: str = "Creating"
    nodes: dict[str, Node] = field(default_factory=dict)
    why_not: str | None = None
    attempts: int = 0

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.spec["InstanceGroupName"])

    @property
    def target(self) -> int:
        """How many instances it should have."""
        return int(self.spec["InstanceCount"])

    @property
    def types(self) -> list[str]:
        """The types that its instances may have, the preferred first."""
        requirements = self.spec.get("InstanceRequirements") or {}
        return list(requirements.get("InstanceTypes") or [self.spec["InstanceType"]])

    @property
    def running(self) -> list[Node]:
        """Its nodes that have joined."""
        return [
            node for node in self.nodes.values() if node.status in ("Running", "DeepHealthCheckInProgress")
        ]


@dataclass
class HyperPodCluster:
    """A cluster; ``settings`` are what the API takes and answers beside the groups."""

    name: str
    arn: str
    created: datetime
    settings: dict[str, Any]
    tags: list[dict[str, str]]
    status: str = "Creating"
    failure: str | None = None
    groups: dict[str, Group] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    operation: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def cluster_name(self) -> str:
        """Its name, as moto's clusters have it."""
        return self.name

    @property
    def id(self) -> str:
        """The twelve characters at the end of its ARN."""
        return self.arn.rsplit("/", 1)[-1]

    @property
    def continuous(self) -> bool:
        """Whether it provisions continuously."""
        return self.settings.get("NodeProvisioningMode") == "Continuous"

    @property
    def eks_arn(self) -> str | None:
        """ARN of the EKS cluster it runs on."""
        arn = ((self.settings.get("Orchestrator") or {}).get("Eks") or {}).get("ClusterArn")
        return str(arn) if arn else None

    def group_of(self, node_id: str) -> Group | None:
        """The group that an instance is in."""
        return next((group for group in self.groups.values() if node_id in group.nodes), None)

    @property
    def deep_health_checks_run(self) -> bool:
        """Whether a node is in its deep health checks."""
        return any(
            node.status == "DeepHealthCheckInProgress"
            for group in self.groups.values()
            for node in group.nodes.values()
        )


class RehearsedSageMakerBackend(SageMakerModelBackend):
    """SageMaker of one region of a rehearsed account.

    :ivar scheduler_configs: policies of task governance by id, as DescribeClusterSchedulerConfig has them.
    """

    def __init__(self, region_name: str, account_id: str) -> None:
        super().__init__(region_name, account_id)
        self.scheduler_configs: dict[str, dict[str, Any]] = {}

    @property
    def hyperpod(self) -> dict[str, HyperPodCluster]:
        """Clusters by name, in the place of moto's."""
        clusters: dict[str, Any] = self.clusters
        return clusters

    @property
    def account(self) -> RehearsedAccount:
        """The rehearsed account; :raises KeyError: when no cloud runs for it."""
        return account_of(self.account_id)

    def find(self, name_or_arn: str) -> HyperPodCluster:
        """The cluster with this name or ARN.

        :raises ResourceNotFound: when there is none; an ARN is of one cluster, not of its successor.
        """
        for cluster in self.hyperpod.values():
            if name_or_arn in (cluster.name, cluster.arn):
                return cluster
        raise ResourceNotFound(f"Cluster with name {name_or_arn.rsplit('/', 1)[-1]} not found.")

    def new_arn(self) -> str:
        """A cluster's ARN: it ends in an id, not in the name."""
        letters = string.ascii_lowercase + string.digits
        return (
            f"arn:{self.partition}:sagemaker:{self.region_name}:{self.account_id}:cluster/"
            f"{''.join(secrets.choice(letters) for _ in range(12))}"
        )

    def tag_resource(self, arn: str, tags: dict[str, str]) -> None:
        """The Resource Groups Tagging API adds tags."""
        if ":cluster/" not in arn:
            super().tag_resource(arn, tags)
            return
        cluster = self.find(arn)
        kept = [tag for tag in cluster.tags if tag["Key"] not in tags]
        cluster.tags = kept + [{"Key": key, "Value": value} for key, value in tags.items()]

    def untag_resource(self, arn: str, tag_keys: list[str]) -> None:
        """The Resource Groups Tagging API takes tags away."""
        if ":cluster/" not in arn:
            super().untag_resource(arn, tag_keys)
            return
        cluster = self.find(arn)
        cluster.tags = [tag for tag in cluster.tags if tag["Key"] not in tag_keys]
