"""Tables of an API's operations, and the pages of its lists, for the services that are not moto's."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Generic, TypeVar

Backend = TypeVar("Backend")
Answer = TypeVar("Answer")


class OperationTable(dict[str, Callable[[Backend, dict[str, Any]], Answer]], Generic[Backend, Answer]):
    """Handlers by the name of their operation: backend and parameters in, answer out, as in its model."""

    def operation(
        self, name: str
    ) -> Callable[[Callable[[Backend, dict[str, Any]], Answer]], Callable[[Backend, dict[str, Any]], Answer]]:
        """Register a function as the operation ``name``."""

        def register(
            handler: Callable[[Backend, dict[str, Any]], Answer],
        ) -> Callable[[Backend, dict[str, Any]], Answer]:
            self[name] = handler
            return handler

        return register


def page_from(
    items: list[Any], key: str, *, token: str | None, size: int, next_key: str, refusal: Exception
) -> dict[str, Any]:
    """The page of ``items`` that begins at ``token``, under ``key``, with the next token when there are more.

    :raises Exception: ``refusal``, for a token that was not given out.
    """
    try:
        start = int(base64.b64decode(token)) if token else 0
    except ValueError as wrong:
        raise refusal from wrong
    answer: dict[str, Any] = {key: items[start : start + size]}
    if start + size < len(items):
        answer[next_key] = base64.b64encode(str(start + size).encode()).decode()
    return answer
