"""The HyperPod cluster's instance groups, owned from the first `up` on.

The provider class below is stored in the state by reference (`mlcc_infra.components.instance_groups`): its
module path is part of the state's format. Never move it without keeping this name importable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

import pulumi
from pulumi import dynamic

from mlcc_infra.account import instance_groups
from mlcc_infra.account.instance_group_plan import WantedGroup
from mlcc_infra.account.instance_groups import Outcome, Request
from mlcc_infra.components.dynamic_provider import guarded_session, one_message, progress, replaced
from mlcc_infra.profile.hyperpod import HyperPod, InstanceGroup


@final
@dataclass(frozen=True, kw_only=True)
class InstanceGroupsArgs:
    """Which groups a HyperPod cluster is to have.

    `cluster_name` is the HyperPod cluster's; `cluster_arn` its ARN, which changes when the cluster is made
    anew; `eks_cluster_name` the EKS cluster that its nodes join. `groups` are all groups, those whose
    `floor` is set are waited for (`wanted_groups` makes them of a profile). `account` guards every call.
    `floor_minutes` is how long the floor's nodes may take.
    """

    cluster_name: pulumi.Input[str]
    cluster_arn: pulumi.Input[str]
    eks_cluster_name: pulumi.Input[str]
    account: str
    region: str
    groups: Sequence[WantedGroup]
    aws_profile: str | None = None
    floor_minutes: float = instance_groups.FLOOR_SECONDS / 60


def wanted_groups(hyperpod: HyperPod) -> tuple[WantedGroup, ...]:
    """The groups of a profile."""
    floor = {group.name for group in hyperpod.floor_groups}
    return tuple(_wanted(group, group.name in floor) for group in hyperpod.instance_groups)


def _wanted(group: InstanceGroup, floor: bool) -> WantedGroup:
    return WantedGroup(
        name=group.name,
        instance_type=group.instance_type,
        instance_count=group.instance_count,
        # A floor that misses its minimum would be rolled back after three hours (rule 2).
        min_instance_count=None if floor else group.min_instance_count,
        zone=group.zone,
        threads_per_core=group.threads_per_core,
        ebs_volume_size=group.ebs_volume_size,
        labels=dict(group.labels),
        taints=tuple(taint.model_dump() for taint in group.taints),
        deep_health_checks=tuple(group.deep_health_checks),
        training_plan_arn=group.training_plan_arn,
        floor=floor,
    )


def _request(props: Mapping[str, Any], owned: Sequence[str], defaults: Mapping[str, Any] | None) -> Request:
    return Request(
        cluster=props["cluster_arn"],
        eks_cluster=props["eks_cluster_name"],
        groups=tuple(WantedGroup.from_dict(group) for group in props["groups"]),
        owned=tuple(owned),
        defaults=dict(defaults or {}),
        floor_seconds=float(props["floor_minutes"]) * 60,
    )


def _names(props: Mapping[str, Any]) -> list[str]:
    return [group["name"] for group in props["groups"]]


class InstanceGroupsProvider(dynamic.ResourceProvider):
    """Keeps the groups of a cluster what the profile says; the stack deletes the cluster."""

    # The stored class holds no secret; leaving it readable keeps the state free of encrypted values.
    serialize_as_secret_always = False

    @one_message
    def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
        """Make the groups what they should be and wait for the floor."""
        return dynamic.CreateResult(
            id_=f"{props['cluster_name']}/instance-groups", outs=self._ensure(props, (), None)
        )

    @one_message
    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.UpdateResult:
        """The same, and remove the groups that are no longer wanted."""
        same_cluster = _olds.get("cluster_arn") == _news["cluster_arn"]
        owned = _olds.get("owned") or [] if same_cluster else []
        return dynamic.UpdateResult(outs=self._ensure(_news, owned, _olds.get("defaults")))

    @one_message
    def read(self, id_: str, props: dict[str, Any]) -> dynamic.ReadResult:
        """Look what differs from what was asked, and how far each group is."""
        request = _request(props, props.get("owned") or _names(props), props.get("defaults"))
        found = instance_groups.look(guarded_session(props), request)
        if found is None:
            return dynamic.ReadResult(id_="", outs={})
        outs = {
            **props,
            "drift": list(found.drift),
            "statuses": {name: asdict(status) for name, status in found.statuses.items()},
            "warnings": list(found.warnings),
        }
        return dynamic.ReadResult(id_=id_, outs=outs)

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.DiffResult:
        """Other groups wanted, another cluster under the same name, or a cluster that was changed by hand."""
        compared = ("cluster_arn", "eks_cluster_name", "groups", "aws_profile")
        changed = bool(_olds.get("drift")) or any(_olds.get(key) != _news.get(key) for key in compared)
        replaces = replaced(_olds, _news, ("cluster_name", "account", "region"))
        return dynamic.DiffResult(
            changes=bool(changed or replaces), replaces=replaces, delete_before_replace=True
        )

    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """Nothing: the stack that made the cluster deletes it with all groups."""

    def _ensure(
        self, props: Mapping[str, Any], owned: Sequence[str], defaults: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        outcome: Outcome = instance_groups.ensure(
            guarded_session(props), _request(props, owned, defaults), progress
        )
        return {
            **props,
            "owned": _names(props),
            "drift": [],
            "statuses": {name: asdict(status) for name, status in outcome.statuses.items()},
            "warnings": list(outcome.warnings),
            "defaults": outcome.defaults,
        }


class InstanceGroups(dynamic.Resource, module="hyperpod", name="InstanceGroups"):
    """The instance groups of a HyperPod cluster; ready when the floor's nodes are.

    Outputs: `statuses` (state, current, wanted and reason of each group), `warnings` (one for each group
    that is not ready), `owned` (the groups made here), `drift` (what the last look found changed) and
    `defaults` (execution role and lifecycle configuration for new groups).
    """

    statuses: pulumi.Output[dict[str, dict[str, Any]]]
    warnings: pulumi.Output[list[str]]
    owned: pulumi.Output[list[str]]
    drift: pulumi.Output[list[str]]
    defaults: pulumi.Output[dict[str, Any]]

    def __init__(
        self, name: str, args: InstanceGroupsArgs, *, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        props: dict[str, Any] = {
            "cluster_name": args.cluster_name,
            "cluster_arn": args.cluster_arn,
            "eks_cluster_name": args.eks_cluster_name,
            "account": args.account,
            "region": args.region,
            "aws_profile": args.aws_profile,
            "groups": [group.as_dict() for group in args.groups],
            "floor_minutes": args.floor_minutes,
            "statuses": None,
            "warnings": None,
            "owned": None,
            "drift": None,
            "defaults": None,
        }
        super().__init__(InstanceGroupsProvider(), name, props, opts)
        self.warnings.apply(_warn)


def _warn(warnings: list[str] | None) -> None:
    if not pulumi.runtime.is_dry_run():
        for warning in warnings or []:
            pulumi.log.warn(warning)
