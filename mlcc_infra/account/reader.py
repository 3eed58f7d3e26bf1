"""Reading the account once: memoised calls that several lookups share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from botocore.exceptions import ClientError

from mlcc_infra.account.session import AccountSession

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Found:
    """An existing thing.

    `import_id` is the type's canonical import id; `resource_id` the id that the state would hold,
    None where that differs from one creation to the next; `tags` its tags, or those of the thing it
    belongs to; `under_way` AWS's word for what it is still doing to it, empty when it is at rest.
    """

    import_id: str
    resource_id: str | None
    tags: Mapping[str, str]
    under_way: str = ""


class AmbiguousError(Exception):
    """Several things answer to one look-up, so none may be taken over."""


def error_words(error: Exception) -> str:
    """The operation and AWS's code for what went wrong with it; of other errors their text."""
    if isinstance(error, ClientError):
        return f"{error.operation_name}: {error_code(error)}"
    return str(error)


def error_code(error: ClientError) -> str:
    """AWS's error code, such as `NoSuchEntity`."""
    return str(error.response.get("Error", {}).get("Code", ""))


class Reader:
    """The account of one session, read with every distinct call made once per run.

    Thread-safe: whoever asks first makes the call, others wait for the same answer or error.
    """

    def __init__(self, session: AccountSession, *, profile: str) -> None:
        self.session = session
        self.profile = profile
        self._lock = threading.Lock()
        self._answers: dict[tuple[str, ...], Future[Any]] = {}

    def once(self, key: tuple[str, ...], call: Callable[[], T]) -> T:
        """The answer to `call`, made at most once for `key`."""
        with self._lock:
            future = self._answers.get(key)
            mine = future is None
            if future is None:
                future = self._answers[key] = Future()
        if mine:
            try:
                future.set_result(call())
            except BaseException as error:  # noqa: BLE001 - handed to whoever waits, and raised below
                future.set_exception(error)
        result: T = future.result()
        return result

    def optional(self, key: tuple[str, ...], call: Callable[[], T], absent: tuple[str, ...]) -> T | None:
        """Like `once`; the given AWS error codes mean that the thing does not exist."""

        def guarded() -> T | None:
            try:
                return call()
            except ClientError as error:
                if error_code(error) in absent:
                    return None
                raise

        return self.once(key, guarded)

    def pages(self, service: str, operation: str, result: str, **arguments: Any) -> list[Any]:
        """All items of a paginated list call."""
        paginator = self.session.client(service).get_paginator(operation)
        return [item for page in paginator.paginate(**arguments) for item in page.get(result, [])]
