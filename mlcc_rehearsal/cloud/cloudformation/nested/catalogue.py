"""The nested templates by file name."""

from mlcc_rehearsal.cloud.cloudformation.nested.eks import EKS
from mlcc_rehearsal.cloud.cloudformation.nested.helm import HELM_CHART
from mlcc_rehearsal.cloud.cloudformation.nested.hyperpod import HYPERPOD_PARAM
from mlcc_rehearsal.cloud.cloudformation.nested.private_subnets import PRIVATE_SUBNETS
from mlcc_rehearsal.cloud.cloudformation.nested.s3_endpoint import S3_ENDPOINT
from mlcc_rehearsal.cloud.cloudformation.nested.security_group import SECURITY_GROUP
from mlcc_rehearsal.cloud.cloudformation.nested.storage import (
    LIFECYCLE_SCRIPT,
    S3_BUCKET,
    SAGEMAKER_ROLE,
)
from mlcc_rehearsal.cloud.cloudformation.nested.vpc import VPC

TEMPLATES = {
    each.file: each
    for each in (
        VPC,
        PRIVATE_SUBNETS,
        SECURITY_GROUP,
        S3_ENDPOINT,
        EKS,
        HELM_CHART,
        HYPERPOD_PARAM,
        S3_BUCKET,
        SAGEMAKER_ROLE,
        LIFECYCLE_SCRIPT,
    )
}
