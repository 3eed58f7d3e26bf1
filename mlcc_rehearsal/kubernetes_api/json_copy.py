"""Copying of Kubernetes objects as they are in JSON."""

from __future__ import annotations

from typing import Any, TypeVar, cast

T = TypeVar("T")


def copied(value: T) -> T:
    """A copy that shares nothing which could change: of objects, lists and plain values only.

    Objects are copied at each reading and writing; `copy.deepcopy`, which provides for much that JSON does
    not have, took most of the time that a cluster's controllers need.
    """
    return cast(T, _copied(value))


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value
