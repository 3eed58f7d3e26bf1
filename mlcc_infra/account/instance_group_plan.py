"""Which UpdateCluster call, if any, gives a HyperPod cluster the profile's instance groups. Pure.

Sources: facts of the API in botocore 1.44.8 (ClusterInstanceGroupSpecification and …Details); rule 13 of
hyperpod_native.md. Whether groups that a call omits stay or go is unverified on AWS, so a call always
carries the whole set and names removals besides. Images are never sent: they change through
UpdateClusterSoftware.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

# Reported by DescribeCluster under the name that UpdateCluster takes, and sent back as found.
_CARRIED = (
    "InstanceType",
    "LifeCycleConfig",
    "ExecutionRole",
    "ThreadsPerCore",
    "InstanceStorageConfigs",
    "OnStartDeepHealthChecks",
    "TrainingPlanArn",
    "OverrideVpcConfig",
    "ScheduledUpdateConfig",
    "CapacityRequirements",
    "NetworkInterface",
    "EnvironmentConfig",
)
_DEEP_CHECKS = "DeepHealthCheckInProgress"

Specification = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class WantedGroup:
    """One instance group as the profile wants it. What is None or empty stays as it is found.

    Labels and taints are the exception: those of the profile are all there are. `zone` is a zone id;
    `floor` marks a group that `up` waits for.
    """

    name: str
    instance_type: str
    instance_count: int
    min_instance_count: int | None = None
    zone: str | None = None
    threads_per_core: int | None = None
    ebs_volume_size: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Mapping[str, str]] = ()
    deep_health_checks: Sequence[str] = ()
    training_plan_arn: str | None = None
    floor: bool = False

    def as_dict(self) -> dict[str, Any]:
        """For the state: plain values."""
        return {**asdict(self), "taints": [dict(item) for item in self.taints],
                "deep_health_checks": list(self.deep_health_checks)}  # fmt: skip

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> WantedGroup:
        """From the state, where numbers may have become floating."""
        known = {key: value for key, value in values.items() if key in cls.__dataclass_fields__}
        for key in ("instance_count", "min_instance_count", "threads_per_core", "ebs_volume_size"):
            if known.get(key) is not None:
                known[key] = int(known[key])
        return cls(**known)


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """What DescribeCluster, ListClusterNodes and DescribeSubnets answer about a cluster.

    `zones` gives the zone id of each subnet that matters; `defaults` the ExecutionRole and LifeCycleConfig
    for new groups when no group is left to take them from.
    """

    described: Mapping[str, Any]
    nodes: Sequence[Mapping[str, Any]] = ()
    zones: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @property
    def groups(self) -> dict[str, Mapping[str, Any]]:
        """DescribeCluster's instance groups by name, in its order."""
        return {group["InstanceGroupName"]: group for group in self.described.get("InstanceGroups") or []}

    @property
    def checking(self) -> tuple[str, ...]:
        """Groups with a node under deep health checks."""
        return tuple(
            sorted(
                {
                    node["InstanceGroupName"]
                    for node in self.nodes
                    if (node.get("InstanceStatus") or {}).get("Status") == _DEEP_CHECKS
                }
            )
        )

    @property
    def lent(self) -> dict[str, Any]:
        """ExecutionRole and LifeCycleConfig as the cluster's first group has them."""
        first = next(iter(self.groups.values()), {})
        found = {key: first[key] for key in ("ExecutionRole", "LifeCycleConfig") if first.get(key)}
        return found if "ExecutionRole" in found else dict(self.defaults)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The call to make: none when `differences` is empty. `problems` forbid it, `warnings` do not."""

    instance_groups: tuple[Specification, ...] = ()
    restricted_groups: tuple[Specification, ...] = ()
    to_delete: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def call(self) -> dict[str, Any] | None:
        """UpdateCluster's arguments but for the cluster's name; None when nothing is to change."""
        if not self.differences or self.problems:
            return None
        arguments: dict[str, Any] = {"InstanceGroups": list(self.instance_groups)}
        if self.restricted_groups:
            arguments["RestrictedInstanceGroups"] = list(self.restricted_groups)
        if self.to_delete:
            arguments["InstanceGroupsToDelete"] = list(self.to_delete)
        return arguments


def rebuilt(group: Mapping[str, Any]) -> Specification:
    """The specification that describes a group as DescribeCluster found it."""
    found: Specification = {
        "InstanceGroupName": group["InstanceGroupName"],
        "InstanceCount": int(group.get("TargetCount") or 0),
    }
    if group.get("MinCount"):
        found["MinInstanceCount"] = int(group["MinCount"])
    found |= {key: group[key] for key in _CARRIED if group.get(key)}
    environment = found.get("EnvironmentConfig")
    if environment:
        found["EnvironmentConfig"] = {k: v for k, v in environment.items() if k == "FSxLustreConfig"}
    requirements = group.get("InstanceRequirements") or {}
    types = requirements.get("DesiredInstanceTypes") or requirements.get("CurrentInstanceTypes")
    if types:
        found.pop("InstanceType", None)
        found["InstanceRequirements"] = {"InstanceTypes": list(types)}
    kubernetes = _kubernetes_config(group.get("KubernetesConfig") or {})
    if any(kubernetes.values()):
        found["KubernetesConfig"] = kubernetes
    patching = _patching(group.get("AutoPatchConfig") or {})
    if patching:
        found["AutoPatchConfig"] = patching
    return found


def _kubernetes_config(found: Mapping[str, Any]) -> dict[str, Any]:
    """Labels and taints as they are to become, else as they are."""
    labels = found["DesiredLabels"] if "DesiredLabels" in found else found.get("CurrentLabels")
    taints = found["DesiredTaints"] if "DesiredTaints" in found else found.get("CurrentTaints")
    return {"Labels": dict(labels or {}), "Taints": [_taint(item) for item in taints or ()]}


def _taint(taint: Mapping[str, str]) -> dict[str, str]:
    kept = {"Key": taint["Key"], "Effect": taint["Effect"]}
    return {**kept, "Value": taint["Value"]} if taint.get("Value") else kept


def _patching(found: Mapping[str, Any]) -> dict[str, Any]:
    schedule = found.get("DesiredPatchSchedule") or found.get("CurrentPatchSchedule")
    kept = {k: v for k, v in found.items() if v and not k.endswith("PatchSchedule")}
    return {**kept, "PatchSchedule": schedule} if schedule and kept else kept


def changed(found: Specification, wanted: WantedGroup) -> Specification:
    """A group's specification with the profile's wishes laid over it."""
    target = dict(found)
    target["InstanceCount"] = wanted.instance_count
    if "InstanceRequirements" not in target or wanted.instance_type not in _types(target):
        target.pop("InstanceRequirements", None)
        target["InstanceType"] = wanted.instance_type
    optional = {
        "MinInstanceCount": wanted.min_instance_count,
        "ThreadsPerCore": wanted.threads_per_core,
        "OnStartDeepHealthChecks": list(wanted.deep_health_checks) or None,
        "TrainingPlanArn": wanted.training_plan_arn,
    }
    target |= {key: value for key, value in optional.items() if value is not None}
    if wanted.ebs_volume_size is not None:
        target["InstanceStorageConfigs"] = _with_volume(
            target.get("InstanceStorageConfigs") or [], wanted.ebs_volume_size
        )
    taints = [
        _taint({"Key": item["key"], "Effect": item["effect"], "Value": item.get("value", "")})
        for item in wanted.taints
    ]
    if wanted.labels or taints or "KubernetesConfig" in found:
        # Empty ones are sent as such: it is the only way to take the last one away.
        target["KubernetesConfig"] = {"Labels": dict(wanted.labels), "Taints": taints}
    return target


def _types(specification: Specification) -> list[str]:
    return list(specification["InstanceRequirements"]["InstanceTypes"])


def _with_volume(storage: Sequence[Mapping[str, Any]], size: int) -> list[dict[str, Any]]:
    """Storage with the secondary volume of this size; root volume and file systems stay."""

    def is_secondary(item: Mapping[str, Any]) -> bool:
        volume = item.get("EbsVolumeConfig")
        return volume is not None and not volume.get("RootVolume")

    if not any(is_secondary(item) for item in storage):
        return [*map(dict, storage), {"EbsVolumeConfig": {"VolumeSizeInGB": size}}]
    return [
        {"EbsVolumeConfig": {**item["EbsVolumeConfig"], "VolumeSizeInGB": size}} if is_secondary(item)
        else dict(item)
        for item in storage
    ]  # fmt: skip


def _comparable(value: Any) -> Any:
    """A value in which what says nothing is left out and order counts only where it does."""
    if isinstance(value, Mapping):
        kept = {key: _comparable(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in (None, {}, [], "", False)}
    if isinstance(value, (list, tuple)):
        return sorted((_comparable(item) for item in value), key=repr)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _differences(found: Specification, target: Specification) -> list[str]:
    left, right = _comparable(found), _comparable(target)
    name = target["InstanceGroupName"]
    return [
        f"{name}: {key} {_shown(left.get(key))} → {_shown(right.get(key))}"
        for key in sorted({*left, *right})
        if left.get(key) != right.get(key)
    ]


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)


def plan(cluster: Cluster, wanted: Sequence[WantedGroup], owned: Collection[str]) -> Plan:
    """What to send so that the cluster has the wanted groups.

    `owned` are groups that an earlier run wanted: those no longer wanted are removed. A group that nobody
    here ever wanted belongs to somebody else (an adopted cluster, the console): it is sent as it is found,
    and named in a warning.
    """
    found = cluster.groups
    names = {group.name for group in wanted}
    gone = tuple(name for name in found if name in owned and name not in names)
    foreign = [name for name in found if name not in names and name not in gone]
    specifications: dict[str, Specification] = {
        name: rebuilt(group) for name, group in found.items() if name not in gone
    }
    differences = [f"{name}: to be removed" for name in gone]
    problems: list[str] = []
    warnings = [
        f"Instance group {name} is not in the profile and was not made by it: it stays as it is."
        for name in foreign
    ]
    for group in wanted:
        if group.name in found:
            before = specifications[group.name]
            _check_place(cluster, group, before, problems, warnings)
            specifications[group.name] = changed(before, group)
            differences += _differences(before, specifications[group.name])
        else:
            specifications[group.name] = _new(cluster, group, problems)
            differences.append(f"{group.name}: to be made, {group.instance_count} × {group.instance_type}")
    return Plan(
        instance_groups=tuple(specifications.values()),
        restricted_groups=tuple(
            rebuilt(group) for group in cluster.described.get("RestrictedInstanceGroups") or []
        ),
        to_delete=gone,
        differences=tuple(differences),
        problems=tuple(problems),
        warnings=tuple(warnings),
    )


def _check_place(
    cluster: Cluster, wanted: WantedGroup, found: Specification, problems: list[str], warnings: list[str]
) -> None:
    if wanted.zone is None:
        return
    own = (found.get("OverrideVpcConfig") or {}).get("Subnets") or []
    zones = {cluster.zones.get(subnet) for subnet in own or _subnets(cluster)} - {None}
    if not zones or wanted.zone in zones:
        return
    where = ", ".join(sorted(str(zone) for zone in zones))
    if own:
        problems.append(
            f"Instance group {wanted.name} is in {where} and cannot move to {wanted.zone}: "
            "give it another name, so that it is made anew."
        )
    else:
        warnings.append(
            f"Instance group {wanted.name} is in the cluster's own subnets ({where}), not in {wanted.zone}."
        )


def _subnets(cluster: Cluster) -> list[str]:
    return list((cluster.described.get("VpcConfig") or {}).get("Subnets") or [])


def _new(cluster: Cluster, wanted: WantedGroup, problems: list[str]) -> Specification:
    lent = cluster.lent
    if "ExecutionRole" not in lent:
        problems.append(
            f"Instance group {wanted.name} cannot be made: the cluster has no group left whose execution "
            "role it could take."
        )
    made: Specification = {"InstanceGroupName": wanted.name, **lent}
    if wanted.zone is not None:
        inside = [subnet for subnet in _subnets(cluster) if cluster.zones.get(subnet) == wanted.zone]
        if inside:
            security_groups = (cluster.described.get("VpcConfig") or {}).get("SecurityGroupIds") or []
            made["OverrideVpcConfig"] = {"SecurityGroupIds": list(security_groups), "Subnets": inside[:1]}
        else:
            has = ", ".join(sorted({cluster.zones[s] for s in _subnets(cluster) if s in cluster.zones}))
            problems.append(
                f"Instance group {wanted.name} wants {wanted.zone}, where the cluster has no subnet; it has "
                f"subnets in {has or 'no known zone'}."
            )
    return changed(made, wanted)
