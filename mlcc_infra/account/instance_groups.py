"""A HyperPod cluster's instance groups, made what the profile says through UpdateCluster (rules 2 and 13)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from mlcc_infra import clock
from mlcc_infra.account import cluster_client, floor_nodes, hyperpod_events
from mlcc_infra.account.instance_group_plan import Cluster, WantedGroup, plan
from mlcc_infra.account.reader import error_code
from mlcc_infra.account.session import AccountSession
from mlcc_infra.errors import UserError

INTERVAL_SECONDS = 15.0
# A cluster in creation or update refuses UpdateCluster; both may take an hour (facts/limits.json, durations).
SETTLE_SECONDS = 3600.0
FLOOR_SECONDS = 3600.0
# How long an endpoint may be silent before the floor is taken as HyperPod alone reports it.
SILENCE_SECONDS = 180.0
_BUSY = ("Creating", "Updating", "SystemUpdating", "RollingBack")

READY, WAITING, STARTING, FAILED = "ready", "waiting for capacity", "starting", "failed"

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked of a cluster.

    `cluster` is the HyperPod cluster's name or ARN, `eks_cluster` the name of the EKS cluster below it;
    `owned` are the groups that an earlier run wanted, `defaults` the execution role and lifecycle
    configuration for new groups when the cluster has no group to take them from; `floor_seconds` is a
    limit in modelled seconds.
    """

    cluster: str
    eks_cluster: str
    groups: tuple[WantedGroup, ...]
    owned: tuple[str, ...] = ()
    defaults: dict[str, Any] | None = None
    floor_seconds: float = FLOOR_SECONDS

    @property
    def floor(self) -> tuple[WantedGroup, ...]:
        """The groups that are waited for."""
        return tuple(group for group in self.groups if group.floor)


@dataclass(frozen=True, kw_only=True)
class GroupStatus:
    """How far a group is: one of the states above, instances there and wanted, and why it is not ready."""

    state: str
    current: int
    wanted: int
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a request. `changes` tells what UpdateCluster was asked for, empty without a call."""

    statuses: dict[str, GroupStatus]
    warnings: tuple[str, ...]
    changes: tuple[str, ...]
    defaults: dict[str, Any]


def read_cluster(session: AccountSession, request: Request, before: Cluster | None = None) -> Cluster | None:
    """The cluster as it is now; None when there is none. An earlier look knows where the subnets are."""
    sagemaker = session.client("sagemaker")
    try:
        described = sagemaker.describe_cluster(ClusterName=request.cluster)
        pages = sagemaker.get_paginator("list_cluster_nodes").paginate(ClusterName=request.cluster)
        nodes = [node for page in pages for node in page["ClusterNodeSummaries"]]
    except ClientError as error:
        if error_code(error) == "ResourceNotFound":
            return None
        raise
    return Cluster(
        described=described,
        nodes=nodes,
        zones=_zones(session, described, before) if any(group.zone for group in request.groups) else {},
        defaults=request.defaults or {},
    )


def _zones(session: AccountSession, described: dict[str, Any], before: Cluster | None) -> dict[str, str]:
    configurations = [described.get("VpcConfig") or {}]
    configurations += [
        group.get("OverrideVpcConfig") or {} for group in described.get("InstanceGroups") or []
    ]
    subnets = sorted({subnet for item in configurations for subnet in item.get("Subnets") or []})
    known = dict(before.zones) if before else {}
    if all(subnet in known for subnet in subnets):
        return known
    answer = session.client("ec2").describe_subnets(SubnetIds=subnets)
    return {subnet["SubnetId"]: subnet["AvailabilityZoneId"] for subnet in answer["Subnets"]}


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a look at the cluster found: what differs from what was asked, and how far each group is."""

    drift: tuple[str, ...]
    statuses: dict[str, GroupStatus]
    warnings: tuple[str, ...]


def look(session: AccountSession, request: Request) -> Look | None:
    """The cluster against what was asked, without changing anything; None when there is no such cluster."""
    cluster = read_cluster(session, request)
    if cluster is None:
        return None
    wish = plan(cluster, request.groups, request.owned)
    statuses = {group.name: status_of(session, request, cluster, group) for group in request.groups}
    warnings = (*wish.warnings, *group_warnings(statuses))
    return Look(drift=wish.differences, statuses=statuses, warnings=warnings)


def ensure(session: AccountSession, request: Request, say: Say) -> Outcome:
    """Give the cluster the wanted groups and wait for the floor; other groups never hold it up.

    Raises `UserError` when the cluster is gone or failed, when the profile asks for what cannot be, while
    deep health checks run, and when the floor's nodes do not come in time, with the first real cause.
    """
    cluster = _settled(session, request, say)
    _raise_if_failed(session, request, cluster, None, groups=False)
    wish = plan(cluster, request.groups, request.owned)
    if wish.problems:
        raise UserError("\n  ".join(wish.problems), remedy="Change mlcc:hyperpod.instanceGroups.")
    call, since = wish.call, None
    if call is not None:
        if cluster.checking:
            raise UserError(
                "Instance groups cannot be changed while deep health checks run "
                f"({', '.join(cluster.checking)}). Wanted: {'; '.join(wish.differences)}.",
                remedy="Run `pulumi up` again when they are over: an hour or two for a GPU group.",
            )
        since = hyperpod_events.newest_time(session, request.cluster)
        say(f"Instance groups: {'; '.join(wish.differences)}")
        _update(session, request, call)
    lent = cluster.lent
    cluster, warnings = _await_floor(session, request, cluster, since, say)
    statuses = {group.name: status_of(session, request, cluster, group) for group in request.groups}
    return Outcome(
        statuses=statuses,
        warnings=(*wish.warnings, *warnings, *group_warnings(statuses)),
        changes=wish.differences if call else (),
        defaults=lent,
    )


def _existing(session: AccountSession, request: Request, before: Cluster | None = None) -> Cluster:
    cluster = read_cluster(session, request, before)
    if cluster is None:
        raise UserError(f"There is no HyperPod cluster {request.cluster} in {session.region}.")
    return cluster


def _settled(session: AccountSession, request: Request, say: Say) -> Cluster:
    deadline = clock.Deadline(SETTLE_SECONDS)
    said = ""
    cluster: Cluster | None = None
    while True:
        last = deadline.expired()
        cluster = _existing(session, request, cluster)
        status = cluster.described["ClusterStatus"]
        if status not in _BUSY:
            return cluster
        if last:
            raise UserError(
                f"The HyperPod cluster is still {status} after {SETTLE_SECONDS / 60:.0f} minutes."
            )
        if status != said:
            say(f"HyperPod cluster {request.cluster} is {status}")
            said = status
        clock.sleep(INTERVAL_SECONDS)


def _update(session: AccountSession, request: Request, call: dict[str, Any]) -> None:
    deadline = clock.Deadline(SETTLE_SECONDS)
    while True:
        try:
            session.client("sagemaker").update_cluster(ClusterName=request.cluster, **call)
        except ClientError as error:
            if error_code(error) != "ConflictException" or deadline.expired():
                raise
            clock.sleep(INTERVAL_SECONDS)
        else:
            return


def _await_floor(
    session: AccountSession, request: Request, before: Cluster, since: datetime | None, say: Say
) -> tuple[Cluster, tuple[str, ...]]:
    deadline = clock.Deadline(request.floor_seconds)
    silence: clock.Deadline | None = None
    said: list[str] = []
    cluster = before
    while True:
        last = deadline.expired()
        cluster = _existing(session, request, cluster)
        missing = floor_nodes.missing_in_hyperpod(cluster, request.floor)
        _raise_if_failed(session, request, cluster, since)
        if not missing:
            try:
                missing = floor_nodes.missing_in_kubernetes(cluster, request.floor, _nodes(session, request))
                silence = None
            except (cluster_client.ClusterUnreachableError, cluster_client.ClusterRefusedError) as error:
                silence = silence or clock.Deadline(SILENCE_SECONDS)
                missing = [str(error)]
                if silence.expired():
                    unseen = f"The floor's nodes could not be looked at in Kubernetes: {error}."
                    return cluster, (f"{unseen} HyperPod says that they run.",)
            if not missing:
                return cluster, ()
        if last:
            raise UserError(_too_late(session, request, missing, since))
        if missing != said:
            say(f"Waiting for the floor: {'; '.join(missing)}")
            said = missing
        clock.sleep(min(INTERVAL_SECONDS, deadline.remaining()))


def _nodes(session: AccountSession, request: Request) -> list[dict[str, Any]]:
    try:
        described = cluster_client.describe(session, request.eks_cluster)
    except cluster_client.ClusterGoneError as error:
        raise UserError(str(error)) from error
    with cluster_client.connect(session, described) as api:
        return api.items("/api/v1/nodes")


def _raise_if_failed(
    session: AccountSession,
    request: Request,
    cluster: Cluster,
    since: datetime | None,
    *,
    groups: bool = True,
) -> None:
    """Raise `UserError` for a failed cluster, and with `groups` for a failed floor group, saying why."""
    status = cluster.described["ClusterStatus"]
    failed = [
        group.name
        for group in request.floor
        if groups and cluster.groups.get(group.name, {}).get("Status") == "Failed"
    ]
    if status not in ("Failed", "Deleting") and not failed:
        return
    what = f"The HyperPod cluster is {status}" if status in ("Failed", "Deleting") else ""
    what = what or f"Instance group {', '.join(failed)} failed"
    reasons = _reasons(session, request, cluster, since)
    raise UserError(f"{what}: {'; latest: '.join(reasons) or 'HyperPod gives no reason'}")


def _reasons(
    session: AccountSession, request: Request, cluster: Cluster, since: datetime | None
) -> list[str]:
    names = [group.name for group in request.floor]
    found = hyperpod_events.causes(session, request.cluster, names, after=since)
    if found:
        return found
    messages = [cluster.described.get("FailureMessage")]
    messages += [
        node["InstanceStatus"].get("Message") for node in cluster.nodes if node["InstanceGroupName"] in names
    ]
    return [str(message) for message in messages if message][:1]


def _too_late(
    session: AccountSession, request: Request, missing: Sequence[str], since: datetime | None
) -> str:
    reasons = _reasons(session, request, _existing(session, request), since)
    why = f" First cause: {'; latest: '.join(reasons)}" if reasons else " HyperPod's events give no reason."
    limit = f"{request.floor_seconds / 60:.0f} minutes"
    return f"The nodes that the operator needs did not come within {limit}: {'; '.join(missing)}.{why}"


def status_of(session: AccountSession, request: Request, cluster: Cluster, group: WantedGroup) -> GroupStatus:
    """How far a group is; the reason is the text of its newest event that tells of trouble."""
    have = min(floor_nodes.current(cluster, group.name), floor_nodes.running(cluster, group.name))
    if have >= group.instance_count:
        return GroupStatus(state=READY, current=have, wanted=group.instance_count)
    reason = hyperpod_events.latest(session, request.cluster, group.name)
    failed = cluster.groups.get(group.name, {}).get("Status") == "Failed"
    state = FAILED if failed else WAITING if reason else STARTING
    return GroupStatus(state=state, current=have, wanted=group.instance_count, reason=reason)


def group_warnings(statuses: dict[str, GroupStatus]) -> tuple[str, ...]:
    """One warning for each group that is not ready."""
    return tuple(
        f"Instance group {name} is {status.state}: {status.current} of {status.wanted} instances run. "
        + (f"{status.reason} " if status.reason else "")
        + "Nothing was stopped for it."
        for name, status in statuses.items()
        if status.state != READY
    )
