"""The nodes of node groups: instances, their interfaces, and the Node objects in the cluster."""

from __future__ import annotations

import secrets
from typing import Any

from moto.ec2.models.instance_types import INSTANCE_TYPES

from mlcc_rehearsal.cloud import laws
from mlcc_rehearsal.cloud.ec2.interfaces import leave_behind, make_interface, remove_interface
from mlcc_rehearsal.cloud.ec2.network import find_subnet, has_way_out
from mlcc_rehearsal.cloud.eks import workloads
from mlcc_rehearsal.cloud.eks.models import Cluster, EksBackend, NodeGroup
from mlcc_rehearsal.cloud.eks.requirements import node_role_gaps
from mlcc_rehearsal.cloud.laws import Law

_EFFECTS = {
    "NO_SCHEDULE": "NoSchedule",
    "NO_EXECUTE": "NoExecute",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
}


def obstacle(eks: EksBackend, cluster: Cluster, group: NodeGroup) -> tuple[Law, str, str] | None:
    """What keeps the group's nodes from becoming ready: the law, AWS's message, and the reason behind it."""
    role = group.description["nodeRole"]
    joined = "Instances failed to join the kubernetes cluster"
    for subnet_id in group.description["subnets"]:
        subnet = find_subnet(eks.account, eks.region_name, subnet_id)
        if subnet is None or not has_way_out(eks.account, eks.region_name, subnet):
            return laws.NODES_WAY_OUT, joined, f"subnet {subnet_id} has no way out"
    cni = cluster.addons.get("vpc-cni")
    if "vpc-cni" not in cluster.self_managed and cni is None:
        return laws.NODES_NEED_CNI, "Unhealthy nodes in the kubernetes cluster", "the cluster has no VPC CNI"
    cni_has_own_role = bool(cni and (cni.get("serviceAccountRoleArn") or cni.get("podIdentityAssociations")))
    gaps = node_role_gaps(eks, role, cni_has_own_role=cni_has_own_role)
    if gaps:
        policy, actions = gaps[0]
        why = f"{role} lacks {', '.join(actions)} ({policy})"
        message = (
            joined if policy == "AmazonEKSWorkerNodePolicy" else "Unhealthy nodes in the kubernetes cluster"
        )
        return laws.NODE_ROLE_GRANTS, message, why
    return None


def launch(eks: EksBackend, cluster: Cluster, group: NodeGroup, count: int) -> None:
    """Start ``count`` instances, spread over the group's subnets; their nodes are not there yet."""
    subnets = group.description["subnets"]
    config = cluster.description["resourcesVpcConfig"]
    for _ in range(count):
        subnet_id = subnets[len(group.instances) % len(subnets)]
        instance_id = f"i-{secrets.token_hex(9)[:17]}"
        common: dict[str, Any] = {
            "groups": [config["clusterSecurityGroupId"]],
            "managed_by": "node",
            "instance_id": instance_id,
        }
        tags = {"eks:cluster-name": cluster.name, "eks:nodegroup-name": group.description["nodegroupName"]}
        primary = make_interface(eks.account, eks.region_name, subnet_id, description="", tags=tags, **common)
        # Name and tags as the VPC CNI sets them (amazon-vpc-cni-k8s, pkg/awsutils).
        pods = make_interface(
            eks.account,
            eks.region_name,
            subnet_id,
            description=f"aws-K8S-{instance_id}",
            tags={
                "node.k8s.amazonaws.com/instance_id": instance_id,
                "node.k8s.amazonaws.com/createdAt": eks.account.clock.timestamp().strftime(
                    "%Y-%m-%dT%H:%M:%SZ"
                ),
                "cluster.k8s.amazonaws.com/name": cluster.name,
                "eks:cluster-name": cluster.name,
                "eks:nodegroup-name": group.description["nodegroupName"],
            },
            **common,
        )
        group.instances[instance_id] = [primary.id, pods.id]


def join(eks: EksBackend, cluster: Cluster, group: NodeGroup) -> None:
    """Put the Node objects of all running instances of the group."""
    if cluster.kubernetes is not None:
        cluster.kubernetes.put(
            *(node_of(eks, cluster, group, instance_id) for instance_id in group.instances)
        )


def terminate(eks: EksBackend, cluster: Cluster, group: NodeGroup, instance_ids: list[str]) -> None:
    """End instances: their nodes and first interfaces go, the interfaces of their pods stay behind."""
    left: list[str] = []
    for instance_id in instance_ids:
        if cluster.kubernetes is not None:
            cluster.kubernetes.delete(node_of(eks, cluster, group, instance_id))
        primary, *others = group.instances.pop(instance_id)
        remove_interface(eks.account, eks.region_name, primary)
        left.extend(others)
    leave_behind(eks.account, eks.region_name, left)


def node_of(eks: EksBackend, cluster: Cluster, group: NodeGroup, instance_id: str) -> dict[str, Any]:
    """The Node object of an instance."""
    from mlcc_rehearsal.cloud.ec2.network import ec2_of

    description = group.description
    interface = ec2_of(eks.account, eks.region_name).enis[group.instances[instance_id][0]]
    address = str(interface.private_ip_address)
    instance_type = description["instanceTypes"][0]
    cpu, memory, pods = size_of(instance_type)
    taints: list[dict[str, Any]] = [
        {"key": t["key"], "value": t.get("value", ""), "effect": _EFFECTS.get(t["effect"], t["effect"])}
        for t in description.get("taints") or []
    ]
    return workloads.ec2_node(
        f"ip-{address.replace('.', '-')}.{eks.region_name}.compute.internal",
        address=address,
        instance_id=instance_id,
        instance_type=instance_type,
        zone=str(interface.subnet.availability_zone),
        region=eks.region_name,
        pods=pods,
        cpu=cpu,
        memory_mib=memory,
        version=description["version"],
        labels={
            "eks.amazonaws.com/nodegroup": description["nodegroupName"],
            "eks.amazonaws.com/capacityType": description["capacityType"],
            **(description.get("labels") or {}),
        },
        taints=taints,
    )


def size_of(instance_type: str) -> tuple[int, int, int]:
    """CPUs, MiB of memory and pods of an instance type.

    Pods: interfaces × (addresses − 1) + 2, at most 110 up to 30 CPUs and 250 above (source: Amazon EKS user
    guide, "Choose an optimal Amazon EC2 node instance type").
    """
    known = INSTANCE_TYPES[instance_type]
    network = known["NetworkInfo"]
    cpus = int(known["VCpuInfo"]["DefaultVCpus"])
    addresses = int(network["MaximumNetworkInterfaces"]) * (int(network["Ipv4AddressesPerInterface"]) - 1) + 2
    return cpus, int(known["MemoryInfo"]["SizeInMiB"]), min(addresses, 250 if cpus > 30 else 110)
