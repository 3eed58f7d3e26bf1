"""Retained buckets: whose they are when S3 refuses to tell, and that nothing which stays goes unsaid."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from mlcc_infra.account.reader import Reader
from mlcc_infra.account.retained import RetainedBucket, delete_bucket, retained_buckets
from mlcc_infra.errors import UserError
from mlcc_infra.tagging import tags

BUCKET = "hyperpod-tls-demo-88de702d"
REGION = "us-west-2"


class Session:
    """A session with one S3 client, of which operations can be refused."""

    region = REGION

    def __init__(self, s3: Any) -> None:
        self.s3 = s3

    def client(self, service: str) -> Any:
        assert service == "s3"
        return self.s3


def refuse(client: Any, operation: str, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(**_: Any) -> None:
        raise ClientError({"Error": {"Code": code, "Message": "no"}}, operation)

    monkeypatch.setattr(client, operation, refused)


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "made-up")
    with mock_aws():
        yield boto3.client("s3", region_name=REGION)


@pytest.fixture
def ours(s3: Any) -> Any:
    s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    own = tags(profile="demo", region=REGION, stack="demo", module="hyperpod", resource="operator/tls-bucket")
    s3.put_bucket_tagging(
        Bucket=BUCKET, Tagging={"TagSet": [{"Key": key, "Value": value} for key, value in own.items()]}
    )
    return s3


def reader(s3: Any) -> Reader:
    session: Any = Session(s3)
    return Reader(session, profile="demo")


def test_our_bucket_is_retained_with_what_is_set_on_it(ours: Any) -> None:
    ours.put_public_access_block(Bucket=BUCKET, PublicAccessBlockConfiguration={"BlockPublicAcls": True})
    (bucket,) = retained_buckets(reader(ours), [BUCKET])
    assert bucket.name == BUCKET
    assert "bucket public access block" in bucket.settings
    assert "bucket policy" not in bucket.settings


@pytest.mark.parametrize(
    ("operation", "code"), [("head_bucket", "403"), ("get_bucket_tagging", "AccessDenied")]
)
def test_a_bucket_of_this_account_that_may_not_be_read_is_not_taken_for_somebody_elses(
    ours: Any, monkeypatch: pytest.MonkeyPatch, operation: str, code: str
) -> None:
    refuse(ours, operation, code, monkeypatch)
    with pytest.raises(ClientError, match=code):
        retained_buckets(reader(ours), [BUCKET])


def test_a_name_that_another_account_has_taken_is_not_ours(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(s3, "head_bucket", "403", monkeypatch)
    assert retained_buckets(reader(s3), [BUCKET]) == []


def test_an_object_that_s3_does_not_delete_is_named(ours: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ours.put_object(Bucket=BUCKET, Key="certificate.pem", Body=b"x")
    errors = [{"Key": "certificate.pem", "Code": "AccessDenied", "Message": "Access Denied"}]
    monkeypatch.setattr(ours, "delete_objects", lambda **_: {"Errors": errors})
    with pytest.raises(
        UserError, match=f"certificate.pem in bucket {BUCKET} cannot be deleted: Access Denied"
    ):
        delete_bucket(reader(ours), RetainedBucket(name=BUCKET, settings=()))
    assert [each["Key"] for each in ours.list_objects_v2(Bucket=BUCKET)["Contents"]] == ["certificate.pem"]


def test_a_bucket_is_emptied_and_deleted(ours: Any) -> None:
    ours.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    ours.put_object(Bucket=BUCKET, Key="certificate.pem", Body=b"x")
    ours.delete_object(Bucket=BUCKET, Key="certificate.pem")
    delete_bucket(reader(ours), RetainedBucket(name=BUCKET, settings=()))
    assert ours.list_buckets()["Buckets"] == []
