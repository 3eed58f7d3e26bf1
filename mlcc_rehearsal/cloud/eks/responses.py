"""From HTTP to the table of operations and back, by moto's parser and serializer."""

from __future__ import annotations

from typing import Any

from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult, BaseResponse
from moto.core.utils import get_service_model
from moto.eks.models import eks_backends

from mlcc_rehearsal.cloud.account import current_request
from mlcc_rehearsal.cloud.eks.catalogue import OPERATIONS
from mlcc_rehearsal.cloud.eks.validation import validate


class EksResponse(BaseResponse):
    """Answers every operation of the service."""

    def __init__(self) -> None:
        super().__init__(service_name="eks")
        self.automated_parameter_parsing = True

    def get_region_from_url(self, request: Any, full_url: str) -> str:
        """That of the signature: moto looks for `.amazonaws.com`, which is in ARNs as well."""
        current = current_request.get()
        return current.region if current else super().get_region_from_url(request, full_url)

    def call_action(self) -> Any:
        """Validate the parameters, carry the operation out and serialize what it answers.

        :raises NotImplementedError: for an operation that the rehearsal does not have.
        """
        action = self._get_action()
        if action not in OPERATIONS:
            raise NotImplementedError(f"eks:{action}")
        shape = get_service_model("eks").operation_model(action).input_shape
        try:
            validate(shape, self.params)
            backend = eks_backends[self.current_account][self.region]
            result: Any = OPERATIONS[action](backend, self.params)  # type: ignore[arg-type]
        except ServiceException as error:
            result = error
        return self.serialized(ActionResult(result))
