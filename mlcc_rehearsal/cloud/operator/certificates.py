"""TLS certificates: written to the bucket with a tag, and imported into ACM.

Source: AmazonSageMakerHyperPodInferenceAccess v4 (what the operator does with which condition), the
documentation of the setup.  That version 4 alone denies the first import, because it asks for a tag on a
certificate that does not exist yet, is our reading of it and unverified.
"""

from __future__ import annotations

from collections.abc import Iterator

from moto.s3.models import s3_backends

from mlcc_rehearsal.cloud.account import RehearsedAccount
from mlcc_rehearsal.cloud.iam.service_accounts import Refusal, action_refusal
from mlcc_rehearsal.cloud.iam_evaluation import ContextValue, Principal, Request
from mlcc_rehearsal.cloud.operator.settings import Settings
from mlcc_rehearsal.cloud.s3.policies import bucket_policy_denies

CREATED_BY = {"CreatedBy": "HyperPodInference"}
_TAG = "HyperPodInference"


def denied(account: RehearsedAccount, region: str, settings: Settings) -> Iterator[Refusal]:
    """The permissions that writing and importing a certificate needs and the execution role lacks."""
    yield from _bucket_denied(account, settings)
    certificate = f"arn:{account.partition}:acm:{region}:{account.account_id}:certificate/*"
    # A certificate that is imported for the first time has no tags yet: only the request has.
    context: dict[str, ContextValue] = {"aws:RequestTag/CreatedBy": _TAG, "aws:TagKeys": ["CreatedBy"]}
    for action in ("acm:ImportCertificate", "acm:AddTagsToCertificate"):
        refusal = action_refusal(
            account, settings.execution_role, action, certificate, context, service="ACM"
        )
        if refusal is not None:
            yield refusal


def _bucket_denied(account: RehearsedAccount, settings: Settings) -> Iterator[Refusal]:
    buckets = s3_backends[account.account_id][account.partition].buckets
    if settings.bucket not in buckets:
        yield Refusal("S3", "ListObjectsV2", "NoSuchBucket", "The specified bucket does not exist", 404)
        return
    bucket = f"arn:{account.partition}:s3:::{settings.bucket}"
    writing: dict[str, ContextValue] = {"s3:RequestObjectTag/CreatedBy": _TAG}
    reading: dict[str, ContextValue] = {"s3:ExistingObjectTag/CreatedBy": _TAG}
    key = f"{bucket}/certificates/*"
    for action, resource, context in (
        ("s3:ListBucket", bucket, {}),
        ("s3:PutObject", key, writing),
        ("s3:PutObjectTagging", key, writing),
        ("s3:GetObject", key, reading),
        ("s3:DeleteObject", key, {}),
    ):
        refusal = action_refusal(
            account,
            settings.execution_role,
            action,
            resource,
            context,
            service="S3",
            code="AccessDenied",
        )
        if refusal is None and _policy_denies(account, settings, action, resource, context):
            message = f"Access to {resource} is denied with an explicit deny in a resource-based policy"
            refusal = Refusal("S3", action.split(":")[1], "AccessDenied", message, 403)
        if refusal is not None:
            yield refusal


def _policy_denies(
    account: RehearsedAccount,
    settings: Settings,
    action: str,
    resource: str,
    context: dict[str, ContextValue],
) -> bool:
    role = settings.execution_role_name
    session = f"arn:{account.partition}:sts::{account.account_id}:assumed-role/{role}/operator"
    request = Request(action, resource, context, Principal.aws(session))
    return bucket_policy_denies(account, settings.bucket, request)
