"""AWS errors as each protocol words them.

moto serializes a ``ServiceException`` by botocore's own model of the service, so an error raised here
reaches the client with the status and members that AWS gives it.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

from moto.core.exceptions import ServiceException
from moto.core.model import OperationModel
from moto.core.serialize import get_serializer_class
from moto.core.utils import get_service_model

# Common errors (AccessDenied, throttling) are in no service's own model; moto warns of each.
warnings.filterwarnings("ignore", message=r"Exception\(AwsError\).*does not match an error shape")

__all__ = ["AwsError", "ServiceException", "render"]


class AwsError(ServiceException):
    """An error in AWS's words: ``code``, ``message`` and further members that the service's model has.

    :param status: HTTP status, for errors that the model does not know.
    """

    def __init__(self, code: str, message: str, *, status: int | None = None, **members: Any) -> None:
        super().__init__(code, message)
        self.http_status = status
        for name, value in members.items():
            setattr(self, name, value)


def render(service: str, error: ServiceException) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of ``error`` as the service ``service`` (botocore's name) answers it."""
    try:
        model: Any = get_service_model(service)
    except Exception as unknown:  # noqa: BLE001 - botocore and moto raise different types for "no such model"
        del unknown
        model = None
    if model is None:
        body = json.dumps({"__type": error.code, "message": error.message}).encode()
        return getattr(error, "http_status", None) or 400, {"Content-Type": "application/json"}, body
    serializer = get_serializer_class(model.service_name, str(model.protocol))(
        operation_model=OperationModel({}, model)
    )
    answer = serializer.serialize(error)
    status = getattr(error, "http_status", None) or int(answer["status_code"])
    raw = answer["body"]
    body = raw if isinstance(raw, bytes) else str(raw).encode()
    return status, {str(k): str(v) for k, v in answer["headers"].items()}, body
