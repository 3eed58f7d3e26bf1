"""Fargate profiles: one change at a time in a cluster, never edited."""

from __future__ import annotations

import fnmatch
import hashlib
from typing import Any

from mlcc_rehearsal.cloud import durations, laws
from mlcc_rehearsal.cloud.ec2.network import find_subnet
from mlcc_rehearsal.cloud.eks import access, addon_health, workloads
from mlcc_rehearsal.cloud.eks.errors import (
    InvalidParameterException,
    InvalidRequestException,
    ResourceInUseException,
    ResourceNotFoundException,
)
from mlcc_rehearsal.cloud.eks.models import Cluster, EksBackend
from mlcc_rehearsal.cloud.eks.node_groups import require_active
from mlcc_rehearsal.cloud.eks.operations import operation, page
from mlcc_rehearsal.cloud.eks.requirements import check_fargate_role, check_private_subnet
from mlcc_rehearsal.cloud.eks.tags import checked

_MOST_SELECTORS = 5
_MOST_LABELS = 5
# Nodes put for a profile: room for the two replicas of coredns.
_NODES = 2


def _find(eks: EksBackend, parameters: dict[str, Any]) -> tuple[Cluster, dict[str, Any]]:
    cluster = eks.cluster(parameters["clusterName"])
    name = parameters["fargateProfileName"]
    if name not in cluster.fargate_profiles:
        message = f"No Fargate Profile found with name: {name}."
        raise ResourceNotFoundException(message, clusterName=cluster.name, fargateProfileName=name)
    return cluster, cluster.fargate_profiles[name]


@operation("CreateFargateProfile")
def create_fargate_profile(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Begin to make a Fargate profile."""
    cluster = eks.cluster(parameters["clusterName"])
    name = parameters["fargateProfileName"]
    members = {"clusterName": cluster.name, "fargateProfileName": name}
    if name in cluster.fargate_profiles:
        message = "A Fargate Profile already exists with this name in this cluster."
        raise laws.NODE_GROUP_EXISTS.broken(ResourceInUseException(message, clusterName=cluster.name))
    require_active(cluster)
    selectors = parameters.get("selectors") or []
    _check_selectors(selectors, members)
    _require_none_deleting(cluster, "create")
    arn = eks.arn("fargateprofile", cluster.name, name, eks.new_id())
    check_fargate_role(eks, parameters["podExecutionRoleArn"], cluster.name, arn)
    for subnet_id in parameters.get("subnets") or []:
        check_private_subnet(eks, subnet_id, cluster.name)
    profile: dict[str, Any] = {
        "fargateProfileName": name,
        "fargateProfileArn": arn,
        "clusterName": cluster.name,
        "createdAt": eks.account.clock.timestamp(),
        "podExecutionRoleArn": parameters["podExecutionRoleArn"],
        "subnets": list(parameters.get("subnets") or cluster.description["resourcesVpcConfig"]["subnetIds"]),
        "selectors": selectors,
        "status": "CREATING",
        "tags": checked(parameters.get("tags")),
        "health": {"issues": []},
    }
    cluster.fargate_profiles[name] = profile
    access.enter_nodes(eks, cluster, parameters["podExecutionRoleArn"], "FARGATE_LINUX")

    def active() -> None:
        if profile["status"] == "CREATING":
            profile["status"] = "ACTIVE"
            _put_nodes(eks, cluster, profile)
            addon_health.reconsider(eks, cluster)

    eks.account.clock.after(durations.seconds("eks.fargate_profile.create"), active)
    return {"fargateProfile": profile}


def _check_selectors(selectors: list[dict[str, Any]], members: dict[str, str]) -> None:
    message = None
    if not selectors:
        message = "Fargate Profile requires at least one selector."
    elif len(selectors) > _MOST_SELECTORS:
        message = f"Fargate Profile cannot have more than {_MOST_SELECTORS} selectors."
    elif any(not selector.get("namespace") for selector in selectors):
        message = "Fargate Profile must have at least one selector with at least one namespace value."
    elif any(len(selector.get("labels") or {}) > _MOST_LABELS for selector in selectors):
        message = f"Request contains Selector with more than {_MOST_LABELS} Label pairs"
    if message is not None:
        raise laws.FARGATE_SELECTORS.broken(InvalidParameterException(message, **members))


def _require_none_deleting(cluster: Cluster, verb: str) -> None:
    for name, profile in cluster.fargate_profiles.items():
        if profile["status"] == "DELETING":
            message = (
                f"Cannot {verb} Fargate Profile because cluster {cluster.name} currently has Fargate "
                f"profile {name} in status DELETING"
            )
            raise laws.FARGATE_ONE_DELETING.broken(ResourceInUseException(message, clusterName=cluster.name))


def _put_nodes(eks: EksBackend, cluster: Cluster, profile: dict[str, Any]) -> None:
    """Nodes for the pods that the profile will carry; real Fargate makes one when it starts a pod."""
    if cluster.kubernetes is not None and selects(profile, "kube-system"):
        cluster.kubernetes.put(*_nodes(eks, profile))


def _nodes(eks: EksBackend, profile: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for index in range(_NODES):
        subnet_id = profile["subnets"][index % len(profile["subnets"])]
        subnet = find_subnet(eks.account, eks.region_name, subnet_id)
        zone = str(subnet.availability_zone) if subnet is not None else ""
        number = hashlib.sha256(f"{profile['fargateProfileArn']}/{index}".encode()).digest()
        address = f"10.0.{number[0]}.{number[1] % 250 + 4}"
        name = f"fargate-ip-{address.replace('.', '-')}.{eks.region_name}.compute.internal"
        found.append(workloads.fargate_node(name, address, zone))
    return found


def selects(profile: dict[str, Any], namespace: str) -> bool:
    """Whether pods of the namespace that carry no labels of a selector's own may run on the profile."""
    return any(
        fnmatch.fnmatchcase(namespace, selector["namespace"]) and not selector.get("labels")
        for selector in profile["selectors"]
    )


@operation("DescribeFargateProfile")
def describe_fargate_profile(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """One Fargate profile."""
    return {"fargateProfile": _find(eks, parameters)[1]}


@operation("ListFargateProfiles")
def list_fargate_profiles(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Names of a cluster's Fargate profiles."""
    names = sorted(eks.cluster(parameters["clusterName"]).fargate_profiles)
    return page(names, parameters, "fargateProfileNames")


@operation("DeleteFargateProfile")
def delete_fargate_profile(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Begin to delete a Fargate profile."""
    cluster, profile = _find(eks, parameters)
    _require_none_deleting(cluster, "delete")
    if profile["status"] == "CREATING":
        message = (
            f"Cannot delete Fargate Profile {profile['fargateProfileName']} because it is in status CREATING"
        )
        raise laws.CLUSTER_STATE.broken(InvalidRequestException(message, clusterName=cluster.name))
    profile["status"] = "DELETING"

    def gone() -> None:
        if cluster.kubernetes is not None:
            cluster.kubernetes.delete(*_nodes(eks, profile))
        cluster.fargate_profiles.pop(profile["fargateProfileName"], None)
        addon_health.reconsider(eks, cluster)

    eks.account.clock.after(durations.seconds("eks.fargate_profile.delete"), gone)
    return {"fargateProfile": profile}
