"""Laws of Systems Manager and S3."""

from __future__ import annotations

import json
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from mlcc_rehearsal.cloud import Cloud, CloudOptions
from tests.unit.rehearsal_cloud.conftest import Desk


def test_a_parameter_is_written_once_unless_told_to_overwrite(desk: Desk, refused: Any) -> None:
    ssm = desk.client("ssm")
    ssm.put_parameter(Name="/mlcc/demo/eks/VpcId", Value="vpc-1", Type="String")
    with refused("ParameterAlreadyExists", "ssm-parameter-exists") as refusal:
        ssm.put_parameter(Name="/mlcc/demo/eks/VpcId", Value="vpc-2", Type="String")
    assert refusal.text.startswith("The parameter already exists. To overwrite this value")
    ssm.put_parameter(Name="/mlcc/demo/eks/VpcId", Value="vpc-2", Type="String", Overwrite=True)
    assert ssm.get_parameter(Name="/mlcc/demo/eks/VpcId")["Parameter"]["Value"] == "vpc-2"


def test_a_parameters_value_is_neither_empty_nor_too_long(desk: Desk, refused: Any) -> None:
    ssm = desk.client("ssm")
    with refused("ValidationException", "ssm-parameter-value"):
        ssm.put_parameter(Name="/a/b", Value="", Type="String")
    with refused("ValidationException", "ssm-parameter-value"):
        ssm.put_parameter(Name="/a/b", Value="x" * 4097, Type="String")


def test_a_bucket_name_that_somebody_else_has_is_refused(desk: Desk, refused: Any) -> None:
    s3 = desk.client("s3")
    place = {"LocationConstraint": desk.region}
    with refused("BucketAlreadyExists", "s3-bucket-global"):
        s3.create_bucket(Bucket="taken-by-somebody-else-1", CreateBucketConfiguration=place)
    s3.create_bucket(Bucket="mine-and-only-mine", CreateBucketConfiguration=place)


def test_a_bucket_with_versions_or_markers_cannot_be_deleted(desk: Desk, refused: Any) -> None:
    s3 = desk.client("s3")
    s3.create_bucket(Bucket="versioned", CreateBucketConfiguration={"LocationConstraint": desk.region})
    s3.put_bucket_versioning(Bucket="versioned", VersioningConfiguration={"Status": "Enabled"})
    s3.put_object(Bucket="versioned", Key="a", Body=b"1")
    s3.delete_object(Bucket="versioned", Key="a")
    with refused("BucketNotEmpty", "s3-bucket-not-empty") as refusal:
        s3.delete_bucket(Bucket="versioned")
    assert "You must delete all versions" in refusal.text
    found = s3.list_object_versions(Bucket="versioned")
    for each in [*found["Versions"], *found["DeleteMarkers"]]:
        s3.delete_object(Bucket="versioned", Key=each["Key"], VersionId=each["VersionId"])
    s3.delete_bucket(Bucket="versioned")


def test_a_policy_that_denies_plain_http_leaves_requests_over_tls_alone(desk: Desk) -> None:
    s3 = desk.client("s3")
    s3.create_bucket(Bucket="over-tls-only", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    arn = "arn:aws:s3:::over-tls-only"
    denial = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": [arn, f"{arn}/*"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    policy = {"Version": "2012-10-17", "Statement": [denial]}
    s3.put_bucket_policy(Bucket="over-tls-only", Policy=json.dumps(policy))
    s3.put_object(Bucket="over-tls-only", Key="a", Body=b"a", Tagging="k=v")
    assert s3.get_object(Bucket="over-tls-only", Key="a")["Body"].read() == b"a"


def test_a_policy_that_denies_the_caller_is_obeyed(desk: Desk) -> None:
    s3 = desk.client("s3")
    s3.create_bucket(Bucket="closed", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    denial = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:PutObject",
        "Resource": "arn:aws:s3:::closed/*",
    }
    policy = {"Version": "2012-10-17", "Statement": [denial]}
    s3.put_bucket_policy(Bucket="closed", Policy=json.dumps(policy))
    with pytest.raises(ClientError) as refused:
        s3.put_object(Bucket="closed", Key="a", Body=b"a")
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403


def test_what_closes_motos_objects_leaves_the_next_cloud_awss_templates() -> None:
    # moto's own mock closes the objects of every bucket in the process, if it knows an S3 when it starts.
    for account in ("100000990001", "100000990002"):
        for _ in range(2):
            with mock_aws():
                boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="of-the-mock")
        with Cloud.start(CloudOptions(account_id=account, kubernetes=False)) as cloud:
            s3 = Desk(cloud).client("s3")
            found = s3.list_objects_v2(Bucket="aws-sagemaker-hyperpod-cluster-setup-us-west-2-prod")
            assert found["KeyCount"] > 0
            for each in found["Contents"]:
                body = s3.get_object(Bucket=found["Name"], Key=each["Key"])["Body"].read()
                assert len(body) == each["Size"] > 0
