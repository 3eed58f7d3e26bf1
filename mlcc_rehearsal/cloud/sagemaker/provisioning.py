"""Instances: launched, joined as nodes, ended; tried again where that failed.

In Continuous mode a group is InService whatever its instances do; else the cluster waits for all of them.
Source: SageMaker developer guide, 'Continuous provisioning for enhanced cluster operations on Amazon EKS'.
"""

from __future__ import annotations

import secrets
import uuid
from typing import Any

from mlcc_rehearsal.cloud import durations, laws_hyperpod, log_groups
from mlcc_rehearsal.cloud.ec2.interfaces import leave_behind, make_interface
from mlcc_rehearsal.cloud.ec2.network import find_subnet
from mlcc_rehearsal.cloud.eks import access
from mlcc_rehearsal.cloud.sagemaker import kubernetes_nodes
from mlcc_rehearsal.cloud.sagemaker.events import note
from mlcc_rehearsal.cloud.sagemaker.instance_types import is_accelerated
from mlcc_rehearsal.cloud.sagemaker.models import Group, HyperPodCluster, Node, RehearsedSageMakerBackend
from mlcc_rehearsal.cloud.sagemaker.requirements import NO_CAPACITY, eks_cluster_of, eks_of, obstacle


def reconcile(backend: RehearsedSageMakerBackend, cluster: HyperPodCluster, group: Group) -> None:
    """Launch what is missing of a group, end what it has too much."""
    if cluster.status == "Deleting" or group.status == "Deleting" or not _current(backend, cluster, group):
        return
    staying = [node for node in group.nodes.values() if node.status != "ShuttingDown"]
    if len(staying) > group.target:
        # The newest go first (unverified).
        for node in sorted(staying, key=lambda each: each.launched, reverse=True)[
            : len(staying) - group.target
        ]:
            end_node(backend, cluster, group, node)
    for position in range(len(staying), group.target):
        if not _launch(backend, cluster, group, position):
            break
    settle(backend, cluster)


def _current(backend: RehearsedSageMakerBackend, cluster: HyperPodCluster, group: Group) -> bool:
    return backend.hyperpod.get(cluster.name) is cluster and cluster.groups.get(group.name) is group


def subnets_of(cluster: HyperPodCluster, group: Group) -> list[str]:
    """Where a group's instances come up.

    Without an override one subnet of the cluster is picked and all groups inherit its zone (source:
    facts/limits.json, vpc_config.default_placement).
    """
    override = group.spec.get("OverrideVpcConfig")
    return list(override["Subnets"]) if override else list(cluster.settings["VpcConfig"]["Subnets"][:1])


def _launch(
    backend: RehearsedSageMakerBackend, cluster: HyperPodCluster, group: Group, position: int
) -> bool:
    subnets = subnets_of(cluster, group)
    order = [subnets[(position + shift) % len(subnets)] for shift in range(len(subnets))]
    for subnet_id in order:
        zone = _zone(backend, subnet_id)
        for instance_type in group.types:
            if _has_capacity(backend, instance_type, zone):
                _begin(backend, cluster, group, instance_type, subnet_id, position, subnets.index(subnet_id))
                return True
    _no_capacity(backend, cluster, group, _zone_id(backend, order[0]))
    return False


def _has_capacity(backend: RehearsedSageMakerBackend, instance_type: str, zone: str) -> bool:
    faults = backend.account.faults
    return faults is None or faults.has_capacity(instance_type, zone, backend.account.clock.now())


def _zone(backend: RehearsedSageMakerBackend, subnet_id: str) -> str:
    subnet = find_subnet(backend.account, backend.region_name, subnet_id)
    return str(subnet.availability_zone) if subnet is not None else ""


def _zone_id(backend: RehearsedSageMakerBackend, subnet_id: str) -> str:
    subnet = find_subnet(backend.account, backend.region_name, subnet_id)
    return str(subnet.availability_zone_id) if subnet is not None else ""


def _no_capacity(
    backend: RehearsedSageMakerBackend, cluster: HyperPodCluster, group: Group, zone_id: str
) -> None:
    """This is the law "hyperpod-capacity": the group stays InService below its count and tries again."""
    types = ", ".join(group.types)
    group.why_not = f"{NO_CAPACITY} ({types} in {zone_id})"
    note(
        backend,
        cluster,
        f"Insufficient capacity for {types} in Cluster {cluster.name} and InstanceGroup {group.name}",
        group=group.name,
        level="Warn",
        metadata={
            "InstanceGroupScaling": {
                "InstanceCount": len(group.running),
                "TargetCount": group.target,
                "FailureMessage": NO_CAPACITY,
            }
        },
    )
    _try_again(backend, cluster, group, NO_CAPACITY)


def _try_again(
    backend: RehearsedSageMakerBackend, cluster: HyperPodCluster, group: Group, message: str
) -> None:
    if not cluster.continuous:
        fail(backend, cluster, group, message)
        return
    if group.attempts:
        return
    group.attempts = 1

    def again() -> None:
        group.attempts = 0
        reconcile(backend, cluster, group)

    backend.account.clock.after(durations.seconds("sagemaker.node.retry"), again, background=True)


def _begin(
    backend: RehearsedSageMakerBackend,
    cluster: HyperPodCluster,
    group: Group,
    instance_type: str,
    subnet_id: str,
    position: int,
    zone_order: int,
) -> None:
    clock = backend.account.clock
    instance_id = f"i-{secrets.token_hex(9)[:17]}"
    node = Node(
        instance_id,
        f"{group.name[:40]}-{uuid.uuid4().hex[:8]}",
        group.name,
        instance_type,
        subnet_id,
        clock.timestamp(),
        name=f"hyperpod-{instance_id}",
    )
    group.nodes[instance_id] = node
    wait = durations.seconds("sagemaker.node.launch")
    wait += position * durations.seconds("sagemaker.node.stagger")
    wait += zone_order * durations.seconds("sagemaker.node.zone")
    if is_accelerated(instance_type):
        wait += durations.seconds("sagemaker.node.accelerated")
    # Accelerated capacity comes when it comes: what is deployed does not wait for it.
    clock.after(
        wait, lambda: _booted(backend, cluster, group, node), background=is_accelerated(instance_type)
    )


def _alive(backend: RehearsedSageMakerBackend, cluster: HyperPodCluster, group: Group, node: Node) -> bool:
    return _current(backend, cluster, group) and group.nodes.get(node.instance_id) is node


def _booted(backend: RehearsedSageMakerBackend, cluster: HyperPodCluster, group: Group, node: Node) -> None:
    """The instance runs; its lifecycle script does, or the instance is given up."""
    if not _alive(backend, cluster, group, node) or node.status != "Pending":
        return
    _log(backend, cluster)
    found = obstacle(backend, cluster, group.spec, node.subnet)
    eks = eks_cluster_of(backend, cluster)
    if eks is None:
        found = laws_hyperpod.HYPERPOD_EKS, f"EKS cluster {cluster.eks_arn} does not exist."
    if found is not None or eks is None:
        assert found is not None
        law, message = found
        _given_up(backend, cluster, group, node, message, law.name)
        return
    network = group.spec.get("OverrideVpcConfig") or cluster.settings["VpcConfig"]
    interface = make_interface(
        backend.account,
        backend.region_name,
        node.subnet,
        description=f"SageMaker HyperPod {cluster.name} {node.instance_id}",
        groups=list(network["SecurityGroupIds"]),
        managed_by="node",
        instance_id=node.instance_id,
        tags={"sagemaker:cluster-arn": cluster.arn, "sagemaker:instance-group-name": group.name},
    )
    node.interface = interface.id
    access.enter_nodes(eks_of(backend), eks, group.spec["ExecutionRole"], "HYPERPOD_LINUX")
    backend.account.clock.after(
        durations.seconds("sagemaker.node.lifecycle"),
        lambda: _joined(backend, cluster, group, node),
        background=is_accelerated(node.instance_type),
    )


def log_group(cluster: HyperPodCluster) -> str:
    """Where the instances of a cluster write."""
    return f"/aws/sagemaker/Clusters/{cluster.name}/{cluster.id}"


def _log(backend: RehearsedSageMakerBackend, cluster: HyperPodCluster) -> None:
    if not cluster.settings.get("logged"):
        cluster.settings["logged"] = True
        log_groups.keep_writing(
            backend.account,
            backend.region_name,
            log_group(cluster),
            lambda: backend.hyperpod.get(cluster.name) is cluster,
        )


def _given_up(
    backend: RehearsedSageMakerBackend,
    cluster: HyperPodCluster,
    group: Group,
    node: Node,
    message: str,
    law: str,
) -> None:
    del group.nodes[node.instance_id]
    group.why_not = f"{message} [{law}]"
    note(
        backend,
        cluster,
        f"Instance creation in Cluster {cluster.name} and InstanceGroup {group.name} failed",
        group=group.name,
        instance=node.instance_id,
        level="Error",
        metadata={"Instance": {"FailureMessage": message, "NodeLogicalId": node.logical_id}},
    )
    said = (
        f'Instance {node.instance_id} failed to provision with the following error: "{message}" Note that '
        "multiple instances may be impacted."
    )
    _try_again(backend, cluster, group, said)


def _joined(backend: RehearsedSageMakerBackend, cluster: HyperPodCluster, group: Group, node: Node) -> None:
    if not _alive(backend, cluster, group, node) or node.status != "Pending":
        return
    group.why_not = None
    checks = group.spec.get("OnStartDeepHealthChecks")
    node.status = "DeepHealthCheckInProgress" if checks else "Running"
    kubernetes_nodes.put(backend, cluster, group, node)
    note(
        backend,
        cluster,
        f"Instance creation in Cluster {cluster.name} and InstanceGroup {group.name} succeeded",
        group=group.name,
        instance=node.instance_id,
        metadata={"Instance": {"CustomerEni": str(node.interface), "NodeLogicalId": node.logical_id}},
    )
    if checks:
        seconds = durations.seconds("sagemaker.node.deep_health_check")
        backend.account.clock.after(seconds, lambda: _checked(backend, cluster, group, node))
    settle(backend, cluster)


def _checked(backend: RehearsedSageMakerBackend, cluster: HyperPodCluster, group: Group, node: Node) -> None:
    if _alive(backend, cluster, group, node) and node.status == "DeepHealthCheckInProgress":
        node.status = "Running"
        kubernetes_nodes.put(backend, cluster, group, node)
        settle(backend, cluster)


def settle(backend: RehearsedSageMakerBackend, cluster: HyperPodCluster) -> None:
    """Let groups and cluster become InService when they may."""
    for group in cluster.groups.values():
        if group.status not in ("Creating", "Updating"):
            continue
        needed = int(group.spec.get("MinInstanceCount") or 0) if cluster.continuous else group.target
        enough = len(group.running) >= needed
        if not cluster.continuous:
            enough = enough and len(group.nodes) == group.target
        if enough and cluster.status not in ("Failed", "RollingBack"):
            group.status = "InService"
    waiting = any(group.status in ("Creating", "Updating", "Deleting") for group in cluster.groups.values())
    if not cluster.continuous and not waiting and cluster.status in ("Creating", "Updating"):
        cluster.status = "InService"


def fail(backend: RehearsedSageMakerBackend, cluster: HyperPodCluster, group: Group, message: str) -> None:
    """A cluster that does not provision continuously rolls back when an instance does not come up.

    A cluster that is being made ends Failed; one that is being changed goes back to what it had.
    """
    if cluster.status not in ("Creating", "Updating"):
        return
    created = cluster.status == "Creating"
    cluster.status = "RollingBack"
    cluster.failure = message
    group.status = "Failed"
    if created:
        for each in cluster.groups.values():
            for node in list(each.nodes.values()):
                end_node(backend, cluster, each, node)

    def rolled_back() -> None:
        if cluster.status != "RollingBack":
            return
        if created:
            cluster.status = "Failed"
            return
        group.spec = {**group.spec, "InstanceCount": len(group.running)}
        group.status = "InService"
        cluster.status = "InService"

    backend.account.clock.after(durations.seconds("sagemaker.node.terminate") + 30, rolled_back)


def end_node(backend: RehearsedSageMakerBackend, cluster: HyperPodCluster, group: Group, node: Node) -> None:
    """Begin to end an instance; its node goes with it, its interface stays a while."""
    if node.status == "ShuttingDown":
        return
    node.status = "ShuttingDown"

    def gone() -> None:
        kubernetes_nodes.delete(backend, cluster, node)
        if node.interface is not None:
            leave_behind(backend.account, backend.region_name, [node.interface])
        group.nodes.pop(node.instance_id, None)
        _log(backend, cluster)
        if group.status == "Deleting" and not group.nodes:
            cluster.groups.pop(group.name, None)
        settle(backend, cluster)

    backend.account.clock.after(durations.seconds("sagemaker.node.terminate"), gone)


def watch_minimum(backend: RehearsedSageMakerBackend, cluster: HyperPodCluster, group: Group) -> None:
    """Roll a group back that has not its minimum after three hours: the law "hyperpod-group-minimum"."""
    minimum = int(group.spec.get("MinInstanceCount") or 0)
    if not minimum or not cluster.continuous:
        return

    def look() -> None:
        if not _current(backend, cluster, group) or len(group.running) >= minimum:
            return
        group.status = "Failed"
        group.spec = {**group.spec, "InstanceCount": 0, "MinInstanceCount": 0}
        note(
            backend,
            cluster,
            f"InstanceGroup {group.name} of Cluster {cluster.name} did not reach its minimum count and "
            f"rolls back",
            group=group.name,
            level="Error",
            metadata={"InstanceGroup": {"FailureMessage": group.why_not or NO_CAPACITY}},
        )
        reconcile(backend, cluster, group)

    backend.account.clock.after(durations.seconds("sagemaker.group.minimum"), look, background=True)


def described_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings that the API answers: without what is kept for the rehearsal."""
    return {key: value for key, value in settings.items() if key != "logged"}
