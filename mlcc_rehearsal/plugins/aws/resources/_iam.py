"""What the IAM tables share: retries of eventual consistency, documents, names, tags.

Sources: terraform-provider-aws ``internal/service/iam`` (``Invalid principal in policy`` and
DeleteConflict are retried for propagationTimeout).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import unquote

from mlcc_rehearsal.plugins.aws.calling import Call
from mlcc_rehearsal.plugins.aws.definition import Tagging
from mlcc_rehearsal.plugins.aws.resources._common import tag_list

T = TypeVar("T")
GONE = "NoSuchEntity"


def propagated(call: Call, action: Callable[[], T]) -> T:
    """`action()`, again while a principal in a policy is too new for IAM to know it."""
    return call.retry(
        action,
        lambda error: (
            error.aws_code == "MalformedPolicyDocument" and "Invalid principal" in error.aws_message
        ),
    )


def settled(call: Call, action: Callable[[], T]) -> T:
    """`action()`, again while IAM says the entity still has something attached."""
    return call.retry(action, lambda error: error.aws_code == "DeleteConflict")


def document(value: Any) -> str:
    """A policy document as text: botocore decodes some answers, and leaves others percent-encoded."""
    if isinstance(value, str):
        return unquote(value) if value.startswith("%7B") else value
    return json.dumps(value)


def tagging(noun: str, argument: str) -> Tagging:
    return Tagging(
        tag=lambda call, tags: call.aws("iam", f"tag_{noun}", **{argument: call.id}, Tags=tag_list(tags)),
        untag=lambda call, keys: call.aws("iam", f"untag_{noun}", **{argument: call.id}, TagKeys=keys),
    )
