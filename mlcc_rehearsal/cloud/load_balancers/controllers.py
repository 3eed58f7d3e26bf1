"""Which load balancer controllers run in a cluster, and what AWS lets them do.

A controller is a Deployment of aws-load-balancer-controller, wherever it was put and by whom.  It needs a
ready pod and credentials: the laws "load-balancer-credentials" and "shared-service-account-name".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mlcc_rehearsal.cloud.eks.models import Cluster, EksBackend
from mlcc_rehearsal.cloud.iam.roles import trusts
from mlcc_rehearsal.cloud.iam.service_accounts import (
    Refusal,
    action_refusal,
    role_of_account,
    web_identity_refusal,
)
from mlcc_rehearsal.cloud.iam_evaluation import ContextValue, Principal
from mlcc_rehearsal.kubernetes_api.podlife import FAULT_ANNOTATION

if TYPE_CHECKING:
    from mlcc_rehearsal.kubernetes_api.objects import ObjectStore

CHART = "aws-load-balancer-controller"
_PODS = Principal.service("pods.eks.amazonaws.com")


@dataclass(frozen=True)
class LoadBalancerController:
    """One running controller.

    :ivar role: ARN of the role whose credentials its pods have; "" for none.
    :ivar trouble: why it gets no credentials, None when it does.
    """

    namespace: str
    account: str
    role: str
    trouble: str | None

    def refusal(
        self, eks: EksBackend, action: str, resource: str, context: dict[str, ContextValue]
    ) -> str | None:
        """Why it may not do something, in the words of its events; None when it may."""
        if self.trouble is not None:
            return self.trouble
        service = "Elastic Load Balancing v2" if action.startswith("elasticloadbalancing:") else "EC2"
        code = "AccessDenied" if service != "EC2" else "UnauthorizedOperation"
        found: Refusal | None = action_refusal(
            eks.account, self.role, action, resource, context, service=service, code=code
        )
        return str(found) if found is not None else None


def running(eks: EksBackend, cluster: Cluster, store: ObjectStore) -> list[LoadBalancerController]:
    """The controllers with a ready pod, those with credentials first."""
    found = []
    for deployment in store.list("apps/v1", "Deployment", None, f"app.kubernetes.io/name={CHART}"):
        if not deployment.get("status", {}).get("readyReplicas"):
            continue
        namespace = deployment["metadata"]["namespace"]
        account = deployment["spec"]["template"]["spec"].get("serviceAccountName", "default")
        found.append(_controller(eks, cluster, namespace, account))
    return sorted(found, key=lambda each: (each.trouble is not None, each.namespace))


def crash_without_metadata(store: ObjectStore) -> None:
    """Let controllers on Fargate that were not told their VPC crash: there is no instance metadata to ask.

    This is the law "load-balancer-vpc-id" (field report F1).
    """
    nodes = store.list("v1", "Node", None, "eks.amazonaws.com/compute-type=fargate")
    names = {node["metadata"]["name"] for node in nodes}
    for pod in store.list("v1", "Pod", None, f"app.kubernetes.io/name={CHART}") if names else []:
        container = pod["spec"]["containers"][0]
        told = any(argument.startswith("--aws-vpc-id=") for argument in container.get("args") or [])
        annotations = pod["metadata"].get("annotations") or {}
        if told or pod["spec"].get("nodeName") not in names or FAULT_ANNOTATION in annotations:
            continue
        pod["metadata"]["annotations"] = {**annotations, FAULT_ANNOTATION: "CrashLoopBackOff"}
        store.put(pod)
        where = (pod["metadata"]["namespace"], pod["metadata"]["name"], container["name"])
        store.set_log(*where, "unable to initialize AWS cloud: failed to get VPC ID from instance metadata\n")


def _controller(eks: EksBackend, cluster: Cluster, namespace: str, account: str) -> LoadBalancerController:
    role, by_pod_identity = role_of_account(cluster, namespace, account)
    if not role:
        role = _node_role(cluster)
        if not role:
            trouble = "get credentials: failed to refresh cached credentials, no EC2 IMDS role found"
            return LoadBalancerController(namespace, account, "", trouble)
        return LoadBalancerController(namespace, account, role, None)
    if by_pod_identity:
        agent = cluster.addons.get("eks-pod-identity-agent")
        ready = agent is not None and agent["status"] in ("ACTIVE", "UPDATING")
        if not ready or not trusts(eks.account, role, _PODS):
            trouble = "get credentials: failed to refresh cached credentials, no EC2 IMDS role found"
            return LoadBalancerController(namespace, account, role, trouble)
        return LoadBalancerController(namespace, account, role, None)
    refusal = web_identity_refusal(eks, cluster, role, namespace, account)
    if refusal is None:
        return LoadBalancerController(namespace, account, role, None)
    trouble = (
        f"get credentials: failed to refresh cached credentials, failed to retrieve credentials, {refusal}"
    )
    return LoadBalancerController(namespace, account, role, trouble)


def _node_role(cluster: Cluster) -> str:
    """Without a role of its own a pod has its node's, by the instance's metadata service."""
    groups: list[Any] = list(cluster.node_groups.values())
    return str(groups[0].description["nodeRole"]) if groups else ""
