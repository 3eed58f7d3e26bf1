"""The contract of AWS's main template: its parameters, conditions, nested stacks and outputs.

Source: ``data/hyperpod_eks_template.json`` (commit and licence in it).
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


@lru_cache(maxsize=1)
def load() -> Contract:
    """The contract of the packaged data file."""
    text = (files("mlcc_rehearsal.cloud.cloudformation") / "data" / "hyperpod_eks_template.json").read_text(
        "utf-8"
    )
    data = json.loads(text)
    return Contract(
        data["parameters"],
        data["conditions"],
        data["mappings"],
        data["resources"],
        data["outputs"],
    )
