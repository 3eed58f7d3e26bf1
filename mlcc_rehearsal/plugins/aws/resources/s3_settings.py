"""Settings of S3 buckets, each its own resource.

Sources: terraform-provider-aws ``internal/service/s3/{bucket_policy,bucket_public_access_block,
bucket_server_side_encryption_configuration,bucket_ownership_controls,bucket_versioning}.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlcc_rehearsal.plugins.aws.calling import Call
from mlcc_rehearsal.plugins.aws.definition import Definition, Import
from mlcc_rehearsal.plugins.aws.resources.s3 import GONE, bucket_policy, encrypt, encryption_rules, put_policy


def _setting(
    token: str,
    label: str,
    put: Callable[[Call, str], Any],
    get: Callable[[Call], dict[str, Any] | None],
    remove: Callable[[Call], Any],
    **more: Any,
) -> Definition:
    """A resource that is one setting of a bucket, and whose id is the bucket."""

    def create(call: Call) -> str:
        call.id = str(call.inputs["bucket"])
        put(call, call.id)
        return call.id

    def update(call: Call) -> None:
        put(call, call.id)

    def read(call: Call) -> dict[str, Any] | None:
        found = get(call)
        return None if found is None else {"bucket": call.id, **found}

    return Definition(
        token=token,
        label=label,
        create=create,
        read=read,
        update=update,
        delete=remove,
        imports=Import("bucket", "my-bucket"),
        replace=frozenset({"bucket"}),
        title=lambda properties: str(properties.get("bucket")),
        **more,
    )


def _read_policy(call: Call) -> dict[str, Any] | None:
    policy = bucket_policy(call, call.id)
    return None if policy is None else {"policy": policy}


BUCKET_POLICY = _setting(
    "aws:s3/bucketPolicy:BucketPolicy",
    "S3 Bucket Policy",
    lambda call, bucket: put_policy(call, bucket, call.inputs["policy"]),
    _read_policy,
    lambda call: put_policy(call, call.id, None),
    policies=frozenset({"policy"}),
)

_BLOCKS = {
    "blockPublicAcls": "BlockPublicAcls",
    "blockPublicPolicy": "BlockPublicPolicy",
    "ignorePublicAcls": "IgnorePublicAcls",
    "restrictPublicBuckets": "RestrictPublicBuckets",
}


def _put_block(call: Call, bucket: str) -> None:
    settings = {parameter: bool(call.inputs.get(name)) for name, parameter in _BLOCKS.items()}
    call.aws("s3", "put_public_access_block", Bucket=bucket, PublicAccessBlockConfiguration=settings)


def _read_block(call: Call) -> dict[str, Any] | None:
    found = call.find(
        "s3", "get_public_access_block", "NoSuchPublicAccessBlockConfiguration", *GONE, Bucket=call.id
    )
    if found is None:
        return None
    settings = found["PublicAccessBlockConfiguration"]
    return {name: bool(settings.get(parameter)) for name, parameter in _BLOCKS.items()}


def _remove_block(call: Call) -> None:
    if not call.state.get("skipDestroy"):
        call.find("s3", "delete_public_access_block", *GONE, Bucket=call.id)


PUBLIC_ACCESS_BLOCK = _setting(
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
    "S3 Bucket Public Access Block",
    _put_block,
    _read_block,
    _remove_block,
    defaults=dict.fromkeys(_BLOCKS, False),
    unread=frozenset({"skipDestroy"}),
)


def _read_encryption(call: Call) -> dict[str, Any] | None:
    rules = encryption_rules(call)
    return None if rules is None else {"rules": rules}


ENCRYPTION = _setting(
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
    "S3 Bucket Server-side Encryption Configuration",
    lambda call, bucket: encrypt(call, call.inputs["rules"][0]),
    _read_encryption,
    lambda call: call.find("s3", "delete_bucket_encryption", *GONE, Bucket=call.id),
    computed=frozenset({"rules.blockedEncryptionTypes"}),
    unread=frozenset({"expectedBucketOwner"}),
)


def _put_ownership(call: Call, bucket: str) -> None:
    rules = [{"ObjectOwnership": call.inputs["rule"]["objectOwnership"]}]
    call.aws("s3", "put_bucket_ownership_controls", Bucket=bucket, OwnershipControls={"Rules": rules})


def _read_ownership(call: Call) -> dict[str, Any] | None:
    found = call.find(
        "s3", "get_bucket_ownership_controls", "OwnershipControlsNotFoundError", *GONE, Bucket=call.id
    )
    if found is None:
        return None
    return {"rule": {"objectOwnership": found["OwnershipControls"]["Rules"][0]["ObjectOwnership"]}}


OWNERSHIP = _setting(
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls",
    "S3 Bucket Ownership Controls",
    _put_ownership,
    _read_ownership,
    lambda call: call.find(
        "s3",
        "delete_bucket_ownership_controls",
        "OwnershipControlsNotFoundError",
        *GONE,
        Bucket=call.id,
    ),
)


def _put_versioning(call: Call, bucket: str) -> None:
    block = call.inputs["versioningConfiguration"]
    call.aws(
        "s3",
        "put_bucket_versioning",
        Bucket=bucket,
        VersioningConfiguration={"Status": block["status"]},
    )


def _read_versioning(call: Call) -> dict[str, Any] | None:
    found = call.find("s3", "get_bucket_versioning", *GONE, Bucket=call.id)
    if found is None or not found.get("Status"):
        return None
    return {"versioningConfiguration": {"status": found["Status"], "mfaDelete": found.get("MFADelete") or ""}}


def _suspend(call: Call) -> None:
    call.find(
        "s3",
        "put_bucket_versioning",
        *GONE,
        Bucket=call.id,
        VersioningConfiguration={"Status": "Suspended"},
    )


VERSIONING = _setting(
    "aws:s3/bucketVersioning:BucketVersioning",
    "S3 Bucket Versioning",
    _put_versioning,
    _read_versioning,
    _suspend,
    computed=frozenset({"versioningConfiguration.mfaDelete"}),
    unread=frozenset({"expectedBucketOwner", "mfa"}),
)

DEFINITIONS = (BUCKET_POLICY, PUBLIC_ACCESS_BLOCK, ENCRYPTION, OWNERSHIP, VERSIONING)
