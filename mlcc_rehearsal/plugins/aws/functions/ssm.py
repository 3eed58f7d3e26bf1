"""SSM parameters that are there.

Source: terraform-provider-aws ``internal/service/ssm/parameter_data_source.go``.
"""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.plugins.aws.calling import Call
from mlcc_rehearsal.plugins.serving import ProviderError
from mlcc_rehearsal.plugins.values import Secret


def _parameter(call: Call) -> dict[str, Any]:
    name, decrypt = str(call.inputs["name"]), call.inputs.get("withDecryption", True)
    answer = call.find("ssm", "get_parameter", "ParameterNotFound", Name=name, WithDecryption=decrypt)
    if answer is None:
        raise ProviderError(f"reading SSM Parameter ({name}): couldn't find resource")
    parameter = answer["Parameter"]
    plain = parameter["Type"] != "SecureString"
    return {
        "arn": parameter["ARN"],
        "id": name,
        "insecureValue": parameter["Value"] if plain else "",
        "name": parameter["Name"],
        "type": parameter["Type"],
        "value": Secret(parameter["Value"]),
        "version": parameter["Version"],
        "withDecryption": decrypt,
    }


FUNCTIONS = {"aws:ssm/getParameter:getParameter": _parameter}
