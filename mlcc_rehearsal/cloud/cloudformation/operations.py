"""The table of operations: each module adds its own with :func:`operation`."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mlcc_rehearsal.cloud.errors import AwsError

if TYPE_CHECKING:
    from mlcc_rehearsal.cloud.cloudformation.models import RehearsedCloudFormationBackend

Handler = Callable[["RehearsedCloudFormationBackend", dict[str, Any]], "dict[str, Any] | None"]

OPERATIONS: dict[str, Handler] = {}


def operation(name: str) -> Callable[[Handler], Handler]:
    """Register a function as the operation ``name``; it answers None for what is moto's to answer."""

    def register(handler: Handler) -> Handler:
        OPERATIONS[name] = handler
        return handler

    return register


def page(items: list[Any], parameters: dict[str, Any], key: str, size: int = 100) -> dict[str, Any]:
    """One page of ``items`` under ``key``, with ``NextToken`` when there are more.

    :raises AwsError: ValidationError for a token that this API did not give out.
    """
    token = parameters.get("NextToken")
    try:
        start = int(base64.b64decode(token)) if token else 0
    except ValueError as wrong:
        raise AwsError("ValidationError", "Invalid NextToken", status=400) from wrong
    answer: dict[str, Any] = {key: items[start : start + size]}
    if start + size < len(items):
        answer["NextToken"] = base64.b64encode(str(start + size).encode()).decode()
    return answer
