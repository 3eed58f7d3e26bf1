"""The contract of AWS's HyperPod template as data: what it takes, what it decides by it, what it gives back.

The data holds facts (names, types, defaults, allowed values, conditions, references, outputs) of
`main-stack-eks-based-template.yaml` of aws/sagemaker-hyperpod-cluster-setup at the commit that it names, in
CloudFormation's own notation for intrinsic functions. It is not the template: AWS's text is read by
CloudFormation from AWS's bucket.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final, TypeAlias

Expression: TypeAlias = Any
"""A value in CloudFormation's JSON notation: text, or a list or mapping of it with `Ref` and `Fn::…`."""

TEMPLATE: Final = "main-stack-eks-based-template.yaml"
_DATA: Final = "data/hyperpod_eks_contract.json"


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One parameter: CloudFormation type, default, and the values allowed (none listed: any)."""

    name: str
    type: str
    default: str
    allowed: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Resource:
    """One resource of the main template.

    Attributes:
        name: the logical id.
        type: the CloudFormation type.
        condition: the condition that it exists under; empty for always.
        depends_on: logical ids.
        template: file name of the nested template, for stacks at AWS's unversioned addresses.
        values: what it is given, by the name on the receiving side.
    """

    name: str
    type: str
    condition: str = ""
    depends_on: tuple[str, ...] = ()
    template: str = ""
    values: Mapping[str, Expression]


@dataclass(frozen=True, kw_only=True)
class Output:
    """One output of the stack, which is there when its condition holds."""

    name: str
    condition: str
    value: Expression


@dataclass(frozen=True, kw_only=True)
class Contract:
    """The contract of one version of the template.

    Attributes:
        repository: where the facts come from.
        commit: the commit there.
        sha256: digest of the text as published there; the object in S3 was not seen (unverified on AWS).
        nested_bucket: the bucket that nested templates and code of Lambda functions are taken from.
        parameters: by name, in the template's order.
        mappings: the template's mappings.
        conditions: expressions by name.
        resources: by logical id.
        outputs: by name.
    """

    repository: str
    commit: str
    sha256: str
    nested_bucket: Expression
    parameters: Mapping[str, Parameter]
    mappings: Mapping[str, Mapping[str, Mapping[str, str]]]
    conditions: Mapping[str, Expression]
    resources: Mapping[str, Resource]
    outputs: Mapping[str, Output]

    def values(self, parameters: Mapping[str, str]) -> dict[str, str]:
        """Every parameter's value: the one given, else the default."""
        return {name: parameters.get(name, entry.default) for name, entry in self.parameters.items()}


@cache
def load_contract() -> Contract:
    """The contract that this release knows. It is read once."""
    return read_contract(files("mlcc_infra.template").joinpath(_DATA).read_text(encoding="utf-8"))


def read_contract(text: str) -> Contract:
    """A contract from the text of its data file."""
    data: dict[str, Any] = json.loads(text)
    return Contract(
        repository=data["repository"],
        commit=data["commit"],
        sha256=data["sha256"],
        nested_bucket=data["nested_bucket"],
        parameters=MappingProxyType(
            {
                name: Parameter(
                    name=name,
                    type=entry["Type"],
                    default=entry["Default"],
                    allowed=tuple(entry.get("AllowedValues", ())),
                )
                for name, entry in data["parameters"].items()
            }
        ),
        mappings=data["mappings"],
        conditions=MappingProxyType(data["conditions"]),
        resources=MappingProxyType(
            {
                name: Resource(
                    name=name,
                    type=entry["Type"],
                    condition=entry.get("Condition", ""),
                    depends_on=tuple(entry.get("DependsOn", ())),
                    template=entry.get("Template", ""),
                    values=entry["Values"],
                )
                for name, entry in data["resources"].items()
            }
        ),
        outputs=MappingProxyType(
            {
                name: Output(name=name, condition=entry["Condition"], value=entry["Value"])
                for name, entry in data["outputs"].items()
            }
        ),
    )
