"""Emptying buckets: S3 deletes none that holds objects, versions or delete markers (S3 API, DeleteBucket)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from botocore.exceptions import ClientError

from mlcc_infra.account.reader import error_code
from mlcc_infra.account.session import AccountSession
from mlcc_infra.errors import UserError


def empty_bucket(client: Any, name: str) -> int:
    """Delete everything in a bucket, versions and delete markers included; answers how much that was.

    What S3 does not delete of a batch it lists in an answer that is no error (DeleteObjects); the first of
    these is raised as `UserError`.
    """
    count = 0
    for page in client.get_paginator("list_object_versions").paginate(Bucket=name):
        objects = [
            {"Key": item["Key"], "VersionId": item["VersionId"]}
            for item in (*page.get("Versions", []), *page.get("DeleteMarkers", []))
        ]
        if not objects:
            continue
        answer = client.delete_objects(Bucket=name, Delete={"Objects": objects, "Quiet": True})
        if answer.get("Errors"):
            first = answer["Errors"][0]
            raise UserError(
                f"{first['Key']} in bucket {name} cannot be deleted: "
                f"{first.get('Message') or first.get('Code')}",
                remedy="Allow s3:DeleteObject and s3:DeleteObjectVersion on the bucket, lift what locks "
                "its objects, and run again.",
            )
        count += len(objects)
    return count


def empty_buckets(session: AccountSession, names: Sequence[str], say: Callable[[str], None]) -> None:
    """Empty buckets that their CloudFormation stack is about to delete; one that is gone is fine."""
    client = session.client("s3")
    for name in names:
        try:
            count = empty_bucket(client, name)
        except ClientError as error:
            if error_code(error) != "NoSuchBucket":
                raise
        else:
            say(f"Deleted {count} objects in bucket {name}")
