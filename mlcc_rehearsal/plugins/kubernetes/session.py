"""What one configured provider instance has at hand."""

from __future__ import annotations

from dataclasses import dataclass

from mlcc_rehearsal.kubernetes_api.catalogue import builtin_resources
from mlcc_rehearsal.plugins.kubernetes.client import (
    ApiFailureError,
    Cluster,
    NoSuchKindError,
    UnreachableError,
)
from mlcc_rehearsal.plugins.kubernetes.configuration import Configuration
from mlcc_rehearsal.plugins.kubernetes.host import Host
from mlcc_rehearsal.plugins.kubernetes.waiting import Waiter
from mlcc_rehearsal.plugins.serving import Cancellation, ProviderError

CLUSTER_SCOPED = frozenset(
    (resource.api_version, resource.kind) for resource in builtin_resources() if not resource.namespaced
)
UNREACHABLE = (
    "configured Kubernetes cluster is unreachable. If the cluster was deleted, you can remove this "
    "resource from "
    "Pulumi state by rerunning the operation with the PULUMI_K8S_DELETE_UNREACHABLE environment "
    "variable set to "
    '"true"'
)


@dataclass(frozen=True)
class Session:
    """Configuration, cluster and engine of one peer."""

    configuration: Configuration
    cluster: Cluster
    host: Host
    cancellation: Cancellation

    def require_cluster(self) -> None:
        """Refuse to go on without a cluster.

        Raises:
            ProviderError: in the provider's words, with the reason.
        """
        if not self.cluster.reachable:
            raise ProviderError(f"configured Kubernetes cluster is unreachable: {self.cluster.trouble}")

    def waiter(self, urn: str) -> Waiter:
        """A waiter that shows progress in a resource's line."""
        return Waiter(self.cluster, self.cancellation, lambda text: self.host.progress(urn, text))

    def exists(self, api_version: str, kind: str) -> bool:
        """Whether the cluster is there and serves a kind."""
        if not self.cluster.reachable:
            return False
        try:
            self.cluster.served(api_version, kind)
        except (NoSuchKindError, ApiFailureError, UnreachableError):
            return False
        return True

    def namespaced(self, api_version: str, kind: str) -> bool:
        """Whether objects of a kind live in namespaces; a kind nobody knows yet is taken to."""
        if (api_version, kind) in CLUSTER_SCOPED:
            return False
        if self.cluster.reachable:
            try:
                return self.cluster.served(api_version, kind).namespaced
            except (NoSuchKindError, ApiFailureError, UnreachableError):
                return True
        return True
