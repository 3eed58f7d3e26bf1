"""What the API says of stacks: descriptions, events, resources, lists."""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.cloud.cloudformation.models import RehearsedCloudFormationBackend
from mlcc_rehearsal.cloud.cloudformation.operations import operation, page
from mlcc_rehearsal.cloud.cloudformation.stacks import Resource, Stack
from mlcc_rehearsal.cloud.cloudformation.validation import invalid


def described(stack: Stack) -> dict[str, Any]:
    """A stack as DescribeStacks answers it."""
    answer: dict[str, Any] = {
        "StackId": stack.id,
        "StackName": stack.name,
        "Description": stack.description,
        "Parameters": [{"ParameterKey": k, "ParameterValue": v} for k, v in stack.parameters.items()],
        "CreationTime": stack.created,
        "StackStatus": stack.status,
        "DisableRollback": stack.on_failure == "DO_NOTHING",
        "NotificationARNs": stack.notification_arns,
        "Capabilities": stack.capabilities,
        "Outputs": [{"OutputKey": k, "OutputValue": v} for k, v in stack.outputs.items()],
        "Tags": stack.tags,  # moto makes the API's form of it
        "EnableTerminationProtection": stack.root.termination_protection,
        "DriftInformation": {"StackDriftStatus": "NOT_CHECKED"},
        "RollbackConfiguration": {},
    }
    optional = {
        "StackStatusReason": stack.reason,
        "LastUpdatedTime": stack.updated,
        "DeletionTime": stack.deleted,
        "RoleARN": stack.role_arn,
        "TimeoutInMinutes": stack.timeout_minutes,
        "ParentId": stack.parent.id if stack.parent else None,
        "RootId": stack.root.id if stack.parent else None,
        "ChangeSetId": stack.change_set_id,
        "DeletionMode": stack.deletion_mode,
    }
    return answer | {key: value for key, value in optional.items() if value is not None}


@operation("DescribeStacks")
def describe_stacks(
    backend: RehearsedCloudFormationBackend, parameters: dict[str, Any]
) -> dict[str, Any] | None:
    """One stack by name or id, a deleted one by id only; all live ones without a name."""
    name = parameters.get("StackName")
    if name:
        stack = backend.find_native(name)
        return {"Stacks": [described(stack)]} if stack is not None else None
    native = [described(each) for each in backend.every_native() if each.status != "DELETE_COMPLETE"]
    return page([*native, *backend.stacks.values()], parameters, "Stacks")


@operation("DescribeStackEvents")
def describe_stack_events(
    backend: RehearsedCloudFormationBackend, parameters: dict[str, Any]
) -> dict[str, Any] | None:
    """A stack's events, newest first; those of a deleted stack by its id."""
    stack = backend.find_native(parameters["StackName"])
    return page(stack.events[::-1], parameters, "StackEvents") if stack is not None else None


def _resource(stack: Stack, resource: Resource, moment: str) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "LogicalResourceId": resource.logical_id,
        "ResourceType": resource.type,
        moment: resource.moment,
        "ResourceStatus": resource.status,
        "DriftInformation": {"StackResourceDriftStatus": "NOT_CHECKED"},
    }
    if resource.physical_id:
        answer["PhysicalResourceId"] = resource.physical_id
    if resource.reason:
        answer["ResourceStatusReason"] = resource.reason
    if moment == "Timestamp":
        answer |= {"StackName": stack.name, "StackId": stack.id}
    return answer


@operation("DescribeStackResources")
def describe_stack_resources(
    backend: RehearsedCloudFormationBackend, parameters: dict[str, Any]
) -> dict[str, Any] | None:
    """The resources of a stack, or the stack that a physical id is of; one of them when it is named."""
    stack: Stack | None
    physical = parameters.get("PhysicalResourceId")
    if physical:
        stack = next(
            (
                each
                for each in backend.every_native()
                if any(r.physical_id == physical for r in each.resources.values())
            ),
            None,
        )
        if stack is None:
            raise invalid(f"Stack for {physical} does not exist")
    else:
        stack = backend.find_native(parameters.get("StackName"))
    if stack is None:
        return None
    logical = parameters.get("LogicalResourceId")
    return {
        "StackResources": [
            _resource(stack, resource, "Timestamp")
            for resource in stack.resources.values()
            if logical is None or resource.logical_id == logical
        ]
    }


@operation("DescribeStackResource")
def describe_stack_resource(
    backend: RehearsedCloudFormationBackend, parameters: dict[str, Any]
) -> dict[str, Any] | None:
    """One resource of a stack."""
    stack = backend.find_native(parameters["StackName"])
    if stack is None:
        return None
    logical = parameters["LogicalResourceId"]
    if logical not in stack.resources:
        raise invalid(f"Resource {logical} does not exist for stack {stack.name}")
    detail = _resource(stack, stack.resources[logical], "LastUpdatedTimestamp")
    return {"StackResourceDetail": {**detail, "StackName": stack.name, "StackId": stack.id}}


@operation("ListStackResources")
def list_stack_resources(
    backend: RehearsedCloudFormationBackend, parameters: dict[str, Any]
) -> dict[str, Any] | None:
    """Summaries of a stack's resources."""
    stack = backend.find_native(parameters["StackName"])
    if stack is None:
        return None
    found = [_resource(stack, each, "LastUpdatedTimestamp") for each in stack.resources.values()]
    return page(found, parameters, "StackResourceSummaries")


@operation("ListStacks")
def list_stacks(backend: RehearsedCloudFormationBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Summaries of all stacks, nested and deleted ones included, unless statuses are asked for."""
    wanted = parameters.get("StackStatusFilter") or []
    newest_first = sorted(backend.every_native(), key=lambda each: each.created, reverse=True)
    found: list[Any] = [_summary(stack) for stack in newest_first if not wanted or stack.status in wanted]
    found += backend.list_stacks(wanted)
    return page(found, parameters, "StackSummaries")


def _summary(stack: Stack) -> dict[str, Any]:
    full = described(stack)
    kept = (
        "StackId",
        "StackName",
        "CreationTime",
        "LastUpdatedTime",
        "DeletionTime",
        "StackStatus",
        "StackStatusReason",
        "ParentId",
        "RootId",
    )
    summary = {key: full[key] for key in kept if key in full}
    return {**summary, "TemplateDescription": stack.description, "DriftInformation": full["DriftInformation"]}


@operation("GetStackPolicy")
def get_stack_policy(
    backend: RehearsedCloudFormationBackend, parameters: dict[str, Any]
) -> dict[str, Any] | None:
    """A stack's policy, if it has one."""
    stack = backend.find_native(parameters["StackName"])
    if stack is None:
        return None
    return {"StackPolicyBody": stack.policy} if stack.policy else {}
