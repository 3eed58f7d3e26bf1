"""EKS: clusters and what lives inside them, found by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlcc_infra.account.decisions import Wanted
from mlcc_infra.account.import_ids import import_id
from mlcc_infra.account.reader import Found, Reader

_ABSENT = ("ResourceNotFoundException",)
# EKS is at work on a cluster, node group, Fargate profile or add-on in these (EKS API reference, `status`).
_UNDER_WAY = frozenset({"CREATING", "UPDATING", "DELETING", "PENDING"})


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
    return Found(
        import_id=identifier,
        resource_id=identifier,
        tags=cluster.get("tags", {}),
        under_way=_under_way(cluster),
    )


def _under_way(thing: Mapping[str, Any]) -> str:
    status = str(thing.get("status", ""))
    return status if status in _UNDER_WAY else ""


# What lives in a cluster, by type: the operation that describes it, how its name is passed, the answer's key.
_PARTS: Mapping[str, tuple[str, str, str]] = {
    "aws:eks/nodeGroup:NodeGroup": ("describe_nodegroup", "nodegroupName", "nodegroup"),
    "aws:eks/fargateProfile:FargateProfile": (
        "describe_fargate_profile",
        "fargateProfileName",
        "fargateProfile",
    ),
    "aws:eks/addon:Addon": ("describe_addon", "addonName", "addon"),
}


def describe_part(reader: Reader, token: str, cluster: str, name: str) -> dict[str, Any] | None:
    """What lives in a cluster, by its Pulumi type, or None when either is not there."""
    if describe_cluster(reader, cluster) is None:
        return None
    operation, argument, result = _PARTS[token]
    call = getattr(reader.session.client("eks"), operation)
    return reader.optional(
        (operation, cluster, name),
        lambda: dict(call(clusterName=cluster, **{argument: name})[result]),
        _ABSENT,
    )


def _part(token: str) -> Callable[[Reader, Wanted], Found | None]:
    """The lookup of something identified by (cluster, name): import id `cluster:name`."""

    def look_up(reader: Reader, wanted: Wanted) -> Found | None:
        cluster, name = wanted.lookup["cluster"], wanted.lookup["name"]
        part = describe_part(reader, token, cluster, name)
        if part is None:
            return None
        identifier = import_id(wanted.key[0], cluster=cluster, name=name)
        return Found(
            import_id=identifier,
            resource_id=identifier,
            tags=part.get("tags") or {},
            under_way=_under_way(part),
        )

    return look_up


LOOKUPS: Mapping[str, Callable[[Reader, Wanted], Found | None]] = {
    "aws:eks/cluster:Cluster": _cluster,
    **{token: _part(token) for token in _PARTS},
}
