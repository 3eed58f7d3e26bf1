"""JSON and policy documents as property values: their normal form, and when two mean the same.

The provider shows no difference between two policies that grant the same: single values and
lists of one, the order of actions, principals and statements' keys do not count (source:
github.com/hashicorp/awspolicyequivalence, used through terraform-provider-aws
``internal/verify/json.go``). The bridge sends documents compact with sorted keys
(``TransformJSONDocument``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mlcc_rehearsal.plugins.values import contains_unknown

_VALUE_LISTS = ("Action", "NotAction", "Resource", "NotResource")


class DocumentError(ValueError):
    """A document is no JSON."""


def compact(value: Any) -> Any:
    """A document in the bridge's normal form; an object becomes text, unknowns stay.

    DocumentError when text is no JSON. Empty text stays empty.
    """
    if contains_unknown(value) or value == "":
        return value
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except json.JSONDecodeError as error:
            raise DocumentError(str(error)) from None
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def same_json(left: Any, right: Any) -> bool:
    """Whether two texts are the same JSON; texts that are no JSON are compared as they are."""
    try:
        return bool(json.loads(left) == json.loads(right))
    except (TypeError, json.JSONDecodeError):
        return bool(left == right)


def _strings(value: Any) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    return tuple(sorted(_text(item) for item in items))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _principals(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return _strings(value)
    normal: dict[str, tuple[str, ...]] = {}
    for kind, members in value.items():
        names = _strings(members)
        if kind == "AWS":
            names = tuple(sorted(_account_root(name) for name in names))
        normal[kind] = names
    if set(normal) == {"AWS"} and normal["AWS"] == ("*",):
        return ("*",)
    return tuple(sorted(normal.items()))


def _account_root(name: str) -> str:
    return f"arn:aws:iam::{name}:root" if name.isdigit() and len(name) == 12 else name


def _conditions(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return _text(value)
    return tuple(
        sorted(
            (operator, tuple(sorted((key.lower(), _strings(values)) for key, values in keys.items())))
            for operator, keys in value.items()
            if isinstance(keys, Mapping) and keys
        )
    )


def _statement(statement: Any) -> Any:
    if not isinstance(statement, Mapping):
        return _text(statement)
    normal: dict[str, Any] = {"Effect": statement.get("Effect", "")}
    if statement.get("Sid"):
        normal["Sid"] = statement["Sid"]
    for key in _VALUE_LISTS:
        if key in statement:
            values = _strings(statement[key])
            normal[key] = tuple(sorted({v.lower() for v in values})) if "Action" in key else values
    for key in ("Principal", "NotPrincipal"):
        if key in statement:
            normal[key] = _principals(statement[key])
    conditions = _conditions(statement.get("Condition", {}))
    if conditions:
        normal["Condition"] = conditions
    return tuple(sorted(normal.items()))


def _policy(text: Any) -> Any:
    document = json.loads(text)
    if not isinstance(document, Mapping):
        return document
    statements = document.get("Statement", [])
    if isinstance(statements, Mapping):
        statements = [statements]
    return (
        document.get("Version", "2008-10-17"),
        document.get("Id"),
        tuple(sorted((_statement(statement) for statement in statements), key=repr)),
    )


def same_policy(left: Any, right: Any) -> bool:
    """Whether two policy documents grant the same; texts that are no JSON are compared as they are."""
    if left == right:
        return True
    try:
        return bool(_policy(left) == _policy(right))
    except (TypeError, json.JSONDecodeError):
        return False
