"""Bucket policies."""

from __future__ import annotations

from mlcc_infra.policies.documents import Document, document


def deny_plain_http(bucket: str, *, partition: str = "aws") -> Document:
    """The policy of the lifecycle and TLS buckets: no request without TLS, and nothing else.

    It grants nothing: access is by the roles' own policies. Amazon S3 user guide, security best practices,
    "Enforce encryption of data in transit".
    """
    arn = f"arn:{partition}:s3:::{bucket}"
    return document(
        {
            "Sid": "DenyPlainHttp",
            "Effect": "Deny",
            "Principal": "*",
            "Action": "s3:*",
            "Resource": [arn, f"{arn}/*"],
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        }
    )
