"""The table of EKS operations: each module adds its own with :func:`operation`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlcc_rehearsal.cloud.eks.errors import InvalidParameterException
from mlcc_rehearsal.cloud.operations import OperationTable, page_from

if TYPE_CHECKING:
    from mlcc_rehearsal.cloud.eks.models import EksBackend

OPERATIONS: OperationTable[EksBackend, dict[str, Any]] = OperationTable()
operation = OPERATIONS.operation


def page(items: list[Any], parameters: dict[str, Any], key: str) -> dict[str, Any]:
    """One page of ``items`` under ``key``, with ``nextToken`` when there are more.

    :raises InvalidParameterException: for a token that this API did not give out.
    """
    return page_from(
        items,
        key,
        token=parameters.get("nextToken"),
        size=int(parameters.get("maxResults") or 100),
        next_key="nextToken",
        refusal=InvalidParameterException("The specified nextToken is not valid"),
    )
