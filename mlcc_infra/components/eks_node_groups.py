"""Managed node groups and the Fargate profile of a vanilla EKS cluster."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
from pulumi_aws import eks

from mlcc_infra.profile.eks import NodeGroup

# EKS spells taint effects its own way (EKS API reference, Taint).
TAINT_EFFECTS = {
    "NoSchedule": "NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
}


def node_group_args(
    group: NodeGroup,
    *,
    cluster_name: pulumi.Input[str],
    kubernetes_version: pulumi.Input[str],
    node_role_arn: pulumi.Input[str],
    subnet_ids: pulumi.Input[Sequence[str]],
    ami_type: str,
    tags: dict[str, str],
) -> eks.NodeGroupArgs:
    """The provider's arguments for one group of the profile.

    One node at a time is unavailable during an update. The version follows the cluster's, so that
    nodes are updated after the control plane.
    """
    return eks.NodeGroupArgs(
        cluster_name=cluster_name,
        node_group_name=group.name,
        node_role_arn=node_role_arn,
        subnet_ids=subnet_ids,
        version=kubernetes_version,
        instance_types=list(group.instance_types),
        capacity_type=group.capacity_type,
        ami_type=ami_type,
        disk_size=group.disk_size,
        labels=dict(group.labels) or None,
        taints=[
            eks.NodeGroupTaintArgs(
                key=taint.key, value=taint.value or None, effect=TAINT_EFFECTS[taint.effect]
            )
            for taint in group.taints
        ]
        or None,
        scaling_config=eks.NodeGroupScalingConfigArgs(
            min_size=group.min_size, max_size=group.max_size, desired_size=group.desired_size
        ),
        update_config=eks.NodeGroupUpdateConfigArgs(max_unavailable=1),
        tags=tags,
    )
