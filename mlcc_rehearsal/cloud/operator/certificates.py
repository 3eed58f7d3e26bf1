"""TLS certificates: written to the bucket with a tag, and imported into ACM.

Source: AmazonSageMakerHyperPodInferenceAccess v4 (what the operator does with which condition), the
documentation of the setup.  That version 4 alone denies the first import, because it asks for a tag on a
certificate that does not exist yet, is our reading of it and unverified.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from moto.acm.models import acm_backends
from moto.s3.models import s3_backends

from mlcc_rehearsal.cloud.account import RehearsedAccount
from mlcc_rehearsal.cloud.iam.service_accounts import Refusal, action_refusal
from mlcc_rehearsal.cloud.iam_evaluation import ContextValue, Principal, Request
from mlcc_rehearsal.cloud.operator.settings import Settings
from mlcc_rehearsal.cloud.s3.policies import bucket_policy_denies

_TAG = "HyperPodInference"
_VALID = datetime.timedelta(days=365)


@dataclass(frozen=True)
class Certificate:
    """A certificate of an endpoint: where its parts are."""

    arn: str
    domain: str
    bucket: str
    keys: tuple[str, ...]

    @property
    def status(self) -> dict[str, Any]:
        """As custom resources show it."""
        return {
            "certificateARN": self.arn,
            "certificateDomainNames": self.domain,
            "importedCertificates": [self.arn],
            "tlsCertificateOutputS3Bucket": self.bucket,
            "tlsCertificateS3Keys": list(self.keys),
            "certificateHealth": "Valid",
        }


def issue(
    account: RehearsedAccount, region: str, settings: Settings, namespace: str, name: str
) -> Certificate | Refusal:
    """Write a certificate for an endpoint to the bucket and import it, or say what AWS refuses.

    This is the law "operator-certificates".
    """
    for refusal in denied(account, region, settings):
        return refusal
    domain = f"{name}.{namespace}.svc.cluster.local"
    certificate, key = _self_signed(domain, account.clock.timestamp())
    s3 = s3_backends[account.account_id][account.partition]
    keys = (f"certificates/{namespace}/{name}/certificate.pem",)
    for each in keys:
        stored = s3.put_object(settings.bucket, each, certificate)
        s3.put_object_tagging(stored, {"CreatedBy": _TAG})
    acm = acm_backends[account.account_id][region]
    arn = acm.import_certificate(certificate, key, None, None, [{"Key": "CreatedBy", "Value": _TAG}])
    return Certificate(str(arn), domain, settings.bucket, keys)


def withdraw(account: RehearsedAccount, region: str, settings: Settings, status: dict[str, Any]) -> None:
    """Delete what :func:`issue` made, as a custom resource's status names it, as far as AWS lets the role.

    What the role may not delete stays behind: nobody is told, the custom resource goes all the same.
    """
    arn = status.get("certificateARN", "")
    acm = acm_backends[account.account_id][region]
    tagged: dict[str, ContextValue] = {"aws:ResourceTag/CreatedBy": _TAG}
    role = settings.execution_role
    if arn in acm._certificates and not action_refusal(
        account, role, "acm:DeleteCertificate", arn, tagged, service="ACM"
    ):
        acm.delete_certificate(arn)
    buckets = s3_backends[account.account_id][account.partition]
    bucket = status.get("tlsCertificateOutputS3Bucket", "")
    for key in status.get("tlsCertificateS3Keys") or []:
        resource = f"arn:{account.partition}:s3:::{bucket}/{key}"
        if bucket in buckets.buckets and not action_refusal(
            account, role, "s3:DeleteObject", resource, service="S3", code="AccessDenied"
        ):
            buckets.delete_object(bucket, key)


def _self_signed(domain: str, now: datetime.datetime) -> tuple[bytes, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, domain[:64])])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # moto looks at the machine's clock, which the modelled one is ahead of.
        .not_valid_before(min(now, datetime.datetime.now(datetime.UTC)) - datetime.timedelta(days=1))
        .not_valid_after(now + _VALID)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(domain)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return certificate.public_bytes(serialization.Encoding.PEM), private


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
