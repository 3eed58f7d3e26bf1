"""Which subnets a load balancer gets.

Sources: aws-load-balancer-controller, guide "Subnet discovery" (role tags, and tags of other clusters);
facts/hyperpod_native.md rule 11 (one a zone); kubernetes/cloud-provider-aws (the in-tree controller).
"""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.cloud.ec2.network import ec2_of, is_public
from mlcc_rehearsal.cloud.eks.models import Cluster, EksBackend
from mlcc_rehearsal.cloud.load_balancers.groups import vpc_of

_PUBLIC, _INTERNAL = "kubernetes.io/role/elb", "kubernetes.io/role/internal-elb"


class NoSubnetsError(Exception):
    """No load balancer can be made in this network; the text is the controller's."""


def by_tags(eks: EksBackend, cluster: Cluster, *, internal: bool, zones: int) -> list[str]:
    """The subnets that the load balancer controller discovers: the law "load-balancer-subnets".

    :raises NoSubnetsError: too few zones, or more than one subnet in a zone.
    """
    role = _INTERNAL if internal else _PUBLIC
    found = [each for each in _all(eks, cluster) if _tags(eks, each).get(role) in ("", "1")]
    found = [each for each in found if not _of_another_cluster(_tags(eks, each), cluster.name)]
    by_zone: dict[str, list[str]] = {}
    for subnet in found:
        by_zone.setdefault(subnet.availability_zone, []).append(subnet.id)
    for zone, ids in sorted(by_zone.items()):
        if len(ids) > 1:
            listed = " ".join(sorted(ids))
            raise NoSubnetsError(
                f"couldn't auto-discover subnets: multiple subnets found for same Availability Zone {zone}: "
                f"[{listed}]"
            )
    if not by_zone:
        raise NoSubnetsError(
            "couldn't auto-discover subnets: unable to resolve at least one subnet "
            f"(0 match VPC and tags: [{role}])"
        )
    if len(by_zone) < zones:
        raise NoSubnetsError(
            "couldn't auto-discover subnets: subnets count less than minimal required count: "
            f"{len(by_zone)} < {zones}"
        )
    return sorted(ids[0] for ids in by_zone.values())


def by_routes(eks: EksBackend, cluster: Cluster, *, internal: bool) -> list[str]:
    """The subnets that Kubernetes' own service controller takes: one a zone, tagged ones first.

    :raises NoSubnetsError: there are none.
    """
    role = _INTERNAL if internal else _PUBLIC
    found = [
        each
        for each in _all(eks, cluster)
        if not _of_another_cluster(_tags(eks, each), cluster.name)
        and (internal or is_public(eks.account, eks.region_name, each))
    ]
    by_zone: dict[str, Any] = {}
    for subnet in sorted(found, key=lambda each: (role not in _tags(eks, each), each.id)):
        by_zone.setdefault(subnet.availability_zone, subnet)
    if not by_zone:
        raise NoSubnetsError("could not find any suitable subnets for creating the ELB")
    return sorted(subnet.id for subnet in by_zone.values())


def _all(eks: EksBackend, cluster: Cluster) -> list[Any]:
    subnets = ec2_of(eks.account, eks.region_name).subnets
    return [each for zone in subnets.values() for each in zone.values() if each.vpc_id == vpc_of(cluster)]


def _tags(eks: EksBackend, subnet: Any) -> dict[str, str]:
    tags: dict[str, str] = ec2_of(eks.account, eks.region_name).tags.get(subnet.id, {})
    return tags


def _of_another_cluster(tags: dict[str, str], cluster: str) -> bool:
    prefix = "kubernetes.io/cluster/"
    clusters = {key.removeprefix(prefix) for key in tags if key.startswith(prefix)}
    return bool(clusters) and cluster not in clusters
