"""The security groups the published component makes unless they are skipped, and their rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

_ANYWHERE = ["0.0.0.0/0"]


def _rule(name: str, parent: pulumi.Resource, **properties: Any) -> aws.ec2.SecurityGroupRule:
    return aws.ec2.SecurityGroupRule(name, **properties, opts=pulumi.ResourceOptions(parent=parent))


def merged_tags(*layers: Any) -> pulumi.Output[dict[str, Any]]:
    """Tags of several layers, the later ones winning; a layer may be None or an output."""

    def merge(known: list[Any]) -> dict[str, Any]:
        return {key: value for layer in known if layer for key, value in layer.items()}

    return pulumi.Output.all(*layers).apply(merge)


def cluster_security_group(
    name: str, *, vpc_id: Any, tags: Any, own_tags: Any, parent: pulumi.Resource
) -> aws.ec2.SecurityGroup:
    """The group of the cluster's interfaces, with its way out."""
    group = aws.ec2.SecurityGroup(
        f"{name}-eksClusterSecurityGroup",
        vpc_id=vpc_id,
        revoke_rules_on_delete=True,
        tags=merged_tags({"Name": f"{name}-eksClusterSecurityGroup"}, own_tags, tags),
        opts=pulumi.ResourceOptions(parent=parent),
    )
    _rule(
        f"{name}-eksClusterInternetEgressRule",
        parent,
        description="Allow internet access.",
        type="egress",
        from_port=0,
        to_port=0,
        protocol="-1",
        cidr_blocks=_ANYWHERE,
        security_group_id=group.id,
    )
    return group


@dataclass(frozen=True)
class NodeSecurityGroup:
    """The nodes' group, and the rule that lets pods reach the cluster."""

    group: aws.ec2.SecurityGroup
    cluster_ingress: aws.ec2.SecurityGroupRule


def node_security_group(
    name: str,
    *,
    vpc_id: Any,
    cluster: aws.eks.Cluster,
    cluster_group_id: Any,
    tags: Any,
    own_tags: Any,
    parent: pulumi.Resource,
) -> NodeSecurityGroup:
    """The group of the nodes, with the rules between them, the cluster and the internet."""
    owned = cluster.name.apply(lambda known: {f"kubernetes.io/cluster/{known}": "owned"})
    group = aws.ec2.SecurityGroup(
        f"{name}-nodeSecurityGroup",
        vpc_id=vpc_id,
        revoke_rules_on_delete=True,
        tags=merged_tags({"Name": f"{name}-nodeSecurityGroup"}, owned, own_tags, tags),
        opts=pulumi.ResourceOptions(parent=parent),
    )
    into = {"type": "ingress", "security_group_id": group.id}
    _rule(
        f"{name}-eksNodeIngressRule",
        parent,
        **into,
        description="Allow nodes to communicate with each other",
        from_port=0,
        to_port=0,
        protocol="-1",
        self=True,
    )
    _rule(
        f"{name}-eksNodeClusterIngressRule",
        parent,
        **into,
        description="Allow worker Kubelets and pods to receive communication from the cluster control plane",
        from_port=1025,
        to_port=65535,
        protocol="tcp",
        source_security_group_id=cluster_group_id,
    )
    _rule(
        f"{name}-eksExtApiServerClusterIngressRule",
        parent,
        **into,
        description="Allow pods running extension API servers on port 443 to receive communication from "
        "cluster control plane",
        from_port=443,
        to_port=443,
        protocol="tcp",
        source_security_group_id=cluster_group_id,
    )
    _rule(
        f"{name}-eksNodeInternetEgressRule",
        parent,
        description="Allow internet access.",
        type="egress",
        from_port=0,
        to_port=0,
        protocol="-1",
        cidr_blocks=_ANYWHERE,
        security_group_id=group.id,
    )
    ingress = _rule(
        f"{name}-eksClusterIngressRule",
        parent,
        description="Allow pods to communicate with the cluster API Server",
        type="ingress",
        from_port=443,
        to_port=443,
        protocol="tcp",
        security_group_id=cluster_group_id,
        source_security_group_id=group.id,
    )
    return NodeSecurityGroup(group, ingress)
