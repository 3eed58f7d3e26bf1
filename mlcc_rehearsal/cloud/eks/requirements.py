"""What EKS checks of roles and subnets before it makes anything."""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.cloud import laws
from mlcc_rehearsal.cloud.ec2.network import ec2_of, find_subnet, is_public
from mlcc_rehearsal.cloud.eks.errors import InvalidParameterException, UnsupportedAvailabilityZoneException
from mlcc_rehearsal.cloud.eks.models import EksBackend
from mlcc_rehearsal.cloud.iam.roles import find_role, lacking, name_in_arn, trusts
from mlcc_rehearsal.cloud.iam_evaluation import Principal

# Zones in which EKS makes no control planes. Source: Amazon EKS user guide, networking requirements.
EXCLUDED_ZONE_IDS = frozenset({"use1-az3", "usw1-az2", "cac1-az3"})

# What EKS does with the cluster role at the least. Source: Amazon EKS user guide, cluster IAM role: since
# 2023-10-03 a custom policy may replace AmazonEKSClusterPolicy.
_CLUSTER_ACTIONS = ("ec2:DescribeSubnets", "ec2:DescribeVpcs", "ec2:DescribeSecurityGroups")

# What each node does with its role. Source: Amazon EKS user guide, node IAM role.
_NODE_ACTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("AmazonEKSWorkerNodePolicy", ("ec2:DescribeInstances", "eks:DescribeCluster")),
    (
        "AmazonEC2ContainerRegistryPullOnly",
        ("ecr:GetAuthorizationToken", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"),
    ),
)
_CNI_ACTIONS = (
    "AmazonEKS_CNI_Policy",
    ("ec2:CreateNetworkInterface", "ec2:AssignPrivateIpAddresses", "ec2:AttachNetworkInterface"),
)


def check_cluster_role(eks: EksBackend, arn: str, cluster: str) -> None:
    """Refuse a cluster role that EKS cannot assume or that lacks what EKS does with it.

    :raises InvalidParameterException: as AWS words it.
    """
    if not trusts(eks.account, arn, Principal.service("eks.amazonaws.com")):
        message = (
            f"Role with arn: {arn}, could not be assumed because it does not exist or the trusted entity is "
            "not correct"
        )
        law = laws.CLUSTER_ROLE_TRUST if eks.account.is_visible(arn) else laws.IAM_PROPAGATION
        raise law.broken(InvalidParameterException(message, clusterName=cluster))
    absent = lacking(eks.account, arn, [(action, "*") for action in _CLUSTER_ACTIONS])
    if len(absent) == len(_CLUSTER_ACTIONS):
        message = (
            "The provided role doesn't have the Amazon EKS Managed Policies associated with it. Please "
            "ensure the "
            f"following policy is attached: arn:{eks.partition}:iam::aws:policy/AmazonEKSClusterPolicy"
        )
        raise laws.CLUSTER_ROLE_GRANTS.broken(InvalidParameterException(message, clusterName=cluster))
    if absent:
        message = f"IAM role's policy must include the `{absent[0]}` action"
        raise laws.CLUSTER_ROLE_GRANTS.broken(InvalidParameterException(message, clusterName=cluster))


def check_cluster_subnets(eks: EksBackend, subnet_ids: list[str], cluster: str) -> str:
    """Refuse subnets that a control plane cannot use; answers the id of their VPC.

    :raises InvalidParameterException: unknown subnets, one zone only, several VPCs.
    :raises UnsupportedAvailabilityZoneException: a zone without EKS control planes.
    """
    subnets = [existing_subnet(eks, subnet_id, cluster) for subnet_id in subnet_ids]
    if len({subnet.availability_zone for subnet in subnets}) < 2:
        message = "Subnets specified must be in at least two different AZs"
        raise laws.CLUSTER_SUBNETS.broken(InvalidParameterException(message, clusterName=cluster))
    vpcs = {subnet.vpc_id for subnet in subnets}
    if len(vpcs) > 1:
        message = "Subnets specified must be in the same VPC"
        raise laws.CLUSTER_SUBNETS.broken(InvalidParameterException(message, clusterName=cluster))
    for subnet in subnets:
        if subnet.availability_zone_id in EXCLUDED_ZONE_IDS:
            valid = offered_zones(eks)
            message = (
                f"Cannot create cluster '{cluster}' because {subnet.availability_zone}, the targeted "
                "availability "
                "zone, does not currently have sufficient capacity to support the cluster. Retry and "
                "choose from "
                f"these availability zones: {', '.join(valid)}"
            )
            raise laws.CLUSTER_ZONES.broken(
                UnsupportedAvailabilityZoneException(message, valid_zones=valid, clusterName=cluster)
            )
    return str(subnets[0].vpc_id)


def existing_subnet(eks: EksBackend, subnet_id: str, cluster: str) -> Any:
    """moto's subnet; :raises InvalidParameterException: when there is none with this id."""
    subnet = find_subnet(eks.account, eks.region_name, subnet_id)
    if subnet is None:
        message = (
            f"The subnet ID '{subnet_id}' does not exist (Service: AmazonEC2; Status Code: 400; "
            "Error Code: InvalidSubnetID.NotFound)"
        )
        raise laws.CLUSTER_SUBNETS.broken(
            InvalidParameterException(message, clusterName=cluster, subnetId=subnet_id)
        )
    return subnet


def existing_security_group(eks: EksBackend, group_id: str, cluster: str) -> Any:
    """moto's security group; :raises InvalidParameterException: when there is none with this id."""
    group = ec2_of(eks.account, eks.region_name).get_security_group_from_id(group_id)
    if group is None:
        message = (
            f"The security group '{group_id}' does not exist (Service: AmazonEC2; Status Code: 400; "
            "Error Code: InvalidGroup.NotFound)"
        )
        raise laws.CLUSTER_SUBNETS.broken(InvalidParameterException(message, clusterName=cluster))
    return group


def offered_zones(eks: EksBackend) -> list[str]:
    """Names of the region's zones in which EKS makes control planes."""
    zones = ec2_of(eks.account, eks.region_name).describe_availability_zones()
    return sorted(str(zone.name) for zone in zones if zone.zone_id not in EXCLUDED_ZONE_IDS)


def check_node_role(eks: EksBackend, arn: str, cluster: str) -> None:
    """Refuse a node role that does not exist or does not trust EC2.

    :raises InvalidParameterException: as AWS words it.
    """
    _existing_role(eks, arn, cluster, laws.NODE_ROLE_TRUST)
    if not trusts(eks.account, arn, Principal.service("ec2.amazonaws.com")):
        message = (
            "Following required service principals [ec2.amazonaws.com] were not found in the trust "
            "relationships "
            f"of nodeRole {arn}"
        )
        law = laws.NODE_ROLE_TRUST if eks.account.is_visible(arn) else laws.IAM_PROPAGATION
        raise law.broken(InvalidParameterException(message, clusterName=cluster))


def check_fargate_role(eks: EksBackend, arn: str, cluster: str, profile_arn: str) -> None:
    """Refuse a pod execution role that does not exist or that Fargate cannot assume for this profile.

    :raises InvalidParameterException: as AWS words it.
    """
    _existing_role(eks, arn, cluster, laws.FARGATE_ROLE_TRUST)
    context = {"aws:SourceArn": profile_arn, "aws:SourceAccount": eks.account_id}
    if not trusts(eks.account, arn, Principal.service("eks-fargate-pods.amazonaws.com"), context=context):
        message = (
            "Misconfigured PodExecutionRole Trust Policy; Please add the eks-fargate-pods.amazonaws.com "
            "Service "
            "Principal"
        )
        law = laws.FARGATE_ROLE_TRUST if eks.account.is_visible(arn) else laws.IAM_PROPAGATION
        raise law.broken(InvalidParameterException(message, clusterName=cluster))


def _existing_role(eks: EksBackend, arn: str, cluster: str, law: laws.Law) -> None:
    if find_role(eks.account, arn) is None:
        message = f"The role with name {name_in_arn(arn)} cannot be found."
        raise law.broken(InvalidParameterException(message, clusterName=cluster))


def check_private_subnet(eks: EksBackend, subnet_id: str, cluster: str) -> None:
    """Refuse a Fargate profile's subnet that has a route to an internet gateway.

    :raises InvalidParameterException: as AWS words it.
    """
    subnet = existing_subnet(eks, subnet_id, cluster)
    if is_public(eks.account, eks.region_name, subnet):
        message = f"Subnet {subnet_id} provided in Fargate Profile is not a private subnet"
        raise laws.FARGATE_SUBNETS.broken(InvalidParameterException(message, clusterName=cluster))


def node_role_gaps(eks: EksBackend, arn: str, *, cni_has_own_role: bool) -> list[tuple[str, list[str]]]:
    """What nodes with this role cannot do: (managed policy that would allow it, the actions)."""
    wanted = _NODE_ACTIONS if cni_has_own_role else (*_NODE_ACTIONS, _CNI_ACTIONS)
    gaps = []
    for policy, actions in wanted:
        absent = lacking(eks.account, arn, [(action, "*") for action in actions])
        if absent:
            gaps.append((policy, absent))
    return gaps
