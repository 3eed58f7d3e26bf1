"""CloudFormation stacks.

Source: terraform-provider-aws ``internal/service/cloudformation/stack.go``: the id is the stack's ARN
and known before the wait; an import keeps the id it is given, name or ARN; 30 minutes each way unless
the program says otherwise; reasons are those of the events of the operation's own request token; an
update sends address (or text), capabilities and every parameter for any difference, tags only so; only
parameters the program names are read back, ``onFailure``, ``policyBody``, ``policyUrl`` and
``templateUrl`` never; a stack that is there in whatever failed state is no difference;
``disableRollback`` reads as false.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from mlcc_rehearsal.plugins.aws.calling import PROPAGATION_SECONDS, AwsError, Call
from mlcc_rehearsal.plugins.aws.definition import MINUTE, AutoName, Definition, Import, Tagging, Timeouts
from mlcc_rehearsal.plugins.aws.documents import same_json
from mlcc_rehearsal.plugins.aws.resources._common import Validator, checks, tag_list, tag_map
from mlcc_rehearsal.plugins.aws.resources._eks import waiting
from mlcc_rehearsal.plugins.aws.schema import terraform_name
from mlcc_rehearsal.plugins.serving import ProviderError

INVALID = "ValidationError"
CAPABILITIES = ("CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND")
ON_FAILURE = ("DO_NOTHING", "ROLLBACK", "DELETE")
DELAY_SECONDS = 10.0
_STACK = "AWS::CloudFormation::Stack"

_CREATED = (
    "CREATE_COMPLETE",
    "CREATE_FAILED",
    "DELETE_COMPLETE",
    "DELETE_FAILED",
    "ROLLBACK_COMPLETE",
    "ROLLBACK_FAILED",
)
_CREATING = ("CREATE_IN_PROGRESS", "DELETE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS")
_UPDATED = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "UPDATE_ROLLBACK_FAILED")
_UPDATING = (
    "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS",
    "UPDATE_IN_PROGRESS",
    "UPDATE_ROLLBACK_IN_PROGRESS",
    "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS",
)

Event = Mapping[str, Any]


def find(call: Call, name: str) -> dict[str, Any] | None:
    """A stack by name or ARN, one that is deleted included; None when CloudFormation knows none."""
    try:
        stacks = call.pages("cloudformation", "describe_stacks", "Stacks", StackName=name)
    except AwsError as error:
        if error.aws_code == INVALID and "does not exist" in error.aws_message:
            return None
        raise
    return dict(stacks[0]) if stacks else None


def existing(call: Call, name: str) -> dict[str, Any] | None:
    """A stack that is not deleted."""
    stack = find(call, name)
    return stack if stack and stack["StackStatus"] != "DELETE_COMPLETE" else None


def normal(text: str) -> str:
    """A template as the provider keeps it: JSON compact with sorted keys, YAML as written."""
    try:
        return json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))
    except json.JSONDecodeError:
        return text


def template(call: Call, name: str, **stage: str) -> str:
    """The text a stack was made of."""
    body = call.aws("cloudformation", "get_template", StackName=name, **stage)["TemplateBody"]
    # botocore parses a JSON template and leaves YAML as text.
    return normal(body if isinstance(body, str) else json.dumps(body))


def outputs(stack: Mapping[str, Any]) -> dict[str, str]:
    """A stack's outputs by key."""
    return {item["OutputKey"]: item.get("OutputValue", "") for item in stack.get("Outputs") or []}


def parameters(stack: Mapping[str, Any]) -> dict[str, str]:
    """All of a stack's parameters by key."""
    return {item["ParameterKey"]: item.get("ParameterValue", "") for item in stack.get("Parameters") or []}


# Waiting, and why it failed


def _is_failure(event: Event) -> bool:
    return str(event.get("ResourceStatus", "")).endswith("_FAILED")


def _is_rollback(event: Event) -> bool:
    return str(event.get("ResourceStatus", "")).startswith("ROLLBACK_")


def _is_deletion(event: Event) -> bool:
    return event.get("ResourceStatus") == "DELETE_IN_PROGRESS" and event.get("ResourceType") == _STACK


def _reasons(call: Call, stack: Mapping[str, Any], token: str, *kinds: Callable[[Event], bool]) -> str:
    try:
        events = call.pages("cloudformation", "describe_stack_events", "StackEvents", StackName=call.id)
    except AwsError:
        events = []  # as the provider does: the stack's own reason remains
    said = [
        event["ResourceStatusReason"]
        for event in events
        if event.get("ClientRequestToken") == token
        and event.get("ResourceStatusReason") is not None
        and any(kind(event) for kind in kinds)
    ]
    return "\n".join(said) if said else str(stack.get("StackStatusReason") or "")


def _wait(call: Call, what: str, *, pending: tuple[str, ...], target: tuple[str, ...]) -> dict[str, Any]:
    def refresh() -> tuple[Any, str]:
        stack = find(call, call.id)
        if stack is None and what == "delete":
            return {"StackStatus": "DELETE_COMPLETE"}, "DELETE_COMPLETE"
        return stack, str(stack["StackStatus"]) if stack else ""

    call.pause(min(DELAY_SECONDS, call.timeout))
    found: dict[str, Any] = waiting(
        f"CloudFormation Stack ({call.id}) {what}",
        lambda: call.wait(refresh, pending=pending, target=target),
    )
    return found


def _fail(call: Call, what: str, stack: Mapping[str, Any], reasons: str) -> ProviderError:
    return ProviderError(
        f"waiting for CloudFormation Stack ({call.id}) {what}: "
        f"stack status ({stack['StackStatus']}): {reasons}"
    )


# The resource


def _request(call: Call) -> tuple[str, dict[str, Any]]:
    """What create and update both send, and the token that marks the operation's events."""
    token = f"terraform-{uuid.uuid4().hex}"
    given = _given(call, "parameters") or {}
    listed = [{"ParameterKey": key, "ParameterValue": value} for key, value in given.items()]
    return token, {
        "ClientRequestToken": token,
        "Capabilities": call.inputs.get("capabilities") or None,
        "Parameters": listed or None,
    }


def _given(call: Call, name: str) -> Any:
    """What the plan holds: the program's value, or for one left out what AWS filled."""
    value = call.inputs.get(name)
    return call.state.get(name) if value is None else value


def _send(call: Call, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
    return call.retry(
        lambda: call.aws("cloudformation", operation, **request),
        lambda error: error.aws_code == INVALID and "is invalid or cannot be assumed" in error.aws_message,
        PROPAGATION_SECONDS,
    )


def _create(call: Call) -> str:
    given = call.inputs
    token, request = _request(call)
    policy, body = given.get("policyBody"), given.get("templateBody")
    answer = _send(
        call,
        "create_stack",
        {
            **request,
            "StackName": given["name"],
            "Tags": tag_list(call.tags),
            "DisableRollback": given.get("disableRollback") or None,
            "RoleARN": given.get("iamRoleArn") or None,
            "NotificationARNs": given.get("notificationArns") or None,
            "OnFailure": given.get("onFailure") or None,
            "StackPolicyBody": normal(policy) if policy else None,
            "StackPolicyURL": given.get("policyUrl") or None,
            "TemplateBody": normal(body) if body else None,
            "TemplateURL": given.get("templateUrl") or None,
            "TimeoutInMinutes": int(given["timeoutInMinutes"]) if given.get("timeoutInMinutes") else None,
        },
    )
    call.id = str(answer["StackId"])
    stack = _wait(call, "create", pending=_CREATING, target=_CREATED)
    status = stack["StackStatus"]
    if status.startswith("ROLLBACK_"):
        raise _fail(call, "create", stack, _reasons(call, stack, token, _is_failure, _is_rollback))
    if status.startswith("DELETE_"):
        raise _fail(call, "create", stack, _reasons(call, stack, token, _is_failure, _is_deletion))
    if status == "CREATE_FAILED":
        raise _fail(call, "create", stack, _reasons(call, stack, token, _is_failure))
    return call.id


def _read(call: Call) -> dict[str, Any] | None:
    stack = existing(call, call.id)
    if stack is None:
        return None
    configured = _given(call, "parameters") or {}
    return {
        "capabilities": stack.get("Capabilities") or _given(call, "capabilities"),
        "disableRollback": False,
        "iamRoleArn": stack.get("RoleARN") or "",
        "name": stack["StackName"],
        "notificationArns": stack.get("NotificationARNs") or _given(call, "notificationArns"),
        "outputs": outputs(stack),
        "parameters": {key: value for key, value in parameters(stack).items() if key in configured},
        "tags": tag_map(stack.get("Tags")),
        "templateBody": template(call, call.id, TemplateStage="Original"),
        "timeoutInMinutes": stack.get("TimeoutInMinutes"),
    }


def _update(call: Call) -> None:
    given = call.inputs
    token, request = _request(call)
    request |= {"StackName": call.id, "Tags": tag_list(call.tags) or []}
    if call.changed("iamRoleArn"):
        request["RoleARN"] = given.get("iamRoleArn") or ""
    if call.changed("notificationArns"):
        request["NotificationARNs"] = given.get("notificationArns") or []
    if call.changed("policyBody"):
        request["StackPolicyBody"] = normal(given.get("policyBody") or "")
    if call.changed("policyUrl"):
        request["StackPolicyURL"] = given.get("policyUrl") or ""
    if given.get("templateUrl"):
        request["TemplateURL"] = given["templateUrl"]
    elif body := _given(call, "templateBody"):
        request["TemplateBody"] = normal(body)
    try:
        _send(call, "update_stack", request)
    except AwsError as error:
        if error.aws_code != INVALID or "No updates are to be performed" not in error.aws_message:
            raise
    else:
        stack = _wait(call, "update", pending=_UPDATING, target=_UPDATED)
        if stack["StackStatus"].startswith("UPDATE_ROLLBACK_"):
            raise _fail(call, "update", stack, _reasons(call, stack, token, _is_failure, _is_rollback))
    # Tags went along: nothing is left to change for the calls that would follow.
    call.state["tagsAll"] = call.tags


def _update_tags(call: Call, _changed: Any) -> None:
    if call.state.get("tagsAll") != call.tags:
        _update(call)


def _delete(call: Call) -> None:
    token = f"terraform-{uuid.uuid4().hex}"
    try:
        call.aws("cloudformation", "delete_stack", StackName=call.id, ClientRequestToken=token)
    except AwsError as error:
        if error.aws_code == INVALID:
            return
        raise
    stack = _wait(
        call,
        "delete",
        pending=("DELETE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS"),
        target=("DELETE_COMPLETE", "DELETE_FAILED"),
    )
    if stack["StackStatus"] == "DELETE_FAILED":
        raise _fail(call, "delete", stack, _reasons(call, stack, token, _is_failure))


def _each_of(name: str, allowed: tuple[str, ...]) -> Validator:
    def check(inputs: Mapping[str, Any]) -> list[tuple[str, str]]:
        value = inputs.get(name)
        values = value if isinstance(value, list) else [value]
        quoted = " ".join(f'"{item}"' for item in allowed)
        return [
            (name, f"expected {terraform_name(name)} to be one of [{quoted}], got {item}")
            for item in values
            if isinstance(item, str) and item not in allowed
        ]

    return check


def _is_json(inputs: Mapping[str, Any]) -> list[tuple[str, str]]:
    policy = inputs.get("policyBody")
    if not isinstance(policy, str):
        return []
    try:
        json.loads(policy)
    except json.JSONDecodeError as error:
        return [("policyBody", f'"policy_body" contains an invalid JSON: {error}')]
    return []


STACK = Definition(
    token="aws:cloudformation/stack:Stack",
    label="CloudFormation Stack",
    create=_create,
    read=_read,
    update=_update,
    delete=_delete,
    imports=Import(
        "stack name or stack id; it becomes the resource's id as it is given",
        "arn:aws:cloudformation:us-west-2:123456789012:stack/networking/0f0e0d0c-1111-2222-3333-444455556666",
    ),
    name=AutoName(),
    tagging=Tagging(tag=_update_tags, untag=_update_tags),
    replace=frozenset({"disableRollback", "name", "onFailure", "timeoutInMinutes"}),
    computed=frozenset({"parameters", "policyBody", "templateBody"}),
    unread=frozenset({"onFailure", "policyBody", "policyUrl", "templateUrl"}),
    json=frozenset({"policyBody"}),
    same={"templateBody": same_json},
    recomputed={
        "outputs": (
            "capabilities",
            "iamRoleArn",
            "notificationArns",
            "parameters",
            "policyBody",
            "policyUrl",
            "tags",
            "templateBody",
            "templateUrl",
        )
    },
    timeouts=Timeouts(create=30 * MINUTE, update=30 * MINUTE, delete=30 * MINUTE),
    validate=checks(_each_of("capabilities", CAPABILITIES), _each_of("onFailure", ON_FAILURE), _is_json),
)

DEFINITIONS = (STACK,)
