"""moto's SageMaker responses with HyperPod's operations in the place of moto's."""

from __future__ import annotations

from typing import Any

from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult
from moto.sagemaker.responses import SageMakerResponse

from mlcc_rehearsal.cloud.sagemaker.catalogue import OPERATIONS, call


class RehearsedSageMakerResponse(SageMakerResponse):
    """Answers HyperPod's operations itself; tags of other things than clusters are moto's."""

    def call_action(self) -> Any:
        """Carry the operation out and serialize what it answers."""
        action = self._get_action()
        if action not in OPERATIONS or not self._ours():
            return super().call_action()
        try:
            result: Any = call(self.sagemaker_backend, action, self.params)  # type: ignore[arg-type]
        except ServiceException as error:
            result = error
        return self.serialized(ActionResult(result))

    def _ours(self) -> bool:
        arn = self.params.get("ResourceArn")
        return arn is None or ":cluster/" in str(arn)
