"""The resources of a template: what making, changing and deleting one does in the account."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlcc_rehearsal.cloud import durations
from mlcc_rehearsal.cloud.account import RehearsedAccount
from mlcc_rehearsal.cloud.cloudformation.stacks import Resource, Stack
from mlcc_rehearsal.cloud.cloudformation.tasks import ResourceFailed, Work, reason_of
from mlcc_rehearsal.cloud.ec2.network import ec2_of
from mlcc_rehearsal.cloud.errors import ServiceException
from mlcc_rehearsal.cloud.requests import NamedRequest

Handler = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass
class Run:
    """One resource of one stack being worked on."""

    stack: Stack
    resource: Resource

    @property
    def account(self) -> RehearsedAccount:
        """The rehearsed account."""
        return self.stack.account

    @property
    def region(self) -> str:
        """The stack's region."""
        return self.stack.region

    @property
    def ec2(self) -> Any:
        """EC2 of the stack's region."""
        return ec2_of(self.account, self.region)

    def made(self, physical_id: str, **attributes: Any) -> None:
        """Note the physical id, which CloudFormation shows in a second CREATE_IN_PROGRESS event."""
        self.resource.physical_id = physical_id
        self.resource.attributes.update(attributes)
        self.stack.set_resource(self.resource, self.resource.status, "Resource creation Initiated")

    def physical(self, logical_id: str) -> str:
        """``Ref`` of another resource of the stack."""
        return str(self.stack.resources[logical_id].physical_id)

    def tags(self, **own: str) -> dict[str, str]:
        """Own tags, the stack's, and the three that CloudFormation sets.

        Source: AWS CloudFormation user guide, 'Resource tag'.
        """
        return {
            **self.stack.tags,
            **own,
            "aws:cloudformation:stack-name": self.stack.name,
            "aws:cloudformation:stack-id": self.stack.id,
            "aws:cloudformation:logical-id": self.resource.logical_id,
        }

    def call(
        self, service: str, operation: str, parameters: dict[str, Any], handler: Handler
    ) -> dict[str, Any]:
        """An operation of another service, as the stack's caller; faults strike it like any other call.

        :raises AwsError: what a fault or the service answers.
        """
        faults = self.account.faults
        if faults is not None:
            asked = NamedRequest(
                "POST", "/", service, operation, self.region, None, signed=True, parameters=dict(parameters)
            )
            for fault in faults.strike(asked, self.account.clock.now()):
                if fault.effect != "delay":
                    raise fault.error(asked)
        return handler(parameters)


Action = Callable[[Run], Work]
Update = Callable[[Run, dict[str, Any]], Work]


@dataclass(frozen=True)
class Part:
    """A resource of a template.

    :ivar properties: what an update compares; a custom resource has none, so it is deaf to changes.
    :ivar update: changes it in place; without, a difference replaces it.
    :ivar create_only: properties whose change replaces it all the same.
    :ivar tagged: whether the stack's tags are its properties too.
    :ivar deletion_policy: Retain and RetainExceptOnCreate let it outlive its stack, the second not when the
        stack's creation is rolled back (AWS CloudFormation user guide, DeletionPolicy attribute).
    """

    logical_id: str
    type: str
    create: Action
    delete: Action
    depends: tuple[str, ...] = ()
    properties: Mapping[str, Any] = field(default_factory=dict)
    update: Update | None = None
    create_only: tuple[str, ...] = ()
    tagged: bool = False
    deletion_policy: str = "Delete"


@dataclass(frozen=True)
class Template:
    """A nested template: its resources for given parameters, its outputs, what it needs."""

    file: str
    description: str
    parts: Callable[[Stack], list[Part]]
    outputs: Callable[[Stack], dict[str, str]]
    artifacts: tuple[str, ...] = ()
    named_roles: bool = False


def wait(name: str) -> Work:
    """Let a duration of the table pass."""
    yield durations.seconds(name)


def nothing(run: Run) -> Work:
    """Deleting what goes with something else, or was only a setting."""
    del run
    yield 1.0


def until(condition: Callable[[], bool], every: float = 5.0) -> Work:
    """Wait until something holds, looking every few modelled seconds."""
    while not condition():
        yield every


def retrying(action: Callable[[], Any], codes: tuple[str, ...] = ("DependencyViolation",)) -> Work:
    """Do something that AWS may refuse for a while; CloudFormation tries again, and then gives up.

    :raises ResourceFailed: with the last refusal's words.
    """
    patience = durations.seconds("cloudformation.dependency_patience")
    waited = 0.0
    while True:
        try:
            action()
        except ServiceException as refused:
            if refused.code not in codes or waited >= patience:
                raise ResourceFailed(reason_of(refused)) from refused
            yield 30.0
            waited += 30.0
        else:
            return


def at_once(action: Callable[[Run], None], seconds: float = 3.0) -> Action:
    """An action that takes a moment only."""

    def work(run: Run) -> Generator[float, None, None]:
        action(run)
        yield seconds

    return work
