"""CloudWatch log groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlcc_infra.account.decisions import Wanted
from mlcc_infra.account.import_ids import import_id
from mlcc_infra.account.reader import Found, Reader


def describe_log_group(reader: Reader, name: str) -> dict[str, Any] | None:
    """The log group of a name, or None."""
    groups = reader.once(
        ("log-groups", name),
        lambda: reader.pages("logs", "describe_log_groups", "logGroups", logGroupNamePrefix=name),
    )
    return next((dict(found) for found in groups if found["logGroupName"] == name), None)


def _log_group(reader: Reader, wanted: Wanted) -> Found | None:
    name = wanted.lookup["name"]
    group = describe_log_group(reader, name)
    if group is None:
        return None
    # The ARN of DescribeLogGroups ends in `:*`; the tagging call wants it without (CloudWatch Logs API).
    arn = group["arn"].removesuffix(":*")
    tags = reader.session.client("logs").list_tags_for_resource(resourceArn=arn).get("tags", {})
    identifier = import_id("aws:cloudwatch/logGroup:LogGroup", name=name)
    return Found(import_id=identifier, resource_id=identifier, tags=tags)


LOOKUPS: Mapping[str, Callable[[Reader, Wanted], Found | None]] = {
    "aws:cloudwatch/logGroup:LogGroup": _log_group,
}
