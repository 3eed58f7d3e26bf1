"""Marks of ownership on clusters that AWS's template makes: tags set beside the stack, never by it.

A tag on the stack would reach every resource of it with an update (facts/hyperpod_native.md, rules 6, 7).
"""

from __future__ import annotations

from collections.abc import Mapping

from botocore.exceptions import ClientError

from mlcc_infra.account.reader import error_code
from mlcc_infra.account.session import AccountSession
from mlcc_infra.tagging import tag_list

_GONE = ("ResourceNotFoundException", "ResourceNotFound", "ValidationException")


def missing_marks(session: AccountSession, arns: Mapping[str, str], tags: Mapping[str, str]) -> list[str]:
    """Those of the clusters (by kind: `eks`, `hyperpod`) that lack one of the tags, or are gone."""
    return [kind for kind, arn in arns.items() if not _has(session, kind, arn, tags)]


def mark(session: AccountSession, arns: Mapping[str, str], tags: Mapping[str, str]) -> None:
    """Put the tags on the clusters that lack one; others on them stay."""
    lacking = missing_marks(session, arns, tags)
    if "eks" in lacking:
        session.client("eks").tag_resource(resourceArn=arns["eks"], tags=dict(tags))
    if "hyperpod" in lacking:
        session.client("sagemaker").add_tags(
            ResourceArn=arns["hyperpod"], Tags=[{"Key": key, "Value": value} for key, value in tags.items()]
        )


def _has(session: AccountSession, kind: str, arn: str, tags: Mapping[str, str]) -> bool:
    try:
        if kind == "eks":
            found = session.client("eks").list_tags_for_resource(resourceArn=arn)["tags"]
        else:
            pages = session.client("sagemaker").get_paginator("list_tags").paginate(ResourceArn=arn)
            found = tag_list([tag for page in pages for tag in page["Tags"]])
    except ClientError as error:
        if error_code(error) in _GONE:
            return False
        raise
    return tags.items() <= found.items()
