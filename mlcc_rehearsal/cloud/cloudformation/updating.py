"""Changing a stack: what differs, what the stack policy says, and the way back when something fails.

Sources: AWS CloudFormation user guide, 'Understand update behaviors of stack resources', 'Prevent updates to
stack resources', 'Continue rolling back an update'; field report G6.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mlcc_rehearsal.cloud import durations, laws_hyperpod
from mlcc_rehearsal.cloud.cloudformation import lifecycle, main_stack, validation
from mlcc_rehearsal.cloud.cloudformation.main_stack import MAIN_TEMPLATE
from mlcc_rehearsal.cloud.cloudformation.parts import Part, Run, Template
from mlcc_rehearsal.cloud.cloudformation.stacks import STACK_TYPE, Resource, Stack
from mlcc_rehearsal.cloud.cloudformation.tasks import ResourceFailed, Task, Work, reason_of
from mlcc_rehearsal.cloud.errors import ServiceException
from mlcc_rehearsal.cloud.iam_evaluation import Decision, Request, evaluate

_UPDATABLE = (
    "CREATE_COMPLETE",
    "UPDATE_COMPLETE",
    "UPDATE_ROLLBACK_COMPLETE",
    "IMPORT_COMPLETE",
    "IMPORT_ROLLBACK_COMPLETE",
)


@dataclass(frozen=True)
class Change:
    """What a stack is to become."""

    template_url: str
    parameters: dict[str, str]
    tags: dict[str, str]
    nothing: bool


@dataclass(frozen=True)
class Difference:
    """What an update does with one resource: Add, Modify or Remove, and whether a new one takes its place."""

    name: str
    type: str
    action: str
    replacement: bool = False
    keys: tuple[str, ...] = ()

    @property
    def policy_action(self) -> str:
        """The action that a stack policy names."""
        if self.action == "Remove":
            return "Update:Delete"
        return "Update:Replace" if self.replacement else "Update:Modify"


def check_updatable(stack: Stack) -> None:
    """:raises AwsError: ValidationError for a stack in a state that refuses updates."""
    if stack.status not in _UPDATABLE:
        message = f"Stack:{stack.id} is in {stack.status} state and can not be updated."
        law = (
            laws_hyperpod.ROLLBACK_COMPLETE
            if stack.status == "ROLLBACK_COMPLETE"
            else laws_hyperpod.STACK_STATE
        )
        raise law.broken(validation.invalid(message))


def change_of(stack: Stack, url: str, parameters: dict[str, str], tags: dict[str, str]) -> Change:
    """The change that an update asks for."""
    nothing = url == stack.template_url and parameters == stack.parameters and tags == stack.tags
    return Change(url, parameters, tags, nothing)


# --- differences -----------------------------------------------------------------------------------------


def view(stack: Stack, change: Change) -> Stack:
    """The stack as it would be: new parameters, tags and address over the same resources."""
    return dataclasses.replace(
        stack, template_url=change.template_url, parameters=change.parameters, tags=change.tags
    )


def wanted_properties(stack: Stack, part: Part) -> dict[str, Any]:
    """A part's properties as the stack's parameters and tags make them now."""
    properties = lifecycle.properties_of(stack, part)
    if part.type == STACK_TYPE:
        properties.update(main_stack.resolved(stack, part.logical_id))
    return properties


def child_view(stack: Stack, name: str, properties: Mapping[str, Any]) -> Stack:
    """A nested stack as it would be."""
    change = Change(properties["TemplateURL"], dict(properties["Parameters"]), stack.tags, nothing=False)
    return view(stack.children[name], change)


def difference_of(stack: Stack, part: Part) -> Difference | None:
    """What an update would do with one part, or None when nothing of it differs."""
    resource = stack.resources.get(part.logical_id)
    if resource is None or not resource.exists or resource.physical_id is None:
        return Difference(part.logical_id, part.type, "Add")
    wanted = wanted_properties(stack, part)
    keys = tuple(
        key
        for key in sorted(set(wanted) | set(resource.properties))
        if wanted.get(key) != resource.properties.get(key)
    )
    if part.type == STACK_TYPE and not keys:
        nested = child_view(stack, part.logical_id, wanted)
        keys = ("Template",) if differences(nested, main_stack.template_of(stack, part.logical_id)) else ()
    if not keys:
        return None
    replacement = part.update is None or bool(set(keys) & set(part.create_only))
    return Difference(part.logical_id, part.type, "Modify", replacement, keys)


def differences(stack: Stack, template: Template) -> list[Difference]:
    """What an update would do with all resources of a stack (a view of it as it would be)."""
    parts = {part.logical_id: part for part in template.parts(stack)}
    found = [each for part in parts.values() if (each := difference_of(stack, part)) is not None]
    found += [
        Difference(name, resource.type, "Remove")
        for name, resource in stack.resources.items()
        if name not in parts and resource.exists
    ]
    return found


def denied(policy: str | None, difference: Difference) -> str | None:
    """Why a stack policy does not allow a difference, or None when it does.

    Without a policy everything is allowed; with one, what it does not allow is denied.
    """
    if policy is None or difference.action == "Add":
        return None
    request = Request(
        difference.policy_action,
        f"LogicalResourceId/{difference.name}",
        {"ResourceType": difference.type},
    )
    result = evaluate([policy], request)
    if result.decision is Decision.ALLOWED:
        return None
    which = (
        f"Statement [#{result.matches[0].statement + 1}] denies" if result.matches else "No statement allows"
    )
    action = difference.policy_action
    return f"Action denied by stack policy: {which} [{action}] for resource [{difference.name}]"


# --- doing it --------------------------------------------------------------------------------------------


def begin(stack: Stack, change: Change, principal: str | None, policy: str | None) -> None:
    """Begin an update of a root stack."""
    stack.previous = {
        "url": stack.template_url,
        "parameters": stack.parameters,
        "tags": stack.tags,
    }
    stack.principal = principal
    for each in stack.family():
        each.principal = principal
    _become(stack, change.template_url, change.parameters, change.tags)
    stack.updated = stack.account.clock.timestamp()
    stack.set_status("UPDATE_IN_PROGRESS", "User Initiated")
    lifecycle.start(stack, _update_root(stack, policy))


def _become(stack: Stack, url: str, parameters: dict[str, str], tags: dict[str, str]) -> None:
    stack.template_url, stack.parameters, stack.tags = url, parameters, tags


def _update_root(stack: Stack, policy: str | None) -> Work:
    yield durations.seconds("cloudformation.start")
    applied = _Applied(stack, MAIN_TEMPLATE, policy)
    yield from applied.run()
    if applied.failed:
        summary = f"The following resource(s) failed to update: [{', '.join(applied.failed)}]. "
        stack.set_status("UPDATE_ROLLBACK_IN_PROGRESS", summary)
        yield from _roll_back(stack, ())
        return
    stack.set_status("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS")
    yield from applied.clean_up()
    lifecycle.finish(stack, MAIN_TEMPLATE, "UPDATE_COMPLETE")


def _roll_back(stack: Stack, skipped: tuple[str, ...]) -> Work:
    assert stack.previous is not None
    _become(stack, **stack.previous)
    yield 5.0
    applied = _Applied(stack, MAIN_TEMPLATE, None, skipped)
    yield from applied.run()
    if applied.failed:
        summary = f"The following resource(s) failed to update: [{', '.join(applied.failed)}]. "
        stack.set_status("UPDATE_ROLLBACK_FAILED", summary)
        return
    stack.set_status("UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS")
    yield from applied.clean_up()
    lifecycle.finish(stack, MAIN_TEMPLATE, "UPDATE_ROLLBACK_COMPLETE")


def cancel(stack: Stack) -> None:
    """Stop an update and roll back; :raises AwsError: ValidationError when there is none."""
    if stack.status != "UPDATE_IN_PROGRESS":
        message = f"CancelUpdateStack cannot be called from current stack status: {stack.status}"
        raise laws_hyperpod.STACK_STATE.broken(validation.invalid(message))
    _stop(stack)
    stack.set_status("UPDATE_ROLLBACK_IN_PROGRESS", "User Initiated")
    lifecycle.start(stack, _roll_back(stack, ()))


def _stop(stack: Stack) -> None:
    """End the work on a stack and those nested in it where it waits."""
    for each in stack.family():
        if each.task is not None:
            each.task.cancel()
        if each is not stack and each.in_progress:
            each.set_status("UPDATE_FAILED", "Resource update cancelled")


def continue_rollback(stack: Stack, skipped: list[str]) -> None:
    """Try a failed rollback again.

    :raises AwsError: ValidationError for another state, or for resources to skip that the stack has not.
    """
    if stack.status != "UPDATE_ROLLBACK_FAILED":
        message = (
            f"Stack:{stack.id} is in {stack.status} state and can not be continued. Only stacks in "
            "UPDATE_ROLLBACK_FAILED can."
        )
        raise laws_hyperpod.STACK_STATE.broken(validation.invalid(message))
    unknown = [name for name in skipped if name not in stack.resources]
    if unknown:
        message = f"Resources {unknown} to skip do not exist in the stack"
        raise laws_hyperpod.STACK_STATE.broken(validation.invalid(message))
    stack.set_status("UPDATE_ROLLBACK_IN_PROGRESS", "User Initiated")
    lifecycle.start(stack, _roll_back(stack, tuple(skipped)))


def update_nested(run: Run, template: Template, properties: Mapping[str, Any]) -> Work:
    """Change a nested stack and wait for it.

    :raises ResourceFailed: naming what failed in it.
    """
    child = run.stack.children[run.resource.logical_id]
    _become(child, properties["TemplateURL"], dict(properties["Parameters"]), dict(run.stack.tags))
    child.updated = child.account.clock.timestamp()
    child.set_status("UPDATE_IN_PROGRESS")
    applied = _Applied(child, template, None)
    child.task = Task(child.account, applied.run(), child.principal, child.region).start()
    if not child.task.finished:
        yield [child.task]
    if child.task.failure is not None or applied.failed:
        reason = (
            reason_of(child.task.failure)
            if child.task.failure is not None
            else f"The following resource(s) failed to update: [{', '.join(applied.failed)}]. "
        )
        child.set_status("UPDATE_FAILED", reason)
        raise laws_hyperpod.NESTED_REASON.broken(
            ResourceFailed(
                f"Embedded stack {child.id} was not successfully updated. Currently in UPDATE_FAILED with "
                f"reason: "
                f"{reason}"
            )
        )
    child.task = Task(child.account, applied.clean_up(), child.principal, child.region).start()
    if not child.task.finished:
        yield [child.task]
    lifecycle.finish(child, template, "UPDATE_COMPLETE")


class _Applied:
    """One pass over a stack's resources that makes them what the template wants.

    :ivar failed: names of those that could not be; the pass ends at the first.
    """

    def __init__(
        self, stack: Stack, template: Template, policy: str | None, skipped: tuple[str, ...] = ()
    ) -> None:
        self.stack = stack
        self.template = template
        self.policy = policy
        self.skipped = skipped
        self.failed: list[str] = []
        self._left: list[tuple[Part, Resource]] = []

    def run(self) -> Work:
        """Add and change resources in the order of their dependencies."""
        parts = {part.logical_id: part for part in self.template.parts(self.stack)}
        before = self.stack.parts
        for name, resource in self.stack.resources.items():
            if name not in parts and resource.exists and name in before:
                removal = Difference(name, resource.type, "Remove")
                if self._refused(resource, removal):
                    return
                self._left.append((before[name], resource))
        for part in _ordered(parts):
            if part.logical_id in self.skipped:
                continue
            try:
                difference = difference_of(self.stack, part)
            except ResourceFailed as unreadable:
                resource = self.stack.resources[part.logical_id]
                self.stack.set_resource(resource, "UPDATE_FAILED", str(unreadable))
                self.failed.append(part.logical_id)
                difference = None
            if difference is not None:
                yield from self._apply(part, difference)
            if self.failed:
                self.stack.parts = {**before, **parts}
                return
        self.stack.parts = {**before, **parts}

    def _refused(self, resource: Resource, difference: Difference) -> bool:
        reason = denied(self.policy, difference)
        if reason is None:
            return False
        laws_hyperpod.ACTION_DENIED.broken(ResourceFailed(reason))
        self.stack.set_resource(resource, "UPDATE_FAILED", reason)
        self.failed.append(difference.name)
        return True

    def _apply(self, part: Part, difference: Difference) -> Work:
        stack, name = self.stack, part.logical_id
        if difference.action == "Add":
            resource = Resource(name, part.type, properties=lifecycle.properties_of(stack, part))
            stack.resources[name] = resource
            yield from self._carry_out(resource, part.create(Run(stack, resource)), "CREATE")
            return
        resource = stack.resources[name]
        if self._refused(resource, difference):
            return
        before = resource.properties
        wanted = wanted_properties(stack, part)
        if difference.replacement:
            old = copy.copy(resource)
            old.attributes = dict(resource.attributes)
            resource.properties = wanted
            reason = "Requested update requires the creation of a new physical resource; hence creating one."
            yield from self._carry_out(resource, part.create(Run(stack, resource)), "UPDATE", reason)
            if self.failed:
                stack.resources[name] = old
            else:
                self._left.append((part, old))
            return
        resource.properties = wanted
        assert part.update is not None
        yield from self._carry_out(resource, part.update(Run(stack, resource), before), "UPDATE")
        if self.failed:
            resource.properties = before

    def _carry_out(self, resource: Resource, work: Work, verb: str, reason: str | None = None) -> Work:
        self.stack.set_resource(resource, f"{verb}_IN_PROGRESS", reason)
        try:
            yield from work
        except (ResourceFailed, ServiceException) as failure:
            self.stack.set_resource(resource, f"{verb}_FAILED", reason_of(failure))
            self.failed.append(resource.logical_id)
            return
        self.stack.set_resource(resource, f"{verb}_COMPLETE")

    def clean_up(self) -> Work:
        """Delete what was removed or replaced; what cannot be deleted is left, and said in an event."""
        for part, resource in reversed(self._left):
            if part.deletion_policy != "Delete":
                self.stack.set_resource(resource, "DELETE_SKIPPED")
                continue
            self.stack.set_resource(resource, "DELETE_IN_PROGRESS")
            try:
                yield from part.delete(Run(self.stack, resource))
            except (ResourceFailed, ServiceException) as failure:
                self.stack.set_resource(resource, "DELETE_FAILED", reason_of(failure))
            else:
                self.stack.set_resource(resource, "DELETE_COMPLETE")


def _ordered(parts: Mapping[str, Part]) -> Iterator[Part]:
    """Parts after what they depend on."""
    waiting = dict(parts)
    while waiting:
        ready = [part for part in waiting.values() if not set(part.depends) & set(waiting)]
        if not ready:
            raise AssertionError(f"parts depend on each other: {sorted(waiting)}")
        for part in ready:
            del waiting[part.logical_id]
            yield part
