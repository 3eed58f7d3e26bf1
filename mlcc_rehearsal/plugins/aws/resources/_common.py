"""Small helpers of the table: tags, times, lengths, names."""

from __future__ import annotations

import datetime
import ipaddress
import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mlcc_rehearsal.plugins.aws.calling import Call
from mlcc_rehearsal.plugins.aws.definition import Import
from mlcc_rehearsal.plugins.aws.schema import terraform_name

_COUNTER = itertools.count(1)

Problem = tuple[str, str]
Validator = Callable[[Mapping[str, Any]], list[Problem]]


def tag_list(tags: Mapping[str, str]) -> list[dict[str, str]] | None:
    """Tags as most services take them; None when there are none."""
    return [{"Key": key, "Value": value} for key, value in tags.items()] or None


def tag_map(tags: Iterable[Mapping[str, Any]] | None) -> dict[str, str]:
    """Tags from the lists most services answer."""
    return {str(tag["Key"]): str(tag.get("Value") or "") for tag in tags or ()}


def physical_name(call: Call, name: str = "name") -> str:
    """The name to make a thing under: given, or the given prefix and Terraform's unique suffix."""
    given = call.inputs.get(name)
    if given:
        return str(given)
    moment = datetime.datetime.now(datetime.UTC).strftime("%Y%m%d%H%M%S%f")
    return f"{call.inputs[f'{name}Prefix']}{moment}{next(_COUNTER):08x}"


def rfc3339(moment: Any) -> str | None:
    """A time as the provider writes it."""
    if not isinstance(moment, datetime.datetime):
        return None if moment is None else str(moment)
    return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parts(count: int, separator: str, form: str, *names: str) -> Callable[[str], tuple[str, dict[str, Any]]]:
    """A parser of import ids of `count` parts; `names` are the properties they are."""

    def parse(text: str) -> tuple[str, dict[str, Any]]:
        found = text.split(separator, count - 1)
        if len(found) != count or not all(found):
            raise ValueError(f'unexpected format of ID ("{text}"), expected {form}')
        return text, dict(zip(names, found, strict=False))

    return parse


def compound(form: str, example: str, separator: str, *names: str) -> Import:
    """An import id made of several properties."""
    return Import(form, example, parts(len(names), separator, form, *names))


def checks(*validators: Validator) -> Validator:
    """All problems several checks find."""
    return lambda inputs: [problem for validator in validators for problem in validator(inputs)]


def length(name: str, low: int, high: int) -> Validator:
    """A text's length must lie between `low` and `high`."""

    def check(inputs: Mapping[str, Any]) -> list[Problem]:
        value = inputs.get(name)
        if not isinstance(value, str) or low <= len(value) <= high:
            return []
        return [
            (
                name,
                f"expected length of {terraform_name(name)} to be in the range ({low} - {high}), got {value}",
            )
        ]

    return check


def matches(name: str, pattern: str, text: str) -> Validator:
    """A text must match `pattern`; else `text`, in which {value} is the value."""

    def check(inputs: Mapping[str, Any]) -> list[Problem]:
        value = inputs.get(name)
        if not isinstance(value, str) or re.fullmatch(pattern, value):
            return []
        return [(name, text.format(value=value))]

    return check


def one_of(name: str, *allowed: str) -> Validator:
    """A text must be one of `allowed`."""

    def check(inputs: Mapping[str, Any]) -> list[Problem]:
        value = inputs.get(name)
        if not isinstance(value, str) or value in allowed:
            return []
        quoted = " ".join(f'"{item}"' for item in allowed)
        return [(name, f"expected {terraform_name(name)} to be one of [{quoted}], got {value}")]

    return check


def conflicts(*names: str) -> Validator:
    """At most one of `names` may be given."""

    def check(inputs: Mapping[str, Any]) -> list[Problem]:
        given = [name for name in names if inputs.get(name) not in (None, [], False)]
        if len(given) < 2:
            return []
        first, second = (terraform_name(name) for name in given[:2])
        text = f'Conflicting configuration arguments. "{first}": conflicts with {second}'
        return [(given[0], text)]

    return check


def cidr(name: str, low: int = 0, high: int = 32) -> Validator:
    """An IPv4 network in its normal form, of a prefix length between `low` and `high`."""

    def check(inputs: Mapping[str, Any]) -> list[Problem]:
        value = inputs.get(name)
        if not isinstance(value, str):
            return []
        try:
            network = ipaddress.ip_network(value, strict=False)
        except ValueError:
            return [(name, f'"{value}" is not a valid CIDR block: invalid CIDR address: {value}')]
        if str(network) != value:
            return [(name, f'"{value}" is not a valid CIDR block; did you mean "{network}"?')]
        if not low <= network.prefixlen <= high:
            text = (
                f'expected "{terraform_name(name)}" to contain a network Value with between {low} and {high}'
            )
            return [(name, f"{text} significant bits, got: {network.prefixlen}")]
        return []

    return check


def pruned(block: Mapping[str, Any]) -> dict[str, Any]:
    """A block without what is None."""
    return {key: value for key, value in block.items() if value is not None}
