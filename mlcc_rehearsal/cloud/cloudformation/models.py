"""CloudFormation of one region: moto's stacks, and those of AWS's HyperPod template."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from moto.cloudformation.models import CloudFormationBackend
from moto.core.resource_tagging import TaggedResource

from mlcc_rehearsal.cloud.account import RehearsedAccount, account_of
from mlcc_rehearsal.cloud.cloudformation.stacks import Stack
from mlcc_rehearsal.cloud.errors import AwsError


@dataclass
class ChangeSet:
    """A change set of a stack of AWS's template, or of one nested in it."""

    id: str
    name: str
    stack: Stack
    kind: str
    parameters: dict[str, str]
    tags: dict[str, str]
    capabilities: list[str]
    created: datetime
    description: str | None = None
    template_url: str = ""
    include_nested: bool = False
    status: str = "CREATE_PENDING"
    execution: str = "UNAVAILABLE"
    reason: str | None = None
    changes: list[dict[str, Any]] = field(default_factory=list)
    parent: ChangeSet | None = None
    children: list[ChangeSet] = field(default_factory=list)

    @property
    def root(self) -> ChangeSet:
        """The change set that a caller made."""
        return self.parent.root if self.parent else self


class RehearsedCloudFormationBackend(CloudFormationBackend):
    """CloudFormation of a rehearsed account.

    :ivar native: root stacks of AWS's template by id, deleted ones included.
    :ivar functions: names of the functions that custom resources have.
    """

    def __init__(self, region_name: str, account_id: str) -> None:
        super().__init__(region_name, account_id)
        self.native: dict[str, Stack] = {}
        self.functions: set[str] = set()
        self.native_change_sets: dict[str, ChangeSet] = {}

    @property
    def account(self) -> RehearsedAccount:
        """The rehearsed account; :raises KeyError: when no cloud runs for it."""
        return account_of(self.account_id)

    def every_native(self) -> Iterator[Stack]:
        """All of them, nested ones after their root."""
        for stack in self.native.values():
            yield from stack.family()

    def find_native(self, name_or_id: str | None) -> Stack | None:
        """The stack with this id, or the live one with this name; None when moto may know it."""
        for stack in self.every_native():
            if stack.id == name_or_id or (stack.name == name_or_id and stack.status != "DELETE_COMPLETE"):
                return stack
        return None

    def name_taken(self, name: str) -> bool:
        """Whether a live stack has the name, one of moto's included."""
        return self.find_native(name) is not None or any(s.name == name for s in self.stacks.values())

    def iter_tagged_resources(self) -> Iterator[TaggedResource]:
        """Also the stacks of AWS's template and those nested in them."""
        yield from super().iter_tagged_resources()
        for stack in self.every_native():
            if stack.status != "DELETE_COMPLETE":
                yield TaggedResource(
                    arn=stack.id, tags=dict(stack.tags), resource_type="cloudformation:stack"
                )


def missing(name_or_id: str) -> AwsError:
    """What CloudFormation answers for a stack that is not there."""
    return AwsError("ValidationError", f"Stack with id {name_or_id} does not exist", status=400)
