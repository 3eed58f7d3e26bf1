"""What the EC2 tables share: tags, ids that may be missing, deletion under DependencyViolation.

Sources: terraform-provider-aws ``internal/service/ec2`` (`ec2PropagationTimeout`, tag
specifications on create, CreateTags and DeleteTags after, ``errs.go`` for the codes).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlcc_rehearsal.plugins.aws.calling import AwsError, Call
from mlcc_rehearsal.plugins.aws.definition import Tagging
from mlcc_rehearsal.plugins.aws.resources._common import tag_list, tag_map

TAGGING = Tagging(
    tag=lambda call, tags: call.aws("ec2", "create_tags", Resources=[call.id], Tags=tag_list(tags)),
    untag=lambda call, keys: call.aws(
        "ec2", "delete_tags", Resources=[call.id], Tags=[{"Key": key} for key in keys]
    ),
)


def specifications(call: Call, kind: str) -> list[dict[str, Any]] | None:
    """TagSpecifications for a create call."""
    tags = tag_list(call.tags)
    return [{"ResourceType": kind, "Tags": tags}] if tags else None


def tags_of(thing: dict[str, Any]) -> dict[str, str]:
    """The tags in an EC2 answer."""
    return tag_map(thing.get("Tags"))


def describe(call: Call, operation: str, key: str, *missing: str, **parameters: Any) -> dict[str, Any] | None:
    """The one thing described; None when AWS answers one of the codes `missing` or an empty list."""
    found = call.find("ec2", operation, *missing, **parameters)
    things = found.get(key) if found else None
    return dict(things[0]) if things else None


def delete(call: Call, action: Callable[[], Any], missing: str, *retried: str, timeout: float = 0.0) -> None:
    """Delete, again while something still depends on the thing, up to the delete timeout."""
    codes = ("DependencyViolation", *retried)
    try:
        call.retry(action, lambda error: error.aws_code in codes, timeout or call.timeout)
    except AwsError as error:
        if error.aws_code != missing:
            raise


def lingering_interfaces(call: Call, filter_name: str) -> None:
    """Remove the network interfaces that Lambda and the EKS nodes' CNI leave behind.

    Source: ``vpc_network_interface.go`` deleteLingeringENIs: interfaces with the description of
    Lambda or of the CNI (``aws-K8S-i-…``), or of the type Comprehend makes, and of nothing else.
    """
    interfaces = call.pages(
        "ec2",
        "describe_network_interfaces",
        "NetworkInterfaces",
        Filters=[{"Name": filter_name, "Values": [call.id]}],
    )
    for interface in interfaces:
        description = str(interface.get("Description") or "")
        left_behind = description.startswith(("AWS Lambda VPC ENI", "aws-K8S-i-"))
        if left_behind and interface.get("Status") == "available":
            call.find(
                "ec2",
                "delete_network_interface",
                "InvalidNetworkInterfaceID.NotFound",
                "InvalidParameterValue",
                NetworkInterfaceId=interface["NetworkInterfaceId"],
            )
