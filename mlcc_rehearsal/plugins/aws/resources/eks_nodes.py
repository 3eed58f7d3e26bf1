"""EKS node groups and Fargate profiles.

Sources: terraform-provider-aws ``internal/service/eks/{node_group,fargate_profile}.go``. A node group
that ends in CREATE_FAILED stays in the state with its issues named; Fargate profiles of a cluster are
made and removed one after the other.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from mlcc_rehearsal.plugins.aws.calling import Call
from mlcc_rehearsal.plugins.aws.definition import MINUTE, AutoName, Definition, Timeouts
from mlcc_rehearsal.plugins.aws.resources._common import (
    checks,
    compound,
    conflicts,
    length,
    physical_name,
    pruned,
)
from mlcc_rehearsal.plugins.aws.resources._eks import (
    GONE,
    existing,
    gone,
    issues,
    pair,
    said,
    tagging,
    update_done,
    waiting,
)

# The API's names of taint effects are the provider's too; what Kubernetes calls them differs.
_FARGATE_LOCKS: dict[str, threading.Lock] = defaultdict(threading.Lock)


def _group(call: Call) -> dict[str, Any] | None:
    cluster, name = pair(call.id)
    return existing(call, "describe_nodegroup", "nodegroup", clusterName=cluster, nodegroupName=name)


def _template(block: Mapping[str, Any] | None, *, by: str = "") -> dict[str, Any] | None:
    if not block:
        return None
    names = ("id", "version") if by == "id" else ("name", "version") if by else ("id", "name", "version")
    found = {name: block.get(name) or None for name in names}
    if found.get("id") and found.get("name"):
        found["name"] = None
    return pruned(found)


def _taints(items: list[Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    return [
        {"key": item["key"], "value": item.get("value") or "", "effect": item["effect"]}
        for item in items or []
    ]


def _create_group(call: Call) -> str:
    given = call.inputs
    cluster, name = str(given["clusterName"]), physical_name(call, "nodeGroupName")
    remote = given.get("remoteAccess")
    request = {
        "clusterName": cluster,
        "nodegroupName": name,
        "nodeRole": given["nodeRoleArn"],
        "subnets": given["subnetIds"],
        "amiType": given.get("amiType"),
        "capacityType": given.get("capacityType"),
        "diskSize": given.get("diskSize"),
        "instanceTypes": given.get("instanceTypes") or None,
        "labels": given.get("labels") or None,
        "launchTemplate": _template(given.get("launchTemplate")),
        "nodeRepairConfig": given.get("nodeRepairConfig"),
        "releaseVersion": given.get("releaseVersion"),
        "remoteAccess": pruned(
            {
                "ec2SshKey": remote.get("ec2SshKey"),
                "sourceSecurityGroups": remote.get("sourceSecurityGroupIds"),
            }
        )
        if remote
        else None,
        "scalingConfig": given["scalingConfig"],
        "taints": _taints(given.get("taints")) or None,
        "updateConfig": given.get("updateConfig"),
        "version": given.get("version"),
        "tags": call.tags or None,
    }
    call.aws("eks", "create_nodegroup", **request)
    call.id = f"{cluster}:{name}"

    def refresh() -> tuple[Any, str]:
        found = _group(call)
        return found, str(found["status"]) if found else ""

    waiting(
        f"EKS Node Group ({call.id}) create",
        lambda: call.wait(refresh, pending=("CREATING",), target=("ACTIVE",), reason=issues),
    )
    return call.id


def _read_group(call: Call) -> dict[str, Any] | None:
    found = _group(call)
    if found is None:
        return None
    resources, remote = found.get("resources") or {}, found.get("remoteAccess")
    template, scaling = found.get("launchTemplate"), found.get("scalingConfig")
    return {
        "amiType": found.get("amiType"),
        "arn": found["nodegroupArn"],
        "capacityType": found.get("capacityType"),
        "clusterName": found["clusterName"],
        "diskSize": found.get("diskSize") or 0,
        "instanceTypes": list(found.get("instanceTypes") or []),
        "labels": dict(found.get("labels") or {}),
        "launchTemplate": pruned({name: template.get(name) for name in ("id", "name", "version")})
        if template
        else None,
        "nodeGroupName": found["nodegroupName"],
        "nodeGroupNamePrefix": "",
        "nodeRepairConfig": {"enabled": bool((found.get("nodeRepairConfig") or {}).get("enabled"))},
        "nodeRoleArn": found["nodeRole"],
        "releaseVersion": found.get("releaseVersion"),
        "remoteAccess": {
            "ec2SshKey": remote.get("ec2SshKey") or "",
            "sourceSecurityGroupIds": list(remote.get("sourceSecurityGroups") or []),
        }
        if remote
        else None,
        "resources": [
            {
                "autoscalingGroups": [
                    {"name": item["name"]} for item in resources.get("autoScalingGroups") or []
                ],
                "remoteAccessSecurityGroupId": resources.get("remoteAccessSecurityGroup") or "",
            }
        ],
        "scalingConfig": {name: scaling.get(name, 0) for name in ("desiredSize", "maxSize", "minSize")}
        if scaling
        else None,
        "status": found["status"],
        "subnetIds": list(found.get("subnets") or []),
        "tags": dict(found.get("tags") or {}),
        "taints": _taints(found.get("taints")),
        "updateConfig": pruned(dict(found.get("updateConfig") or {})) or None,
        "version": found.get("version"),
    }


def _label_change(call: Call) -> dict[str, Any] | None:
    have, want = dict(call.state.get("labels") or {}), dict(call.inputs.get("labels") or {})
    change = {
        "addOrUpdateLabels": {key: value for key, value in want.items() if have.get(key) != value},
        "removeLabels": sorted(have.keys() - want.keys()),
    }
    return {key: value for key, value in change.items() if value} or None


def _taint_change(call: Call) -> dict[str, Any] | None:
    have, want = _taints(call.state.get("taints")), _taints(call.inputs.get("taints"))
    kept = {(taint["key"], taint["effect"]) for taint in want}
    change = {
        "addOrUpdateTaints": [taint for taint in want if taint not in have],
        "removeTaints": [taint for taint in have if (taint["key"], taint["effect"]) not in kept],
    }
    return {key: value for key, value in change.items() if value} or None


def _update_group(call: Call) -> None:
    given = call.inputs
    cluster, name = pair(call.id)
    if call.changed("launchTemplate", "releaseVersion", "version"):
        answer = call.aws(
            "eks",
            "update_nodegroup_version",
            clusterName=cluster,
            nodegroupName=name,
            force=bool(given.get("forceUpdateVersion")),
            launchTemplate=_template(
                given.get("launchTemplate"), by="name" if call.changed("launchTemplate.name") else "id"
            )
            if given.get("launchTemplate")
            else None,
            releaseVersion=given.get("releaseVersion") if call.changed("releaseVersion") else None,
            version=given.get("version") if call.changed("version") else None,
        )
        update_done(call, f"EKS Node Group ({call.id}) version update", cluster, answer, nodegroupName=name)
    blocks = ("scalingConfig", "updateConfig", "nodeRepairConfig")
    if call.changed("labels", "taints", *blocks):
        answer = call.aws(
            "eks",
            "update_nodegroup_config",
            clusterName=cluster,
            nodegroupName=name,
            labels=_label_change(call),
            taints=_taint_change(call),
            **{block: given.get(block) for block in blocks if call.changed(block)},
        )
        update_done(call, f"EKS Node Group ({call.id}) config update", cluster, answer, nodegroupName=name)


def _delete_group(call: Call) -> None:
    cluster, name = pair(call.id)
    if call.find("eks", "delete_nodegroup", GONE, clusterName=cluster, nodegroupName=name) is not None:
        gone(call, f"EKS Node Group ({call.id})", lambda: _group(call), "ACTIVE", "DELETING")


NODE_GROUP = Definition(
    token="aws:eks/nodeGroup:NodeGroup",
    label="EKS Node Group",
    create=_create_group,
    read=_read_group,
    update=_update_group,
    delete=_delete_group,
    imports=compound(
        "cluster-name:node-group-name", "my-cluster:my-group", ":", "clusterName", "nodeGroupName"
    ),
    name=AutoName("nodeGroupName"),
    tagging=tagging(),
    replace=frozenset(
        {
            "amiType",
            "capacityType",
            "clusterName",
            "diskSize",
            "instanceTypes",
            "launchTemplate.id",
            "launchTemplate.name",
            "nodeGroupName",
            "nodeGroupNamePrefix",
            "nodeRoleArn",
            "remoteAccess",
            "subnetIds",
        }
    ),
    computed=frozenset(
        {
            "amiType",
            "capacityType",
            "diskSize",
            "instanceTypes",
            "launchTemplate.id",
            "launchTemplate.name",
            "nodeGroupName",
            "nodeGroupNamePrefix",
            "nodeRepairConfig",
            "releaseVersion",
            "updateConfig",
            "version",
        }
    ),
    unread=frozenset({"forceUpdateVersion"}),
    ordered=frozenset({"instanceTypes"}),
    timeouts=Timeouts(create=60 * MINUTE, update=60 * MINUTE, delete=60 * MINUTE),
    recomputed={"releaseVersion": ("version",)},
    title=lambda properties: f"{properties.get('clusterName')}:{properties.get('nodeGroupName')}",
    validate=checks(length("nodeGroupName", 0, 63), conflicts("nodeGroupName", "nodeGroupNamePrefix")),
)

# Fargate profiles


def _profile(call: Call) -> dict[str, Any] | None:
    cluster, name = pair(call.id)
    return existing(
        call, "describe_fargate_profile", "fargateProfile", clusterName=cluster, fargateProfileName=name
    )


def _create_profile(call: Call) -> str:
    given = call.inputs
    cluster, name = str(given["clusterName"]), str(given["fargateProfileName"])
    with _FARGATE_LOCKS[cluster]:
        said(
            call,
            ("Misconfigured PodExecutionRole Trust Policy",),
            lambda: call.aws(
                "eks",
                "create_fargate_profile",
                clusterName=cluster,
                fargateProfileName=name,
                podExecutionRoleArn=given["podExecutionRoleArn"],
                subnets=given.get("subnetIds") or None,
                selectors=[
                    pruned({"namespace": item["namespace"], "labels": item.get("labels") or None})
                    for item in given["selectors"]
                ],
                tags=call.tags or None,
            ),
        )
        call.id = f"{cluster}:{name}"

        def refresh() -> tuple[Any, str]:
            found = _profile(call)
            return found, str(found["status"]) if found else ""

        waiting(
            f"EKS Fargate Profile ({call.id}) create",
            lambda: call.wait(refresh, pending=("CREATING",), target=("ACTIVE",)),
        )
    return call.id


def _read_profile(call: Call) -> dict[str, Any] | None:
    found = _profile(call)
    if found is None:
        return None
    return {
        "arn": found["fargateProfileArn"],
        "clusterName": found["clusterName"],
        "fargateProfileName": found["fargateProfileName"],
        "podExecutionRoleArn": found["podExecutionRoleArn"],
        "selectors": [
            {"namespace": item.get("namespace"), "labels": dict(item.get("labels") or {})}
            for item in found.get("selectors") or []
        ],
        "status": found["status"],
        "subnetIds": list(found.get("subnets") or []),
        "tags": dict(found.get("tags") or {}),
    }


def _delete_profile(call: Call) -> None:
    cluster, name = pair(call.id)
    with _FARGATE_LOCKS[cluster]:
        answer = call.find(
            "eks", "delete_fargate_profile", GONE, clusterName=cluster, fargateProfileName=name
        )
        if answer is not None:
            gone(call, f"EKS Fargate Profile ({call.id})", lambda: _profile(call), "ACTIVE", "DELETING")


FARGATE_PROFILE = Definition(
    token="aws:eks/fargateProfile:FargateProfile",
    label="EKS Fargate Profile",
    create=_create_profile,
    read=_read_profile,
    delete=_delete_profile,
    imports=compound(
        "cluster-name:fargate-profile-name", "my-cluster:my-profile", ":", "clusterName", "fargateProfileName"
    ),
    name=AutoName("fargateProfileName"),
    tagging=tagging(),
    replace=frozenset({"clusterName", "fargateProfileName", "podExecutionRoleArn", "selectors", "subnetIds"}),
    timeouts=Timeouts(create=10 * MINUTE, delete=10 * MINUTE),
    title=lambda properties: f"{properties.get('clusterName')}:{properties.get('fargateProfileName')}",
)

DEFINITIONS = (NODE_GROUP, FARGATE_PROFILE)
