"""S3 objects.

Source: terraform-provider-aws ``internal/service/s3/object.go``: content is not read back, a new etag
shows drift only where the program gives one; the id is ``bucket/key`` (v6 on).
"""

from __future__ import annotations

import base64
import hashlib
import mimetypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from mlcc_rehearsal.plugins.aws.calling import Call
from mlcc_rehearsal.plugins.aws.definition import AutoName, Definition, Import, Tagging
from mlcc_rehearsal.plugins.aws.resources._common import checks, conflicts, tag_list, tag_map
from mlcc_rehearsal.plugins.aws.resources.s3 import GONE
from mlcc_rehearsal.plugins.values import Asset

_HEADERS = {
    "cacheControl": "CacheControl",
    "contentDisposition": "ContentDisposition",
    "contentEncoding": "ContentEncoding",
    "contentLanguage": "ContentLanguage",
    "contentType": "ContentType",
    "metadata": "Metadata",
    "serverSideEncryption": "ServerSideEncryption",
    "storageClass": "StorageClass",
    "websiteRedirect": "WebsiteRedirectLocation",
}
_CONTENT = ("source", "content", "contentBase64", "etag", "sourceHash", "kmsKeyId", *_HEADERS)


def content(inputs: Mapping[str, Any]) -> bytes:
    """The bytes a program gives: an asset, a path, a text or base64. OSError when a file cannot be read."""
    source = inputs.get("source")
    if isinstance(source, Asset):
        return source.content()
    if isinstance(source, str) and source:
        return Path(source).expanduser().read_bytes()
    if inputs.get("contentBase64"):
        return base64.b64decode(inputs["contentBase64"])
    return str(inputs.get("content") or "").encode()


def _put(call: Call) -> str:
    given = call.inputs
    bucket, key = str(given["bucket"]), _key(given)
    headers = {parameter: given.get(name) or None for name, parameter in _HEADERS.items()}
    headers["ContentType"] = (
        headers["ContentType"] or mimetypes.guess_type(key)[0] or "application/octet-stream"
    )
    call.aws(
        "s3",
        "put_object",
        Bucket=bucket,
        Key=key,
        Body=content(given),
        ACL=given.get("acl"),
        SSEKMSKeyId=given.get("kmsKeyId"),
        Tagging=urlencode(call.tags) or None,
        **headers,
    )
    return f"{bucket}/{key}"


def _key(inputs: Mapping[str, Any]) -> str:
    return str(inputs["key"]).removeprefix("/")


def _names(call: Call) -> dict[str, str]:
    bucket, _, key = call.id.partition("/")
    return {"Bucket": bucket, "Key": key}


def _tag(call: Call, tags: Mapping[str, str]) -> None:
    call.aws("s3", "put_object_tagging", **_names(call), Tagging={"TagSet": tag_list(tags) or []})


def _tags(call: Call) -> dict[str, str]:
    found = call.find("s3", "get_object_tagging", "NoSuchKey", *GONE, **_names(call))
    return tag_map((found or {}).get("TagSet"))


TAGGING = Tagging(
    tag=lambda call, tags: _tag(call, {**_tags(call), **tags}),
    untag=lambda call, keys: _tag(call, {k: v for k, v in _tags(call).items() if k not in keys}),
)


def _read(call: Call) -> dict[str, Any] | None:
    names = _names(call)
    found = call.find("s3", "head_object", "NoSuchKey", *GONE, **names)
    if found is None:
        return None
    return {
        "arn": f"arn:{call.partition}:s3:::{names['Bucket']}/{names['Key']}",
        "bucket": names["Bucket"],
        "bucketKeyEnabled": bool(found.get("BucketKeyEnabled")),
        "cacheControl": found.get("CacheControl") or "",
        "contentDisposition": found.get("ContentDisposition") or "",
        "contentEncoding": found.get("ContentEncoding") or "",
        "contentLanguage": found.get("ContentLanguage") or "",
        "contentType": found.get("ContentType") or "",
        "etag": str(found["ETag"]).strip('"'),
        "key": names["Key"],
        "kmsKeyId": found.get("SSEKMSKeyId"),
        "metadata": dict(found.get("Metadata") or {}),
        "serverSideEncryption": found.get("ServerSideEncryption") or "AES256",
        "storageClass": found.get("StorageClass") or "STANDARD",
        "tags": _tags(call),
        "versionId": found.get("VersionId") or "",
        "websiteRedirect": found.get("WebsiteRedirectLocation") or "",
    }


def _update(call: Call) -> None:
    if call.changed(*_CONTENT):
        _put(call)
    elif call.changed("acl"):
        call.aws("s3", "put_object_acl", **_names(call), ACL=call.inputs["acl"])


def _delete(call: Call) -> None:
    names = _names(call)
    versions = call.find("s3", "list_object_versions", *GONE, Bucket=names["Bucket"], Prefix=names["Key"])
    if call.state.get("versionId"):
        for item in [*(versions or {}).get("Versions", []), *(versions or {}).get("DeleteMarkers", [])]:
            if item["Key"] == names["Key"]:
                call.aws("s3", "delete_object", **names, VersionId=item["VersionId"])
    else:
        call.find("s3", "delete_object", *GONE, **names)


def _parse(text: str) -> tuple[str, dict[str, Any]]:
    plain = text.removeprefix("s3://")
    bucket, _, key = plain.partition("/")
    if not bucket or not key:
        raise ValueError(f'id ("{text}") should be in the form of: bucket/key or s3://bucket/key')
    return plain, {"bucket": bucket, "key": key}


def _same_asset(old: Any, new: Any) -> bool:
    def digest(value: Any) -> Any:
        if not isinstance(value, Asset):
            return value
        return value.fields.get("hash") or hashlib.sha256(value.content()).hexdigest()

    return bool(digest(old) == digest(new))


OBJECT = Definition(
    token="aws:s3/bucketObjectv2:BucketObjectv2",
    label="S3 Object",
    create=_put,
    read=_read,
    update=_update,
    delete=_delete,
    imports=Import("bucket/key", "my-bucket/some/key.txt", _parse),
    name=AutoName("key", 1024, digits=0),
    tagging=TAGGING,
    replace=frozenset({"bucket", "key"}),
    computed=frozenset(
        {
            "acl",
            "bucketKeyEnabled",
            "contentType",
            "etag",
            "kmsKeyId",
            "serverSideEncryption",
            "storageClass",
        }
    ),
    defaults={"forceDestroy": False},
    unread=frozenset(
        {
            "acl",
            "checksumAlgorithm",
            "content",
            "contentBase64",
            "forceDestroy",
            "overrideProvider",
            "source",
            "sourceHash",
        }
    ),
    same={"source": _same_asset},
    recomputed={"etag": _CONTENT, "versionId": _CONTENT},
    title=lambda properties: f"{properties.get('bucket')}/{properties.get('key')}",
    validate=checks(conflicts("source", "content"), conflicts("source", "contentBase64")),
)

DEFINITIONS = (OBJECT,)
