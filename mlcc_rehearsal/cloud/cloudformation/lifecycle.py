"""What happens to a stack: its resources are made in order, rolled back, changed, deleted.

Sources: AWS CloudFormation user guide, 'Stack status codes', 'Nested stacks', 'Choose how to handle failures
when provisioning resources'; field reports G1, G5, G6.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any

from mlcc_rehearsal.cloud import durations, laws_hyperpod
from mlcc_rehearsal.cloud.cloudformation.parts import Part, Run, Template
from mlcc_rehearsal.cloud.cloudformation.stacks import Resource, Stack, random_suffix, stack_id
from mlcc_rehearsal.cloud.cloudformation.tasks import ResourceFailed, Task, Work, reason_of
from mlcc_rehearsal.cloud.errors import AwsError

_CANCELLED = "Resource creation cancelled"


def start(stack: Stack, work: Work) -> None:
    """Begin something with a stack, in the place of what was being done to it."""
    if stack.task is not None:
        stack.task.cancel()
    task = stack.task = Task(stack.account, work, stack.principal, stack.region)

    def look() -> None:
        if task.failure is not None and stack.in_progress:
            failed = stack.status.replace("_CLEANUP_IN_PROGRESS", "").replace("_IN_PROGRESS", "_FAILED")
            stack.set_status(failed, reason_of(task.failure))

    task.when_finished(look)
    task.start()


# --- making ----------------------------------------------------------------------------------------------


def create_root(stack: Stack, template: Template) -> Work:
    """Make a stack; when something fails, roll back as ``OnFailure`` says."""
    failed: list[str] = []
    yield durations.seconds("cloudformation.start")
    late = yield from _make(stack, template, failed, _timer(stack))
    if not failed:
        finish(stack, template, "CREATE_COMPLETE")
        return
    summary = f"The following resource(s) failed to create: [{', '.join(failed)}]. "
    if late:
        # This is the law "stack-timeout".
        summary = "Stack creation time exceeded the specified timeout. "
    if stack.on_failure == "DO_NOTHING":
        stack.set_status("CREATE_FAILED", summary)
        return
    stack.rolls_back = True
    if stack.on_failure == "DELETE":
        stack.set_status("DELETE_IN_PROGRESS", f"{summary}Delete requested by user.")
        yield from delete_contents(stack, "DELETE_COMPLETE", "DELETE_FAILED", ())
        return
    stack.set_status("ROLLBACK_IN_PROGRESS", f"{summary}Rollback requested by user.")
    # This is the law "stack-rollback-complete": nothing but deleting is left to do with it.
    yield from delete_contents(stack, "ROLLBACK_COMPLETE", "ROLLBACK_FAILED", ())


def _timer(stack: Stack) -> Task | None:
    """Ends when a stack's TimeoutInMinutes is over; None for one without."""
    if stack.timeout_minutes is None:
        return None

    def run_down(seconds: float) -> Work:
        yield seconds

    work = run_down(stack.timeout_minutes * 60.0)
    return Task(stack.account, work, stack.principal, stack.region).start()


def _make(
    stack: Stack, template: Template, failed: list[str], timer: Task | None = None
) -> Generator[float | int | Sequence[Task], None, bool]:
    """Make all resources, each when what it depends on is there; names of those that failed are added.

    Answers whether the timer has put an end to it.
    """
    parts = {part.logical_id: part for part in template.parts(stack)}
    stack.parts = dict(parts)
    running: dict[str, Task] = {}
    done: set[str] = {
        name
        for name in parts
        if name in stack.resources and stack.resources[name].status == "CREATE_COMPLETE"
    }
    while not failed or running:
        for name, part in parts.items():
            ready = set(part.depends) <= done and name not in done and name not in running
            if ready and not failed:
                running[name] = _begin(stack, part)
        if not running:
            break
        yield [*running.values(), *([timer] if timer is not None else [])]
        for name, task in list(running.items()):
            if task.finished:
                del running[name]
                if _settle(stack, name, task):
                    done.add(name)
                else:
                    failed.append(name)
        late = timer is not None and timer.finished and not failed and len(done) < len(parts)
        if failed or late:
            failed.extend(_cancel(stack, running))
            running.clear()
        if late:
            failed.extend(sorted(set(parts) - done - set(failed)))
            return True
    if timer is not None:
        timer.cancel()
    if not failed and len(done) < len(parts):
        raise AssertionError(f"resources of {stack.name} wait for each other: {sorted(set(parts) - done)}")
    return False


def _begin(stack: Stack, part: Part) -> Task:
    resource = Resource(part.logical_id, part.type, properties=properties_of(stack, part))
    stack.resources[part.logical_id] = resource
    stack.set_resource(resource, "CREATE_IN_PROGRESS")
    run = Run(stack, resource)
    return Task(stack.account, _struck(run, part, "Create"), stack.principal, stack.region).start()


def _struck(run: Run, part: Part, action: str) -> Work:
    """The part's own work, unless a fault of the fault file strikes the resource."""
    faults, now = run.account.faults, run.account.clock.now()
    struck = faults.strike_resource(part.logical_id, action, now) if faults is not None else None
    if struck is not None:
        yield struck.seconds or 5.0
        if struck.effect == "error":
            raise ResourceFailed(reason_of(AwsError(str(struck.code), struck.message)))
    yield from (part.create(run) if action == "Create" else part.delete(run))


def _settle(stack: Stack, name: str, task: Task) -> bool:
    resource = stack.resources[name]
    if task.failure is None:
        stack.set_resource(resource, "CREATE_COMPLETE")
        return True
    stack.set_resource(resource, "CREATE_FAILED", reason_of(task.failure))
    return False


def _cancel(stack: Stack, running: Mapping[str, Task]) -> Iterable[str]:
    for name, task in running.items():
        task.cancel()
        child = stack.children.get(name)
        if child is not None and child.in_progress:
            cancel_nested(child)
        stack.set_resource(stack.resources[name], "CREATE_FAILED", _CANCELLED)
    return list(running)


def cancel_nested(stack: Stack) -> None:
    """Stop what is being done to a nested stack and everything in it."""
    if stack.task is not None:
        stack.task.cancel()
    for name, resource in stack.resources.items():
        if resource.status == "CREATE_IN_PROGRESS":
            child = stack.children.get(name)
            if child is not None:
                cancel_nested(child)
            stack.set_resource(resource, "CREATE_FAILED", _CANCELLED)
    if stack.in_progress:
        stack.set_status("CREATE_FAILED", _CANCELLED)


def properties_of(stack: Stack, part: Part) -> dict[str, Any]:
    """A part's properties; the stack's tags are among them when they reach it."""
    properties = dict(part.properties)
    if part.tagged and stack.tags:
        properties["StackTags"] = dict(stack.tags)
    return properties


def finish(stack: Stack, template: Template, status: str) -> None:
    """Give a stack its outputs and the status of something that went well."""
    stack.outputs = template.outputs(stack)
    stack.set_status(status)


# --- nested stacks ---------------------------------------------------------------------------------------


def new_nested(run: Run, properties: Mapping[str, Any], description: str) -> Stack:
    """A nested stack, registered with the parent and findable by its id."""
    parent = run.stack
    name = f"{parent.name}-{run.resource.logical_id}-{random_suffix()}"
    child = Stack(
        parent.account,
        parent.region,
        name,
        stack_id(parent.account, parent.region, name),
        properties["TemplateURL"],
        dict(properties["Parameters"]),
        dict(parent.tags),
        list(parent.capabilities),
        parent.principal,
        parent.account.clock.timestamp(),
        parent=parent,
        description=description,
        role_arn=parent.role_arn,
    )
    parent.children[run.resource.logical_id] = child
    return child


def create_nested(run: Run, template: Template, properties: Mapping[str, Any]) -> Work:
    """Make a nested stack and wait for it; it is not rolled back by itself, the parent deletes it.

    :raises ResourceFailed: naming the nested stack and what failed in it, as CloudFormation words it.
    """
    child = new_nested(run, properties, template.description)
    run.made(child.id)
    child.set_status("CREATE_IN_PROGRESS", "User Initiated")
    failed: list[str] = []
    child.task = Task(child.account, _create_nested(child, template, failed), child.principal, child.region)
    child.task.start()
    if not child.task.finished:
        yield [child.task]
    if child.task.failure is not None:
        child.set_status("CREATE_FAILED", reason_of(child.task.failure))
        raise laws_hyperpod.NESTED_REASON.broken(ResourceFailed(reason_of(child.task.failure)))
    if failed:
        names = ", ".join(failed)
        raise laws_hyperpod.NESTED_REASON.broken(
            ResourceFailed(
                f"Embedded stack {child.id} was not successfully created: The following resource(s) "
                f"failed to "
                f"create: [{names}]. "
            )
        )


def _create_nested(child: Stack, template: Template, failed: list[str]) -> Work:
    yield durations.seconds("cloudformation.start")
    yield from _make(child, template, failed)
    if failed:
        summary = f"The following resource(s) failed to create: [{', '.join(failed)}]. "
        child.set_status("CREATE_FAILED", summary)
    else:
        finish(child, template, "CREATE_COMPLETE")


def delete_nested(run: Run) -> Work:
    """Delete a nested stack and wait for it.

    :raises ResourceFailed: when something of it could not be deleted.
    """
    child = next((each for each in run.stack.children.values() if each.id == run.resource.physical_id), None)
    if child is None or child.status == "DELETE_COMPLETE":
        return
    if child.in_progress:
        cancel_nested(child)
    child.set_status("DELETE_IN_PROGRESS")
    child.task = Task(
        child.account,
        delete_contents(child, "DELETE_COMPLETE", "DELETE_FAILED", ()),
        child.principal,
        child.region,
    ).start()
    if not child.task.finished:
        yield [child.task]
    if child.status != "DELETE_COMPLETE":
        raise ResourceFailed(
            f"Embedded stack {child.id} was not successfully deleted: {child.reason or ''}".rstrip() + " "
        )


# --- deleting --------------------------------------------------------------------------------------------


def delete_root(stack: Stack, retained: Iterable[str]) -> Work:
    """Delete a stack, all but the resources to be retained."""
    yield durations.seconds("cloudformation.start")
    yield from delete_contents(stack, "DELETE_COMPLETE", "DELETE_FAILED", tuple(retained))


def delete_contents(stack: Stack, success: str, failure: str, retained: tuple[str, ...]) -> Work:
    """Delete a stack's resources, each when nothing that depends on it is left; then set its status."""
    deletion = _Deletion(stack, retained)
    yield from deletion.run()
    if deletion.failed:
        names = ", ".join(deletion.failed)
        stack.set_status(failure, f"The following resource(s) failed to delete: [{names}]. ")
        return
    if success == "DELETE_COMPLETE":
        stack.deleted = stack.account.clock.timestamp()
        stack.outputs = {}
    stack.set_status(success)


class _Deletion:
    """The resources of a stack being deleted.

    :ivar failed: names of those that could not be; what they depend on is left alone.
    """

    def __init__(self, stack: Stack, retained: tuple[str, ...]) -> None:
        self.failed: list[str] = []
        self._stack = stack
        self._retained = retained
        self._waiting = {name for name, resource in stack.resources.items() if resource.exists}
        self._running: dict[str, Task] = {}

    def run(self) -> Work:
        """Delete in the reverse order of creation, what can be at the same time."""
        while self._waiting or self._running:
            started = [name for name in sorted(self._waiting) if not self._users(name)]
            for name in started:
                self._begin(name)
            if self._running:
                yield [*self._running.values()]
                self._settle()
            elif not started:
                return

    def _users(self, name: str) -> list[str]:
        left = {*self._waiting, *self._running, *self.failed}
        return [user for user, part in self._stack.parts.items() if name in part.depends and user in left]

    def _begin(self, name: str) -> None:
        self._waiting.discard(name)
        stack, resource, part = self._stack, self._stack.resources[name], self._stack.parts[name]
        if name in self._retained or _outlives(stack, part):
            stack.set_resource(resource, "DELETE_SKIPPED")
        elif resource.physical_id is None:
            resource.status = "DELETE_COMPLETE"
        else:
            stack.set_resource(resource, "DELETE_IN_PROGRESS")
            work = _struck(Run(stack, resource), part, "Delete")
            task = Task(stack.account, work, stack.principal, stack.region)
            self._running[name] = task.start()

    def _settle(self) -> None:
        for name, task in list(self._running.items()):
            if not task.finished:
                continue
            del self._running[name]
            resource = self._stack.resources[name]
            if task.failure is None:
                self._stack.set_resource(resource, "DELETE_COMPLETE")
            else:
                # This is the law "stack-delete-failed".
                self.failed.append(name)
                self._stack.set_resource(resource, "DELETE_FAILED", reason_of(task.failure))


def _outlives(stack: Stack, part: Part) -> bool:
    """Whether a resource stays when its stack goes: the law "stack-retained"."""
    created = stack.root.rolls_back
    return part.deletion_policy == "Retain" or (
        part.deletion_policy == "RetainExceptOnCreate" and not created
    )


def update_nested(run: Run, template: Template, properties: Mapping[str, Any]) -> Work:
    """Change a nested stack; see :mod:`.updating`."""
    from mlcc_rehearsal.cloud.cloudformation import updating

    yield from updating.update_nested(run, template, properties)
