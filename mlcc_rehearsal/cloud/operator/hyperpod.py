"""What the operator asks about HyperPod clusters: is there one with this ARN?"""

from __future__ import annotations

from dataclasses import dataclass

from moto.sagemaker.models import sagemaker_backends

from mlcc_rehearsal.cloud.account import RehearsedAccount

_GONE = ("Deleting", "Failed")


@dataclass(frozen=True)
class HyperPodCluster:
    """A HyperPod cluster as far as the operator is concerned."""

    arn: str
    name: str
    status: str

    @property
    def serves(self) -> bool:
        """Whether a watcher can be enabled for it."""
        return self.status not in _GONE


def find(account: RehearsedAccount, region: str, arn: str) -> HyperPodCluster | None:
    """The cluster with this ARN, or None when it does not exist or was deleted."""
    for cluster in sagemaker_backends[account.account_id][region].clusters.values():
        if cluster.arn == arn:
            return HyperPodCluster(str(cluster.arn), str(cluster.cluster_name), str(cluster.status))
    return None
