"""Template addresses: which are AWS's, which lie in a bucket of the account, what cannot be read.

Source: facts/templates.md section 1; AWS CloudFormation API reference, CreateStack (TemplateURL).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from moto.s3.models import s3_backends

from mlcc_rehearsal.cloud import laws_hyperpod
from mlcc_rehearsal.cloud.account import RehearsedAccount
from mlcc_rehearsal.cloud.cloudformation.contract import MAIN
from mlcc_rehearsal.cloud.errors import AwsError
from mlcc_rehearsal.cloud.s3 import public_templates

_VIRTUAL_HOST = re.compile(r"https://([a-z0-9.-]+)\.s3[.-]([a-z0-9-]+)\.amazonaws\.com/(.+)")
_GLOBAL_HOST = re.compile(r"https://([a-z0-9.-]+)\.s3\.amazonaws\.com/(.+)")
_PATH_STYLE = re.compile(r"https://s3(?:[.-]([a-z0-9-]+))?\.amazonaws\.com/([^/]+)/(.+)")
_MORE = "\nFor more information check http://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html"


@dataclass(frozen=True)
class Place:
    """An object in S3; ``region`` is None for a global address."""

    bucket: str
    key: str
    region: str | None


def place_of(url: str) -> Place:
    """Where an address points.

    :raises AwsError: ValidationError for an address that is not one of S3's over https.
    """
    if found := _GLOBAL_HOST.fullmatch(url):
        return Place(found.group(1), found.group(2), None)
    if found := _VIRTUAL_HOST.fullmatch(url):
        return Place(found.group(1), found.group(3), found.group(2))
    if found := _PATH_STYLE.fullmatch(url):
        return Place(found.group(2), found.group(3), found.group(1))
    raise laws_hyperpod.TEMPLATE_URL.broken(
        AwsError("ValidationError", "TemplateURL must be a supported URL.", status=400)
    )


def nested_url(parameters: Mapping[str, str], region: str, template: str) -> str:
    """Where the main stack looks for a nested template."""
    bucket = (
        parameters["CustomBucketName"]
        or f"aws-sagemaker-hyperpod-cluster-setup-{region}-{parameters['Stage']}"
    )
    return f"https://{bucket}.s3.{region}.amazonaws.com/templates/{template}"


def is_main(url: str) -> bool:
    """Whether an address is the main template's, in AWS's bucket or in a mirror."""
    try:
        return place_of(url).key.rsplit("/", 1)[-1] == MAIN
    except AwsError:
        return False


def check_readable(account: RehearsedAccount, url: str) -> None:
    """Refuse an address that CloudFormation cannot read.

    :raises AwsError: ValidationError in S3's words.
    """
    read(account, url)


def read(account: RehearsedAccount, url: str) -> bytes:
    """The object at an address; :raises AwsError: ValidationError in S3's words."""
    place = place_of(url)
    buckets: Any = s3_backends[account.account_id][account.partition].buckets
    public = public_templates.bucket_region(place.bucket)
    if place.bucket not in buckets and public is None:
        raise _refused("The specified bucket does not exist")
    if public is not None and place.bucket not in buckets:
        value = public_templates.objects().get(place.key)
        if value is None:
            # An unsigned reader of AWS's bucket may not list it: a missing key looks like a forbidden one.
            raise _refused("Access Denied")
        return value
    bucket = buckets[place.bucket]
    if place.region is not None and bucket.region_name != place.region:
        raise _refused(
            "The bucket you are attempting to access must be addressed using the specified endpoint. "
            "Please send all future requests to this endpoint."
        )
    if place.key not in bucket.keys:
        raise _refused("The specified key does not exist.")
    return bytes(bucket.keys[place.key].value)


def _refused(message: str) -> AwsError:
    return laws_hyperpod.TEMPLATE_URL.broken(
        AwsError("ValidationError", f"S3 error: {message}{_MORE}", status=400)
    )
