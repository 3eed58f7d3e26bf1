"""Bucket policies, evaluated with the request's context.

moto evaluates them without conditions, so that a statement that denies plain HTTP denied everything.  The
rehearsal's own address is plain HTTP on the loopback; it stands for AWS's, which speaks TLS: every request
counts as TLS (``aws:SecureTransport`` true).
"""

from __future__ import annotations

import json

from moto.s3.models import s3_backends

from mlcc_rehearsal.cloud.account import RehearsedAccount
from mlcc_rehearsal.cloud.iam_evaluation import (
    ContextValue,
    Decision,
    Request,
    Result,
    evaluate_resource_policy,
)


def bucket_policy_denies(account: RehearsedAccount, bucket: str, request: Request) -> bool:
    """Whether the policy of an existing bucket denies a request explicitly."""
    found = s3_backends[account.account_id][account.partition].buckets[bucket]
    return evaluate_bucket_policy(account, found.policy, request).decision is Decision.EXPLICIT_DENY


def evaluate_bucket_policy(account: RehearsedAccount, policy: bytes | str | None, request: Request) -> Result:
    """What a bucket's policy says of a request."""
    if not policy:
        return Result(Decision.IMPLICIT_DENY)
    document = json.loads(policy)
    context: dict[str, ContextValue] = {
        "aws:SecureTransport": "true",
        "aws:ResourceAccount": account.account_id,
        "aws:PrincipalAccount": account.account_id,
        "s3:TlsVersion": "1.3",
        **request.context,
    }
    if request.principal is not None:
        context.setdefault("aws:PrincipalArn", request.principal.identifier)
    asked = Request(request.action, request.resource, context, request.principal)
    return evaluate_resource_policy(document, asked)
