"""What the operator asks about HyperPod clusters, and the faults that strike what it does with them.

Calls that no client makes can be struck by a fault file like any other, under the service ``sagemaker``:
``UpdateClusterInference`` (the operator has its watcher enabled), ``DescribeClusterInference`` (it looks
whether the watcher has come) and ``DeleteClusterInference`` (SageMaker takes the watcher of a deleted cluster
away; an effect ``delay`` makes it drain longer).
"""

from __future__ import annotations

from dataclasses import dataclass

from moto.sagemaker.models import sagemaker_backends

from mlcc_rehearsal.cloud.account import RehearsedAccount
from mlcc_rehearsal.cloud.iam.service_accounts import Refusal
from mlcc_rehearsal.cloud.requests import NamedRequest

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


def strike(account: RehearsedAccount, region: str, operation: str, arn: str, name: str) -> tuple[str, float]:
    """What the faults in force do to such a call: its error, "" for none, and its delay in seconds."""
    if account.faults is None:
        return "", 0.0
    parameters = {"ClusterArn": arn, "ClusterName": name}
    request = NamedRequest(
        "POST", "/", "sagemaker", operation, region, None, signed=True, parameters=parameters
    )
    error, delay = "", 0.0
    for fault in account.faults.strike(request, account.clock.now()):
        if fault.effect == "delay":
            delay += fault.seconds
        else:
            wrong = fault.error(request)
            error = error or str(Refusal("SageMaker", operation, str(wrong.code), str(wrong.message)))
    return error, delay
