"""Texts of AWS's templates as they lie in its bucket: written out of the contract, not AWS's own bytes.

So their digest is not that of the published file, as it would not be after any release upstream.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import yaml

from mlcc_rehearsal.cloud.cloudformation.contract import MAIN, load
from mlcc_rehearsal.cloud.cloudformation.expressions import Node, parse

_BY_REGION = "aws-sagemaker-hyperpod-cluster-setup-${AWS::Region}-${Stage}.s3.${AWS::Region}.amazonaws.com"
_CUSTOM = "${CustomBucketName}.s3.${AWS::Region}.amazonaws.com"

# Artifacts that the nested templates name. Source: aws/sagemaker-hyperpod-cluster-setup,
# eks/cloudformation/resources/artifacts.
ARTIFACTS = (
    "cert-manager-lambda-function.zip",
    "cert-manager-lambda-layer.zip",
    "common-eks-addon-lambda-function.zip",
    "common-eks-addon-lambda-layer.zip",
    "ds-setup-lambda-function.zip",
    "eks-oidc-provider-lambda-function.zip",
    "eks-oidc-provider-lambda-layer.zip",
    "fsx-lambda-function.zip",
    "fsx-lambda-layer.zip",
    "helm-lambda-function.zip",
    "helm-lambda-layer.zip",
    "hp-lambda-function.zip",
    "inf-helm-lambda-function.zip",
    "inf-sa-creation-lambda-function.zip",
    "inference-operator-lambda-function.zip",
    "inference-operator-lambda-layer.zip",
    "observability-stack-lambda-function.zip",
    "task-governance-cluster-policy-lambda.zip",
    "tiered-cache-lambda-function.zip",
)
# Templates of the second level. Source: facts/inference_operator_addon_template.json.
SECOND_LEVEL = (
    "cert-manager-addon-template.yaml",
    "eks-oidc-provider-template.yaml",
    "fsx-csi-driver-addon-template.yaml",
    "inference-addon-iam-roles-template.yaml",
    "inference-operator-addon-template.yaml",
    "metrics-server-addon-template.yaml",
    "observability-template.yaml",
    "s3-csi-driver-addon-template.yaml",
    "tls-certificates-s3-bucket-template.yaml",
)


def _intrinsic(node: Node) -> Any:
    kind, content = node
    if kind == "text":
        return content
    if kind == "name":
        if ".Outputs." in content:
            stack, output = content.split(".Outputs.")
            return {"Fn::GetAtt": [stack, f"Outputs.{output}"]}
        return {"Fn::GetAtt": content.split(".")} if "." in content else {"Ref": content}
    if kind == "list":
        return [_intrinsic(item) for item in content]
    if kind == "equal":
        return {"Fn::Equals": [_intrinsic(item) for item in content]}
    if kind == "not":
        return {"Fn::Not": [_condition(content)]}
    if kind in ("and", "or"):
        return {f"Fn::{kind.title()}": [_condition(item) for item in content]}
    name, arguments = content
    if name == "If":
        return {"Fn::If": [arguments[0][1], _intrinsic(arguments[1]), _intrinsic(arguments[2])]}
    if name == "Sub":
        own = {key: _intrinsic(value) for key, value in arguments[1][1]} if len(arguments) > 1 else None
        return {"Fn::Sub": [arguments[0][1], own] if own else arguments[0][1]}
    if name == "FindInMap":
        named = [{item[1][0]: _intrinsic(item[1][1])} for item in arguments if item[0] == "named"]
        return {"Fn::FindInMap": [arguments[0][1], _intrinsic(arguments[1]), arguments[2][1], *named]}
    return {f"Fn::{name}": [_intrinsic(item) for item in arguments]}


def _condition(node: Node) -> Any:
    return {"Condition": node[1]} if node[0] == "name" else _intrinsic(node)


def _resource(declared: dict[str, Any]) -> dict[str, Any]:
    resource: dict[str, Any] = {"Type": declared["Type"]}
    for key in ("Condition", "DependsOn"):
        if key in declared:
            resource[key] = declared[key]
    # Role, function and custom resource of the observability feature stay in the contract's own notation.
    properties: dict[str, Any] = dict(declared.get("properties") or {})
    if "template" in declared:
        path = f"/templates/{declared['template']}"
        properties["TemplateURL"] = {
            "Fn::If": [
                "CustomBucketCondition",
                {"Fn::Sub": f"https://{_CUSTOM}{path}"},
                {"Fn::Sub": f"https://{_BY_REGION}{path}"},
            ]
        }
    elif "templateUrl" in declared:
        properties["TemplateURL"] = _intrinsic(parse(declared["templateUrl"]))
    if declared.get("parameters"):
        properties["Parameters"] = {k: _intrinsic(parse(v)) for k, v in declared["parameters"].items()}
    if properties:
        resource["Properties"] = properties
    return resource


@lru_cache(maxsize=1)
def main_text() -> str:
    """The main template; longer than a TemplateBody may be, as AWS's is."""
    contract = load()
    note = "written by the rehearsal cloud out of the contract of AWS's template"
    document = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "EKS Based SageMaker HyperPod Cluster Main Stack",
        "Transform": "AWS::LanguageExtensions",
        "Metadata": {
            "Rehearsal": note,
            # AWS's file carries console groupings and labels here; they are why it is as long as it is.
            "AWS::CloudFormation::Interface": {
                "ParameterGroups": [
                    {"Label": {"default": "Parameters"}, "Parameters": list(contract.parameters)}
                ],
                "ParameterLabels": {
                    name: {"default": f"{name} (of the HyperPod cluster on Amazon EKS)"}
                    for name in contract.parameters
                },
            },
        },
        "Mappings": contract.mappings,
        "Parameters": {
            name: {**declared, "Description": f"{name} of AWS's main template for HyperPod on Amazon EKS"}
            for name, declared in contract.parameters.items()
        },
        "Conditions": {name: _condition_of(parse(text)) for name, text in contract.conditions.items()},
        "Resources": {name: _resource(dict(declared)) for name, declared in contract.resources.items()},
        "Outputs": {
            name: {
                **({"Condition": declared["Condition"]} if "Condition" in declared else {}),
                "Value": _intrinsic(parse(declared["Value"])),
            }
            for name, declared in contract.outputs.items()
        },
    }
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=100, default_flow_style=False)


class _Dumper(yaml.SafeDumper):
    """Indents lists and uses no aliases, as the published file."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _condition_of(node: Node) -> Any:
    return {"Condition": node[1]} if node[0] == "name" else _intrinsic(node)


def nested_text(file: str) -> str:
    """A nested template: its name only; what it makes is in :mod:`.nested`."""
    return (
        f"Description: {file} of AWS's HyperPod template, as the rehearsal cloud knows it\nResources: {{}}\n"
    )


def files() -> dict[str, bytes]:
    """Keys and contents of AWS's bucket."""
    nested = {str(d["template"]) for d in load().resources.values() if "template" in d} | set(SECOND_LEVEL)
    main = main_text().encode()
    return {
        f"templates/{MAIN}": main,
        f"1/templates/{MAIN}": main,
        **{f"templates/{file}": nested_text(file).encode() for file in sorted(nested)},
        **{f"resources/artifacts/{name}": f"rehearsed {name}".encode() for name in ARTIFACTS},
    }
