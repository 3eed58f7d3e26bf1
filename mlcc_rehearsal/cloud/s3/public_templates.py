"""AWS's own buckets of HyperPod templates, one a region: anybody may read them, nobody here may write.

Source: facts/templates.md section 1.  In which regions there is one is not known from a public text
(unverified): the regions of AWS::SageMaker::Cluster are taken.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

_NAME = re.compile(r"aws-sagemaker-hyperpod-cluster-setup-([a-z]{2}-[a-z]+-\d)-(prod|gamma)")
_OWNER = "999999999999"

REGIONS = frozenset(
    {
        "us-east-1", "us-east-2", "us-west-1", "us-west-2", "ca-central-1", "sa-east-1", "eu-central-1",
        "eu-north-1", "eu-south-2", "eu-west-1", "eu-west-2", "ap-northeast-1", "ap-northeast-2",
        "ap-south-1",
        "ap-south-2", "ap-southeast-1", "ap-southeast-2", "ap-southeast-3", "ap-southeast-4",
    }
)  # fmt: skip


def bucket_region(name: str) -> str | None:
    """The region of one of AWS's buckets, or None for any other name."""
    found = _NAME.fullmatch(name)
    return found.group(1) if found and found.group(1) in REGIONS and found.group(2) == "prod" else None


@lru_cache(maxsize=1)
def objects() -> dict[str, bytes]:
    """Keys and contents; the same in every region."""
    from mlcc_rehearsal.cloud.cloudformation.template_text import files

    return files()


def make_bucket(name: str) -> Any:
    """A new one of moto's buckets with the objects in it; moto's reset closes the objects of every bucket."""
    from moto.s3.models import FakeBucket, FakeKey

    region = bucket_region(name)
    assert region is not None
    made: Any = FakeBucket(name=name, account_id=_OWNER, region_name=region)
    for key, value in objects().items():
        made.keys[key] = FakeKey(key, value, account_id=_OWNER, region_name=region)
    return made
