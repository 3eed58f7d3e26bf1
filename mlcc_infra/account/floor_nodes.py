"""Whether the floor of a HyperPod cluster is there: by its nodes, never by InService (rule 2).

With continuous provisioning cluster and groups are InService while they scale. A floor group is ready when
its CurrentCount has reached what is wanted, ListClusterNodes says Running as often, and as many Ready,
schedulable amd64 nodes show in the Kubernetes API. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mlcc_infra.account.instance_group_plan import Cluster, WantedGroup

# Set by HyperPod on its nodes (SageMaker developer guide, resiliency of EKS clusters; public manifests).
GROUP_LABEL = "sagemaker.amazonaws.com/instance-group-name"
ARCHITECTURE_LABEL = "kubernetes.io/arch"
_KEEPS_PODS_AWAY = ("NoSchedule", "NoExecute")

Node = Mapping[str, Any]


def running(cluster: Cluster, group: str) -> int:
    """How many of the group's instances ListClusterNodes calls Running."""
    return sum(
        node["InstanceGroupName"] == group and node["InstanceStatus"]["Status"] == "Running"
        for node in cluster.nodes
    )


def current(cluster: Cluster, group: str) -> int:
    """DescribeCluster's CurrentCount; 0 for a group that is not there."""
    return int(cluster.groups.get(group, {}).get("CurrentCount") or 0)


def missing_in_hyperpod(cluster: Cluster, floor: Sequence[WantedGroup]) -> list[str]:
    """What HyperPod itself still lacks for the floor, one line a group."""
    lines = []
    for group in floor:
        have = (current(cluster, group.name), running(cluster, group.name))
        if min(have) < group.instance_count:
            lines.append(f"{group.name}: {min(have)} of {group.instance_count} instances are running")
    return lines


def missing_in_kubernetes(cluster: Cluster, floor: Sequence[WantedGroup], nodes: Sequence[Node]) -> list[str]:
    """What the Kubernetes API still lacks for the floor, one line a group."""
    by_group = _by_group(cluster, nodes)
    lines = []
    for group in floor:
        # Nodes that nothing ties to any group are counted for each: better than waiting for what is there.
        members = nodes if by_group is None else by_group.get(group.name, ())
        ready = sum(is_usable(node, group) for node in members)
        if ready < group.instance_count:
            lines.append(
                f"{group.name}: {ready} of {group.instance_count} nodes are Ready and schedulable amd64 nodes"
            )
    return lines


def _by_group(cluster: Cluster, nodes: Sequence[Node]) -> dict[str, list[Node]] | None:
    groups: dict[str, list[Node]] = {}
    for node in nodes:
        name = _group_of(cluster, node)
        if name is not None:
            groups.setdefault(name, []).append(node)
    return groups or None


def _group_of(cluster: Cluster, node: Node) -> str | None:
    metadata = node["metadata"]
    label: str | None = (metadata.get("labels") or {}).get(GROUP_LABEL)
    if label:
        return label
    provider = (node.get("spec") or {}).get("providerID") or ""
    for instance in cluster.nodes:
        identity = instance["InstanceId"]
        if identity in metadata["name"] or identity in provider:
            return str(instance["InstanceGroupName"])
        if metadata["name"] == instance.get("PrivateDnsHostname"):
            return str(instance["InstanceGroupName"])
    return None


def is_usable(node: Node, group: WantedGroup) -> bool:
    """Whether a node is Ready, amd64 and takes pods; taints that the profile gave the group do not count."""
    status, spec, metadata = node.get("status") or {}, node.get("spec") or {}, node["metadata"]
    if metadata.get("deletionTimestamp") or spec.get("unschedulable"):
        return False
    conditions = {item["type"]: item["status"] for item in status.get("conditions") or []}
    if conditions.get("Ready") != "True":
        return False
    labels = metadata.get("labels") or {}
    architecture = labels.get(ARCHITECTURE_LABEL) or (status.get("nodeInfo") or {}).get("architecture")
    own = {(taint["key"], taint["effect"]) for taint in group.taints}
    foreign = any(
        taint["effect"] in _KEEPS_PODS_AWAY and (taint["key"], taint["effect"]) not in own
        for taint in spec.get("taints") or []
    )
    return architecture == "amd64" and not foreign
