"""Waiting, in modelled time, for objects to become ready or to go away."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mlcc_infra import clock
from mlcc_rehearsal.plugins.kubernetes import readiness
from mlcc_rehearsal.plugins.kubernetes.client import (
    ApiFailureError,
    Cluster,
    NoSuchKindError,
    UnreachableError,
)
from mlcc_rehearsal.plugins.kubernetes.states import Object, annotation, annotation_is_true
from mlcc_rehearsal.plugins.serving import Cancellation, CancelledError

DEFAULT_TIMEOUT = 600.0
"""Modelled seconds: the provider's 10 minutes."""
SKIP_AWAIT = "pulumi.com/skipAwait"
_TIMEOUT_ANNOTATION = "pulumi.com/timeoutSeconds"
_POLL_SECONDS = 2.0
_SHORTEST_REAL_POLL = 0.05


class NotReadyError(Exception):
    """An object exists but is not ready: ``reasons`` say why, ``obj`` is its last known state."""

    def __init__(self, message: str, reasons: list[str], obj: Object) -> None:
        super().__init__(message)
        self.reasons = reasons
        self.obj = obj


@dataclass(frozen=True)
class Waiter:
    """Waits on behalf of one peer: ``say`` shows progress in the resource's line."""

    cluster: Cluster
    cancellation: Cancellation
    say: Callable[[str], None]

    def until_ready(self, inputs: Mapping[str, Any], obj: Object, timeout: float) -> Object:
        """The object, which was just made or changed, once it is ready.

        Whatever ends the wait, the object is there: the provider (``await/errors.go``, PartialError) reports
        it with its state, so that the engine does not lose it.

        Raises:
            NotReadyError: it failed, the time is up, the wait could not go on, or the engine cancelled.
        """
        try:
            return self.until_live(inputs, obj, timeout)
        except CancelledError as error:
            text = f'Resource operation was cancelled for "{obj["metadata"]["name"]}"'
            raise NotReadyError(text, [], obj) from error
        except (ApiFailureError, NoSuchKindError, UnreachableError) as error:
            raise NotReadyError(str(error), [], obj) from error

    def until_live(self, inputs: Mapping[str, Any], obj: Object, timeout: float) -> Object:
        """The object once it is ready.

        Raises:
            NotReadyError: it failed, or the time is up.
            ApiFailureError, NoSuchKindError, UnreachableError: a look at it failed.
            CancelledError: the engine cancelled.
        """
        check = readiness.check_of(obj)
        if check is None or annotation_is_true(inputs, SKIP_AWAIT):
            return obj
        metadata = obj["metadata"]
        deadline = clock.Deadline(timeout)
        current = obj
        while True:
            try:
                missing = check(self.cluster, current)
            except readiness.FailedError as error:
                text = f"Resource '{metadata['name']}' was created but failed to initialize"
                raise NotReadyError(text, [str(error)], current) from error
            if missing is None:
                self.say("")
                return current
            if deadline.expired():
                raise NotReadyError(f"'{metadata['name']}' timed out waiting to be Ready", missing, current)
            self.say(missing[-1])
            self._pause(deadline)
            found = self.cluster.get(
                obj["apiVersion"], obj["kind"], metadata.get("namespace", ""), metadata["name"]
            )
            if found is None:
                text = f"Resource '{metadata['name']}' was created but failed to initialize"
                raise NotReadyError(text, ["the object was deleted"], current)
            current = found

    def until_gone(self, obj: Object, timeout: float) -> None:
        """Returns once the object is gone.

        Raises:
            NotReadyError: the time is up; the object is still there.
            CancelledError: the engine cancelled.
        """
        metadata = obj["metadata"]
        deadline = clock.Deadline(timeout)
        while True:
            found = self.cluster.get(
                obj["apiVersion"], obj["kind"], metadata.get("namespace", ""), metadata["name"]
            )
            if found is None or found["metadata"].get("uid") != metadata.get("uid"):
                return
            finalizers = found["metadata"].get("finalizers") or []
            held = f"finalizers might be preventing deletion ({', '.join(finalizers)})"
            if deadline.expired():
                reasons = [held] if finalizers else []
                raise NotReadyError("timed out waiting for the condition", reasons, found)
            if finalizers:
                self.say(held)
            self._pause(deadline)

    def pause(self, seconds: float) -> None:
        """Let modelled seconds pass."""
        self.cancellation.pause(seconds)

    def _pause(self, deadline: clock.Deadline) -> None:
        seconds = max(_POLL_SECONDS, _SHORTEST_REAL_POLL * clock.speed())
        self.cancellation.pause(min(seconds, max(deadline.remaining(), 0.0)))


def timeout_of(requested: float, inputs: Mapping[str, Any]) -> float:
    """The timeout in modelled seconds: custom timeouts, the annotation, or ten minutes."""
    if requested:
        return requested
    text = annotation(inputs, _TIMEOUT_ANNOTATION)
    return float(text) if text.isdigit() else DEFAULT_TIMEOUT
