"""The Node objects of HyperPod instances.

Labels: sagemaker.amazonaws.com/node-health-status and deep-health-check-status from the SageMaker developer
guide, 'Resilience-related Kubernetes labels'; compute-type and instance-group-name from
aws/sagemaker-hyperpod-cli (its node selectors).  Name and providerID are as commonly seen (unverified).
"""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.cloud.ec2.network import ec2_of, find_subnet
from mlcc_rehearsal.cloud.eks import addon_health, workloads
from mlcc_rehearsal.cloud.sagemaker.instance_types import gpus_of, is_arm, size_of
from mlcc_rehearsal.cloud.sagemaker.models import Group, HyperPodCluster, Node, RehearsedSageMakerBackend
from mlcc_rehearsal.cloud.sagemaker.requirements import eks_cluster_of, eks_of

HEALTH = "sagemaker.amazonaws.com/node-health-status"
DEEP_HEALTH = "sagemaker.amazonaws.com/deep-health-check-status"


def address_of(backend: RehearsedSageMakerBackend, node: Node) -> str | None:
    """The address of an instance in the account's VPC, once it has its interface."""
    interface = ec2_of(backend.account, backend.region_name).enis.get(node.interface)
    return str(interface.private_ip_address) if interface is not None else None


def node_object(
    backend: RehearsedSageMakerBackend, cluster: HyperPodCluster, group: Group, node: Node
) -> dict[str, Any]:
    """The Node object of an instance that has joined."""
    size = size_of(node.instance_type)
    subnet = find_subnet(backend.account, backend.region_name, node.subnet)
    zone = str(subnet.availability_zone) if subnet is not None else ""
    zone_id = str(subnet.availability_zone_id) if subnet is not None else ""
    eks = eks_cluster_of(backend, cluster)
    config = group.spec.get("KubernetesConfig") or {}
    checking = node.status == "DeepHealthCheckInProgress"
    labels = {
        HEALTH: "Unschedulable" if checking else "Schedulable",
        "sagemaker.amazonaws.com/compute-type": "hyperpod",
        "sagemaker.amazonaws.com/cluster-name": cluster.name,
        "sagemaker.amazonaws.com/instance-group-name": group.name,
        "topology.k8s.aws/zone-id": zone_id,
        **(config.get("Labels") or {}),
    }
    if group.spec.get("OnStartDeepHealthChecks"):
        labels[DEEP_HEALTH] = "InProgress" if checking else "Passed"
    taints = [
        {"key": taint["Key"], "value": taint.get("Value", ""), "effect": taint["Effect"]}
        for taint in config.get("Taints") or []
    ]
    if checking:
        taints.append({"key": HEALTH, "value": "Unschedulable", "effect": "NoSchedule"})
    made = workloads.ec2_node(
        node.name,
        address=address_of(backend, node) or "",
        instance_id=node.instance_id,
        instance_type=node.instance_type,
        zone=zone,
        region=backend.region_name,
        pods=size.pods,
        cpu=size.cpus,
        memory_mib=size.memory_mib,
        version=eks.version if eks is not None else "",
        labels=labels,
        taints=taints,
    )
    made["spec"]["providerID"] = (
        f"aws:///{zone_id}/sagemaker/cluster/hyperpod-{cluster.id}-{node.instance_id}"
    )
    _architecture(made, node.instance_type)
    gpus = gpus_of(node.instance_type)
    if gpus:
        for part in ("capacity", "allocatable"):
            made["status"][part]["nvidia.com/gpu"] = str(gpus)
    return made


def _architecture(made: dict[str, Any], instance_type: str) -> None:
    if is_arm(instance_type):
        made["metadata"]["labels"]["kubernetes.io/arch"] = "arm64"
        made["metadata"]["labels"]["beta.kubernetes.io/arch"] = "arm64"
        made["status"]["nodeInfo"]["architecture"] = "arm64"


def put(backend: RehearsedSageMakerBackend, cluster: HyperPodCluster, group: Group, node: Node) -> None:
    """Show an instance as a node; add-ons that waited for one go on."""
    eks = eks_cluster_of(backend, cluster)
    if eks is None:
        return
    if eks.kubernetes is not None:
        eks.kubernetes.put(node_object(backend, cluster, group, node))
    addon_health.reconsider(eks_of(backend), eks)


def delete(backend: RehearsedSageMakerBackend, cluster: HyperPodCluster, node: Node) -> None:
    """Take a node away; does nothing when it never was one."""
    eks = eks_cluster_of(backend, cluster)
    if eks is None:
        return
    if eks.kubernetes is not None:
        eks.kubernetes.delete({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node.name}})
    addon_health.reconsider(eks_of(backend), eks)
