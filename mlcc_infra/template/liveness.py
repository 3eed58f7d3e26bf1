"""What of the template is live under given parameters: resources, the parameters they use, outputs.

A parameter is live when a resource that exists uses it, directly or in the branch that `Fn::If` takes. One
that is not live does nothing: it is not sent, because a later template without it would refuse the stack. One
that is live and left out is used at its default, and some defaults are placeholders.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from mlcc_infra.template.conditions import evaluate
from mlcc_infra.template.contract import Contract, Expression

_SUBSTITUTION: Final = re.compile(r"\$\{([A-Za-z0-9:.]+)\}")

ReferenceKind = Literal["parameter", "attribute", "depends-on"]


@dataclass(frozen=True)
class Reference:
    """What something in the template refers to: a parameter, a resource's attribute, or an order."""

    kind: ReferenceKind
    name: str


def references(expression: Expression, holds: Mapping[str, bool]) -> Iterator[Reference]:
    """What a value refers to when the conditions have these values."""
    if isinstance(expression, list):
        for part in expression:
            yield from references(part, holds)
    elif isinstance(expression, Mapping):
        for function, argument in expression.items():
            match function:
                case "Ref":
                    yield Reference("parameter", argument)
                case "Fn::GetAtt":
                    yield Reference("attribute", argument[0])
                case "Fn::If":
                    condition, yes, no = argument
                    yield from references(yes if holds[condition] else no, holds)
                case "Fn::Sub":
                    yield from _substitutions(argument, holds)
                case _:
                    yield from references(argument, holds)


def _substitutions(argument: Expression, holds: Mapping[str, bool]) -> Iterator[Reference]:
    text, given = (argument, {}) if isinstance(argument, str) else argument
    for name in _SUBSTITUTION.findall(text):
        if name in given:
            yield from references(given[name], holds)
        elif "." in name:
            yield Reference("attribute", name.split(".", 1)[0])
        else:
            yield Reference("parameter", name)


@dataclass(frozen=True, kw_only=True)
class Liveness:
    """The template under given parameters.

    Attributes:
        conditions: every condition's value.
        resources: logical ids of the resources that exist.
        parameters: the parameters that they use.
        outputs: the outputs that are there.
        dangling: pairs of a resource that exists and one it refers to that does not, with the kind of
            reference; CloudFormation refuses such a template.
    """

    conditions: Mapping[str, bool]
    resources: frozenset[str]
    parameters: frozenset[str]
    outputs: frozenset[str]
    dangling: tuple[tuple[str, Reference], ...]


def liveness(contract: Contract, parameters: Mapping[str, str], *, region: str = "") -> Liveness:
    """What is live; see :func:`mlcc_infra.template.conditions.evaluate` for the arguments."""
    holds = evaluate(contract, parameters, region=region)
    alive = {
        name: entry
        for name, entry in contract.resources.items()
        if not entry.condition or holds[entry.condition]
    }
    outputs = {name: entry for name, entry in contract.outputs.items() if holds[entry.condition]}
    found: list[tuple[str, Reference]] = []
    for name, resource in alive.items():
        found += [(name, Reference("depends-on", other)) for other in resource.depends_on]
        found += [(name, reference) for reference in references(list(resource.values.values()), holds)]
        if resource.template:
            found += [(name, reference) for reference in references(contract.nested_bucket, holds)]
    for name, output in outputs.items():
        found += [(name, reference) for reference in references(output.value, holds)]
    dangling = {
        (name, reference): None
        for name, reference in found
        if reference.kind != "parameter" and reference.name not in alive
    }
    return Liveness(
        conditions=holds,
        resources=frozenset(alive),
        parameters=frozenset(
            reference.name
            for _, reference in found
            if reference.kind == "parameter" and reference.name in contract.parameters
        ),
        outputs=frozenset(outputs),
        dangling=tuple(dangling),
    )


def live_resources(contract: Contract, parameters: Mapping[str, str], *, region: str = "") -> frozenset[str]:
    """Logical ids of the resources that exist."""
    return liveness(contract, parameters, region=region).resources


def live_parameters(contract: Contract, parameters: Mapping[str, str], *, region: str = "") -> frozenset[str]:
    """Names of the parameters that something uses."""
    return liveness(contract, parameters, region=region).parameters


def live_outputs(contract: Contract, parameters: Mapping[str, str], *, region: str = "") -> frozenset[str]:
    """Names of the outputs that the stack has."""
    return liveness(contract, parameters, region=region).outputs
