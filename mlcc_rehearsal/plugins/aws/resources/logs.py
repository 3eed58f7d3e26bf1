"""CloudWatch log groups.

Source: terraform-provider-aws ``internal/service/logs/group.go``; pulumi-aws: the id is the name.
"""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.plugins.aws.calling import Call
from mlcc_rehearsal.plugins.aws.definition import AutoName, Definition, Import, Tagging
from mlcc_rehearsal.plugins.aws.resources._common import conflicts, physical_name

GONE = "ResourceNotFoundException"


def _arn(call: Call) -> str:
    return call.arn("logs", f"log-group:{call.id}")


TAGGING = Tagging(
    tag=lambda call, tags: call.aws("logs", "tag_resource", resourceArn=_arn(call), tags=tags),
    untag=lambda call, keys: call.aws("logs", "untag_resource", resourceArn=_arn(call), tagKeys=keys),
)


def _retention(call: Call) -> None:
    days = call.inputs.get("retentionInDays")
    if days:
        call.aws("logs", "put_retention_policy", logGroupName=call.id, retentionInDays=days)
    else:
        call.find("logs", "delete_retention_policy", GONE, logGroupName=call.id)


def _create(call: Call) -> str:
    name = physical_name(call)
    call.aws(
        "logs",
        "create_log_group",
        logGroupName=name,
        logGroupClass=call.inputs.get("logGroupClass"),
        kmsKeyId=call.inputs.get("kmsKeyId"),
        tags=call.tags or None,
    )
    call.id = name
    if call.inputs.get("retentionInDays"):
        _retention(call)
    return name


def _read(call: Call) -> dict[str, Any] | None:
    found = call.pages("logs", "describe_log_groups", "logGroups", logGroupNamePrefix=call.id)
    group = next((item for item in found if item["logGroupName"] == call.id), None)
    if group is None:
        return None
    tags = call.aws("logs", "list_tags_for_resource", resourceArn=_arn(call)).get("tags")
    return {
        "arn": str(group["arn"]).removesuffix(":*"),
        "kmsKeyId": group.get("kmsKeyId") or "",
        "logGroupClass": group.get("logGroupClass") or "STANDARD",
        "name": group["logGroupName"],
        "namePrefix": "",
        "retentionInDays": group.get("retentionInDays") or 0,
        "tags": tags or {},
    }


def _update(call: Call) -> None:
    if call.changed("retentionInDays"):
        _retention(call)
    if call.changed("kmsKeyId"):
        if call.inputs.get("kmsKeyId"):
            call.aws("logs", "associate_kms_key", logGroupName=call.id, kmsKeyId=call.inputs["kmsKeyId"])
        else:
            call.aws("logs", "disassociate_kms_key", logGroupName=call.id)


def _delete(call: Call) -> None:
    if not call.state.get("skipDestroy"):
        call.find("logs", "delete_log_group", GONE, logGroupName=call.id)


LOG_GROUP = Definition(
    token="aws:cloudwatch/logGroup:LogGroup",
    label="CloudWatch Logs Log Group",
    create=_create,
    read=_read,
    update=_update,
    delete=_delete,
    imports=Import("name", "/aws/eks/my-cluster/cluster"),
    name=AutoName(),
    tagging=TAGGING,
    replace=frozenset({"logGroupClass", "name", "namePrefix"}),
    computed=frozenset({"deletionProtectionEnabled", "logGroupClass", "name", "namePrefix"}),
    defaults={"skipDestroy": False, "retentionInDays": 0},
    unread=frozenset({"skipDestroy", "deletionProtectionEnabled"}),
    validate=conflicts("name", "namePrefix"),
)

DEFINITIONS = (LOG_GROUP,)
