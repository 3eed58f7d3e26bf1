"""EKS: clusters and what lives inside them, found by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlcc_infra.account.decisions import Wanted
from mlcc_infra.account.import_ids import import_id
from mlcc_infra.account.reader import Found, Reader

_ABSENT = ("ResourceNotFoundException",)


def describe_cluster(reader: Reader, name: str) -> dict[str, Any] | None:
    """EKS DescribeCluster, or None when there is no such cluster."""
    client = reader.session.client("eks")
    return reader.optional(
        ("eks-cluster", name), lambda: dict(client.describe_cluster(name=name)["cluster"]), _ABSENT
    )


def _cluster(reader: Reader, wanted: Wanted) -> Found | None:
    cluster = describe_cluster(reader, wanted.lookup["cluster"])
    if cluster is None:
        return None
    identifier = import_id("aws:eks/cluster:Cluster", cluster=cluster["name"])
    return Found(import_id=identifier, resource_id=identifier, tags=cluster.get("tags", {}))


def _part(operation: str, argument: str, result: str) -> Callable[[Reader, Wanted], Found | None]:
    """The lookup of something identified by (cluster, name): import id `cluster:name`."""

    def look_up(reader: Reader, wanted: Wanted) -> Found | None:
        cluster, name = wanted.lookup["cluster"], wanted.lookup["name"]
        if describe_cluster(reader, cluster) is None:
            return None
        call = getattr(reader.session.client("eks"), operation)
        part = reader.optional(
            (operation, cluster, name),
            lambda: call(clusterName=cluster, **{argument: name})[result],
            _ABSENT,
        )
        if part is None:
            return None
        identifier = import_id(wanted.key[0], cluster=cluster, name=name)
        return Found(import_id=identifier, resource_id=identifier, tags=part.get("tags") or {})

    return look_up


LOOKUPS: Mapping[str, Callable[[Reader, Wanted], Found | None]] = {
    "aws:eks/cluster:Cluster": _cluster,
    "aws:eks/nodeGroup:NodeGroup": _part("describe_nodegroup", "nodegroupName", "nodegroup"),
    "aws:eks/fargateProfile:FargateProfile": _part(
        "describe_fargate_profile", "fargateProfileName", "fargateProfile"
    ),
    "aws:eks/addon:Addon": _part("describe_addon", "addonName", "addon"),
}
