"""The table of operations: each module adds its own with :func:`operation`.

An operation answers None for what is moto's to answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlcc_rehearsal.cloud.errors import AwsError
from mlcc_rehearsal.cloud.operations import OperationTable, page_from

if TYPE_CHECKING:
    from mlcc_rehearsal.cloud.cloudformation.models import RehearsedCloudFormationBackend

OPERATIONS: OperationTable[RehearsedCloudFormationBackend, dict[str, Any] | None] = OperationTable()
operation = OPERATIONS.operation


def page(items: list[Any], parameters: dict[str, Any], key: str, size: int = 100) -> dict[str, Any]:
    """One page of ``items`` under ``key``, with ``NextToken`` when there are more.

    :raises AwsError: ValidationError for a token that this API did not give out.
    """
    return page_from(
        items,
        key,
        token=parameters.get("NextToken"),
        size=size,
        next_key="NextToken",
        refusal=AwsError("ValidationError", "Invalid NextToken", status=400),
    )
