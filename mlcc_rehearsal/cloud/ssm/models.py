"""moto's Systems Manager with the refusals of PutParameter that it lacks."""

from __future__ import annotations

from typing import Any

from moto.ssm.models import SimpleSystemManagerBackend

from mlcc_rehearsal.cloud import laws
from mlcc_rehearsal.cloud.errors import AwsError

_LONGEST = {"Standard": 4096, "Advanced": 8192, "Intelligent-Tiering": 8192}


class RehearsedSSMBackend(SimpleSystemManagerBackend):
    """Systems Manager of one region of a rehearsed account."""

    @property
    def _url_module(self) -> Any:
        # moto derives it from the class's own module, which has none.
        from moto.ssm import urls

        return urls

    def put_parameter(
        self,
        name: str,
        description: str,
        value: str,
        parameter_type: str,
        allowed_pattern: str,
        keyid: str,
        overwrite: bool,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """:raises AwsError: ValidationException for an empty or too long value, ParameterAlreadyExists."""
        if not value:
            message = (
                f"1 validation error detected: Value '{value or ''}' at 'value' failed to satisfy "
                "constraint: "
                "Member must have length greater than or equal to 1."
            )
            raise laws.PARAMETER_VALUE.broken(AwsError("ValidationException", message, status=400))
        tier = str(kwargs.get("tier") or "Standard")
        if len(value.encode()) > _LONGEST.get(tier, _LONGEST["Standard"]):
            message = (
                f"{tier} tier parameters support a maximum parameter value of {_LONGEST.get(tier, 4096)} "
                "characters. "
                "To create a larger parameter value, upgrade the parameter to use the advanced-parameter "
                "tier."
            )
            raise laws.PARAMETER_VALUE.broken(AwsError("ValidationException", message, status=400))
        if not overwrite and self._parameters.get(name):
            message = (
                "The parameter already exists. To overwrite this value, set the overwrite option in the "
                "request to true."
            )
            raise laws.PARAMETER_EXISTS.broken(AwsError("ParameterAlreadyExists", message, status=400))
        return super().put_parameter(
            name, description, value, parameter_type, allowed_pattern, keyid, overwrite, *args, **kwargs
        )
