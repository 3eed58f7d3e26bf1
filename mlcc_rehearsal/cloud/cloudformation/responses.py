"""moto's CloudFormation responses, with those about AWS's HyperPod template answered here."""

from __future__ import annotations

from typing import Any

from moto.cloudformation.responses import CloudFormationResponse
from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult

from mlcc_rehearsal.cloud.cloudformation.catalogue import OPERATIONS


class RehearsedCloudFormationResponse(CloudFormationResponse):
    """Asks the table first; what it leaves (``None``) is moto's."""

    def call_action(self) -> Any:
        """Carry the operation out and serialize what it answers."""
        handler = OPERATIONS.get(self._get_action())
        if handler is None:
            return super().call_action()
        try:
            result: Any = handler(self.cloudformation_backend, self.params)  # type: ignore[arg-type]
        except ServiceException as error:
            result = error
        if result is None:
            return super().call_action()
        # moto's transformers are for moto's own objects; only tags, which may be of both, are left to them.
        tags = "DescribeStacksOutput.Stacks.Stack.Tags"
        self.RESPONSE_KEY_PATH_TO_TRANSFORMER = {tags: self.RESPONSE_KEY_PATH_TO_TRANSFORMER[tags]}
        return self.serialized(ActionResult(result))
