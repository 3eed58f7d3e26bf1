"""The table of HyperPod operations: each module adds its own with :func:`operation`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlcc_rehearsal.cloud.operations import OperationTable, page_from
from mlcc_rehearsal.cloud.sagemaker.errors import ValidationException

if TYPE_CHECKING:
    from mlcc_rehearsal.cloud.sagemaker.models import RehearsedSageMakerBackend

OPERATIONS: OperationTable[RehearsedSageMakerBackend, dict[str, Any]] = OperationTable()
operation = OPERATIONS.operation


def page(items: list[Any], parameters: dict[str, Any], key: str, *, default: int = 100) -> dict[str, Any]:
    """One page of ``items`` under ``key``, with ``NextToken`` when there are more.

    :raises ValidationException: for a token that this API did not give out.
    """
    return page_from(
        items,
        key,
        token=parameters.get("NextToken"),
        size=int(parameters.get("MaxResults") or default),
        next_key="NextToken",
        refusal=ValidationException("Invalid pagination token"),
    )
