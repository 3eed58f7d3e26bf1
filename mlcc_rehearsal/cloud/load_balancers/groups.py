"""Security groups that controllers make for load balancers, and the rule that lets them reach nodes.

Names, descriptions and tags: kubernetes-sigs/aws-load-balancer-controller (``pkg/networking``,
``pkg/deploy/tracking``), kubernetes/cloud-provider-aws (``k8s-elb-<name>``).
"""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.cloud.ec2.network import ec2_of
from mlcc_rehearsal.cloud.eks.models import Cluster, EksBackend


def vpc_of(cluster: Cluster) -> str:
    """The cluster's VPC."""
    return str(cluster.description["resourcesVpcConfig"]["vpcId"])


def find_group(eks: EksBackend, cluster: Cluster, name: str) -> Any | None:
    """The group of this name in the cluster's VPC."""
    groups = ec2_of(eks.account, eks.region_name).groups[vpc_of(cluster)].values()
    return next((group for group in groups if group.name == name), None)


def ensure_group(eks: EksBackend, cluster: Cluster, name: str, description: str, tags: dict[str, str]) -> Any:
    """The group of this name, made when it is not there."""
    found = find_group(eks, cluster, name)
    if found is not None:
        return found
    return ec2_of(eks.account, eks.region_name).create_security_group(
        name=name, description=description, vpc_id=vpc_of(cluster), tags=tags
    )


def open_nodes(eks: EksBackend, cluster: Cluster, group_id: str) -> None:
    """Let the load balancers of a group reach the nodes: a rule of the cluster's own group names it.

    As long as the rule is there, the group cannot be deleted (field report H3).
    """
    ec2 = ec2_of(eks.account, eks.region_name)
    nodes = ec2.get_security_group_from_id(_nodes(cluster))
    if nodes is None or any(rule.source_group.get("GroupId") == group_id for rule in nodes.ingress_rules):
        return
    ec2.authorize_security_group_ingress(
        nodes.id,
        "tcp",
        "0",
        "65535",
        [],
        source_groups=[{"GroupId": group_id, "Description": "elbv2.k8s.aws/targetGroupBinding=shared"}],
    )


def close_nodes(eks: EksBackend, cluster: Cluster, group_id: str) -> None:
    """Take that rule away."""
    nodes = ec2_of(eks.account, eks.region_name).get_security_group_from_id(_nodes(cluster))
    if nodes is not None:
        nodes.ingress_rules[:] = [
            rule for rule in nodes.ingress_rules if rule.source_group.get("GroupId") != group_id
        ]


def drop_group(eks: EksBackend, cluster: Cluster, name: str) -> bool:
    """Delete a group that nothing uses; False while something does.  One that is not there is deleted."""
    found = find_group(eks, cluster, name)
    if found is None:
        return True
    ec2 = ec2_of(eks.account, eks.region_name)
    if ec2.users_of_group(found.id):
        return False
    ec2.drop_security_group(found.id)
    return True


def _nodes(cluster: Cluster) -> str:
    return str(cluster.description["resourcesVpcConfig"]["clusterSecurityGroupId"])
