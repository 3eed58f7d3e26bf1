"""S3 buckets.

Source: terraform-provider-aws ``internal/service/s3/bucket.go``: a bucket's policy, versioning and
encryption are its own only when the program sets them there; a bucket is emptied, versions included,
before deletion only with ``forceDestroy``.
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
            encrypt(call, rule)
    if wanted("policy"):
        put_policy(call, call.id, given.get("policy"))


def _versioning(call: Call, block: Mapping[str, Any]) -> None:
    status = "Enabled" if block.get("enabled") else "Suspended"
    call.aws("s3", "put_bucket_versioning", Bucket=call.id, VersioningConfiguration={"Status": status})


def encrypt(call: Call, rule: Mapping[str, Any]) -> None:
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


def encryption_rules(call: Call) -> list[dict[str, Any]] | None:
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


def bucket_policy(call: Call, bucket: str) -> str | None:
    found = call.find("s3", "get_bucket_policy", "NoSuchBucketPolicy", *GONE, Bucket=bucket)
    return str(found["Policy"]) if found else None


def put_policy(call: Call, bucket: str, policy: Any) -> None:
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
    rules = encryption_rules(call)
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
        "policy": bucket_policy(call, call.id) or "",
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

DEFINITIONS = (BUCKET,)
