"""The template's conditions under given parameters, as CloudFormation evaluates them.

CloudFormation user guide, "Condition functions": Fn::Equals, Fn::Not, Fn::And, Fn::Or, Condition, with Ref of
parameters and pseudo parameters; Fn::FindInMap with a default value is of the AWS::LanguageExtensions
transform. Comparison is of text and case-sensitive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mlcc_infra.template.contract import Contract, Expression

REGION: Final = "AWS::Region"


class ConditionError(ValueError):
    """A condition that cannot be evaluated: an unknown function or name, or the region is needed."""


def evaluate(contract: Contract, parameters: Mapping[str, str], *, region: str = "") -> dict[str, bool]:
    """Every condition of the template; parameters not given have their default.

    Args:
        contract: the template's contract.
        parameters: values as they are sent, all text.
        region: the AWS region; needed only where a condition looks at it (observability switched on).

    Raises:
        ConditionError: when a condition needs the region and none is given.
    """
    evaluation = _Evaluation(contract, contract.values(parameters), region)
    return {name: evaluation.condition(name) for name in contract.conditions}


class _Evaluation:
    def __init__(self, contract: Contract, values: Mapping[str, str], region: str) -> None:
        self.contract = contract
        self.values = values
        self.region = region
        self.known: dict[str, bool] = {}

    def condition(self, name: str) -> bool:
        if name not in self.known:
            if name not in self.contract.conditions:
                raise ConditionError(f"the template has no condition {name!r}")
            self.known[name] = self.truth(self.contract.conditions[name])
        return self.known[name]

    def truth(self, expression: Expression) -> bool:
        function, argument = _function(expression)
        match function:
            case "Condition":
                return self.condition(argument)
            case "Fn::And":
                return all(self.truth(part) for part in argument)
            case "Fn::Or":
                return any(self.truth(part) for part in argument)
            case "Fn::Not":
                return not self.truth(argument[0])
            case "Fn::Equals":
                return self.text(argument[0]) == self.text(argument[1])
            case _:
                raise ConditionError(f"{function} is no condition function")

    def text(self, expression: Expression) -> str:
        if isinstance(expression, str):
            return expression
        function, argument = _function(expression)
        if function == "Ref":
            return self.reference(argument)
        if function == "Fn::FindInMap":
            mapping, first, second, *rest = argument
            entries = self.contract.mappings[mapping]
            found = entries.get(self.text(first), {}).get(self.text(second))
            if found is None and rest:
                found = rest[0]["DefaultValue"]
            if found is None:
                raise ConditionError(f"nothing in mapping {mapping} for {self.text(first)}")
            return str(found)
        raise ConditionError(f"{function} in a condition")

    def reference(self, name: str) -> str:
        if name == REGION:
            if not self.region:
                raise ConditionError("a condition of the template looks at the region, and none is given")
            return self.region
        if name not in self.values:
            raise ConditionError(f"the template has no parameter {name!r}")
        return self.values[name]


def _function(expression: Expression) -> tuple[str, Any]:
    if not isinstance(expression, Mapping) or len(expression) != 1:
        raise ConditionError(f"no intrinsic function: {expression!r}")
    return next(iter(expression.items()))


def _references(contract: Contract, expression: Expression) -> Iterator[str]:
    if isinstance(expression, Mapping):
        for function, argument in expression.items():
            if function == "Ref":
                yield argument
            elif function == "Condition":
                yield from _references(contract, contract.conditions[argument])
            else:
                yield from _references(contract, argument)
    elif isinstance(expression, list):
        for part in expression:
            yield from _references(contract, part)


def condition_parameters(contract: Contract, name: str) -> tuple[str, ...]:
    """The parameters that a condition looks at, through others too, in the template's order."""
    named = frozenset(_references(contract, contract.conditions[name]))
    return tuple(parameter for parameter in contract.parameters if parameter in named)


def flags(contract: Contract) -> frozenset[str]:
    """The parameters that some condition looks at: what switches parts of the template on and off."""
    return frozenset(
        name for condition in contract.conditions for name in condition_parameters(contract, condition)
    )
