"""moto's S3 with bucket names that others may hold."""

from __future__ import annotations

from typing import Any

from moto.s3.exceptions import BucketAlreadyExists
from moto.s3.models import S3Backend

from mlcc_rehearsal.cloud import laws

# Names that somebody else has in every rehearsal, so that the refusal can be met on purpose.
TAKEN_PREFIX = "taken-by-somebody-else"


class RehearsedS3Backend(S3Backend):
    """S3 of a rehearsed account."""

    @property
    def _url_module(self) -> Any:
        # moto derives it from the class's own module, which has none.
        from moto.s3 import urls

        return urls

    def create_bucket(self, bucket_name: str, region_name: str, *args: Any, **kwargs: Any) -> Any:
        """:raises BucketAlreadyExists: for a name that another account has."""
        if bucket_name.startswith(TAKEN_PREFIX):
            raise laws.BUCKET_GLOBAL.broken(BucketAlreadyExists(bucket=bucket_name))
        return super().create_bucket(bucket_name, region_name, *args, **kwargs)
