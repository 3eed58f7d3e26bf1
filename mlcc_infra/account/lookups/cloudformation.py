"""CloudFormation stacks, and whose they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlcc_infra.account.decisions import Wanted
from mlcc_infra.account.import_ids import import_id
from mlcc_infra.account.lookups.eks import describe_cluster
from mlcc_infra.account.lookups.s3 import bucket_tags
from mlcc_infra.account.reader import Found, Reader
from mlcc_infra.tagging import TAG_MANAGED_BY

# DescribeStacks answers ValidationError for a name without a stack (CloudFormation API reference).
_ABSENT = ("ValidationError",)
# The parameter of AWS's HyperPod template that names the bucket with the lifecycle scripts.
LIFECYCLE_BUCKET_PARAMETER = "S3BucketName"


def describe_stack(reader: Reader, name: str) -> dict[str, Any] | None:
    """The stack of a name (or id), or None; one that was deleted counts as absent."""
    client = reader.session.client("cloudformation")
    stacks = reader.optional(
        ("stack", name), lambda: client.describe_stacks(StackName=name)["Stacks"], _ABSENT
    )
    live = [stack for stack in stacks or [] if stack["StackStatus"] != "DELETE_COMPLETE"]
    return dict(live[0]) if live else None


def stack_resource_ids(reader: Reader, name: str) -> frozenset[str]:
    """Physical ids of everything that a live stack owns; none where there is no stack of that name."""
    found = reader.optional(
        ("stack-resources", name),
        lambda: reader.pages(
            "cloudformation", "list_stack_resources", "StackResourceSummaries", StackName=name
        ),
        _ABSENT,
    )
    gone = ("DELETE_COMPLETE", "DELETE_SKIPPED")
    return frozenset(
        resource["PhysicalResourceId"]
        for resource in found or []
        if resource.get("PhysicalResourceId") and resource["ResourceStatus"] not in gone
    )


def nested_stacks_left(reader: Reader, root: str) -> list[str]:
    """Names of stacks that a stack of that name nested and that still exist: its template retained them."""
    client = reader.session.client("cloudformation")
    pages = client.get_paginator("list_stacks").paginate()
    return sorted(
        stack["StackName"]
        for page in pages
        for stack in page["StackSummaries"]
        if stack["StackStatus"] != "DELETE_COMPLETE" and f":stack/{root}/" in stack.get("RootId", "")
    )


def _stack(reader: Reader, wanted: Wanted) -> Found | None:
    """The stack carries no tags of ours: its EKS cluster tells who owns it, else its lifecycle bucket.

    Imported by its id, because the provider keeps the id it was given.
    """
    stack = describe_stack(reader, wanted.lookup["stack"])
    if stack is None:
        return None
    cluster = describe_cluster(reader, wanted.lookup["cluster"])
    tags = (cluster or {}).get("tags") or {}
    own = {key: value for key, value in tags.items() if not key.startswith("aws:")}
    if TAG_MANAGED_BY not in own:
        own |= _tags_of_lifecycle_bucket(reader, stack, wanted.lookup["lifecycle_bucket"])
    status = str(stack["StackStatus"])
    identifier = import_id("aws:cloudformation/stack:Stack", stack_id=stack["StackId"])
    return Found(
        import_id=identifier,
        resource_id=identifier,
        tags=own,
        under_way=status if status.endswith("_IN_PROGRESS") else "",
    )


def _tags_of_lifecycle_bucket(reader: Reader, stack: Mapping[str, Any], bucket: str) -> dict[str, str]:
    """The cluster is marked when the stack is done. One that is not, but was given the lifecycle bucket of
    this profile, can only be what the product began to make with it, and is as that bucket is.
    """
    parameters = {entry["ParameterKey"]: entry.get("ParameterValue") for entry in stack.get("Parameters", [])}
    if parameters.get(LIFECYCLE_BUCKET_PARAMETER) != bucket:
        return {}
    return bucket_tags(reader, bucket) or {}


LOOKUPS: Mapping[str, Callable[[Reader, Wanted], Found | None]] = {
    "aws:cloudformation/stack:Stack": _stack,
}
