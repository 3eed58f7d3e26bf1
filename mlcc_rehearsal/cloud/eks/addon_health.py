"""Whether the pods of add-ons can run, and what that makes of the add-ons."""

from __future__ import annotations

import fnmatch
from typing import Any

from mlcc_rehearsal.cloud import durations
from mlcc_rehearsal.cloud.eks import addon_catalogue, workloads
from mlcc_rehearsal.cloud.eks.models import Cluster, EksBackend

_KEEPS_OFF = ("NO_SCHEDULE", "NO_EXECUTE")
_RUNS = ("ACTIVE", "UPDATING", "DEGRADED")
# Taints that the add-ons of EKS tolerate. Source: their manifests.
_TOLERATED = ("CriticalAddonsOnly",)

SHORT_OF_REPLICAS = "InsufficientNumberOfReplicas"


def pods_can_run(cluster: Cluster, addon: str) -> bool:
    """Whether an add-on's Deployments find a node or a Fargate profile; add-ons of DaemonSets need neither.

    This is the law "eks-addon-replicas".
    """
    if addon not in workloads.NEEDS_PODS:
        return True
    if runs_on_fargate(cluster, addon):
        return True
    return any(_takes_pods(group.description, len(group.instances)) for group in cluster.node_groups.values())


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
    lay_down(cluster, addon)
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


def lay_down(cluster: Cluster, addon: dict[str, Any]) -> None:
    """Put an add-on's workloads into the cluster."""
    name = addon["addonName"]
    if cluster.kubernetes is not None:
        on_fargate = runs_on_fargate(cluster, name)
        cluster.kubernetes.put(
            *workloads.of_addon(name, version=addon["addonVersion"], on_fargate=on_fargate)
        )


def take_away(cluster: Cluster, name: str) -> None:
    """Take an add-on's workloads out of the cluster; namespaces stay."""
    if cluster.kubernetes is not None:
        objects = workloads.of_addon(name, version="", on_fargate=False)
        cluster.kubernetes.delete(*(each for each in objects if each["kind"] != "Namespace"))


def reconsider(eks: EksBackend, cluster: Cluster) -> None:
    """Nodes or Fargate profiles came or went: add-ons recover or degrade after a moment."""

    def look() -> None:
        for name, addon in cluster.addons.items():
            short = any(issue["code"] == SHORT_OF_REPLICAS for issue in addon["health"]["issues"])
            can_run = pods_can_run(cluster, name)
            if can_run and ((addon["status"] == "CREATING" and addon.get("waits")) or short):
                addon["status"] = "ACTIVE"
                addon["health"] = {"issues": []}
                lay_down(cluster, addon)
            elif not can_run and addon["status"] == "ACTIVE":
                mark_degraded(addon)

    eks.account.clock.after(durations.seconds("eks.addon.recover"), look)
