"""moto's S3 with bucket names that others may hold."""

from __future__ import annotations

from typing import Any

from moto.s3.models import S3Backend

from mlcc_rehearsal.cloud import laws
from mlcc_rehearsal.cloud.errors import AwsError
from mlcc_rehearsal.cloud.s3 import public_templates
from mlcc_rehearsal.cloud.s3.buckets import RehearsedBucket

# Names that somebody else has in every rehearsal, so that the refusal can be met on purpose.
TAKEN_PREFIX = "taken-by-somebody-else"


class RehearsedS3Backend(S3Backend):
    """S3 of a rehearsed account."""

    def __init__(self, region_name: str, account_id: str) -> None:
        super().__init__(region_name, account_id)
        self._public: dict[str, Any] = {}

    @property
    def _url_module(self) -> Any:
        # moto derives it from the class's own module, which has none.
        from moto.s3 import urls

        return urls

    def create_bucket(self, bucket_name: str, region_name: str, *args: Any, **kwargs: Any) -> Any:
        """:raises AwsError: BucketAlreadyExists for a name that another account has."""
        if bucket_name.startswith(TAKEN_PREFIX) or public_templates.bucket_region(bucket_name):
            message = (
                "The requested bucket name is not available. The bucket namespace is shared by all users of "
                "the system. Please select a different name and try again."
            )
            raise laws.BUCKET_GLOBAL.broken(AwsError("BucketAlreadyExists", message))
        bucket = super().create_bucket(bucket_name, region_name, *args, **kwargs)
        bucket.__class__ = RehearsedBucket
        return bucket

    def get_bucket(self, bucket_name: str) -> Any:
        """Also answers AWS's own buckets of templates, which anybody may read."""
        if bucket_name not in self.buckets and public_templates.bucket_region(bucket_name):
            if bucket_name not in self._public:
                self._public[bucket_name] = public_templates.make_bucket(bucket_name)
            return self._public[bucket_name]
        return super().get_bucket(bucket_name)

    def put_object(self, bucket_name: str, key_name: str, *args: Any, **kwargs: Any) -> Any:
        """:raises AwsError: AccessDenied for a bucket of AWS's own."""
        if bucket_name not in self.buckets and public_templates.bucket_region(bucket_name):
            raise AwsError("AccessDenied", "Access Denied", status=403)
        return super().put_object(bucket_name, key_name, *args, **kwargs)

    def delete_bucket(self, bucket_name: str) -> Any:
        """:raises AwsError: BucketNotEmpty while objects, versions or delete markers are in it."""
        bucket = self.get_bucket(bucket_name)
        if bucket.keys:
            message = "The bucket you tried to delete is not empty"
            if bucket.versioning_status:
                message += ". You must delete all versions in the bucket."
            raise laws.BUCKET_NOT_EMPTY.broken(AwsError("BucketNotEmpty", message))
        return super().delete_bucket(bucket_name)
