"""What people do to an account behind a stack's back, done to a rehearsed one.

Each change is one that a plain `pulumi up` has to find and repair, or to leave alone and name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mlcc_infra.cli.acts import rehearsed_endpoint
from mlcc_infra.cli.errors import CommandError

if TYPE_CHECKING:
    from mlcc_infra.profile import Profile

FOREIGN_POLICY = "AmazonS3ReadOnlyAccess"
_FOREIGN_SERVICE = "lambda.amazonaws.com"
_LOAD_BALANCER_TAGS = ("kubernetes.io/role/internal-elb", "kubernetes.io/role/elb")
#: Modelled seconds in which a deleted add-on is gone; it takes seconds.
_ADDON_GONE_SECONDS = 300.0


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a profile is broken: one of its roles, and an add-on of one of its clusters."""

    role: str
    cluster: str
    addon: str


def place(profile: Profile, account: str) -> Place:
    """Where to break what a profile's targets made: the first of them that has all it takes."""
    names = profile.names(account)
    if profile.has("vanilla-eks"):
        return Place(role=names.eks_node_role, cluster=names.eks_cluster, addon="coredns")
    if profile.has("hyperpod-eks"):
        return Place(
            role=names.hyperpod_instance_role, cluster=names.hyperpod_eks_cluster, addon="metrics-server"
        )
    cluster = profile.operator.cluster
    if cluster is None:
        raise CommandError(f"{profile.stack} has no target whose resources could be broken")
    return Place(
        role=names.operator_execution_role,
        cluster=cluster.eks_cluster_name,
        addon="metrics-server",
    )


def break_things(profile: Profile) -> Iterator[str]:
    """Change the account behind the stack's back; yields what was done, in words, as it is done.

    CommandError outside a rehearsal, before anything is changed.
    """
    import boto3

    endpoint = rehearsed_endpoint()

    def client(service: str) -> Any:
        return boto3.client(service, region_name=profile.region, endpoint_url=endpoint)

    where = place(profile, client("sts").get_caller_identity()["Account"])
    yield from _break_role(client("iam"), where.role)
    yield from _break_cluster(client("eks"), client("ec2"), where)


def _break_role(iam: Any, role: str) -> Iterator[str]:
    statement = {"Effect": "Allow", "Principal": {"Service": _FOREIGN_SERVICE}, "Action": "sts:AssumeRole"}
    trust = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    iam.update_assume_role_policy(RoleName=role, PolicyDocument=trust)
    yield f"role {role} trusts {_FOREIGN_SERVICE} and nobody else"
    attached = iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]
    if not attached:
        raise CommandError(f"role {role} carries no managed policy that could be detached")
    wanted = attached[0]
    iam.detach_role_policy(RoleName=role, PolicyArn=wanted["PolicyArn"])
    yield f"{wanted['PolicyName']} is detached from it"
    partition = wanted["PolicyArn"].split(":")[1]
    iam.attach_role_policy(RoleName=role, PolicyArn=f"arn:{partition}:iam::aws:policy/{FOREIGN_POLICY}")
    yield f"{FOREIGN_POLICY} is attached to it, which the profile knows nothing of"


def _break_cluster(eks: Any, ec2: Any, where: Place) -> Iterator[str]:
    eks.delete_addon(clusterName=where.cluster, addonName=where.addon)
    yield f"add-on {where.addon} of cluster {where.cluster} is deleted"
    vpc = eks.describe_cluster(name=where.cluster)["cluster"]["resourcesVpcConfig"]["vpcId"]
    for key in _LOAD_BALANCER_TAGS:
        filters = [{"Name": "vpc-id", "Values": [vpc]}, {"Name": "tag-key", "Values": [key]}]
        subnets = ec2.describe_subnets(Filters=filters)["Subnets"]
        if subnets:
            ec2.delete_tags(Resources=[subnets[0]["SubnetId"]], Tags=[{"Key": key}])
            yield f"tag {key} is taken off {subnets[0]['SubnetId']}"
            break
    _wait_until_gone(eks, where)


def _wait_until_gone(eks: Any, where: Place) -> None:
    from mlcc_infra.clock import wait_until

    def gone() -> bool:
        return where.addon not in eks.list_addons(clusterName=where.cluster)["addons"]

    wait_until(gone, _ADDON_GONE_SECONDS, 5.0)
