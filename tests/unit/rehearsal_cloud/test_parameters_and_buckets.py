"""Laws of Systems Manager and S3."""

from __future__ import annotations

from typing import Any

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
