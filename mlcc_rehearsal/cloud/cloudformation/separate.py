"""Stacks that a custom resource's function makes beside its own: stacks of the account, nested in nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moto.cloudformation.models import cloudformation_backends

from mlcc_rehearsal.cloud.cloudformation import lifecycle
from mlcc_rehearsal.cloud.cloudformation.parts import Run, Template
from mlcc_rehearsal.cloud.cloudformation.stacks import Stack, stack_id
from mlcc_rehearsal.cloud.cloudformation.tasks import Task, Work


def _backend(run: Run) -> Any:
    return cloudformation_backends[run.account.account_id][run.region]


def find(run: Run, name: str) -> Stack | None:
    """The living stack of a name."""
    found: Stack | None = _backend(run).find_native(name)
    return found


def create(
    run: Run,
    name: str,
    template: Template,
    parameters: Mapping[str, str],
    *,
    url: str = "",
    tags: Mapping[str, str] | None = None,
) -> Work:
    """Make a stack and wait for it; its status says how it came out."""
    stack = Stack(
        run.account,
        run.region,
        name,
        stack_id(run.account, run.region, name),
        url,
        dict(parameters),
        dict(tags or {}),
        ["CAPABILITY_NAMED_IAM"],
        run.stack.principal,
        run.account.clock.timestamp(),
        description=template.description,
    )
    _backend(run).native[stack.id] = stack
    stack.set_status("CREATE_IN_PROGRESS", "User Initiated")
    stack.task = Task(stack.account, lifecycle.create_root(stack, template), stack.principal, stack.region)
    stack.task.start()
    if not stack.task.finished:
        yield [stack.task]


def delete(run: Run, name: str) -> Work:
    """Delete a stack and wait for it; one that is not there is deleted already."""
    stack = find(run, name)
    if stack is None:
        return
    stack.set_status("DELETE_IN_PROGRESS", "User Initiated")
    stack.task = Task(stack.account, lifecycle.delete_root(stack, ()), stack.principal, stack.region).start()
    if not stack.task.finished:
        yield [stack.task]
