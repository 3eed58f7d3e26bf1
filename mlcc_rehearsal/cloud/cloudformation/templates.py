"""What the API says of templates: GetTemplate, GetTemplateSummary, ValidateTemplate."""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.cloud.cloudformation import addresses, validation
from mlcc_rehearsal.cloud.cloudformation.commands import DESCRIPTION
from mlcc_rehearsal.cloud.cloudformation.contract import load
from mlcc_rehearsal.cloud.cloudformation.models import RehearsedCloudFormationBackend
from mlcc_rehearsal.cloud.cloudformation.operations import operation
from mlcc_rehearsal.cloud.cloudformation.stacks import Stack

_CAPABILITIES = ["CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]
_REASON = "The following resource(s) require capabilities: [AWS::CloudFormation::Stack, AWS::IAM::Role]"
_TRANSFORM = "AWS::LanguageExtensions"


def _text(backend: RehearsedCloudFormationBackend, stack: Stack) -> str:
    return addresses.read(backend.account, stack.template_url).decode()


@operation("GetTemplate")
def get_template(
    backend: RehearsedCloudFormationBackend, parameters: dict[str, Any]
) -> dict[str, Any] | None:
    """A stack's template as it lies at its address."""
    stack = backend.find_native(parameters.get("StackName"))
    if stack is None:
        return None
    return {"TemplateBody": _text(backend, stack), "StagesAvailable": ["Original", "Processed"]}


@operation("GetTemplateSummary")
def get_template_summary(
    backend: RehearsedCloudFormationBackend, parameters: dict[str, Any]
) -> dict[str, Any] | None:
    """Parameters and needs of AWS's main template, by its address or by a stack of it."""
    stack = backend.find_native(parameters.get("StackName"))
    if not (stack is not None and stack.parent is None) and not validation.check_template(
        backend, parameters
    ):
        return None
    resources = load().resources
    return {
        "Parameters": [
            {
                "ParameterKey": name,
                "DefaultValue": str(declared["Default"]),
                "ParameterType": declared["Type"],
                "NoEcho": False,
                "ParameterConstraints": {"AllowedValues": declared["AllowedValues"]}
                if "AllowedValues" in declared
                else {},
            }
            for name, declared in load().parameters.items()
        ],
        "Description": DESCRIPTION,
        "Capabilities": _CAPABILITIES,
        "CapabilitiesReason": _REASON,
        "ResourceTypes": sorted({str(declared["Type"]) for declared in resources.values()}),
        "Version": "2010-09-09",
        "DeclaredTransforms": [_TRANSFORM],
    }


@operation("ValidateTemplate")
def validate_template(
    backend: RehearsedCloudFormationBackend, parameters: dict[str, Any]
) -> dict[str, Any] | None:
    """That AWS's main template is valid, with its parameters."""
    if not validation.check_template(backend, parameters):
        return None
    return {
        "Parameters": [
            {"ParameterKey": name, "DefaultValue": str(declared["Default"]), "NoEcho": False}
            for name, declared in load().parameters.items()
        ],
        "Description": DESCRIPTION,
        "Capabilities": _CAPABILITIES,
        "CapabilitiesReason": _REASON,
        "DeclaredTransforms": [_TRANSFORM],
    }
