"""The nested templates by file name."""

from mlcc_rehearsal.cloud.cloudformation.nested.addon_functions import (
    INFERENCE_OPERATOR,
    OIDC_PROVIDER,
    PREREQUISITES,
)
from mlcc_rehearsal.cloud.cloudformation.nested.cert_manager import CERT_MANAGER
from mlcc_rehearsal.cloud.cloudformation.nested.eks import EKS
from mlcc_rehearsal.cloud.cloudformation.nested.features import (
    TASK_GOVERNANCE,
    TASK_GOVERNANCE_FUNCTION,
    TRAINING_OPERATOR,
)
from mlcc_rehearsal.cloud.cloudformation.nested.fsx import FSX_FILESYSTEM, FSX_INTEGRATION
from mlcc_rehearsal.cloud.cloudformation.nested.helm import HELM_CHART
from mlcc_rehearsal.cloud.cloudformation.nested.hyperpod import HYPERPOD_PARAM
from mlcc_rehearsal.cloud.cloudformation.nested.inference import INFERENCE_ROLES, TLS_BUCKET
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
        FSX_FILESYSTEM,
        FSX_INTEGRATION,
        CERT_MANAGER,
        TASK_GOVERNANCE_FUNCTION,
        TASK_GOVERNANCE,
        TRAINING_OPERATOR,
        # Those of the inference add-on's template.
        OIDC_PROVIDER,
        INFERENCE_ROLES,
        TLS_BUCKET,
        *PREREQUISITES,
        INFERENCE_OPERATOR,
    )
}

_HELM = "the inference operator by Helm chart, which mlcc-infra refuses (rule 10)"
NO_PROFILE_ASKS = {
    "rig-endpoint-template.yaml": "restricted instance groups, for which there is no key in a profile",
    "private-subnet-tagging-template.yaml": _HELM,
    "inference-operator-main-stack-template.yaml": _HELM,
    "data-scientist-setup-template.yaml": "data scientists' access, for which there is no key in a profile",
    "tiered-cache-config-template.yaml": "tiered KV cache, for which there is no key in a profile",
}
"""Templates that are not modelled, and why: no profile of mlcc-infra can ask for what they make."""
