"""Every resource type and function of the stand-in.

A module of `mlcc_rehearsal.plugins.aws.resources` has ``DEFINITIONS``, one of
`mlcc_rehearsal.plugins.aws.functions` has ``FUNCTIONS`` (token -> call -> result). They are found
by being there: to add a type, add an entry to one of them.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from mlcc_rehearsal.plugins.aws.calling import Call
from mlcc_rehearsal.plugins.aws.definition import Definition

Function = Callable[[Call], dict[str, Any]]


def _modules(package: str) -> Iterator[ModuleType]:
    parent = importlib.import_module(f"mlcc_rehearsal.plugins.aws.{package}")
    for info in pkgutil.iter_modules(parent.__path__):
        yield importlib.import_module(f"{parent.__name__}.{info.name}")


@functools.cache
def resources() -> Mapping[str, Definition]:
    """Resource types by token. ValueError when two modules define the same."""
    table: dict[str, Definition] = {}
    for module in _modules("resources"):
        for definition in getattr(module, "DEFINITIONS", ()):
            if definition.token in table:
                raise ValueError(f"{definition.token} is defined twice")
            table[definition.token] = definition
    return table


@functools.cache
def functions() -> Mapping[str, Function]:
    """Functions by token. ValueError when two modules define the same."""
    table: dict[str, Function] = {}
    for module in _modules("functions"):
        for token, function in getattr(module, "FUNCTIONS", {}).items():
            if token in table:
                raise ValueError(f"{token} is defined twice")
            table[token] = function
    return table
