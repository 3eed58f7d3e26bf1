"""What add-ons lay down in a cluster, reduced to what ``kubectl get pods -A`` shows of it.

Sources: the add-ons' own manifests (names, namespaces, kinds, labels); images and resources are left out.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Workload:
    """One Deployment (``replicas`` > 0) or DaemonSet (``replicas`` 0) of an add-on."""

    name: str
    label: tuple[str, str]
    replicas: int = 0
    namespace: str = "kube-system"


WORKLOADS: dict[str, tuple[Workload, ...]] = {
    "vpc-cni": (Workload("aws-node", ("k8s-app", "aws-node")),),
    "kube-proxy": (Workload("kube-proxy", ("k8s-app", "kube-proxy")),),
    "coredns": (Workload("coredns", ("k8s-app", "kube-dns"), 2),),
    "eks-pod-identity-agent": (
        Workload("eks-pod-identity-agent", ("app.kubernetes.io/name", "eks-pod-identity-agent")),
    ),
    "metrics-server": (Workload("metrics-server", ("app.kubernetes.io/name", "metrics-server"), 2),),
    "cert-manager": (
        Workload("cert-manager", ("app", "cert-manager"), 1, "cert-manager"),
        Workload("cert-manager-cainjector", ("app", "cainjector"), 1, "cert-manager"),
        Workload("cert-manager-webhook", ("app", "webhook"), 1, "cert-manager"),
    ),
    "aws-ebs-csi-driver": (
        Workload("ebs-csi-controller", ("app", "ebs-csi-controller"), 2),
        Workload("ebs-csi-node", ("app", "ebs-csi-node")),
    ),
    "aws-fsx-csi-driver": (
        Workload("fsx-csi-controller", ("app", "fsx-csi-controller"), 2),
        Workload("fsx-csi-node", ("app", "fsx-csi-node")),
    ),
    "aws-mountpoint-s3-csi-driver": (
        Workload("s3-csi-controller", ("app", "s3-csi-controller"), 1),
        Workload("s3-csi-node", ("app", "s3-csi-node")),
    ),
}

# An add-on that has a Deployment cannot be ACTIVE before its pods run; one of DaemonSets only can.
NEEDS_PODS = frozenset(name for name, workloads in WORKLOADS.items() if any(w.replicas for w in workloads))


def of_addon(addon: str, *, version: str, nodes: list[str], running: bool) -> list[dict[str, Any]]:
    """The objects of an add-on: namespaces, workloads and pods (one a node for DaemonSets).

    :param running: whether its Deployments' pods run; they are Pending otherwise.
    """
    objects: list[dict[str, Any]] = []
    for workload in WORKLOADS.get(addon, ()):
        if workload.namespace != "kube-system":
            objects.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": workload.namespace}})
        objects.append(_controller(workload, version, nodes, running))
        objects.extend(_pods(workload, nodes, running))
    return objects


def _labels(workload: Workload) -> dict[str, str]:
    return {workload.label[0]: workload.label[1]}


def _controller(workload: Workload, version: str, nodes: list[str], running: bool) -> dict[str, Any]:
    labels = _labels(workload)
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": workload.name, "image": f"{workload.name}:{version}"}]},
    }
    metadata = {"name": workload.name, "namespace": workload.namespace, "labels": labels}
    if workload.replicas:
        ready = workload.replicas if running else 0
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": {"replicas": workload.replicas, "selector": {"matchLabels": labels}, "template": template},
            "status": {
                "replicas": workload.replicas,
                "updatedReplicas": workload.replicas,
                "readyReplicas": ready,
                "availableReplicas": ready,
                "conditions": [{"type": "Available", "status": "True" if running else "False"}],
            },
        }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": metadata,
        "spec": {"selector": {"matchLabels": labels}, "template": template},
        "status": {
            "currentNumberScheduled": len(nodes),
            "desiredNumberScheduled": len(nodes),
            "numberReady": len(nodes),
            "numberAvailable": len(nodes),
            "numberMisscheduled": 0,
        },
    }


def _pods(workload: Workload, nodes: list[str], running: bool) -> list[dict[str, Any]]:
    if workload.replicas:
        places = [nodes[i % len(nodes)] if nodes and running else None for i in range(workload.replicas)]
        owner = "ReplicaSet"
    else:
        places = list(nodes)
        owner = "DaemonSet"
    return [_pod(workload, index, node, owner, running or not workload.replicas) for index, node in enumerate(places)]


def _pod(workload: Workload, index: int, node: str | None, owner: str, running: bool) -> dict[str, Any]:
    # Names are drawn from what they stand for, so that the same state has the same pods.
    drawn = hashlib.sha256(f"{workload.name}/{index if workload.replicas else node}".encode()).hexdigest()
    middle = f"{hashlib.sha256(workload.name.encode()).hexdigest()[:10]}-" if workload.replicas else ""
    ready = "True" if running else "False"
    spec: dict[str, Any] = {"containers": [{"name": workload.name, "image": workload.name}]}
    if node:
        spec["nodeName"] = node
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{workload.name}-{middle}{drawn[:5]}",
            "namespace": workload.namespace,
            "labels": _labels(workload),
        },
        "spec": spec,
        "status": {
            "phase": "Running" if running else "Pending",
            "conditions": [{"type": "Ready", "status": ready}],
            "containerStatuses": [
                {"name": workload.name, "ready": running, "restartCount": 0, "image": workload.name, "imageID": ""}
            ],
        },
    }
