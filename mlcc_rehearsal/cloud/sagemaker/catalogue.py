"""All operations of HyperPod: importing this fills the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moto.core.utils import get_service_model

from mlcc_rehearsal.cloud import laws_hyperpod
from mlcc_rehearsal.cloud.eks.validation import violations
from mlcc_rehearsal.cloud.sagemaker import (  # noqa: F401
    clusters,
    events,
    node_operations,
    scheduler_configs,
    tags,
    updates,
)
from mlcc_rehearsal.cloud.sagemaker.errors import ValidationException
from mlcc_rehearsal.cloud.sagemaker.operations import OPERATIONS

if TYPE_CHECKING:
    from mlcc_rehearsal.cloud.sagemaker.models import RehearsedSageMakerBackend

__all__ = ["OPERATIONS", "call"]


def call(backend: RehearsedSageMakerBackend, action: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Validate the parameters by botocore's model and carry the operation out.

    :raises ValidationException: naming every constraint that is not satisfied, as AWS words it.
    """
    shape = get_service_model("sagemaker").operation_model(action).input_shape
    found = violations(shape, parameters)
    if found:
        count = f"{len(found)} validation error{'s' if len(found) > 1 else ''} detected: "
        raise laws_hyperpod.HYPERPOD_PARAMETERS.broken(ValidationException(count + "; ".join(found)))
    return OPERATIONS[action](backend, parameters)
