"""What a profile has left in EC2 and in load balancing: by its tags, its stack's, and those of its clusters.

Things made by CloudFormation carry ``aws:cloudformation:stack-name`` (CloudFormation user guide, "Resource
tags"), those made by EKS, its controllers and the VPC CNI the cluster's name under the keys below (Amazon EKS
user guide, "Tag your resources"; AWS Load Balancer Controller, "Security groups"; amazon-vpc-cni-k8s).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mlcc_infra.account.cluster_leftovers import CONTROLLER_TAG, is_of_cluster, tag_batches
from mlcc_infra.account.orphans import Thing
from mlcc_infra.account.reader import Reader
from mlcc_infra.naming import Names
from mlcc_infra.tagging import STACK_NAME_TAG, TAG_PROFILE, TAG_RESOURCE, OwnerKind, owner_of

_CLUSTER_TAGS = (CONTROLLER_TAG, "cluster.k8s.amazonaws.com/name", "eks:cluster-name", "aws:eks:cluster-name")


def clusters_of(names: Names) -> tuple[str, str]:
    """The EKS clusters of a profile."""
    return names.eks_cluster, names.hyperpod_eks_cluster


def is_ours(reader: Reader, tags: Mapping[str, str]) -> bool:
    """Whether these tags are the profile's own."""
    return owner_of(tags, profile=reader.profile, region=reader.session.region).kind is OwnerKind.OURS


@dataclass(frozen=True)
class _Type:
    """How a type of EC2 is listed and deleted; `filter` is empty where the API has none for ids."""

    kind: str
    operation: str
    result: str
    key: str
    filter: str
    delete: str
    filter_argument: str = "Filters"


# By the prefix of their ids.
_TYPES: Mapping[str, _Type] = {
    "vpc": _Type("VPC", "describe_vpcs", "Vpcs", "VpcId", "vpc-id", "delete-vpc --vpc-id"),
    "subnet": _Type(
        "subnet", "describe_subnets", "Subnets", "SubnetId", "subnet-id", "delete-subnet --subnet-id"
    ),
    "igw": _Type(
        "internet gateway",
        "describe_internet_gateways",
        "InternetGateways",
        "InternetGatewayId",
        "internet-gateway-id",
        "delete-internet-gateway --internet-gateway-id",
    ),
    "eipalloc": _Type(
        "Elastic IP",
        "describe_addresses",
        "Addresses",
        "AllocationId",
        "allocation-id",
        "release-address --allocation-id",
    ),
    "nat": _Type(
        "NAT gateway",
        "describe_nat_gateways",
        "NatGateways",
        "NatGatewayId",
        "nat-gateway-id",
        "delete-nat-gateway --nat-gateway-id",
        "Filter",
    ),
    "rtb": _Type(
        "route table",
        "describe_route_tables",
        "RouteTables",
        "RouteTableId",
        "route-table-id",
        "delete-route-table --route-table-id",
    ),
    "sg": _Type(
        "security group",
        "describe_security_groups",
        "SecurityGroups",
        "GroupId",
        "group-id",
        "delete-security-group --group-id",
    ),
    "vpce": _Type(
        "VPC endpoint",
        "describe_vpc_endpoints",
        "VpcEndpoints",
        "VpcEndpointId",
        "",
        "delete-vpc-endpoints --vpc-endpoint-ids",
    ),
    "eni": _Type(
        "network interface",
        "describe_network_interfaces",
        "NetworkInterfaces",
        "NetworkInterfaceId",
        "network-interface-id",
        "delete-network-interface --network-interface-id",
    ),
    "lt": _Type(
        "launch template",
        "describe_launch_templates",
        "LaunchTemplates",
        "LaunchTemplateId",
        "",
        "delete-launch-template --launch-template-id",
    ),
    "vol": _Type(
        "volume", "describe_volumes", "Volumes", "VolumeId", "volume-id", "delete-volume --volume-id"
    ),
}
_GONE = ("deleted", "deleting")


def network(reader: Reader, names: Names) -> Iterator[Thing]:
    """What EC2 holds."""
    marked = {**_of_stack(reader, names), **_of_clusters(reader, names), **_of_profile(reader)}
    by_type: dict[str, _Marked] = {}
    for resource_id, mark in marked.items():
        by_type.setdefault(_prefix(resource_id), {})[resource_id] = mark
    for prefix, found in by_type.items():
        yield from _existing(reader, _TYPES[prefix], found)
    yield from _interfaces(reader, names)


#: What things are, and the owners of each, by id.
_Marked = dict[str, tuple[str, tuple[str, ...]]]


def _prefix(resource_id: str) -> str:
    return resource_id.partition("-")[0]


def _tagged(reader: Reader, keys: Iterable[str], values: Iterable[str]) -> list[dict[str, str]]:
    filters = [{"Name": "key", "Values": list(keys)}, {"Name": "value", "Values": list(values)}]
    found = reader.pages("ec2", "describe_tags", "Tags", Filters=filters)
    return [tag for tag in found if _prefix(tag["ResourceId"]) in _TYPES]


def _of_profile(reader: Reader) -> _Marked:
    marked: _Marked = {}
    candidates = {tag["ResourceId"] for tag in _tagged(reader, [TAG_PROFILE], [reader.profile])}
    if not candidates:
        return marked
    filters = [{"Name": "resource-id", "Values": sorted(candidates)}]
    tags: dict[str, dict[str, str]] = {}
    for tag in reader.pages("ec2", "describe_tags", "Tags", Filters=filters):
        tags.setdefault(tag["ResourceId"], {})[tag["Key"]] = tag["Value"]
    for resource_id in candidates:
        own = tags.get(resource_id, {})
        if is_ours(reader, own):
            name = own.get(TAG_RESOURCE, "").rpartition("/")[2]
            marked[resource_id] = (f"{name}, made for this profile", ())
    return marked


def _of_stack(reader: Reader, names: Names) -> _Marked:
    stack = names.hyperpod_stack
    return {
        tag["ResourceId"]: (f"made by CloudFormation stack {tag['Value']}", (stack,))
        for tag in _tagged(reader, [STACK_NAME_TAG], [stack, f"{stack}-*"])
        if tag["Value"] == stack or tag["Value"].startswith(f"{stack}-")
    }


def _of_clusters(reader: Reader, names: Names) -> _Marked:
    clusters = clusters_of(names)
    tags = [
        *((tag, tag["Value"]) for tag in _tagged(reader, _CLUSTER_TAGS, clusters)),
        *(
            (tag, tag["Key"].rpartition("/")[2])
            for tag in _tagged(reader, [f"kubernetes.io/cluster/{each}" for each in clusters], ["owned"])
        ),
    ]
    return {
        tag["ResourceId"]: (f"made in or by cluster {cluster}", (cluster,))
        for tag, cluster in tags
        if cluster in clusters and _prefix(tag["ResourceId"]) in ("sg", "eni", "vol")
    }


def _existing(reader: Reader, listed: _Type, found: _Marked) -> Iterator[Thing]:
    """Those that are still there: tags outlive what they were on."""
    arguments: dict[str, Any] = {}
    if listed.filter:
        arguments[listed.filter_argument] = [{"Name": listed.filter, "Values": sorted(found)}]
    client = reader.session.client("ec2")
    items = (
        reader.pages("ec2", listed.operation, listed.result, **arguments)
        if client.can_paginate(listed.operation)
        else getattr(client, listed.operation)(**arguments)[listed.result]
    )
    for item in items:
        resource_id = item[listed.key]
        if resource_id in found and str(item.get("State", "")).lower() not in _GONE:
            what, owners = found[resource_id]
            name = item.get("GroupName") or ""
            yield Thing(
                kind=listed.kind,
                id=resource_id,
                what=f"{name}, {what}" if name else what,
                delete=f"aws ec2 {listed.delete} {resource_id}",
                owners=owners,
            )


def _interfaces(reader: Reader, names: Names) -> Iterator[Thing]:
    """Interfaces without tags: those of control planes and of HyperPod's instances have a description."""
    owners = {
        **{f"Amazon EKS {cluster}": cluster for cluster in clusters_of(names)},
        f"SageMaker HyperPod {names.hyperpod_cluster} ": names.hyperpod_cluster,
    }
    filters = [{"Name": "description", "Values": [f"{text}*" for text in owners]}]
    for item in reader.pages("ec2", "describe_network_interfaces", "NetworkInterfaces", Filters=filters):
        description = item.get("Description", "")
        owner = next(
            (owner for text, owner in owners.items() if f"{description} ".startswith(f"{text.rstrip()} ")),
            None,
        )
        if owner is not None:
            interface = item["NetworkInterfaceId"]
            yield Thing(
                kind="network interface",
                id=interface,
                what=f"{item['Status']}, of cluster {owner}: {description}",
                delete=f"aws ec2 delete-network-interface --network-interface-id {interface}",
                owners=(owner,),
            )


def _owner_cluster(tags: Collection[Mapping[str, str]], names: Names) -> str | None:
    return next((cluster for cluster in clusters_of(names) if is_of_cluster(tags, cluster)), None)


def load_balancers(reader: Reader, names: Names) -> Iterator[Thing]:
    """Application and network load balancers, and their target groups."""
    client = reader.session.client("elbv2")
    for kind, operation, result, key, command in (
        (
            "load balancer",
            "describe_load_balancers",
            "LoadBalancers",
            "LoadBalancerArn",
            "delete-load-balancer --load-balancer-arn",
        ),
        (
            "target group",
            "describe_target_groups",
            "TargetGroups",
            "TargetGroupArn",
            "delete-target-group --target-group-arn",
        ),
    ):
        arns = [item[key] for item in reader.pages("elbv2", operation, result)]
        for batch in tag_batches(arns):
            for entry in client.describe_tags(ResourceArns=batch)["TagDescriptions"]:
                arn, cluster = entry["ResourceArn"], _owner_cluster(entry["Tags"], names)
                if cluster is not None:
                    what = f"made by a controller in cluster {cluster}"
                    delete = f"aws elbv2 {command} {arn}"
                    yield Thing(kind=kind, id=arn, what=what, delete=delete, owners=(cluster,))


def classic_load_balancers(reader: Reader, names: Names) -> Iterator[Thing]:
    """Classic load balancers."""
    client = reader.session.client("elb")
    found = [
        item["LoadBalancerName"]
        for item in reader.pages("elb", "describe_load_balancers", "LoadBalancerDescriptions")
    ]
    for batch in tag_batches(found):
        for entry in client.describe_tags(LoadBalancerNames=batch)["TagDescriptions"]:
            name, cluster = entry["LoadBalancerName"], _owner_cluster(entry["Tags"], names)
            if cluster is not None:
                yield Thing(
                    kind="classic load balancer",
                    id=name,
                    what=f"made by Kubernetes in cluster {cluster}",
                    delete=f"aws elb delete-load-balancer --load-balancer-name {name}",
                    owners=(cluster,),
                )
