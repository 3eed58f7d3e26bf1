"""Change sets of stacks of AWS's HyperPod template, with those of the nested stacks.

Source: AWS CloudFormation user guide, 'Change sets for nested stacks'.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from mlcc_rehearsal.cloud import durations, laws_hyperpod
from mlcc_rehearsal.cloud.cloudformation import lifecycle, main_stack, updating, validation
from mlcc_rehearsal.cloud.cloudformation.commands import flag, new_stack, principal_for
from mlcc_rehearsal.cloud.cloudformation.main_stack import MAIN_TEMPLATE
from mlcc_rehearsal.cloud.cloudformation.models import ChangeSet, RehearsedCloudFormationBackend
from mlcc_rehearsal.cloud.cloudformation.operations import operation, page
from mlcc_rehearsal.cloud.cloudformation.parts import Template
from mlcc_rehearsal.cloud.cloudformation.stacks import STACK_TYPE, Stack
from mlcc_rehearsal.cloud.cloudformation.tasks import ResourceFailed
from mlcc_rehearsal.cloud.errors import AwsError

NO_CHANGES = (
    "The submitted information didn't contain changes. Submit different information to create a change set."
)


def _id(backend: RehearsedCloudFormationBackend, name: str) -> str:
    here = f"{backend.region_name}:{backend.account_id}"
    return f"arn:{backend.partition}:cloudformation:{here}:changeSet/{name}/{uuid.uuid4()}"


@operation("CreateChangeSet")
def create_change_set(
    backend: RehearsedCloudFormationBackend, parameters: dict[str, Any]
) -> dict[str, Any] | None:
    """Begin to work out what an update, or a create, would do."""
    kind = parameters.get("ChangeSetType") or "UPDATE"
    stack = backend.find_native(parameters["StackName"])
    if stack is None and not validation.check_template(backend, parameters):
        return None
    name = parameters["ChangeSetName"]
    if stack is not None and _find(backend, name, stack.id) is not None:
        message = f"ChangeSet {name} already exists"
        raise laws_hyperpod.CHANGE_SET_STATE.broken(AwsError("AlreadyExistsException", message))
    made = (
        _for_create(backend, parameters, stack)
        if kind == "CREATE"
        else _for_update(backend, parameters, stack)
    )
    backend.native_change_sets[made.id] = made
    made.stack.change_set_id = made.id
    backend.account.clock.after(
        durations.seconds("cloudformation.change_set"), lambda: _work_out(backend, made)
    )
    return {"Id": made.id, "StackId": made.stack.id}


def _for_create(
    backend: RehearsedCloudFormationBackend, parameters: dict[str, Any], stack: Stack | None
) -> ChangeSet:
    if stack is not None and stack.status != "REVIEW_IN_PROGRESS":
        name = parameters["ChangeSetName"]
        message = (
            f"Stack [{stack.name}] already exists and cannot be created again with the changeSet [{name}]."
        )
        raise laws_hyperpod.STACK_EXISTS.broken(validation.invalid(message))
    if stack is None:
        validation.check_name(parameters["StackName"])
        stack = new_stack(backend, parameters)
        stack.set_status("REVIEW_IN_PROGRESS", "User Initiated")
        backend.native[stack.id] = stack
    return ChangeSet(
        _id(backend, parameters["ChangeSetName"]),
        parameters["ChangeSetName"],
        stack,
        "CREATE",
        stack.parameters,
        stack.tags,
        stack.capabilities,
        backend.account.clock.timestamp(),
        parameters.get("Description"),
        stack.template_url,
        flag(parameters.get("IncludeNestedStacks")),
    )


def _for_update(
    backend: RehearsedCloudFormationBackend, parameters: dict[str, Any], stack: Stack | None
) -> ChangeSet:
    if stack is None:
        message = f"Stack [{parameters['StackName']}] does not exist"
        raise validation.invalid(message)
    updating.check_updatable(stack)
    url = stack.template_url
    if not flag(parameters.get("UsePreviousTemplate")):
        if not validation.check_template(backend, parameters):
            raise validation.invalid("Either Template URL or Template Body must be specified.")
        url = parameters["TemplateURL"]
    values = validation.parameters_of(parameters.get("Parameters"), stack.parameters)
    capabilities = list(parameters.get("Capabilities") or [])
    validation.check_capabilities(capabilities)
    validation.check_resources(values, backend.region_name)
    tags = validation.check_tags(parameters["Tags"]) if "Tags" in parameters else stack.tags
    return ChangeSet(
        _id(backend, parameters["ChangeSetName"]),
        parameters["ChangeSetName"],
        stack,
        "UPDATE",
        values,
        tags,
        capabilities,
        backend.account.clock.timestamp(),
        parameters.get("Description"),
        url,
        flag(parameters.get("IncludeNestedStacks")),
    )


def _work_out(backend: RehearsedCloudFormationBackend, made: ChangeSet) -> None:
    if made.status != "CREATE_PENDING":
        return
    change = updating.Change(made.template_url, made.parameters, made.tags, nothing=False)
    try:
        _fill(backend, made, updating.view(made.stack, change), MAIN_TEMPLATE)
    except ResourceFailed as failed:
        made.status, made.reason, made.execution = "FAILED", str(failed), "UNAVAILABLE"
        return
    if not made.changes:
        made.status, made.reason, made.execution = "FAILED", NO_CHANGES, "UNAVAILABLE"
        return
    made.status, made.execution = "CREATE_COMPLETE", "AVAILABLE"


def _fill(backend: RehearsedCloudFormationBackend, made: ChangeSet, stack: Stack, template: Template) -> None:
    """Note the changes of a stack (a view of it), and those of its nested stacks in their own change sets."""
    for difference in updating.differences(stack, template):
        resource = stack.resources.get(difference.name)
        change: dict[str, Any] = {
            "Action": difference.action,
            "LogicalResourceId": difference.name,
            "ResourceType": difference.type,
        }
        if resource is not None and resource.physical_id:
            change["PhysicalResourceId"] = resource.physical_id
        if difference.action == "Modify":
            tags_too = "StackTags" in difference.keys
            others = [key for key in difference.keys if key != "StackTags"]
            change["Replacement"] = "True" if difference.replacement else "False"
            change["Scope"] = [*(["Properties"] if others else []), *(["Tags"] if tags_too else [])]
            change["Details"] = [
                {
                    "Target": {
                        "Attribute": "Tags" if key == "StackTags" else "Properties",
                        **({} if key == "StackTags" else {"Name": key}),
                        "RequiresRecreation": "Always" if difference.replacement else "Never",
                    },
                    "Evaluation": "Static",
                    "ChangeSource": "DirectModification",
                }
                for key in difference.keys
            ]
        if made.root.include_nested and difference.type == STACK_TYPE:
            nested = _nested(backend, made, stack, difference)
            if nested is not None:
                change["ChangeSetId"] = nested.id
        made.changes.append({"Type": "Resource", "ResourceChange": change})


def _nested(
    backend: RehearsedCloudFormationBackend, parent: ChangeSet, stack: Stack, difference: updating.Difference
) -> ChangeSet | None:
    if difference.action != "Modify" or difference.name not in stack.children:
        return None
    properties: Mapping[str, Any] = main_stack.resolved(stack, difference.name)
    child = updating.child_view(stack, difference.name, properties)
    name = f"{parent.name}-{difference.name}"
    made = ChangeSet(
        _id(backend, name),
        name,
        stack.children[difference.name],
        "UPDATE",
        dict(properties["Parameters"]),
        dict(stack.tags),
        parent.capabilities,
        parent.created,
        template_url=properties["TemplateURL"],
        include_nested=True,
        status="CREATE_COMPLETE",
        execution="AVAILABLE",
        parent=parent,
    )
    _fill(backend, made, child, main_stack.template_of(stack, difference.name))
    parent.children.append(made)
    backend.native_change_sets[made.id] = made
    return made


def _find(backend: RehearsedCloudFormationBackend, name_or_id: str, stack: str | None) -> ChangeSet | None:
    for made in backend.native_change_sets.values():
        if made.id == name_or_id:
            return made
        if (
            made.name == name_or_id
            and stack in (made.stack.id, made.stack.name)
            and made.status != "DELETE_COMPLETE"
        ):
            return made
    return None


def _found(backend: RehearsedCloudFormationBackend, parameters: dict[str, Any]) -> ChangeSet | None:
    return _find(backend, parameters["ChangeSetName"], parameters.get("StackName"))


@operation("DescribeChangeSet")
def describe_change_set(
    backend: RehearsedCloudFormationBackend, parameters: dict[str, Any]
) -> dict[str, Any] | None:
    """A change set with its changes."""
    made = _found(backend, parameters)
    if made is None:
        if backend.find_native(parameters.get("StackName")) is None:
            return None
        message = f"ChangeSet [{parameters['ChangeSetName']}] does not exist"
        raise AwsError("ChangeSetNotFound", message, status=404)
    answer = _summary(made)
    answer |= {
        "Parameters": [{"ParameterKey": k, "ParameterValue": v} for k, v in made.parameters.items()],
        "NotificationARNs": [],
        "RollbackConfiguration": {},
        "Capabilities": made.capabilities,
        "Tags": [{"Key": key, "Value": value} for key, value in made.tags.items()],
    }
    return answer | page(made.changes, parameters, "Changes")


def _summary(made: ChangeSet) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "ChangeSetName": made.name,
        "ChangeSetId": made.id,
        "StackId": made.stack.id,
        "StackName": made.stack.name,
        "CreationTime": made.created,
        "ExecutionStatus": made.execution,
        "Status": made.status,
        "IncludeNestedStacks": made.root.include_nested,
    }
    if made.reason:
        answer["StatusReason"] = made.reason
    if made.description:
        answer["Description"] = made.description
    if made.parent is not None:
        answer |= {"ParentChangeSetId": made.parent.id, "RootChangeSetId": made.root.id}
    return answer


@operation("ListChangeSets")
def list_change_sets(
    backend: RehearsedCloudFormationBackend, parameters: dict[str, Any]
) -> dict[str, Any] | None:
    """Summaries of a stack's change sets."""
    stack = backend.find_native(parameters["StackName"])
    if stack is None:
        return None
    found = [
        _summary(made)
        for made in backend.native_change_sets.values()
        if made.stack is stack and made.status != "DELETE_COMPLETE"
    ]
    return page(found, parameters, "Summaries")


@operation("ExecuteChangeSet")
def execute_change_set(
    backend: RehearsedCloudFormationBackend, parameters: dict[str, Any]
) -> dict[str, Any] | None:
    """Do what a change set says; the stack's other change sets are obsolete then."""
    made = _found(backend, parameters)
    if made is None:
        return None
    if made.parent is not None:
        message = "ExecuteChangeSet cannot be called on a nested change set; execute the root change set"
        raise laws_hyperpod.CHANGE_SET_STATE.broken(AwsError("InvalidChangeSetStatus", message, status=400))
    if made.status != "CREATE_COMPLETE" or made.execution != "AVAILABLE":
        message = (
            f"ChangeSet [{made.id}] cannot be executed in its current status of [{made.status}] and "
            f"execution "
            f"status of [{made.execution}]"
        )
        raise laws_hyperpod.CHANGE_SET_STATE.broken(AwsError("InvalidChangeSetStatus", message, status=400))
    stack = made.stack
    for other in backend.native_change_sets.values():
        if other.root.stack is stack and other.root is not made and other.execution == "AVAILABLE":
            other.execution = "OBSOLETE"
    made.execution = "EXECUTE_COMPLETE"
    for child in made.children:
        child.execution = "EXECUTE_COMPLETE"
    if made.kind == "CREATE":
        stack.set_status("CREATE_IN_PROGRESS", "User Initiated")
        lifecycle.start(stack, lifecycle.create_root(stack, MAIN_TEMPLATE))
    else:
        change = updating.Change(made.template_url, made.parameters, made.tags, nothing=False)
        updating.begin(stack, change, principal_for(backend, stack.role_arn), stack.policy)
    return {}


@operation("DeleteChangeSet")
def delete_change_set(
    backend: RehearsedCloudFormationBackend, parameters: dict[str, Any]
) -> dict[str, Any] | None:
    """Drop a change set, and those of the nested stacks."""
    made = _found(backend, parameters)
    if made is None:
        return {} if backend.find_native(parameters.get("StackName")) is not None else None
    for each in (made, *made.children):
        backend.native_change_sets.pop(each.id, None)
    return {}
