"""Why CloudFormation failed with a stack: the first real cause, wherever in its nested stacks it lies.

The events of the outermost stack say no more than that a nested one failed; the reason stands in the nested
stack's own events, which can be read by its id also after the rollback has deleted it (CloudFormation user
guide, "Troubleshooting CloudFormation" and "Stack status codes").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from mlcc_infra import clock
from mlcc_infra.account.reader import error_code
from mlcc_infra.account.session import AccountSession

POLL_SECONDS = 15.0
# As long as the stack may take, and its rollback besides.
WATCH_SECONDS = 2 * 150 * 60.0
_STACK = "AWS::CloudFormation::Stack"
# What is said of resources that were stopped because another one had failed.
_CONSEQUENCE = "Resource creation cancelled"
_FAILING = ("ROLLBACK_", "CREATE_FAILED", "DELETE_")
# The stack's own events with which an operation begins; a rollback belongs to what it takes back.
_BEGINNINGS = ("CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "DELETE_IN_PROGRESS", "IMPORT_IN_PROGRESS")


def first_cause(session: AccountSession, stack: str) -> str:
    """`Nested/Resource: reason` of what failed first in a stack (by name or id); empty when nothing did.

    Of its operations the last that failed is looked at: what a deletion fails of is not what the creation
    failed of a year ago. Raises botocore's errors when the events cannot be read.
    """
    return _cause(session, stack, None)


def _cause(session: AccountSession, stack: str, until: datetime | None) -> str:
    """The same, of what had happened when the stack around it was told."""
    pages = session.client("cloudformation").get_paginator("describe_stack_events").paginate(StackName=stack)
    events = [
        event
        for page in pages
        for event in page["StackEvents"]
        if until is None or event["Timestamp"] <= until
    ]
    event = _first_failure(events)
    if event is None:
        return ""
    name, nested = event["LogicalResourceId"], event.get("PhysicalResourceId")
    if event["ResourceType"] == _STACK and nested:
        inner = _cause(session, nested, event["Timestamp"])
        if inner:
            return f"{name}/{inner}"
    return f"{name}: {event['ResourceStatusReason']}"


def _first_failure(events: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The oldest failure of the newest operation that has one; `events` are the newest first."""
    found: Mapping[str, Any] | None = None
    for event in events:
        if _is_cause(event):
            found = event
        elif found is not None and _begins(event):
            break
    return found


def _begins(event: Mapping[str, Any]) -> bool:
    about_itself = event.get("PhysicalResourceId") == event["StackId"]
    return about_itself and event.get("ResourceStatus") in _BEGINNINGS


def _is_cause(event: Mapping[str, Any]) -> bool:
    if event.get("PhysicalResourceId") == event["StackId"]:
        return False  # the stack about itself
    reason = event.get("ResourceStatusReason") or ""
    failed = str(event.get("ResourceStatus", "")).endswith("_FAILED")
    return failed and bool(reason) and not reason.startswith(_CONSEQUENCE)


def watch_creation(
    session: AccountSession, stack_name: str, say: Callable[[str], None], *, besides: str | None = None
) -> None:
    """Wait until a stack of the name is made, and say why when it is not.

    Whoever makes it learns no more from the provider than which nested stack failed. `besides` is the id of
    a dead stack of that name, which does not count. Ends when the stack is complete or has failed; what
    cannot be read is said and ends it too.
    """
    deadline = clock.Deadline(WATCH_SECONDS)
    while not deadline.expired():
        try:
            stack = current_stack(session, stack_name)
            if stack is not None and stack["StackId"] != besides:
                status = str(stack["StackStatus"])
                if status == "CREATE_COMPLETE":
                    return
                cause = first_cause(session, stack["StackId"]) if status.startswith(_FAILING) else ""
                if cause:
                    say(f"Stack {stack_name} could not be made. First cause: {cause}")
                    return
        except (ClientError, BotoCoreError) as error:
            say(f"Stack {stack_name} cannot be watched while it is made: {error}")
            return
        clock.sleep(POLL_SECONDS)


def current_stack(session: AccountSession, name: str) -> dict[str, Any] | None:
    """The stack of that name as it is at this moment, asked anew each time; None when there is none.

    Raises botocore's errors for any other answer of CloudFormation.
    """
    try:
        stacks = session.client("cloudformation").describe_stacks(StackName=name)["Stacks"]
    except ClientError as error:
        if error_code(error) == "ValidationError":
            return None
        raise
    return dict(stacks[0]) if stacks else None
