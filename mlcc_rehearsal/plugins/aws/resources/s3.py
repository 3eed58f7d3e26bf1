"""S3 buckets, their settings and objects.

Sources: terraform-provider-aws ``internal/service/s3/{bucket,bucket_policy,bucket_public_access_block,
bucket_server_side_encryption_configuration,bucket_ownership_controls,bucket_versioning}.go``: a bucket's
policy, versioning and encryption are its own only when the program sets them there; a bucket is emptied,
versions included, before deletion only with ``forceDestroy``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlcc_rehearsal.plugins.aws.calling import AwsError, Call
from mlcc_rehearsal.plugins.aws.definition import MINUTE, AutoName, Definition, Import, Tagging, Timeouts
from mlcc_rehearsal.plugins.aws.resources._common import checks, length, matches, tag_list, tag_map

GONE = ("NoSuchBucket", "404", "NotFound")
#: Hosted zones of S3 websites (AWS General Reference, "Amazon S3 endpoints and quotas").
HOSTED_ZONES = {
    "us-east-1": "Z3AQBSTGFYJSTF",
    "us-east-2": "Z2O1EMRO9K5GLX",
    "us-west-1": "Z2F56UZL2M1ACD",
    "us-west-2": "Z3BJ6K6RIION7M",
    "eu-west-1": "Z1BKCTXD74EZPE",
    "eu-central-1": "Z21DNDUVLTQW6Q",
    "ap-southeast-2": "Z1WCIGYICN2BYD",
    "ap-northeast-1": "Z2M4EHUR26P7ZW",
}


def _set_tags(call: Call, tags: Mapping[str, str]) -> None:
    if tags:
        call.aws("s3", "put_bucket_tagging", Bucket=call.id, Tagging={"TagSet": tag_list(tags)})
    else:
        call.aws("s3", "delete_bucket_tagging", Bucket=call.id)


def _tags(call: Call) -> dict[str, str]:
    found = call.find("s3", "get_bucket_tagging", "NoSuchTagSet", *GONE, Bucket=call.id)
    return tag_map((found or {}).get("TagSet"))


def _change_tags(call: Call, new: Mapping[str, str], gone: list[str]) -> None:
    # S3 knows only the whole set.
    _set_tags(call, {key: value for key, value in {**_tags(call), **new}.items() if key not in gone})


TAGGING = Tagging(
    tag=lambda call, tags: _change_tags(call, tags, []),
    untag=lambda call, keys: _change_tags(call, {}, keys),
)


def _create(call: Call) -> str:
    given = call.inputs
    name = given.get("bucket") or f"{given['bucketPrefix']}{call.account_id}"
    elsewhere = call.region != "us-east-1"
    # A name that was just freed is refused for a while.
    call.retry(
        lambda: call.aws(
            "s3",
            "create_bucket",
            Bucket=name,
            CreateBucketConfiguration={"LocationConstraint": call.region} if elsewhere else None,
            ObjectLockEnabledForBucket=given.get("objectLockEnabled") or None,
        ),
        lambda error: error.aws_code == "OperationAborted",
        call.timeout,
    )
    call.id = str(name)
    if call.tags:
        _set_tags(call, call.tags)
    _settings(call, lambda setting: bool(given.get(setting)))
    return call.id


def _settings(call: Call, wanted: Callable[[str], bool]) -> None:
    given = call.inputs
    if wanted("versioning"):
        _versioning(call, given.get("versioning") or {})
    if wanted("serverSideEncryptionConfiguration"):
        rule = (given.get("serverSideEncryptionConfiguration") or {}).get("rule")
        if rule:
            _encrypt(call, rule)
    if wanted("policy"):
        _put_policy(call, call.id, given.get("policy"))


def _versioning(call: Call, block: Mapping[str, Any]) -> None:
    status = "Enabled" if block.get("enabled") else "Suspended"
    call.aws("s3", "put_bucket_versioning", Bucket=call.id, VersioningConfiguration={"Status": status})


def _encrypt(call: Call, rule: Mapping[str, Any]) -> None:
    default = rule.get("applyServerSideEncryptionByDefault") or {}
    algorithm = {"SSEAlgorithm": default.get("sseAlgorithm", "AES256")}
    if default.get("kmsMasterKeyId"):
        algorithm["KMSMasterKeyID"] = default["kmsMasterKeyId"]
    rules = [
        {
            "ApplyServerSideEncryptionByDefault": algorithm,
            "BucketKeyEnabled": bool(rule.get("bucketKeyEnabled")),
        }
    ]
    call.aws(
        "s3",
        "put_bucket_encryption",
        Bucket=call.id,
        ServerSideEncryptionConfiguration={"Rules": rules},
    )


def _rules(call: Call) -> list[dict[str, Any]] | None:
    found = call.find(
        "s3",
        "get_bucket_encryption",
        "ServerSideEncryptionConfigurationNotFoundError",
        *GONE,
        Bucket=call.id,
    )
    if found is None:
        return None
    rules = []
    for rule in found["ServerSideEncryptionConfiguration"]["Rules"]:
        default = rule.get("ApplyServerSideEncryptionByDefault") or {}
        rules.append(
            {
                "applyServerSideEncryptionByDefault": {
                    "sseAlgorithm": default.get("SSEAlgorithm"),
                    "kmsMasterKeyId": default.get("KMSMasterKeyID") or "",
                },
                "bucketKeyEnabled": bool(rule.get("BucketKeyEnabled")),
            }
        )
    return rules


def _policy(call: Call, bucket: str) -> str | None:
    found = call.find("s3", "get_bucket_policy", "NoSuchBucketPolicy", *GONE, Bucket=bucket)
    return str(found["Policy"]) if found else None


def _put_policy(call: Call, bucket: str, policy: Any) -> None:
    if policy:
        call.retry(
            lambda: call.aws("s3", "put_bucket_policy", Bucket=bucket, Policy=policy),
            lambda error: (
                error.aws_code in ("MalformedPolicy", "NoSuchBucket")
                and ("principal" in error.aws_message.lower() or error.aws_code == "NoSuchBucket")
            ),
        )
    else:
        call.find("s3", "delete_bucket_policy", *GONE, Bucket=bucket)


def _exists(call: Call) -> bool:
    return call.find("s3", "head_bucket", *GONE, Bucket=call.id) is not None


def _read(call: Call) -> dict[str, Any] | None:
    if not _exists(call):
        return None
    versioning = call.aws("s3", "get_bucket_versioning", Bucket=call.id)
    rules = _rules(call)
    domain = f"{call.id}.s3.{call.region}.amazonaws.com"
    return {
        "arn": f"arn:{call.partition}:s3:::{call.id}",
        "bucket": call.id,
        "bucketDomainName": f"{call.id}.s3.amazonaws.com",
        "bucketPrefix": "",
        "bucketRegion": call.region,
        "bucketRegionalDomainName": domain,
        "hostedZoneId": HOSTED_ZONES.get(call.region, ""),
        "objectLockEnabled": False,
        "policy": _policy(call, call.id) or "",
        "requestPayer": "BucketOwner",
        "serverSideEncryptionConfiguration": {"rule": rules[0]} if rules else None,
        "tags": _tags(call),
        "versioning": {
            "enabled": versioning.get("Status") == "Enabled",
            "mfaDelete": versioning.get("MFADelete") == "Enabled",
        },
    }


def empty_bucket(call: Call, bucket: str) -> None:
    """Delete every object, version and delete marker of a bucket."""
    for key in ("Versions", "DeleteMarkers"):
        for item in call.pages("s3", "list_object_versions", key, Bucket=bucket):
            call.aws("s3", "delete_object", Bucket=bucket, Key=item["Key"], VersionId=item["VersionId"])
    for item in call.pages("s3", "list_objects_v2", "Contents", Bucket=bucket):
        call.aws("s3", "delete_object", Bucket=bucket, Key=item["Key"])


def _delete(call: Call) -> None:
    def remove() -> None:
        call.find("s3", "delete_bucket", *GONE, Bucket=call.id)

    try:
        remove()
    except AwsError as error:
        if error.aws_code != "BucketNotEmpty" or not call.state.get("forceDestroy"):
            raise
        empty_bucket(call, call.id)
        remove()


def _update(call: Call) -> None:
    _settings(call, call.changed)


BUCKET = Definition(
    token="aws:s3/bucket:Bucket",
    label="S3 Bucket",
    create=_create,
    read=_read,
    update=_update,
    delete=_delete,
    imports=Import("bucket", "my-bucket"),
    name=AutoName("bucket", 63, lower=True),
    tagging=TAGGING,
    replace=frozenset({"bucket", "bucketNamespace", "bucketPrefix", "objectLockEnabled"}),
    computed=frozenset(
        {
            "accelerationStatus",
            "acl",
            "bucket",
            "bucketNamespace",
            "bucketPrefix",
            "corsRules",
            "grants",
            "lifecycleRules",
            "logging",
            "objectLockConfiguration",
            "objectLockEnabled",
            "policy",
            "replicationConfiguration",
            "requestPayer",
            "serverSideEncryptionConfiguration",
            "versioning",
            "website",
        }
    ),
    defaults={"forceDestroy": False},
    unread=frozenset({"forceDestroy"}),
    policies=frozenset({"policy"}),
    timeouts=Timeouts(create=20 * MINUTE, update=20 * MINUTE, delete=60 * MINUTE),
    validate=checks(
        length("bucket", 3, 63),
        matches(
            "bucket",
            r"[a-z0-9][a-z0-9.-]*[a-z0-9]",
            "validating S3 Bucket ({value}) name: only lowercase alphanumeric characters and hyphens allowed",
        ),
    ),
)

# Settings of a bucket, each its own resource


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
    policy = _policy(call, call.id)
    return None if policy is None else {"policy": policy}


BUCKET_POLICY = _setting(
    "aws:s3/bucketPolicy:BucketPolicy",
    "S3 Bucket Policy",
    lambda call, bucket: _put_policy(call, bucket, call.inputs["policy"]),
    _read_policy,
    lambda call: _put_policy(call, call.id, None),
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
    rules = _rules(call)
    return None if rules is None else {"rules": rules}


ENCRYPTION = _setting(
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
    "S3 Bucket Server-side Encryption Configuration",
    lambda call, bucket: _encrypt(call, call.inputs["rules"][0]),
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

DEFINITIONS = (BUCKET, BUCKET_POLICY, PUBLIC_ACCESS_BLOCK, ENCRYPTION, OWNERSHIP, VERSIONING)
