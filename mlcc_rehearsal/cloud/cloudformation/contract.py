"""The contracts of AWS's templates that nest others: their parameters, conditions, nested stacks and outputs.

Sources: ``data/hyperpod_eks_template.json``, the main template, and
``data/inference_operator_addon_template.json``, the add-on template that it nests (commits and licence in
them).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from mlcc_rehearsal.cloud.cloudformation.expressions import Scope

MAIN = "main-stack-eks-based-template.yaml"
ADDON_MAIN = "main-stack-inference-operator-addon-template.yaml"
_FILES = {MAIN: "hyperpod_eks_template.json", ADDON_MAIN: "inference_operator_addon_template.json"}


@dataclass(frozen=True)
class Contract:
    """The parsed data file."""

    parameters: Mapping[str, Mapping[str, Any]]
    conditions: Mapping[str, str]
    mappings: Mapping[str, Any]
    resources: Mapping[str, Mapping[str, Any]]
    outputs: Mapping[str, Mapping[str, str]]

    def defaults(self) -> dict[str, str]:
        """Every parameter's default, as text."""
        return {name: str(declared["Default"]) for name, declared in self.parameters.items()}

    def evaluate_conditions(self, parameters: Mapping[str, str], region: str) -> dict[str, bool]:
        """Whether each condition holds; conditions may name each other."""
        known: dict[str, bool] = {}
        waiting = dict(self.conditions)
        while waiting:
            for name, text in list(waiting.items()):
                scope = Scope(parameters, known, {"AWS::Region": region}, self.mappings)
                try:
                    known[name] = bool(scope.evaluate(text))
                except ValueError:
                    continue
                del waiting[name]
        return known


@lru_cache(maxsize=2)
def _data(template: str) -> dict[str, Any]:
    place = files("mlcc_rehearsal.cloud.cloudformation") / "data" / _FILES[template]
    data: dict[str, Any] = json.loads(place.read_text("utf-8"))
    return data


@lru_cache(maxsize=2)
def load(template: str = MAIN) -> Contract:
    """The contract of a template by its file name; :raises KeyError: for one that nests nothing."""
    data = _data(template)
    return Contract(
        data["parameters"],
        data["conditions"],
        data.get("mappings", {}),
        data["resources"],
        data["outputs"],
    )


def at(url: str) -> Contract:
    """The contract of the template at an address: the main one's, unless it is the add-on template's."""
    return load(ADDON_MAIN if url.rsplit("/", 1)[-1] == ADDON_MAIN else MAIN)


def nested_of_addon(template: str) -> dict[str, Any]:
    """What the data file says of a template that the add-on template nests."""
    nested: dict[str, Any] = _data(ADDON_MAIN)["nested"][template]
    return nested
