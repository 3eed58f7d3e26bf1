"""Instance groups: those that the stack is made with, and the form in which AWS takes a group.

The template's groups are create-only (its custom resources get no update), so the stack gets the floor alone.
All groups, the floor included, are kept by the InstanceGroups resource over UpdateCluster from then on.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mlcc_infra.profile.hyperpod import HyperPod, InstanceGroup

SLOTS: Final = 20
GROUP_SLOTS: Final = tuple(f"InstanceGroupSettings{number}" for number in range(1, SLOTS + 1))
RIG_SLOTS: Final = tuple(f"RigSettings{number}" for number in range(1, SLOTS + 1))
EMPTY: Final = "[]"


def stack_groups(hyperpod: HyperPod) -> tuple[InstanceGroup, ...]:
    """The groups that the stack is made with: the floor."""
    return hyperpod.floor_groups


def later_groups(hyperpod: HyperPod) -> tuple[InstanceGroup, ...]:
    """The groups that the InstanceGroups resource adds to a new cluster."""
    floor = hyperpod.floor_groups
    return tuple(group for group in hyperpod.instance_groups if group not in floor)


def instance_group(group: InstanceGroup) -> dict[str, Any]:
    """A group in the form of the API and of CloudFormation, which agree (botocore 1.44.8,
    ClusterInstanceGroupSpecification; CloudFormation's schema of AWS::SageMaker::Cluster).

    Without execution role, lifecycle configuration and placement: the template's function fills these in at
    creation, and whoever updates the cluster takes them from DescribeCluster.
    """
    found: dict[str, Any] = {
        "InstanceGroupName": group.name,
        "InstanceType": group.instance_type,
        "InstanceCount": group.instance_count,
    }
    if group.min_instance_count is not None:
        found["MinInstanceCount"] = group.min_instance_count
    if group.threads_per_core is not None:
        found["ThreadsPerCore"] = group.threads_per_core
    if group.ebs_volume_size is not None:
        found["InstanceStorageConfigs"] = [{"EbsVolumeConfig": {"VolumeSizeInGB": group.ebs_volume_size}}]
    if group.deep_health_checks:
        found["OnStartDeepHealthChecks"] = list(group.deep_health_checks)
    if group.training_plan_arn is not None:
        found["TrainingPlanArn"] = group.training_plan_arn
    kubernetes: dict[str, Any] = {}
    if group.labels:
        kubernetes["Labels"] = dict(sorted(group.labels.items()))
    if group.taints:
        kubernetes["Taints"] = [
            {"Key": taint.key, **({"Value": taint.value} if taint.value else {}), "Effect": taint.effect}
            for taint in group.taints
        ]
    if kubernetes:
        found["KubernetesConfig"] = kubernetes
    return found


def group_settings(groups: Sequence[InstanceGroup]) -> str:
    """The value of one InstanceGroupSettings parameter: a JSON array, without white space.

    A zone goes in the template's own key, which its function turns into a subnet of that zone; a zone that
    the cluster has no subnet in is only logged there, so it is refused before.
    """
    items: list[dict[str, Any]] = []
    for group in groups:
        item = instance_group(group)
        if group.zone is not None:
            item["TargetAvailabilityZoneId"] = group.zone
        items.append(item)
    return json.dumps(items, separators=(",", ":"), ensure_ascii=False)
