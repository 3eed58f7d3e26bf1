"""`SERVICE_ROLES`: the four roles that outlive clusters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mlcc_infra.policies.documents import Document, allow, bucket_read, document
from mlcc_infra.policies.roles import EKS, HYPERPOD, RoleContext, RoleEntry
from mlcc_infra.policies.trust import service_statement, trust, trusted_services

INSTANCE_POLICY: Final = "mlcc-hyperpod-instance"
_NETWORK_INTERFACE_ACTIONS: Final = (
    "ec2:AssignPrivateIpAddresses",
    "ec2:AttachNetworkInterface",
    "ec2:CreateNetworkInterface",
    "ec2:CreateNetworkInterfacePermission",
    "ec2:DeleteNetworkInterface",
    "ec2:DeleteNetworkInterfacePermission",
    "ec2:DetachNetworkInterface",
    "ec2:ModifyNetworkInterfaceAttribute",
    "ec2:UnassignPrivateIpAddresses",
)
_READ_ACTIONS: Final = (
    "ec2:DescribeDhcpOptions",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeInstances",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeTags",
    "ec2:DescribeVpcs",
    "ecr:BatchCheckLayerAvailability",
    "ecr:BatchGetImage",
    "ecr:GetAuthorizationToken",
    "ecr:GetDownloadUrlForLayer",
    "cloudwatch:DescribeAlarms",
)


def _service_trust(service: str) -> Any:
    def make(_: RoleContext, __: str | Mapping[str, Any] | None = None) -> Document:
        return trust(service_statement(service))

    return make


def _fargate_trust(context: RoleContext, _: str | Mapping[str, Any] | None = None) -> Document:
    profiles = context.arn("eks", f"fargateprofile/{context.names.eks_cluster}/*")
    condition = {"ArnLike": {"aws:SourceArn": profiles}}
    return trust(service_statement("eks-fargate-pods.amazonaws.com", condition=condition))


def _instance_trust(_: RoleContext, found: str | Mapping[str, Any] | None = None) -> Document:
    parts = [service_statement("sagemaker.amazonaws.com")]
    # No AWS text asks for EC2. A predecessor's role has it, and its running instances may rely on it.
    if found is not None and "ec2.amazonaws.com" in trusted_services(found):
        parts.append(service_statement("ec2.amazonaws.com"))
    return trust(*parts)


def _instance_inline(context: RoleContext) -> dict[str, Document]:
    # AWS's template grants the interface actions on each subnet and group by id, one policy each; this role
    # exists before any id does, so it grants them on the kinds of resources of the account and region.
    kinds = ("instance", "network-interface", "subnet", "security-group", "vpc")
    return {
        INSTANCE_POLICY: document(
            allow(
                _NETWORK_INTERFACE_ACTIONS,
                [context.arn("ec2", f"{kind}/*") for kind in kinds],
                sid="NetworkInterfaces",
            ),
            allow("ec2:CreateTags", context.arn("ec2", "network-interface/*"), sid="TagNetworkInterfaces"),
            # None of these actions supports resources, but for the image pulls, whose repositories AWS owns.
            allow(_READ_ACTIONS, "*", sid="Read"),
            allow(
                "eks-auth:AssumeRoleForPodIdentity",
                context.arn("eks", f"cluster/mlcc-{context.names.profile}-*"),
                sid="PodIdentity",
            ),
            *bucket_read(
                [context.names.lifecycle_bucket],
                partition=context.partition,
                account=context.account,
                sid="Lifecycle",
            ),
        )
    }


_TABLE: Final = (
    RoleEntry(
        key="eks-cluster-role",
        name_of="eks_cluster_role",
        description="EKS control plane of an mlcc-infra profile",
        targets=EKS,
        trust=_service_trust("eks.amazonaws.com"),
        managed_policies=("AmazonEKSClusterPolicy",),
        retained=True,
        source="EKS user guide, cluster IAM role",
    ),
    RoleEntry(
        key="eks-node-role",
        name_of="eks_node_role",
        description="Managed nodes of an mlcc-infra profile",
        targets=EKS,
        trust=_service_trust("ec2.amazonaws.com"),
        # The CNI's policy is here because vpc-cni must work before the cluster's OIDC provider exists.
        managed_policies=(
            "AmazonEC2ContainerRegistryPullOnly",
            "AmazonEKSWorkerNodePolicy",
            "AmazonEKS_CNI_Policy",
        ),
        retained=True,
        source="EKS user guide, node IAM role",
    ),
    RoleEntry(
        key="fargate-pod-exec-role",
        name_of="fargate_pod_exec_role",
        description="Fargate pods of an mlcc-infra profile",
        targets=EKS,
        trust=_fargate_trust,
        managed_policies=("AmazonEKSFargatePodExecutionRolePolicy",),
        retained=True,
        source="EKS user guide, pod execution role (with the condition against confused deputies)",
    ),
    RoleEntry(
        key="hyperpod-instance-role",
        name_of="hyperpod_instance_role",
        description="HyperPod instances of an mlcc-infra profile",
        targets=HYPERPOD,
        trust=_instance_trust,
        managed_policies=("AmazonSageMakerClusterInstanceRolePolicy",),
        inline=_instance_inline,
        path_rule="root",
        retained=True,
        source="SageMaker developer guide, IAM role for HyperPod (EKS); AWS's HyperPod template",
    ),
)

SERVICE_ROLES: Final[Mapping[str, RoleEntry]] = {entry.key: entry for entry in _TABLE}
"""The service roles by key; retained on destroy with their attachments and inline policies."""
