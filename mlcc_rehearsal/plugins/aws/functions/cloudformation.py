"""CloudFormation stacks that are there.

Source: terraform-provider-aws ``internal/service/cloudformation/stack_data_source.go``: every parameter
with its value, unlike the resource.
"""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.plugins.aws.calling import Call
from mlcc_rehearsal.plugins.aws.resources._common import tag_map
from mlcc_rehearsal.plugins.aws.resources.cloudformation import existing, outputs, parameters, template
from mlcc_rehearsal.plugins.serving import ProviderError


def _stack(call: Call) -> dict[str, Any]:
    name = str(call.inputs["name"])
    stack = existing(call, name)
    if stack is None:
        raise ProviderError(f"reading CloudFormation Stack ({name}): couldn't find resource")
    return {
        "capabilities": stack.get("Capabilities") or [],
        "description": stack.get("Description") or "",
        "disableRollback": bool(stack.get("DisableRollback")),
        "iamRoleArn": stack.get("RoleARN") or "",
        "id": stack["StackId"],
        "name": name,
        "notificationArns": stack.get("NotificationARNs") or [],
        "outputs": outputs(stack),
        "parameters": parameters(stack),
        "tags": tag_map(stack.get("Tags")),
        "templateBody": template(call, name),
        "timeoutInMinutes": int(stack.get("TimeoutInMinutes") or 0),
    }


FUNCTIONS = {"aws:cloudformation/getStack:getStack": _stack}
