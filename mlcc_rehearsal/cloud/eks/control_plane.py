"""What comes with a control plane: its security group, its interfaces, its Kubernetes API."""

from __future__ import annotations

import secrets
from typing import Any

from mlcc_rehearsal.cloud import durations
from mlcc_rehearsal.cloud.ec2.interfaces import make_interface, remove_interface
from mlcc_rehearsal.cloud.ec2.network import ec2_of
from mlcc_rehearsal.cloud.eks.kubernetes import ClusterKubernetes
from mlcc_rehearsal.cloud.eks.models import Cluster, EksBackend
from mlcc_rehearsal.cloud.operator.loop import watch

# EKS spreads two interfaces over the subnets. Source: Amazon EKS user guide, networking requirements
# ("EKS creates 2-4 elastic network interfaces").
_INTERFACES = 2


def start(eks: EksBackend, cluster: Cluster) -> None:
    """Make them when the cluster becomes ACTIVE; fills in the rest of its description."""
    config = cluster.description["resourcesVpcConfig"]
    group = _security_group(eks, cluster, config["vpcId"])
    config["clusterSecurityGroupId"] = group.id
    groups = [group.id, *config["securityGroupIds"]]
    for subnet_id in config["subnetIds"][:_INTERFACES]:
        interface = make_interface(
            eks.account,
            eks.region_name,
            subnet_id,
            description=f"Amazon EKS {cluster.name}",
            groups=groups,
            managed_by="eks",
        )
        cluster.interfaces.append(interface.id)
    cluster.kubernetes = ClusterKubernetes(eks, cluster)
    cluster.description["endpoint"] = cluster.kubernetes.endpoint
    cluster.description["certificateAuthority"] = {"data": cluster.kubernetes.certificate_authority_data}
    cluster.kubernetes.lay_down_self_managed(cluster)
    watch(eks, cluster)


def stop(eks: EksBackend, cluster: Cluster) -> None:
    """Take them away when the cluster is gone; its interfaces stay a moment longer and hold the group."""
    if cluster.kubernetes is not None:
        cluster.kubernetes.stop()
        cluster.kubernetes = None
    interfaces = list(cluster.interfaces)
    group_id = cluster.description["resourcesVpcConfig"].get("clusterSecurityGroupId")

    def release() -> None:
        for interface_id in interfaces:
            remove_interface(eks.account, eks.region_name, interface_id)
        _remove_group(eks, group_id)

    eks.account.clock.after(durations.seconds("ec2.cluster_interface.delete"), release)


def _security_group(eks: EksBackend, cluster: Cluster, vpc_id: str) -> Any:
    """The group that EKS makes for control plane and nodes.

    Source: Amazon EKS user guide, "View Amazon EKS security group requirements for clusters": name
    ``eks-cluster-sg-<cluster>-<number>``, all traffic among its members and out.
    """
    ec2 = ec2_of(eks.account, eks.region_name)
    group = ec2.create_security_group(
        name=f"eks-cluster-sg-{cluster.name}-{secrets.randbelow(10**9):09d}",
        description=(
            "EKS created security group applied to ENI that is attached to EKS Control Plane master nodes, "
            "as well as any managed workloads."
        ),
        vpc_id=vpc_id,
        tags={
            "Name": f"eks-cluster-sg-{cluster.name}",
            f"kubernetes.io/cluster/{cluster.name}": "owned",
            "aws:eks:cluster-name": cluster.name,
        },
    )
    ec2.authorize_security_group_ingress(
        group.id, "-1", None, None, [], source_groups=[{"GroupId": group.id}]
    )
    return group


def _remove_group(eks: EksBackend, group_id: str | None) -> None:
    """EKS deletes its group; where something else still uses it, it stays behind."""
    if group_id is None:
        return
    ec2 = ec2_of(eks.account, eks.region_name)
    if ec2.get_security_group_from_id(group_id) is not None and not ec2.users_of_group(group_id):
        ec2.drop_security_group(group_id)
