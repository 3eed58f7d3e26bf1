"""Whether the pods of add-ons can run, and what that makes of the add-ons."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import Any, Protocol

from mlcc_rehearsal.cloud import durations
from mlcc_rehearsal.cloud.eks import addon_catalogue, workloads
from mlcc_rehearsal.cloud.eks.models import Cluster, EksBackend

_KEEPS_OFF = ("NO_SCHEDULE", "NO_EXECUTE")
_RUNS = ("ACTIVE", "UPDATING", "DEGRADED")
# Taints that the add-ons of EKS tolerate. Source: their manifests.
_TOLERATED = ("CriticalAddonsOnly",)

SHORT_OF_REPLICAS = "InsufficientNumberOfReplicas"


class Other(Protocol):
    """An add-on that is more than its workloads: it earns its status by what they do."""

    def obstacle(self, addon: Mapping[str, Any]) -> dict[str, Any] | None:
        """The issue that keeps it from being laid down, or None."""
        ...

    def objects(self, eks: EksBackend, cluster: Cluster, addon: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What it lays down."""
        ...

    def lay_down(self, eks: EksBackend, cluster: Cluster, addon: dict[str, Any]) -> None:
        """Put its objects into the cluster."""
        ...

    def take_away(self, eks: EksBackend, cluster: Cluster, addon: Mapping[str, Any]) -> None:
        """Take them out again."""
        ...


OTHERS: dict[str, Other] = {}
"""Such add-ons by name."""


def obstacle(
    eks: EksBackend, cluster: Cluster, addon: Mapping[str, Any], *, overwrite: bool
) -> dict[str, Any] | None:
    """The issue that keeps an add-on from being laid down, or None: the law "eks-addon-foreign-objects"."""
    other = OTHERS.get(addon["addonName"])
    issue = other.obstacle(addon) if other is not None else None
    if issue is not None or overwrite or cluster.kubernetes is None:
        return issue
    for each in _objects(eks, cluster, addon):
        if cluster.kubernetes.is_foreign(each):
            group = each["apiVersion"].partition("/")[0] if "/" in each["apiVersion"] else ""
            named = f"{each['kind']}{'.' + group if group else ''} {each['metadata']['name']}"
            return conflict(f"{named} - .metadata.labels")
    return None


def conflict(named: str) -> dict[str, Any]:
    """The issue of an add-on that met fields that somebody else manages, as EKS words it."""
    message = (
        "Conflicts found when trying to apply. Will not continue due to resolve conflicts mode. Conflicts:\n"
        f"{named}"
    )
    return {"code": "ConfigurationConflict", "message": message, "resourceIds": []}


def _objects(eks: EksBackend, cluster: Cluster, addon: Mapping[str, Any]) -> list[dict[str, Any]]:
    name = addon["addonName"]
    if name in OTHERS:
        return OTHERS[name].objects(eks, cluster, addon)
    on_fargate = runs_on_fargate(cluster, name)
    return workloads.of_addon(name, version=addon["addonVersion"], on_fargate=on_fargate)


def pods_can_run(cluster: Cluster, addon: str) -> bool:
    """Whether an add-on's Deployments find a node or a Fargate profile; add-ons of DaemonSets need neither.

    This is the law "eks-addon-replicas".
    """
    if addon not in workloads.NEEDS_PODS and addon not in OTHERS:
        return True
    if runs_on_fargate(cluster, addon):
        return True
    if any(_takes_pods(group.description, len(group.instances)) for group in cluster.node_groups.values()):
        return True
    # Nodes of HyperPod, or of nobody that EKS knows, are known only to the cluster itself.
    return cluster.kubernetes is not None and cluster.kubernetes.has_room_for(_TOLERATED)


def runs_on_fargate(cluster: Cluster, addon: str) -> bool:
    """Whether an ACTIVE Fargate profile takes the add-on's pods."""
    known = addon_catalogue.addons().get(addon)
    if known is None or "fargate" not in known["compute_types"]:
        return False
    labels = [{w.label[0]: w.label[1]} for w in workloads.WORKLOADS.get(addon, ()) if w.replicas]
    return any(
        profile["status"] == "ACTIVE"
        and fnmatch.fnmatchcase(known["namespace"], selector["namespace"])
        and all((selector.get("labels") or {}).items() <= each.items() for each in labels)
        for profile in cluster.fargate_profiles.values()
        for selector in profile["selectors"]
    )


def _takes_pods(group: dict[str, Any], nodes: int) -> bool:
    if group["status"] not in _RUNS or nodes == 0:
        return False
    return all(
        taint["effect"] not in _KEEPS_OFF or taint["key"] in _TOLERATED for taint in group.get("taints") or []
    )


def settle(eks: EksBackend, cluster: Cluster, addon: dict[str, Any]) -> None:
    """Give an add-on that was laid down or changed the status that its pods earn."""
    name = addon["addonName"]
    lay_down(eks, cluster, addon)
    if name in OTHERS and cluster.kubernetes is not None and cluster.kubernetes.objects is not None:
        return
    if pods_can_run(cluster, name):
        addon["status"] = "ACTIVE"
        addon["health"] = {"issues": []}
        return

    def degrade() -> None:
        if addon["status"] in ("CREATING", "UPDATING", "ACTIVE") and cluster.addons.get(name) is addon:
            if not pods_can_run(cluster, name):
                mark_degraded(addon)
            else:
                addon["status"] = "ACTIVE"

    eks.account.clock.after(durations.seconds("eks.addon.degraded"), degrade)


def mark_degraded(addon: dict[str, Any]) -> None:
    """DEGRADED for want of replicas, as EKS words it."""
    addon["status"] = "DEGRADED"
    message = (
        "The add-on is unhealthy because all deployments have all pods unscheduled no nodes available to "
        "schedule pods"
    )
    addon["health"] = {"issues": [{"code": SHORT_OF_REPLICAS, "message": message, "resourceIds": []}]}


def lay_down(eks: EksBackend, cluster: Cluster, addon: dict[str, Any]) -> None:
    """Put an add-on's objects into the cluster."""
    if addon["addonName"] in OTHERS:
        OTHERS[addon["addonName"]].lay_down(eks, cluster, addon)
    elif cluster.kubernetes is not None:
        cluster.kubernetes.put(*_objects(eks, cluster, addon))


def take_away(eks: EksBackend, cluster: Cluster, addon: dict[str, Any]) -> None:
    """Take an add-on's objects out of the cluster; namespaces stay."""
    if addon["addonName"] in OTHERS:
        OTHERS[addon["addonName"]].take_away(eks, cluster, addon)
    elif cluster.kubernetes is not None:
        objects = _objects(eks, cluster, addon)
        cluster.kubernetes.delete(*(each for each in objects if each["kind"] != "Namespace"))


def reconsider(eks: EksBackend, cluster: Cluster) -> None:
    """Nodes or Fargate profiles came or went: add-ons recover or degrade after a moment."""

    def look() -> None:
        live = cluster.kubernetes is not None and cluster.kubernetes.objects is not None
        for name, addon in cluster.addons.items():
            if name in OTHERS and live:
                continue
            short = any(issue["code"] == SHORT_OF_REPLICAS for issue in addon["health"]["issues"])
            can_run = pods_can_run(cluster, name)
            if can_run and ((addon["status"] == "CREATING" and addon.get("waits")) or short):
                addon["status"] = "ACTIVE"
                addon["health"] = {"issues": []}
                lay_down(eks, cluster, addon)
            elif not can_run and addon["status"] == "ACTIVE":
                mark_degraded(addon)

    eks.account.clock.after(durations.seconds("eks.addon.recover"), look)
