"""A single tag of a resource that somebody else owns.

Source: terraform-provider-aws ``internal/service/ec2/tag_gen.go``.
"""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.plugins.aws.calling import AwsError, Call
from mlcc_rehearsal.plugins.aws.definition import Definition
from mlcc_rehearsal.plugins.aws.resources._common import compound


def _put(call: Call) -> str:
    given = call.inputs
    call.aws(
        "ec2",
        "create_tags",
        Resources=[given["resourceId"]],
        Tags=[{"Key": given["key"], "Value": given["value"]}],
    )
    return f"{given['resourceId']},{given['key']}"


def _read(call: Call) -> dict[str, Any] | None:
    resource, _, key = call.id.partition(",")
    tags = call.pages(
        "ec2",
        "describe_tags",
        "Tags",
        Filters=[{"Name": "resource-id", "Values": [resource]}, {"Name": "key", "Values": [key]}],
    )
    if not tags:
        return None
    return {"resourceId": resource, "key": key, "value": tags[0].get("Value") or ""}


def _delete(call: Call) -> None:
    resource, _, key = call.id.partition(",")
    # AWS answers the NotFound of the resource's own kind when the resource is gone.
    try:
        call.aws("ec2", "delete_tags", Resources=[resource], Tags=[{"Key": key}])
    except AwsError as error:
        if not error.aws_code.endswith(".NotFound"):
            raise


TAG = Definition(
    token="aws:ec2/tag:Tag",
    label="EC2 Tag",
    create=_put,
    read=_read,
    update=_put,
    delete=_delete,
    imports=compound("resource-id,key", "subnet-0abc,kubernetes.io/role/elb", ",", "resourceId", "key"),
    replace=frozenset({"resourceId", "key"}),
    title=lambda properties: f"{properties.get('resourceId')},{properties.get('key')}",
)

DEFINITIONS = (TAG,)
