"""What CloudFormation checks of a request before it begins."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from mlcc_rehearsal.cloud import laws_hyperpod
from mlcc_rehearsal.cloud.cloudformation import addresses, main_stack
from mlcc_rehearsal.cloud.cloudformation.contract import load
from mlcc_rehearsal.cloud.cloudformation.models import RehearsedCloudFormationBackend
from mlcc_rehearsal.cloud.errors import AwsError

_NAME = re.compile(r"[a-zA-Z][-a-zA-Z0-9]*")
_LONGEST_NAME, _LONGEST_BODY, _LONGEST_VALUE, _MOST_TAGS = 128, 51_200, 4096, 50
# What the main template needs: named roles, a transform. Source: facts/templates.md section 1.
_NEEDED = ("CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND")


def invalid(message: str) -> AwsError:
    """CloudFormation's ValidationError."""
    return AwsError("ValidationError", message, status=400)


def _failed(value: str, at: str, constraint: str) -> AwsError:
    return invalid(
        f"1 validation error detected: Value '{value}' at '{at}' failed to satisfy constraint: {constraint}"
    )


def check_name(name: str) -> None:
    """:raises AwsError: ValidationError for a name that is not one of a stack."""
    if not _NAME.fullmatch(name):
        constraint = (
            "Member must satisfy regular expression pattern: [a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"
        )
        raise laws_hyperpod.STACK_PARAMETERS.broken(_failed(name, "stackName", constraint))
    if len(name) > _LONGEST_NAME:
        constraint = f"Member must have length less than or equal to {_LONGEST_NAME}"
        raise laws_hyperpod.STACK_PARAMETERS.broken(_failed(name, "stackName", constraint))


def check_body(parameters: Mapping[str, Any]) -> None:
    """:raises AwsError: ValidationError for a TemplateBody that is too long."""
    body = parameters.get("TemplateBody")
    if body is not None and len(body.encode()) > _LONGEST_BODY:
        shown = body[:60]
        constraint = f"Member must have length less than or equal to {_LONGEST_BODY}"
        raise laws_hyperpod.TEMPLATE_BODY.broken(_failed(shown, "templateBody", constraint))


def check_template(backend: RehearsedCloudFormationBackend, parameters: Mapping[str, Any]) -> bool:
    """Check what a request says of its template; answers whether it is AWS's main template.

    :raises AwsError: ValidationError for a body that is too long, an address that cannot be read, or both.
    """
    check_body(parameters)
    url = parameters.get("TemplateURL")
    if url is None:
        return False
    if parameters.get("TemplateBody") is not None:
        raise laws_hyperpod.TEMPLATE_URL.broken(
            invalid("Specify either TemplateBody or TemplateURL, not both.")
        )
    addresses.check_readable(backend.account, url)
    return addresses.is_main(url)


def check_tags(tags: list[dict[str, str]] | None) -> dict[str, str]:
    """The tags by key; :raises AwsError: ValidationError for too many, empty or reserved ones."""
    found = {tag["Key"]: tag.get("Value", "") for tag in tags or []}
    if len(found) > _MOST_TAGS:
        raise laws_hyperpod.STACK_PARAMETERS.broken(invalid(f"Tags cannot be more than {_MOST_TAGS}"))
    for key, value in found.items():
        if not value:
            constraint = "Member must have length greater than or equal to 1"
            raise laws_hyperpod.STACK_PARAMETERS.broken(_failed(value, "tags.1.member.value", constraint))
        if key.lower().startswith("aws:"):
            raise laws_hyperpod.STACK_PARAMETERS.broken(
                invalid("Tag key cannot start with reserved prefix: aws:")
            )
    return found


def parameters_of(
    given: list[dict[str, Any]] | None, previous: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Values for all declared parameters: given ones, kept ones, defaults.

    :param previous: the stack's own before an update.
    :raises AwsError: ValidationError, as CloudFormation words it.
    """
    declared = load().parameters
    unknown = [item["ParameterKey"] for item in given or [] if item["ParameterKey"] not in declared]
    if unknown:
        message = f"Parameters: [{', '.join(unknown)}] do not exist in the template"
        raise laws_hyperpod.STACK_PARAMETERS.broken(invalid(message))
    values = load().defaults()
    for item in given or []:
        key = item["ParameterKey"]
        if str(item.get("UsePreviousValue", "")).lower() == "true":
            if previous is None:
                message = (
                    f"Invalid input for parameter key {key}. Cannot specify usePreviousValue as true for a "
                    "parameter key not in the previous template"
                )
                raise laws_hyperpod.STACK_PARAMETERS.broken(invalid(message))
            values[key] = previous[key]
        else:
            values[key] = str(item.get("ParameterValue", ""))
    for key, value in values.items():
        _check_value(key, value, declared[key])
    return values


def _check_value(key: str, value: str, declared: Mapping[str, Any]) -> None:
    allowed = declared.get("AllowedValues")
    if allowed is not None and value not in [str(each) for each in allowed]:
        raise laws_hyperpod.STACK_PARAMETERS.broken(
            invalid(f"Parameter '{key}' must be one of AllowedValues")
        )
    if declared["Type"] == "Number" and not re.fullmatch(r"-?\d+(\.\d+)?", value):
        raise laws_hyperpod.STACK_PARAMETERS.broken(invalid(f"Parameter '{key}' must be a number."))
    size = len(value.encode())
    if size > _LONGEST_VALUE:
        message = f"Parameter '{key}' has {size} bytes, which exceeds the limit of {_LONGEST_VALUE} bytes"
        raise laws_hyperpod.STACK_PARAMETERS.broken(invalid(message))


def check_capabilities(given: list[str]) -> None:
    """:raises AwsError: InsufficientCapabilitiesException naming what is missing."""
    lacking = [each for each in _NEEDED if each not in given]
    if lacking:
        message = f"Requires capabilities : [{', '.join(lacking)}]"
        raise laws_hyperpod.CAPABILITIES.broken(AwsError("InsufficientCapabilitiesException", message))


def check_resources(values: Mapping[str, str], region: str) -> None:
    """Refuse combinations that break the template.

    :raises AwsError: ValidationError, as CloudFormation words it.
    :raises NotImplementedError: for nested stacks that the rehearsal cannot make.
    """
    broken = main_stack.unresolved(values, region)
    if broken is not None:
        user, used = broken
        message = (
            f"Template format error: Unresolved resource dependencies [{used}] in the Resources block of the "
            "template"
        )
        del user
        raise laws_hyperpod.TEMPLATE_REFERENCES.broken(invalid(message))
    unmodelled = main_stack.unmodelled(values, region)
    if unmodelled:
        listed = "; ".join(f"{name} ({reason})" for name, reason in unmodelled.items())
        raise NotImplementedError(
            f"nested stacks of AWS's HyperPod template: {listed}; switch off what asks for them"
        )


def check_policy(body: str | None) -> str | None:
    """A stack policy; :raises AwsError: ValidationError when it is not one."""
    if body is None:
        return None
    try:
        value = json.loads(body)
    except ValueError:
        value = None
    if not isinstance(value, dict) or not isinstance(value.get("Statement"), list):
        raise laws_hyperpod.STACK_PARAMETERS.broken(
            invalid("Error validating stack policy: Invalid stack policy")
        )
    return body
