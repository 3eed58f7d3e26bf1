"""What add-ons lay down in a cluster, reduced to what ``kubectl get pods -A`` shows of it.

Sources: the add-ons' own manifests (names, namespaces, kinds, labels); images and resources are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlcc_rehearsal.cloud.operator import prerequisites


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


_FARGATE_TAINT = {"key": "eks.amazonaws.com/compute-type", "value": "fargate", "effect": "NoSchedule"}


def of_addon(addon: str, *, version: str, on_fargate: bool) -> list[dict[str, Any]]:
    """The objects of an add-on: namespaces and workloads.  The Kubernetes API's own loops make their pods.

    :param on_fargate: whether the pods of its Deployments are meant for Fargate; the real scheduler for
        Fargate changes the pods, here the workload says it.
    """
    objects: list[dict[str, Any]] = []
    for workload in WORKLOADS.get(addon, ()):
        if workload.namespace != "kube-system":
            objects.append(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": workload.namespace}}
            )
        objects.append(_controller(workload, version, on_fargate=on_fargate and workload.replicas > 0))
    return [*objects, *prerequisites.objects(addon)]


def _controller(workload: Workload, version: str, *, on_fargate: bool) -> dict[str, Any]:
    labels = {workload.label[0]: workload.label[1]}
    pod: dict[str, Any] = {
        "containers": [{"name": workload.name, "image": f"{workload.name}:{version}"}],
        "priorityClassName": "system-cluster-critical" if workload.replicas else "system-node-critical",
    }
    if on_fargate:
        pod["tolerations"] = [{**_FARGATE_TAINT, "operator": "Equal"}]
        pod["nodeSelector"] = {"eks.amazonaws.com/compute-type": "fargate"}
    elif not workload.replicas:
        pod["tolerations"] = [{"operator": "Exists"}]
        pod["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": _NOT_FARGATE}}
    spec: dict[str, Any] = {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    if workload.replicas:
        spec["replicas"] = workload.replicas
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment" if workload.replicas else "DaemonSet",
        "metadata": {"name": workload.name, "namespace": workload.namespace, "labels": labels},
        "spec": spec,
    }


# DaemonSets of add-ons keep off Fargate. Source: their manifests.
_NOT_FARGATE = {
    "nodeSelectorTerms": [
        {
            "matchExpressions": [
                {"key": "eks.amazonaws.com/compute-type", "operator": "NotIn", "values": ["fargate"]}
            ]
        }
    ]
}


def fargate_node(name: str, address: str, zone: str) -> dict[str, Any]:
    """The Node object of a pod on Fargate."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "eks.amazonaws.com/compute-type": "fargate",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "topology.kubernetes.io/zone": zone,
            },
        },
        "spec": {"taints": [_FARGATE_TAINT]},
        "status": node_status(name, address, cpu="2", memory="4Gi", pods=1, version=""),
    }


def ec2_node(
    name: str,
    *,
    address: str,
    instance_id: str,
    instance_type: str,
    zone: str,
    region: str,
    pods: int,
    cpu: int,
    memory_mib: int,
    version: str,
    labels: dict[str, str],
    taints: list[dict[str, str]],
) -> dict[str, Any]:
    """The Node object of an instance of a node group, as the kubelet and the cloud controller describe it."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "beta.kubernetes.io/arch": "amd64",
                "beta.kubernetes.io/instance-type": instance_type,
                "beta.kubernetes.io/os": "linux",
                "failure-domain.beta.kubernetes.io/region": region,
                "failure-domain.beta.kubernetes.io/zone": zone,
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": instance_type,
                "topology.kubernetes.io/region": region,
                "topology.kubernetes.io/zone": zone,
                **labels,
            },
        },
        "spec": {"providerID": f"aws:///{zone}/{instance_id}", **({"taints": taints} if taints else {})},
        "status": node_status(
            name, address, cpu=str(cpu), memory=f"{memory_mib}Mi", pods=pods, version=version
        ),
    }


def node_status(name: str, address: str, *, cpu: str, memory: str, pods: int, version: str) -> dict[str, Any]:
    """Status of a node that is ready."""
    size = {"cpu": cpu, "memory": memory, "pods": str(pods), "ephemeral-storage": "20959212Ki"}
    return {
        "capacity": size,
        "allocatable": dict(size),
        "conditions": [
            {"type": "MemoryPressure", "status": "False", "reason": "KubeletHasSufficientMemory"},
            {"type": "DiskPressure", "status": "False", "reason": "KubeletHasNoDiskPressure"},
            {"type": "PIDPressure", "status": "False", "reason": "KubeletHasSufficientPID"},
            {"type": "Ready", "status": "True", "reason": "KubeletReady"},
        ],
        "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
        "nodeInfo": {
            "architecture": "amd64",
            "operatingSystem": "linux",
            "kubeletVersion": f"v{version}.0-eks-rehearsal" if version else "v-eks-rehearsal",
            "containerRuntimeVersion": "containerd://2.1.0",
            "osImage": "Amazon Linux 2023",
            "kernelVersion": "6.12.0",
        },
    }
