"""Property names and types of resources and functions, by reflection on the installed ``pulumi_aws``.

A name the real provider does not have then fails here too. The SDK's classes carry the names
on the wire (``pulumi.getter``), the nesting and what is required; they do not say which lists
are sets, what is computed when left out, defaults and what forces replacement: that is the
table's part (`mlcc_rehearsal.plugins.aws.definition`).
"""

from __future__ import annotations

import collections.abc
import functools
import importlib
import inspect
import sys
import threading
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pulumi import _types

#: Keys of a property map that the engine and the bridge keep for themselves.
INTERNAL_KEYS = frozenset({"__defaults", "__meta", "__internal"})
#: The same, of a provider's settings.
PROVIDER_KEYS = INTERNAL_KEYS | {"version", "pluginDownloadURL"}


class UnknownTypeError(LookupError):
    """The installed pulumi_aws has no such resource type or function."""


@dataclass(frozen=True)
class Shape:
    """The type of a value: `kind` is string, number, boolean, list, map, object or any."""

    kind: str
    element: Shape | None = None
    fields: Mapping[str, Shape] = field(default_factory=dict)
    required: frozenset[str] = frozenset()

    def at(self, path: str) -> Shape:
        """The shape at a dotted path without list positions; KeyError naming the part that is missing."""
        shape = self
        for part in path.split("."):
            while shape.kind in ("list", "map") and shape.element is not None:
                shape = shape.element
            if part not in shape.fields:
                raise KeyError(part)
            shape = shape.fields[part]
        return shape


@dataclass(frozen=True)
class ResourceShape:
    """Inputs and outputs of a resource type, or arguments and result of a function."""

    token: str
    inputs: Shape
    outputs: Shape


ANY = Shape("any")


def terraform_name(name: str) -> str:
    """The provider's own spelling of a property, as its messages have it: snake case."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def _split(token: str) -> tuple[str, str]:
    parts = token.split(":")
    if len(parts) != 3 or parts[0] != "aws":
        raise UnknownTypeError(f"{token} is no type of the aws provider")
    return parts[1].split("/")[0], parts[2]


# pulumi_aws loads its modules when they are first looked into, which two threads must not do at once: one of
# them would see a module without its contents (pulumi._utils.lazy_import takes no lock).
_loading = threading.Lock()


def _module(token: str) -> tuple[Any, str]:
    module, name = _split(token)
    with _loading:
        try:
            imported = importlib.import_module("pulumi_aws" if module == "index" else f"pulumi_aws.{module}")
        except ModuleNotFoundError:
            raise UnknownTypeError(f"the installed pulumi_aws has no module {module} ({token})") from None
        hasattr(imported, "_utilities")  # any attribute but those for introspection has it loaded
    return imported, name


def _unwrap(annotation: Any) -> Any:
    """What is inside Optional, Input, Awaitable and Output, and the first of what remains of a union."""
    while True:
        origin = typing.get_origin(annotation)
        if origin in (typing.Union, types.UnionType):
            options = [
                option
                for option in typing.get_args(annotation)
                if option is not type(None)
                and typing.get_origin(option) is not collections.abc.Awaitable
                and "Output" not in str(option).split("[", maxsplit=1)[0]
            ]
            # PolicyDocumentArgs | str: both are accepted; the document's own shape is not checked.
            if len(options) > 1:
                return _union(options)
            annotation = options[0]
        else:
            return annotation


def _union(options: list[Any]) -> Any:
    plain = [option for option in options if option in (str, int, float, bool)]
    objects = [option for option in options if inspect.isclass(option) and option not in plain]
    if str in plain and all("Document" in option.__name__ for option in objects):
        return typing.Any
    return plain[0] if plain else options[0]


def _shape(annotation: Any, inputs: bool) -> Shape:
    annotation = _unwrap(annotation)
    if annotation is bool:
        return Shape("boolean")
    if annotation is str:
        return Shape("string")
    if annotation in (int, float):
        return Shape("number")
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (collections.abc.Sequence, list):
        return Shape("list", element=_shape(arguments[0], inputs))
    if origin in (collections.abc.Mapping, dict):
        return Shape("map", element=_shape(arguments[1], inputs))
    if inspect.isclass(annotation) and (
        _types.is_input_type(annotation) or _types.is_output_type(annotation)
    ):
        return _object(annotation, inputs)
    if inspect.isclass(annotation) and issubclass(annotation, str):
        return Shape("string")
    return ANY


@functools.cache
def _object(cls: type, inputs: bool) -> Shape:
    if not _types.is_input_type(cls):
        members = _types.output_type_types(cls)
        return Shape("object", fields={name: _shape(member, inputs) for name, member in members.items()})
    members = _types.input_type_types(cls)
    names = _types.input_type_py_to_pulumi_names(cls)
    required = frozenset(
        names[name]
        for name, parameter in inspect.signature(cls.__init__).parameters.items()
        if name in names and parameter.default is inspect.Parameter.empty
    )
    return Shape(
        "object",
        fields={name: _shape(annotation, inputs) for name, annotation in members.items()},
        required=required,
    )


def _arguments_class(cls: type, name: str) -> type:
    # Where a nested type has the name already, the generator calls the arguments ...InitArgs.
    own = sys.modules[cls.__module__]
    found = getattr(own, f"{name}InitArgs", None) or getattr(own, f"{name}Args")
    return typing.cast("type", found)


@functools.cache
def resource(token: str) -> ResourceShape:
    """The shape of a resource type such as ``aws:iam/role:Role``; UnknownTypeError when there is none."""
    module, name = _module(token)
    cls = getattr(module, name, None)
    if cls is None or getattr(cls, "pulumi_type", None) != token:
        raise UnknownTypeError(f"the installed pulumi_aws has no resource type {token}")
    return ResourceShape(
        token,
        inputs=_object(_arguments_class(cls, name), True),
        outputs=Shape("object", fields={n: _shape(a, False) for n, a in _types.resource_types(cls).items()}),
    )


def _camel(name: str) -> str:
    head, *rest = name.rstrip("_").split("_")
    return head + "".join(part.capitalize() for part in rest)


@functools.cache
def function(token: str) -> ResourceShape:
    """The shape of a function such as ``aws:iam/getRole:getRole``; UnknownTypeError when there is none."""
    module, name = _module(token)
    python_name = terraform_name(name).lstrip("_")
    call = getattr(module, python_name, None)
    result = getattr(module, f"{name[0].upper()}{name[1:]}Result", None)
    if call is None or result is None:
        raise UnknownTypeError(f"the installed pulumi_aws has no function {token}")
    signature = inspect.signature(call)
    hints = typing.get_type_hints(call)
    arguments = {n: hints.get(n, typing.Any) for n in signature.parameters if n not in ("opts", "opts_")}
    return ResourceShape(
        token,
        inputs=Shape("object", fields={_camel(n): _shape(a, True) for n, a in arguments.items()}),
        outputs=_object(result, False),
    )


@functools.cache
def provider() -> Shape:
    """The provider's own settings."""
    return _object(importlib.import_module("pulumi_aws").ProviderArgs, True)
