"""Work that takes modelled time: generators that say how long they wait, run by the cloud's clock.

A generator yields a number of modelled seconds, or :class:`Task` objects to wait for the first of them.
It runs under the cloud's lock and, so that services know who asks, as a principal.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Sequence

from mlcc_rehearsal.cloud.account import CurrentRequest, RehearsedAccount, current_request
from mlcc_rehearsal.cloud.errors import ServiceException

log = logging.getLogger(__name__)

Work = Generator[float | int | Sequence["Task"], None, None]


class ResourceFailed(Exception):  # noqa: N818 - it is an outcome, and named as CloudFormation names it
    """A resource could not be made, changed or deleted; the text is its ``ResourceStatusReason``."""


class Task:
    """A generator being run.

    :ivar failure: what ended it, when it did not end by itself.
    """

    def __init__(self, account: RehearsedAccount, work: Work, principal: str | None, region: str) -> None:
        self._account = account
        self._work = work
        self._principal = principal
        self._region = region
        self._waiters: list[Callable[[], None]] = []
        self.finished = False
        self.failure: Exception | None = None

    def start(self) -> Task:
        """Run to the first wait; answers itself."""
        self._step()
        return self

    def cancel(self) -> None:
        """End the work where it waits; those who wait for it go on."""
        if not self.finished:
            self._work.close()
            self._finish()

    def when_finished(self, callback: Callable[[], None]) -> None:
        """Call back once when the work ends; at once when it has."""
        if self.finished:
            callback()
        else:
            self._waiters.append(callback)

    def _step(self) -> None:
        if self.finished:
            return
        token = current_request.set(
            CurrentRequest("cloudformation", "Deploy", self._region, None, self._principal)
        )
        try:
            wait = next(self._work)
        except StopIteration:
            self._finish()
            return
        except (ResourceFailed, ServiceException) as failure:
            self.failure = failure
            self._finish()
            return
        except Exception as broken:
            # A defect of the cloud must not look like AWS refusing something, nor leave a stack waiting.
            log.exception("work on a stack broke the rehearsal cloud")
            self.failure = ResourceFailed(f"RehearsalDefect: {type(broken).__name__}: {broken}")
            self._finish()
            return
        finally:
            current_request.reset(token)
        if isinstance(wait, (int, float)):
            self._account.clock.after(float(wait), self._step)
        else:
            self._wait_for_first(wait)

    def _wait_for_first(self, tasks: Sequence[Task]) -> None:
        woken = False

        def wake() -> None:
            nonlocal woken
            if not woken:
                woken = True
                # Through the clock: a task that finished in its first step must not run inside its starter.
                self._account.clock.after(0, self._step)

        for task in tasks:
            task.when_finished(wake)

    def _finish(self) -> None:
        self.finished = True
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter()


def handler_failed(message: str, code: str) -> ResourceFailed:
    """A failure as a resource handler words it."""
    return ResourceFailed(
        f'Resource handler returned message: "{message}" (RequestToken: rehearsed, HandlerErrorCode: {code})'
    )


def custom_failed(message: str) -> ResourceFailed:
    """A failure as the function of a custom resource reports it."""
    return ResourceFailed(
        f"Received response status [FAILED] from custom resource. Message returned: {message} "
        "(RequestId: rehearsed)"
    )


def reason_of(failure: Exception) -> str:
    """The ``ResourceStatusReason`` of a failure; errors of services are worded as their handlers do.

    Source: AWS CloudFormation CLI user guide, handler error codes; field reports G5.
    """
    if isinstance(failure, ResourceFailed):
        return str(failure)
    assert isinstance(failure, ServiceException)
    code = handler_error_code(str(failure.code))
    said = f"{failure.message} (Service: AWS, Status Code: 400, Error Code: {failure.code})"
    return str(handler_failed(said, code))


def handler_error_code(code: str) -> str:
    """CloudFormation's own code for an error of a service."""
    if "AlreadyExists" in code or code in (
        "ResourceInUse",
        "ResourceInUseException",
        "InvalidGroup.Duplicate",
    ):
        return "AlreadyExists"
    if "NotFound" in code or code == "NoSuchEntity":
        return "NotFound"
    if "LimitExceeded" in code:
        return "ServiceLimitExceeded"
    if "AccessDenied" in code:
        return "AccessDenied"
    if code.startswith("Invalid") or "Validation" in code or code == "DependencyViolation":
        return "InvalidRequest"
    return "GeneralServiceException"
