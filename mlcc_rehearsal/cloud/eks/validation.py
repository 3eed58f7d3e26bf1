"""Parameters against botocore's own model of the API: required, types, lengths, patterns, values.

botocore checks only part of this before it sends; AWS checks all of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mlcc_rehearsal.cloud import laws
from mlcc_rehearsal.cloud.eks.errors import InvalidParameterException


def validate(shape: Any, parameters: dict[str, Any]) -> None:
    """Check the input of an operation (a botocore ``StructureShape``).

    :raises InvalidParameterException: naming every constraint that is not satisfied, as AWS words it.
    """
    found = violations(shape, parameters)
    if not found:
        return
    count = f"{len(found)} validation error{'s' if len(found) > 1 else ''} detected: "
    raise laws.EKS_PARAMETERS.broken(InvalidParameterException(count + "; ".join(found)))


def violations(shape: Any, parameters: dict[str, Any]) -> list[str]:
    """Every constraint of a model that the parameters do not satisfy, as AWS words it."""
    return list(_structure(shape, parameters, ""))


def _structure(shape: Any, value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        return
    for name in shape.required_members:
        if value.get(name) is None:
            yield _failed("null", f"{path}{name}", "Member must not be null")
    for name, member in shape.members.items():
        if value.get(name) is not None:
            yield from _value(member, value[name], f"{path}{name}")


def _value(shape: Any, value: Any, path: str) -> Iterator[str]:
    if shape.type_name == "structure":
        yield from _structure(shape, value, f"{path}.")
    elif shape.type_name == "list" and isinstance(value, list):
        yield from _length(shape, value, path)
        for index, item in enumerate(value, start=1):
            yield from _value(shape.member, item, f"{path}.{index}.member")
    elif shape.type_name == "map" and isinstance(value, dict):
        yield from _length(shape, value, path)
        for key, item in value.items():
            yield from _value(shape.key, key, path)
            yield from _value(shape.value, item, f"{path}.{key}.member")
    elif shape.type_name == "string" and isinstance(value, str):
        yield from _string(shape, value, path)
    elif shape.type_name in ("integer", "long") and isinstance(value, int):
        yield from _range(shape, value, path)


def _string(shape: Any, value: str, path: str) -> Iterator[str]:
    yield from _length(shape, value, path)
    pattern = shape.metadata.get("pattern")
    if pattern and not re.fullmatch(_in_python(pattern), value):
        yield _failed(value, path, f"Member must satisfy regular expression pattern: {pattern}")
    values = shape.metadata.get("enum")
    if values and value not in values:
        yield _failed(value, path, f"Member must satisfy enum value set: [{', '.join(values)}]")


def _in_python(pattern: str) -> str:
    """A pattern without the Unicode properties that Python's expressions lack; letters and digits are one."""
    for unknown, known in ((r"\p{L}", r"\w"), (r"\p{N}", r"\w"), (r"\p{Z}", r"\s")):
        pattern = pattern.replace(unknown, known)
    return pattern


def _length(shape: Any, value: Any, path: str) -> Iterator[str]:
    low, high = shape.metadata.get("min"), shape.metadata.get("max")
    if low is not None and len(value) < low:
        yield _failed(value, path, f"Member must have length greater than or equal to {low}")
    if high is not None and len(value) > high:
        yield _failed(value, path, f"Member must have length less than or equal to {high}")


def _range(shape: Any, value: int, path: str) -> Iterator[str]:
    low, high = shape.metadata.get("min"), shape.metadata.get("max")
    if low is not None and value < low:
        yield _failed(value, path, f"Member must have value greater than or equal to {low}")
    if high is not None and value > high:
        yield _failed(value, path, f"Member must have value less than or equal to {high}")


def _failed(value: Any, path: str, constraint: str) -> str:
    return f"Value '{value}' at '{path}' failed to satisfy constraint: {constraint}"
