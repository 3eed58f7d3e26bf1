"""Label and field selectors, as list, watch and deletecollection take them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from mlcc_rehearsal.kubernetes_api.status import Object, bad_request

Matcher = Callable[[Object], bool]

_SET = re.compile(r"^\s*(?P<key>[^\s!=,()]+)\s+(?P<op>in|notin)\s*\((?P<values>[^)]*)\)\s*$")
_EQUALS = re.compile(r"^\s*(?P<key>[^\s!=,()]+)\s*(?P<op>==|=|!=)\s*(?P<value>[^\s,()]*)\s*$")
_EXISTS = re.compile(r"^\s*(?P<no>!?)\s*(?P<key>[^\s!=,()]+)\s*$")


def label_matcher(selector: str | None) -> Matcher:
    """Whether an object's labels satisfy ``a=b,c!=d,e in (f,g),h,!i``.

    Raises:
        ApiError: 400 when the selector cannot be parsed.
    """
    tests = [_label_test(part) for part in _split(selector or "")]

    def matches(obj: Object) -> bool:
        labels = obj.get("metadata", {}).get("labels") or {}
        return all(test(labels) for test in tests)

    return matches


def field_matcher(selector: str | None) -> Matcher:
    """Whether an object's fields satisfy ``metadata.name=a,status.phase!=Running``.

    Raises:
        ApiError: 400 when the selector cannot be parsed.
    """
    wanted: list[tuple[list[str], bool, str]] = []
    for part in _split(selector or ""):
        found = _EQUALS.match(part)
        if found is None:
            raise bad_request(f"invalid selector: '{selector}'; can't understand '{part.strip()}'")
        wanted.append((found["key"].split("."), found["op"] != "!=", found["value"]))

    def matches(obj: Object) -> bool:
        return all((_text(_look(obj, path)) == value) is equal for path, equal, value in wanted)

    return matches


def selector_of(spec: Any) -> str:
    """The text form of a LabelSelector object (``matchLabels`` and ``matchExpressions``) or plain map."""
    if not isinstance(spec, dict):
        return ""
    if "matchLabels" not in spec and "matchExpressions" not in spec:
        return ",".join(f"{key}={value}" for key, value in sorted(spec.items()))
    parts = [f"{key}={value}" for key, value in sorted((spec.get("matchLabels") or {}).items())]
    for expression in spec.get("matchExpressions") or []:
        key, values = expression["key"], ",".join(expression.get("values") or [])
        operator = expression["operator"]
        parts.append(
            {
                "In": f"{key} in ({values})",
                "NotIn": f"{key} notin ({values})",
                "Exists": key,
                "DoesNotExist": f"!{key}",
            }[operator]
        )
    return ",".join(parts)


def _split(selector: str) -> list[str]:
    parts, depth, current = [], 0, ""
    for character in selector:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += character
    return [part for part in [*parts, current] if part.strip()]


def _label_test(part: str) -> Callable[[dict[str, str]], bool]:
    if found := _SET.match(part):
        key, values = found["key"], {value.strip() for value in found["values"].split(",")}
        if found["op"] == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if found := _EQUALS.match(part):
        key, value = found["key"], found["value"]
        if found["op"] == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if found := _EXISTS.match(part):
        key, absent = found["key"], bool(found["no"])
        return lambda labels: (key not in labels) is absent
    raise bad_request(f"unable to parse requirement: found '{part.strip()}', expected: label selector")


def _look(obj: Any, path: list[str]) -> Any:
    for step in path:
        obj = obj.get(step) if isinstance(obj, dict) else None
    return obj


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
