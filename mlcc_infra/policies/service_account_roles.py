"""`SERVICE_ACCOUNT_ROLES`: roles that pods assume through the cluster's OIDC provider (IRSA)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

from mlcc_infra.policies.documents import Document, allow, bucket_access, bucket_read, document
from mlcc_infra.policies.roles import EKS, OPERATOR, RoleContext, RoleEntry
from mlcc_infra.policies.trust import service_statement, subject, trust, web_identity_statement

OPERATOR_NAMESPACE: Final = "hyperpod-inference-system"
ALB_SERVICE_ACCOUNT: Final = "aws-load-balancer-controller"
MODEL_POLICY: Final = "mlcc-model-access"
OPERATOR_POLICY: Final = "mlcc-inference-operator"
KEDA_POLICY: Final = "mlcc-keda-metrics"
CREATED_BY: Final = "HyperPodInference"


def _web_identity_trust(*subjects: str, services: Sequence[str] = ()) -> Any:
    def make(context: RoleContext, _: str | Mapping[str, Any] | None = None) -> Document:
        return trust(
            *(service_statement(service) for service in services),
            web_identity_statement(
                context.issuer, subjects, account=context.account, partition=context.partition
            ),
        )

    return make


def _inference_trust(context: RoleContext, _: str | Mapping[str, Any] | None = None) -> Document:
    subjects = [subject(*entry.split(":", 1)) for entry in context.service_accounts]
    return trust(
        web_identity_statement(context.issuer, subjects, account=context.account, partition=context.partition)
    )


def _model_read(context: RoleContext) -> dict[str, Document]:
    found = bucket_read(
        context.model_buckets, partition=context.partition, account=context.account, sid="Models"
    )
    return {MODEL_POLICY: document(*found)} if found else {}


def _model_mount(context: RoleContext) -> dict[str, Document]:
    # The actions that Mountpoint for S3 documents, on the buckets named in the profile.
    found = bucket_access(
        context.model_buckets,
        ("s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject"),
        partition=context.partition,
        account=context.account,
        sid="Models",
    )
    return {MODEL_POLICY: document(*found)} if found else {}


def _keda_inline(context: RoleContext) -> dict[str, Document]:
    return {
        KEDA_POLICY: document(
            # CloudWatch's metric actions do not support resources.
            allow(
                ("cloudwatch:GetMetricData", "cloudwatch:GetMetricStatistics", "cloudwatch:ListMetrics"),
                "*",
                sid="Metrics",
            ),
            allow(
                ("aps:GetLabels", "aps:GetMetricMetadata", "aps:GetSeries", "aps:QueryMetrics"),
                context.arn("aps", "workspace/*"),
                sid="Prometheus",
            ),
        )
    }


def _operator_inline(context: RoleContext) -> dict[str, Document]:
    """What the operator needs beside AmazonSageMakerHyperPodInferenceAccess v4.

    That policy writes the type of endpoint configurations wrongly and asks for a tag on certificates that do
    not exist yet. Whether DescribeEndpointConfig and a first ImportCertificate are denied under v4 alone is
    unverified on AWS.
    """
    certificates = context.arn("acm", "certificate/*")
    role = context.names.operator_execution_role
    return {
        OPERATOR_POLICY: document(
            allow(
                "sagemaker:DescribeEndpointConfig",
                context.arn("sagemaker", "endpoint-config/*"),
                sid="EndpointConfigs",
            ),
            allow("acm:AddTagsToCertificate", certificates, sid="TagCertificates"),
            allow(
                "acm:ImportCertificate",
                certificates,
                sid="ImportCertificates",
                condition={"StringEquals": {"aws:RequestTag/CreatedBy": CREATED_BY}},
            ),
            *bucket_access(
                [context.tls_bucket or context.names.tls_bucket],
                ("s3:DeleteObject", "s3:GetObject", "s3:PutObject", "s3:PutObjectTagging"),
                partition=context.partition,
                account=context.account,
                sid="Tls",
            ),
            allow(
                "iam:PassRole",
                f"arn:{context.partition}:iam::{context.account}:role/{role}",
                sid="PassItself",
                condition={"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}},
            ),
        )
    }


@cache
def _alb_controller_statements() -> str:
    data = (
        files("mlcc_infra.policies").joinpath("data/alb_controller_policy.json").read_text(encoding="utf-8")
    )
    return json.dumps(json.loads(data)["policy"])


def alb_controller_policy(partition: str = "aws") -> Document:
    """The AWS Load Balancer Controller's own policy, for a customer managed policy.

    Data of kubernetes-sigs/aws-load-balancer-controller (Apache-2.0), the same from v2.13.0 to v3.5.0.
    Outside the standard partition the project publishes variants; they differ in the partition of the ARNs
    and in services that are absent there, of which only the first is done here.
    """
    text = _alb_controller_statements()
    policy: Document = json.loads(
        text if partition == "aws" else text.replace("arn:aws:", f"arn:{partition}:")
    )
    return policy


_OPERATOR_SUBJECT: Final = subject(OPERATOR_NAMESPACE, "hyperpod-inference-controller-manager")

_TABLE: Final = (
    RoleEntry(
        key="eks-inference-role",
        name_of="eks_inference_role",
        description="Model pods of an mlcc-infra profile",
        targets=EKS,
        trust=_inference_trust,
        # Models only: images are pulled by the node, and logs are written by its agents.
        inline=_model_read,
        source="this product; the predecessor has no public text for it",
    ),
    RoleEntry(
        key="eks-alb-controller-role",
        name_of="eks_alb_controller_role",
        description="AWS Load Balancer Controller of an mlcc-infra profile",
        targets=EKS,
        trust=_web_identity_trust(subject("kube-system", ALB_SERVICE_ACCOUNT)),
        optional=True,
        source="AWS docs, model deployment setup, method 3 (Helm)",
    ),
    RoleEntry(
        key="operator-execution-role",
        name_of="operator_execution_role",
        description="HyperPod inference operator of an mlcc-infra profile",
        targets=OPERATOR,
        trust=_web_identity_trust(_OPERATOR_SUBJECT, services=("sagemaker.amazonaws.com",)),
        managed_policies=("AmazonSageMakerHyperPodInferenceAccess",),
        inline=_operator_inline,
        path_rule="root",
        source="AWS docs, model deployment setup; AWS's role template",
    ),
    RoleEntry(
        key="alb-controller-role",
        name_of="alb_controller_role",
        description="AWS Load Balancer Controller of the HyperPod inference operator",
        targets=OPERATOR,
        # The add-on and the Helm method put the controller in different namespaces, and both may be there.
        trust=_web_identity_trust(subject("*", ALB_SERVICE_ACCOUNT)),
        source="AWS docs, model deployment setup",
    ),
    RoleEntry(
        key="keda-operator-role",
        name_of="keda_operator_role",
        description="KEDA of the HyperPod inference operator",
        targets=OPERATOR,
        trust=_web_identity_trust(subject(OPERATOR_NAMESPACE, "keda-operator")),
        inline=_keda_inline,
        source="AWS's role template",
    ),
    RoleEntry(
        key="s3-csi-role",
        name_of="s3_csi_role",
        description="Mountpoint for S3 CSI driver of an mlcc-infra profile",
        targets=OPERATOR,
        trust=_web_identity_trust(subject("kube-system", "s3-csi-driver-sa")),
        inline=_model_mount,
        source="EKS user guide, S3 CSI driver",
    ),
    RoleEntry(
        key="fsx-csi-role",
        name_of="fsx_csi_role",
        description="FSx for Lustre CSI driver of an mlcc-infra profile",
        targets=OPERATOR,
        trust=_web_identity_trust(subject("kube-system", "fsx-csi-controller-sa")),
        managed_policies=("AmazonFSxFullAccess",),
        source="EKS user guide, FSx for Lustre CSI driver",
    ),
    RoleEntry(
        key="gated-model-role",
        name_of="gated_model_role",
        description="Downloads of gated JumpStart models",
        targets=OPERATOR,
        trust=_web_identity_trust(
            subject("*", "hyperpod-inference-service-account*"), services=("sagemaker.amazonaws.com",)
        ),
        managed_policies=("AmazonSageMakerHyperPodGatedModelAccess",),
        optional=True,
        source="AWS docs, model deployment setup",
    ),
    RoleEntry(
        key="gateway-role",
        name_of="gateway_role",
        description="Inference gateway of the HyperPod inference operator",
        targets=OPERATOR,
        trust=_web_identity_trust(subject(OPERATOR_NAMESPACE, "inference-gateway-controller")),
        managed_policies=("AmazonSageMakerHyperPodInferenceGatewayAccess",),
        optional=True,
        source="AWS docs, inference gateway",
    ),
)

SERVICE_ACCOUNT_ROLES: Final[Mapping[str, RoleEntry]] = {entry.key: entry for entry in _TABLE}
"""Roles for service accounts by key; deleted on destroy."""

POLICIES: Final[Mapping[str, str]] = {
    "eks-alb-controller-role": "eks_alb_controller_policy",
    "alb-controller-role": "alb_controller_policy",
}
"""Roles with a customer managed policy (:func:`alb_controller_policy`), and the attribute with its name."""
