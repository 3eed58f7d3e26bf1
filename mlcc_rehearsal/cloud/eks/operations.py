"""The table of EKS operations: each module adds its own with :func:`operation`."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mlcc_rehearsal.cloud.eks.errors import InvalidParameterException

if TYPE_CHECKING:
    from mlcc_rehearsal.cloud.eks.models import EksBackend

Handler = Callable[["EksBackend", dict[str, Any]], dict[str, Any]]

OPERATIONS: dict[str, Handler] = {}


def operation(name: str) -> Callable[[Handler], Handler]:
    """Register a function as the operation ``name``: parameters in, answer out, as in its model."""

    def register(handler: Handler) -> Handler:
        OPERATIONS[name] = handler
        return handler

    return register


def page(items: list[Any], parameters: dict[str, Any], key: str) -> dict[str, Any]:
    """One page of ``items`` under ``key``, with ``nextToken`` when there are more.

    :raises InvalidParameterException: for a token that this API did not give out.
    """
    size = int(parameters.get("maxResults") or 100)
    token = parameters.get("nextToken")
    try:
        start = int(base64.b64decode(token)) if token else 0
    except ValueError as wrong:
        raise InvalidParameterException("The specified nextToken is not valid") from wrong
    answer: dict[str, Any] = {key: items[start : start + size]}
    if start + size < len(items):
        answer["nextToken"] = base64.b64encode(str(start + size).encode()).decode()
    return answer
