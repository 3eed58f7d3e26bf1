"""What EKS knows of one region of the account."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from moto.core.base_backend import BaseBackend
from moto.core.resource_tagging import TaggableResourcesMixin, TaggedResource

from mlcc_rehearsal.cloud.account import RehearsedAccount, account_of
from mlcc_rehearsal.cloud.eks.errors import ResourceNotFoundException

if TYPE_CHECKING:
    from mlcc_rehearsal.cloud.eks.kubernetes import ClusterKubernetes


@dataclass
class AccessEntry:
    """An access entry and the policies associated with it, by policy ARN.

    :ivar principal_id: the unique id that its principal had when it was made; None for another account's.
    """

    description: dict[str, Any]
    policies: dict[str, dict[str, Any]] = field(default_factory=dict)
    principal_id: str | None = None


@dataclass
class NodeGroup:
    """A node group.

    :ivar instances: ids of the interfaces of each instance, the first interface first.
    :ivar why_not: what keeps its nodes from becoming ready, for the control address.
    """

    description: dict[str, Any]
    instances: dict[str, list[str]] = field(default_factory=dict)
    why_not: str | None = None


@dataclass
class Cluster:
    """One cluster and all that belongs to it; descriptions have the shape that the API answers."""

    name: str
    description: dict[str, Any]
    creator: str | None
    node_groups: dict[str, NodeGroup] = field(default_factory=dict)
    fargate_profiles: dict[str, dict[str, Any]] = field(default_factory=dict)
    addons: dict[str, dict[str, Any]] = field(default_factory=dict)
    access_entries: dict[str, AccessEntry] = field(default_factory=dict)
    pod_identities: dict[str, dict[str, Any]] = field(default_factory=dict)
    updates: dict[str, dict[str, Any]] = field(default_factory=dict)
    update_owners: dict[str, tuple[str, str]] = field(default_factory=dict)
    self_managed: set[str] = field(default_factory=set)
    interfaces: list[str] = field(default_factory=list)
    kubernetes: ClusterKubernetes | None = None

    @property
    def status(self) -> str:
        """CREATING, ACTIVE, UPDATING, DELETING or FAILED."""
        return str(self.description["status"])

    @property
    def version(self) -> str:
        """The Kubernetes version, for example ``1.35``."""
        return str(self.description["version"])

    @property
    def authentication_mode(self) -> str:
        """CONFIG_MAP, API_AND_CONFIG_MAP or API."""
        return str(self.description["accessConfig"]["authenticationMode"])


class EksBackend(BaseBackend, TaggableResourcesMixin):
    """The clusters of one region; what is in them shows in the Resource Groups Tagging API too."""

    SERVICE_NAMESPACE = "eks"

    def __init__(self, region_name: str, account_id: str) -> None:
        super().__init__(region_name, account_id)
        self.clusters: dict[str, Cluster] = {}

    @property
    def account(self) -> RehearsedAccount:
        """The rehearsed account; :raises KeyError: when no cloud runs for it."""
        return account_of(self.account_id)

    def cluster(self, name: str) -> Cluster:
        """The cluster called ``name``.

        :raises ResourceNotFoundException: when there is none.
        """
        if name not in self.clusters:
            raise ResourceNotFoundException(f"No cluster found for name: {name}.", clusterName=name)
        return self.clusters[name]

    def described(self) -> Iterator[tuple[str, dict[str, Any], Cluster]]:
        """Every taggable thing of the region: its ARN, its description and its cluster."""
        for cluster in self.clusters.values():
            yield cluster.description["arn"], cluster.description, cluster
            for group in cluster.node_groups.values():
                yield group.description["nodegroupArn"], group.description, cluster
            for profile in cluster.fargate_profiles.values():
                yield profile["fargateProfileArn"], profile, cluster
            for addon in cluster.addons.values():
                yield addon["addonArn"], addon, cluster
            for entry in cluster.access_entries.values():
                yield entry.description["accessEntryArn"], entry.description, cluster
            for association in cluster.pod_identities.values():
                yield association["associationArn"], association, cluster

    def iter_tagged_resources(self) -> Iterator[TaggedResource]:
        """All of them for the Resource Groups Tagging API."""
        for arn, description, _ in self.described():
            kind = arn.split(":", 5)[5].split("/", 1)[0]
            yield TaggedResource(
                arn=arn, tags=dict(description.get("tags") or {}), resource_type=f"eks:{kind}"
            )

    def arn(self, kind: str, *parts: str) -> str:
        """An ARN of this service, for example ``arn("nodegroup", cluster, group, id)``."""
        return f"arn:{self.partition}:eks:{self.region_name}:{self.account_id}:{kind}/{'/'.join(parts)}"

    def new_id(self) -> str:
        """A fresh identifier."""
        return str(uuid.uuid4())
