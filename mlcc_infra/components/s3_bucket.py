"""A private S3 bucket, as every component that needs one makes it."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
from pulumi_aws import s3

from mlcc_infra.account.decisions import Wanted
from mlcc_infra.components.base import Component

BUCKET = "aws:s3/bucket:Bucket"
PUBLIC_ACCESS_BLOCK = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
ENCRYPTION = "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
OWNERSHIP = "aws:s3/bucketOwnershipControls:BucketOwnershipControls"
BUCKET_POLICY = "aws:s3/bucketPolicy:BucketPolicy"
OBJECT = "aws:s3/bucketObjectv2:BucketObjectv2"
KIND = "bucket"
SETTINGS = {
    PUBLIC_ACCESS_BLOCK: "public-access-block",
    ENCRYPTION: "encryption",
    OWNERSHIP: "ownership",
    BUCKET_POLICY: "policy",
}


@dataclass(frozen=True, kw_only=True)
class BucketResources:
    """A bucket with its settings."""

    bucket: s3.Bucket
    public_access_block: s3.BucketPublicAccessBlock
    encryption: s3.BucketServerSideEncryptionConfiguration
    ownership: s3.BucketOwnershipControls
    policy: s3.BucketPolicy

    @property
    def settings(self) -> tuple[pulumi.Resource, ...]:
        """What has to be in place before the bucket is used."""
        return (self.public_access_block, self.encryption, self.ownership, self.policy)


def create_bucket(
    component: Component,
    child: str,
    *,
    name: str,
    policy: str,
    retained: bool = False,
    force_destroy: bool = False,
) -> BucketResources:
    """Register a bucket that nobody outside the account reads: no public access, SSE-S3, owner enforced.

    `policy` is the bucket policy's JSON text. `force_destroy` empties the bucket when it is deleted; the
    provider reads the flag from the state, so it is set from the beginning.
    """

    def options(token: str) -> pulumi.ResourceOptions:
        return component.child(token, f"{child}-{SETTINGS[token]}", retained=retained)

    bucket = s3.Bucket(
        component.logical_name(child),
        bucket=name,
        force_destroy=force_destroy,
        tags=component.tags(BUCKET, child, name=False),
        opts=component.child(BUCKET, child, retained=retained),
    )
    block = s3.BucketPublicAccessBlock(
        component.logical_name(f"{child}-{SETTINGS[PUBLIC_ACCESS_BLOCK]}"),
        bucket=bucket.id,
        block_public_acls=True,
        block_public_policy=True,
        ignore_public_acls=True,
        restrict_public_buckets=True,
        opts=options(PUBLIC_ACCESS_BLOCK),
    )
    encryption = s3.BucketServerSideEncryptionConfiguration(
        component.logical_name(f"{child}-{SETTINGS[ENCRYPTION]}"),
        bucket=bucket.id,
        rules=[
            s3.BucketServerSideEncryptionConfigurationRuleArgs(
                apply_server_side_encryption_by_default=s3.BucketServerSideEncryptionConfigurationRuleApplyServerSideEncryptionByDefaultArgs(
                    sse_algorithm="AES256"
                )
            )
        ],
        opts=options(ENCRYPTION),
    )
    ownership = s3.BucketOwnershipControls(
        component.logical_name(f"{child}-{SETTINGS[OWNERSHIP]}"),
        bucket=bucket.id,
        rule=s3.BucketOwnershipControlsRuleArgs(object_ownership="BucketOwnerEnforced"),
        opts=options(OWNERSHIP),
    )
    bucket_policy = s3.BucketPolicy(
        component.logical_name(f"{child}-{SETTINGS[BUCKET_POLICY]}"),
        bucket=bucket.id,
        policy=policy,
        opts=component.child(
            BUCKET_POLICY, f"{child}-{SETTINGS[BUCKET_POLICY]}", retained=retained, depends_on=[block]
        ),
    )
    return BucketResources(
        bucket=bucket,
        public_access_block=block,
        encryption=encryption,
        ownership=ownership,
        policy=bucket_policy,
    )


def wanted_bucket(component_name: str, child: str, name: str) -> list[Wanted]:
    """What the inventory looks up for a bucket; pure. Bucket names are global, so a taken one is refused."""
    lookup = {"bucket": name}
    return [
        Wanted(key=(BUCKET, f"{component_name}-{child}"), kind=KIND, physical=name, lookup=lookup),
        *(
            Wanted(
                key=(token, f"{component_name}-{child}-{suffix}"),
                kind=KIND,
                physical=f"{suffix} of {name}",
                belongs_to=name,
                lookup=lookup,
            )
            for token, suffix in SETTINGS.items()
        ),
    ]


def wanted_object(component_name: str, child: str, bucket: str, key: str) -> Wanted:
    """What the inventory looks up for an object; pure."""
    return Wanted(
        key=(OBJECT, f"{component_name}-{child}"),
        kind=KIND,
        physical=f"{bucket}/{key}",
        belongs_to=bucket,
        lookup={"bucket": bucket, "key": key},
    )
