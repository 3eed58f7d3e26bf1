"""Stacks, their resources and their events, in the shapes that the API answers."""

from __future__ import annotations

import json
import secrets
import string
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mlcc_rehearsal.cloud.cloudformation.tasks import Task

if TYPE_CHECKING:
    from mlcc_rehearsal.cloud.account import RehearsedAccount
    from mlcc_rehearsal.cloud.cloudformation.parts import Part

STACK_TYPE = "AWS::CloudFormation::Stack"


@dataclass
class Resource:
    """A resource of a stack.

    :ivar properties: as last made or changed; what an update compares with.
    :ivar attributes: what ``Fn::GetAtt`` answers.
    """

    logical_id: str
    type: str
    physical_id: str | None = None
    status: str = "CREATE_IN_PROGRESS"
    reason: str | None = None
    moment: datetime | None = None
    properties: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def exists(self) -> bool:
        """Whether something of it may be there."""
        return self.status not in ("DELETE_COMPLETE", "DELETE_SKIPPED")


@dataclass
class Stack:
    """A stack, root or nested.

    :ivar principal: who calls the services for it: its caller, or the session of its service role.
    :ivar rolls_back: whether its creation has failed, so that what was made of it goes.
    :ivar previous: parameters, tags and address before the update in progress, for its rollback.
    """

    account: RehearsedAccount
    region: str
    name: str
    id: str
    template_url: str
    parameters: dict[str, str]
    tags: dict[str, str]
    capabilities: list[str]
    principal: str | None
    created: datetime
    parent: Stack | None = None
    description: str = ""
    status: str = "CREATE_IN_PROGRESS"
    reason: str | None = None
    updated: datetime | None = None
    deleted: datetime | None = None
    policy: str | None = None
    termination_protection: bool = False
    on_failure: str = "ROLLBACK"
    role_arn: str | None = None
    timeout_minutes: int | None = None
    notification_arns: list[str] = field(default_factory=list)
    token: str | None = None
    resources: dict[str, Resource] = field(default_factory=dict)
    parts: dict[str, Part] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    children: dict[str, Stack] = field(default_factory=dict)
    task: Task | None = None
    previous: dict[str, Any] | None = None
    change_set_id: str | None = None
    deletion_mode: str | None = None
    rolls_back: bool = False

    @property
    def root(self) -> Stack:
        """The stack that a caller made."""
        return self.parent.root if self.parent else self

    @property
    def in_progress(self) -> bool:
        """Whether something is being done to it."""
        return self.status.endswith("_IN_PROGRESS") and self.status != "REVIEW_IN_PROGRESS"

    def family(self) -> Iterator[Stack]:
        """The stack and all nested in it, deleted ones included."""
        yield self
        for child in self.children.values():
            yield from child.family()

    def set_status(self, status: str, reason: str | None = None) -> None:
        """Change the stack's status, with its event."""
        self.status = status
        self.reason = reason
        self._event(self.name, self.id, STACK_TYPE, status, reason)

    def set_resource(self, resource: Resource, status: str, reason: str | None = None) -> None:
        """Change a resource's status, with its event."""
        resource.status = status
        resource.reason = reason
        resource.moment = self.account.clock.timestamp()
        self._event(
            resource.logical_id,
            resource.physical_id or "",
            resource.type,
            status,
            reason,
            json.dumps(resource.properties, default=str) if status.endswith("_IN_PROGRESS") else None,
        )

    def _event(
        self,
        logical_id: str,
        physical_id: str,
        kind: str,
        status: str,
        reason: str | None,
        properties: str | None = None,
    ) -> None:
        event: dict[str, Any] = {
            "StackId": self.id,
            "StackName": self.name,
            "EventId": f"{logical_id}-{status}-{uuid.uuid4()}"
            if logical_id != self.name
            else str(uuid.uuid4()),
            "LogicalResourceId": logical_id,
            "PhysicalResourceId": physical_id,
            "ResourceType": kind,
            "Timestamp": self.account.clock.timestamp(),
            "ResourceStatus": status,
        }
        if reason:
            event["ResourceStatusReason"] = reason
        if properties and properties != "{}":
            event["ResourceProperties"] = properties
        if self.root.token:
            event["ClientRequestToken"] = self.root.token
        self.events.append(event)


def stack_id(account: RehearsedAccount, region: str, name: str) -> str:
    """A fresh stack id."""
    return f"arn:{account.partition}:cloudformation:{region}:{account.account_id}:stack/{name}/{uuid.uuid4()}"


def random_suffix(length: int = 12) -> str:
    """What CloudFormation appends to generated names.

    Source: AWS CloudFormation user guide, 'Name type'.
    """
    return "".join(secrets.choice(string.ascii_uppercase + string.digits) for _ in range(length))


def generated_name(stack: Stack, logical_id: str, longest: int = 64) -> str:
    """``<stack>-<logical id>-<random>``, its first part shortened to fit."""
    suffix = random_suffix()
    room = longest - len(suffix) - len(logical_id) - 2
    return f"{stack.name[: max(1, room)]}-{logical_id[: longest - len(suffix) - 3]}-{suffix}"
