"""S3 buckets, what is set on them, and objects: imported by the name of the bucket, or bucket/key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from mlcc_infra.account.decisions import Wanted
from mlcc_infra.account.import_ids import import_id
from mlcc_infra.account.reader import Found, Reader, error_code
from mlcc_infra.tagging import tag_list

# HeadBucket answers without a body, so the code is the HTTP status.
_NO_BUCKET = ("404", "NoSuchBucket")
_NO_TAGS = ("NoSuchTagSet",)


def bucket_tags(reader: Reader, bucket: str) -> dict[str, str] | None:
    """Tags of a bucket of this account, or None when there is no bucket of that name anywhere.

    Raises `ClientError` (403) when the name belongs to somebody else.
    """
    client = reader.session.client("s3")

    def read() -> dict[str, str] | None:
        try:
            client.head_bucket(Bucket=bucket)
        except ClientError as error:
            if error_code(error) in _NO_BUCKET:
                return None
            raise
        try:
            return tag_list(client.get_bucket_tagging(Bucket=bucket)["TagSet"])
        except ClientError as error:
            if error_code(error) in _NO_TAGS:
                return {}
            raise

    return reader.once(("bucket", bucket), read)


def account_buckets(reader: Reader) -> frozenset[str]:
    """Names of all buckets of this account (ListBuckets)."""
    client = reader.session.client("s3")

    def read() -> frozenset[str]:
        pages = client.get_paginator("list_buckets").paginate()
        return frozenset(bucket["Name"] for page in pages for bucket in page.get("Buckets", []))

    return reader.once(("buckets",), read)


@dataclass(frozen=True)
class BucketSetting:
    """Something set on a bucket: the operation that reads it, and S3's code where it is not set."""

    operation: str
    absent: str


BUCKET_SETTINGS: Mapping[str, BucketSetting] = {
    "public access block": BucketSetting("get_public_access_block", "NoSuchPublicAccessBlockConfiguration"),
    "encryption": BucketSetting("get_bucket_encryption", "ServerSideEncryptionConfigurationNotFoundError"),
    "ownership": BucketSetting("get_bucket_ownership_controls", "OwnershipControlsNotFoundError"),
    "policy": BucketSetting("get_bucket_policy", "NoSuchBucketPolicy"),
}


def bucket_setting(reader: Reader, bucket: str, setting: BucketSetting) -> dict[str, Any] | None:
    """What is set on a bucket, as S3 answers it; None where it is not set."""
    call: Any = getattr(reader.session.client("s3"), setting.operation)
    return reader.optional((setting.operation, bucket), lambda: call(Bucket=bucket), (setting.absent,))


def _of_bucket(wanted: Wanted, tags: Mapping[str, str]) -> Found:
    identifier = import_id(wanted.key[0], bucket=wanted.lookup["bucket"])
    return Found(import_id=identifier, resource_id=identifier, tags=tags)


def _bucket(reader: Reader, wanted: Wanted) -> Found | None:
    name = wanted.lookup["bucket"]
    tags = bucket_tags(reader, name)
    return None if tags is None else _of_bucket(wanted, tags)


def _setting(shown: str) -> Callable[[Reader, Wanted], Found | None]:
    """The lookup of something set on a bucket; it belongs to whoever owns the bucket."""

    def look_up(reader: Reader, wanted: Wanted) -> Found | None:
        name = wanted.lookup["bucket"]
        tags = bucket_tags(reader, name)
        if tags is None:
            return None
        found = bucket_setting(reader, name, BUCKET_SETTINGS[shown])
        return None if found is None else _of_bucket(wanted, tags)

    return look_up


def _object(reader: Reader, wanted: Wanted) -> Found | None:
    bucket, key = wanted.lookup["bucket"], wanted.lookup["key"]
    tags = bucket_tags(reader, bucket)
    if tags is None:
        return None
    client = reader.session.client("s3")
    found = reader.optional(
        ("object", bucket, key), lambda: client.head_object(Bucket=bucket, Key=key), ("404", "NoSuchKey")
    )
    identifier = import_id(wanted.key[0], bucket=bucket, key=key)
    return None if found is None else Found(import_id=identifier, resource_id=None, tags=tags)


LOOKUPS: Mapping[str, Callable[[Reader, Wanted], Found | None]] = {
    "aws:s3/bucket:Bucket": _bucket,
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": _setting("public access block"),
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": _setting(
        "encryption"
    ),
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": _setting("ownership"),
    "aws:s3/bucketPolicy:BucketPolicy": _setting("policy"),
    "aws:s3/bucketObjectv2:BucketObjectv2": _object,
}
