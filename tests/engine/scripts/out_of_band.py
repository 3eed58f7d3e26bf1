"""Deleting resources of a stack behind its back, as somebody with a console would, and what AWS asks first.

`closed` adds to a choice whatever AWS wants gone before; `delete` takes them away through boto3, dependents
first, and waits for what AWS does in its own time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import boto3
from botocore.exceptions import ClientError

from tests.engine.scripts.hyperpod_acts import until

Resource = Mapping[str, Any]

ROLE, POLICY = "aws:iam/role:Role", "aws:iam/policy:Policy"
ATTACHMENT, INLINE = "aws:iam/rolePolicyAttachment:RolePolicyAttachment", "aws:iam/rolePolicy:RolePolicy"
PROVIDER = "aws:iam/openIdConnectProvider:OpenIdConnectProvider"
VPC, SUBNET, EIP = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet", "aws:ec2/eip:Eip"
GATEWAY, NAT = "aws:ec2/internetGateway:InternetGateway", "aws:ec2/natGateway:NatGateway"
TABLE, ROUTE = "aws:ec2/routeTable:RouteTable", "aws:ec2/route:Route"
ASSOCIATION = "aws:ec2/routeTableAssociation:RouteTableAssociation"
ENDPOINT, TAG = "aws:ec2/vpcEndpoint:VpcEndpoint", "aws:ec2/tag:Tag"
CLUSTER, NODES = "aws:eks/cluster:Cluster", "aws:eks/nodeGroup:NodeGroup"
FARGATE, ADDON = "aws:eks/fargateProfile:FargateProfile", "aws:eks/addon:Addon"
RELEASE = "kubernetes:helm.sh/v3:Release"
LOGS, PARAMETER = "aws:cloudwatch/logGroup:LogGroup", "aws:ssm/parameter:Parameter"
BUCKET, OBJECT = "aws:s3/bucket:Bucket", "aws:s3/bucketObjectv2:BucketObjectv2"
BLOCK = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
ENCRYPTION = "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
OWNERSHIP = "aws:s3/bucketOwnershipControls:BucketOwnershipControls"
BUCKET_POLICY = "aws:s3/bucketPolicy:BucketPolicy"
STACK = "aws:cloudformation/stack:Stack"

# What has to go before a thing can, or goes with it: (dependent, thing), where the dependent names the thing.
GOES_FIRST = {
    (ATTACHMENT, ROLE),
    (INLINE, ROLE),
    (ATTACHMENT, POLICY),
    (SUBNET, VPC),
    (GATEWAY, VPC),
    (TABLE, VPC),
    (ENDPOINT, VPC),
    (ASSOCIATION, SUBNET),
    (NAT, SUBNET),
    (CLUSTER, SUBNET),
    (NODES, SUBNET),
    (FARGATE, SUBNET),
    (NAT, EIP),
    (ROUTE, GATEWAY),
    (ROUTE, NAT),
    (ROUTE, TABLE),
    (ASSOCIATION, TABLE),
    (ENDPOINT, TABLE),
    (NODES, CLUSTER),
    (FARGATE, CLUSTER),
    (ADDON, CLUSTER),
    (OBJECT, BUCKET),
    (BLOCK, BUCKET),
    (ENCRYPTION, BUCKET),
    (OWNERSHIP, BUCKET),
    (BUCKET_POLICY, BUCKET),
}
# The same by type alone: addresses of NAT gateways hold the internet gateway, charts live in the cluster,
# and the template's stack takes its EKS cluster with what is on it, and its subnets.
OF_THE_TYPE = {(NAT, GATEWAY), (RELEASE, CLUSTER), (ADDON, STACK), (TAG, STACK)}
# Not taken by themselves: a tag and a release are no things of the account.
NEVER_FIRST = (TAG, RELEASE)


def resources(state: Any) -> list[Resource]:
    """The custom resources of an export that stand for something in the account or a cluster."""
    found = state["deployment"]["resources"]
    return [one for one in found if one.get("custom") and one["type"].startswith(("aws:", "kubernetes:"))]


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value


def _names(one: Resource, other: Resource) -> bool:
    """Whether a resource's inputs name another by id, or by ARN."""
    known = {other["id"], (other.get("outputs") or {}).get("arn")} - {None, ""}
    return any(text in known for text in _texts(one.get("inputs") or {}))


def _is_on(one: Resource, other: Resource) -> bool:
    """Both targets of a stack may have add-ons: those of the template's cluster go with the template."""
    return other["type"] != STACK or one["type"] != ADDON or "-hp-eks" in one["id"]


def closed(chosen: Iterable[Resource], everything: Sequence[Resource]) -> list[Resource]:
    """The choice with all that has to go before, dependents first."""
    urns = {one["urn"] for one in chosen}
    grown = True
    while grown:
        grown = False
        for one in everything:
            if one["urn"] in urns:
                continue
            for other in everything:
                pair = (one["type"], other["type"])
                bound = pair in GOES_FIRST and _names(one, other)
                if other["urn"] in urns and (bound or (pair in OF_THE_TYPE and _is_on(one, other))):
                    urns.add(one["urn"])
                    grown = True
                    break
    return [one for one in reversed(everything) if one["urn"] in urns]


def choose(seed: int, everything: Sequence[Resource], count: int) -> list[Resource]:
    """A seeded choice of so many resources, closed."""
    drawn = random.Random(seed)
    able = sorted(
        (one for one in everything if one["type"] not in NEVER_FIRST), key=lambda one: str(one["urn"])
    )
    return closed(drawn.sample(able, count), everything)


def _gone(call: Callable[[], Any], *codes: str) -> bool:
    try:
        found = call()
    except ClientError as error:
        if error.response["Error"]["Code"] in codes:
            return True
        raise
    return found in (None, [], "deleted")


def _part(one: Resource) -> tuple[str, str]:
    cluster, _, name = one["id"].partition(":")
    return cluster, name


def _delete(one: Resource) -> Callable[[], bool] | None:
    """Ask for one deletion; answers how to see that it is done, where that takes AWS a while."""
    iam, ec2, eks = boto3.client("iam"), boto3.client("ec2"), boto3.client("eks")
    s3, kind, identifier = boto3.client("s3"), one["type"], one["id"]
    inputs = one["inputs"]
    if kind in (NODES, FARGATE, ADDON):
        cluster, name = _part(one)
        parts: dict[str, tuple[Any, Any, str]] = {
            NODES: (eks.delete_nodegroup, eks.describe_nodegroup, "nodegroupName"),
            FARGATE: (eks.delete_fargate_profile, eks.describe_fargate_profile, "fargateProfileName"),
            ADDON: (eks.delete_addon, eks.describe_addon, "addonName"),
        }
        remove, describe, key = parts[kind]
        remove(clusterName=cluster, **{key: name})
        return lambda: _gone(
            lambda: describe(clusterName=cluster, **{key: name}), "ResourceNotFoundException"
        )
    if kind == CLUSTER:
        eks.delete_cluster(name=identifier)
        return lambda: _gone(lambda: eks.describe_cluster(name=identifier), "ResourceNotFoundException")
    if kind == STACK:
        cloudformation = boto3.client("cloudformation")
        cloudformation.delete_stack(StackName=identifier)
        return lambda: (
            cloudformation.describe_stacks(StackName=identifier)["Stacks"][0]["StackStatus"]
            == "DELETE_COMPLETE"
        )
    if kind == NAT:
        ec2.delete_nat_gateway(NatGatewayId=identifier)
        return lambda: (
            ec2.describe_nat_gateways(NatGatewayIds=[identifier])["NatGateways"][0]["State"] == "deleted"
        )
    if kind == GATEWAY:
        ec2.detach_internet_gateway(InternetGatewayId=identifier, VpcId=inputs["vpcId"])
    if kind == ATTACHMENT:
        iam.detach_role_policy(RoleName=inputs["role"], PolicyArn=inputs["policyArn"])
    elif kind == INLINE:
        iam.delete_role_policy(RoleName=inputs["role"], PolicyName=inputs["name"])
    elif kind == ROUTE:
        ec2.delete_route(
            RouteTableId=inputs["routeTableId"], DestinationCidrBlock=inputs["destinationCidrBlock"]
        )
    elif kind == OBJECT:
        s3.delete_object(Bucket=inputs["bucket"], Key=inputs["key"])
    elif kind not in (TAG, RELEASE):  # which go with what they are on
        _SIMPLE[kind](identifier)
    return None


def _simple(service: str, operation: str, argument: str) -> Callable[[str], Any]:
    return lambda identifier: getattr(boto3.client(service), operation)(**{argument: identifier})


_SIMPLE: dict[str, Callable[[str], Any]] = {
    ROLE: _simple("iam", "delete_role", "RoleName"),
    POLICY: _simple("iam", "delete_policy", "PolicyArn"),
    PROVIDER: _simple("iam", "delete_open_id_connect_provider", "OpenIDConnectProviderArn"),
    VPC: _simple("ec2", "delete_vpc", "VpcId"),
    SUBNET: _simple("ec2", "delete_subnet", "SubnetId"),
    EIP: _simple("ec2", "release_address", "AllocationId"),
    GATEWAY: _simple("ec2", "delete_internet_gateway", "InternetGatewayId"),
    TABLE: _simple("ec2", "delete_route_table", "RouteTableId"),
    ASSOCIATION: _simple("ec2", "disassociate_route_table", "AssociationId"),
    ENDPOINT: lambda identifier: boto3.client("ec2").delete_vpc_endpoints(VpcEndpointIds=[identifier]),
    LOGS: _simple("logs", "delete_log_group", "logGroupName"),
    PARAMETER: _simple("ssm", "delete_parameter", "Name"),
    BUCKET: _simple("s3", "delete_bucket", "Bucket"),
    BLOCK: _simple("s3", "delete_public_access_block", "Bucket"),
    ENCRYPTION: _simple("s3", "delete_bucket_encryption", "Bucket"),
    OWNERSHIP: _simple("s3", "delete_bucket_ownership_controls", "Bucket"),
    BUCKET_POLICY: _simple("s3", "delete_bucket_policy", "Bucket"),
}


def delete(chosen: Sequence[Resource]) -> None:
    """Delete what `closed` answered, in its order. Interfaces outlive nodes for minutes, so it is patient."""
    for one in chosen:
        until(lambda one=one: _tried(one))


def _tried(one: Resource) -> bool:
    try:
        done = _delete(one)
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code in ("DependencyViolation", "ResourceInUseException"):
            return False
        if code in ("NoSuchEntity", "ResourceNotFoundException", "NoSuchBucket"):
            return True  # it went with something else
        raise
    if done is not None:
        until(done)
    return True
