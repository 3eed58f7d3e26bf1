"""Check: are a program's inputs valid, and what do they become.

In the bridge's order: names and types, autonaming, defaults (both remembered in ``__defaults``,
as the bridge does), documents in normal form, region and tags (pulumi-aws ``provider/region.go``
and ``provider/tags.go``), required inputs, the type's own checks.
"""

from __future__ import annotations

import difflib
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlcc_rehearsal.plugins.aws import documents
from mlcc_rehearsal.plugins.aws.definition import RESOURCES_FOLDER, AutoName, Definition
from mlcc_rehearsal.plugins.aws.schema import INTERNAL_KEYS, Shape, terraform_name
from mlcc_rehearsal.plugins.values import UNKNOWN, Asset, contains_unknown

DEFAULTS = "__defaults"
INVALID_KEY = "Invalid or unknown key"
_HEX = "0123456789abcdef"


@dataclass(frozen=True)
class Failure:
    """One thing that is wrong; `property` is empty where the real provider leaves it so."""

    reason: str
    property: str = ""


@dataclass(frozen=True)
class TagSettings:
    """The provider's defaultTags and ignoreTags."""

    default: Mapping[str, str] = field(default_factory=dict)
    ignored_keys: frozenset[str] = frozenset()
    ignored_prefixes: tuple[str, ...] = ()

    def ignores(self, key: str) -> bool:
        """Whether a tag is somebody else's: AWS's own, or named by ignoreTags."""
        return key in self.ignored_keys or key.startswith(("aws:", *self.ignored_prefixes))

    def merged(self, tags: Any) -> Any:
        """All tags a resource should have; unknown when any is."""
        if contains_unknown(tags):
            return UNKNOWN
        together = {**self.default, **(tags or {})}
        return {key: value for key, value in together.items() if not self.ignores(key)}


def closest(name: str, names: Iterable[str]) -> str:
    """A hint naming the most similar valid names."""
    valid = sorted(names)
    by_case = {item.lower(): item for item in valid}
    near = [by_case[item] for item in difflib.get_close_matches(name.lower(), list(by_case), 3, 0.5)]
    if near:
        return f"Did you mean {' or '.join(repr(item) for item in near)}?"
    return f"Valid names: {', '.join(valid)}."


def _typed(value: Any, shape: Shape, path: str, out: list[Failure], where: str) -> Any:
    if value is None or value is UNKNOWN or shape.kind == "any" or isinstance(value, Asset):
        return value
    if shape.kind in ("string", "number", "boolean"):
        return _scalar(value, shape.kind, path, out, where)
    if shape.kind == "list":
        if not isinstance(value, list):
            out.append(_wrong(value, "a list", path, where))
            return value
        element = shape.element or Shape("any")
        return [_typed(item, element, f"{path}[{index}]", out, where) for index, item in enumerate(value)]
    if not isinstance(value, Mapping):
        out.append(_wrong(value, "an object" if shape.kind == "object" else "a map", path, where))
        return value
    if shape.kind == "map":
        element = shape.element or Shape("any")
        return {key: _typed(item, element, f"{path}.{key}", out, where) for key, item in value.items()}
    return _object(value, shape, path, out, where)


def _object(
    value: Mapping[str, Any], shape: Shape, path: str, out: list[Failure], where: str
) -> dict[str, Any]:
    prefix = f"{path}." if path else ""
    typed: dict[str, Any] = {}
    for key, item in value.items():
        if key in INTERNAL_KEYS:
            continue
        if key not in shape.fields:
            hint = closest(key, shape.fields)
            at = f"{prefix}{key}"
            out.append(Failure(f"{INVALID_KEY} '{at}' for {where}. {hint} Examine values at '{at}'."))
            continue
        if item is not None:
            typed[key] = _typed(item, shape.fields[key], f"{prefix}{key}", out, where)
    if path:
        out.extend(_missing(key, f"{prefix}{key}", where) for key in sorted(shape.required - typed.keys()))
    return typed


def _missing(key: str, path: str, where: str) -> Failure:
    # The text is Terraform's, the sentence after it the bridge's.
    return Failure(
        f'Missing required argument. The argument "{terraform_name(key)}" is required, but no definition was '
        f"found.. Examine values at '{where}.{path}'."
    )


def _wrong(value: Any, wanted: str, path: str, where: str) -> Failure:
    kind = {str: "a string", bool: "a boolean", list: "a list", dict: "an object"}.get(
        type(value), "a number"
    )
    return Failure(f"expected {wanted} at '{path}', got {kind}. Examine values at '{where}.{path}'.")


def _scalar(value: Any, kind: str, path: str, out: list[Failure], where: str) -> Any:
    """Terraform's conversions: numbers and booleans written as strings, and the other way round."""
    if kind == "string":
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int | float):
            return str(value)
        if isinstance(value, str):
            return value
        out.append(_wrong(value, "a string", path, where))
    elif kind == "boolean":
        if isinstance(value, bool):
            return value
        if value in ("true", "false"):
            return value == "true"
        out.append(_wrong(value, "a boolean", path, where))
    else:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        if isinstance(value, str):
            try:
                return int(value)
            except ValueError:
                out.append(_wrong(value, "a number", path, where))
                return value
        out.append(_wrong(value, "a number", path, where))
    return value


def autoname(name: AutoName, logical: str, seed: bytes, proposed: str = "", enforce: bool = False) -> str:
    """The physical name for a logical one; the same seed gives the same name. ValueError when too long."""
    if proposed and (enforce or name.digits):
        full = proposed
    elif name.digits:
        digits = random.Random(seed or None)  # names, not secrets
        full = f"{logical}-{''.join(digits.choice(_HEX) for _ in range(name.digits))}"
    else:
        full = logical
    if enforce:
        return full
    if len(full) > name.limit:
        raise ValueError(
            f"name '{full}' is longer than maximum length {name.limit}; set {name.property} explicitly"
        )
    return full.lower() if name.lower else full


def _set_default(inputs: dict[str, Any], path: str, value: Any, defaulted: list[str]) -> None:
    *parents, last = path.split(".")
    target: Any = inputs
    for part in parents:
        target = target.get(part) if isinstance(target, dict) else None
        if isinstance(target, list):
            return _default_in_list(target, last, value)
        if not isinstance(target, dict):
            return None
    if target.get(last) is None:
        target[last] = value
        if not parents:
            defaulted.append(last)
    return None


def _default_in_list(items: list[Any], name: str, value: Any) -> None:
    for item in items:
        if isinstance(item, dict) and item.get(name) is None:
            item[name] = value


@dataclass(frozen=True)
class Request:
    """What the engine asks to check."""

    name: str
    news: Mapping[str, Any]
    olds: Mapping[str, Any] = field(default_factory=dict)
    seed: bytes = b""
    proposed_name: str = ""
    naming: str = "propose"  # propose, enforce or disable


def check(
    definition: Definition, request: Request, tags: TagSettings, region: Any
) -> tuple[dict[str, Any], list[Failure]]:
    """The inputs as the provider takes them, and everything wrong with them."""
    shape = definition.shape
    failures: list[Failure] = []
    inputs = _object(request.news, shape.inputs, "", failures, request.name)
    failures = [_named(failure, definition) for failure in failures]
    defaulted: list[str] = []
    _apply_name(definition, request, inputs, defaulted, failures)
    for path, value in definition.defaults.items():
        _set_default(inputs, path, value, defaulted)
    for path in (*definition.policies, *definition.json):
        _normalise(inputs, path.split("."), path in definition.policies, failures, request.name)
    if "region" in shape.inputs.fields and inputs.get("region") is None and region:
        inputs["region"] = region
        defaulted.append("region")
    if "tagsAll" in shape.outputs.fields and definition.tagging is not None:
        inputs["tagsAll"] = tags.merged(inputs.get("tags"))
    for key in sorted(shape.inputs.required):
        if inputs.get(key) is None:
            failures.append(_missing(key, key, request.name))
    if definition.validate is not None and not failures:
        for path, reason in definition.validate(inputs):
            failures.append(Failure(f"{reason}. Examine values at '{request.name}.{path}'."))
    if defaulted:
        inputs[DEFAULTS] = sorted(defaulted)
    return inputs, failures


def _named(failure: Failure, definition: Definition) -> Failure:
    if not failure.reason.startswith(INVALID_KEY):
        return failure
    return Failure(
        f"{failure.reason} ({definition.token} as the installed pulumi_aws has it; what the stand-in makes "
        f"of it is in {RESOURCES_FOLDER})"
    )


def _apply_name(
    definition: Definition,
    request: Request,
    inputs: dict[str, Any],
    defaulted: list[str],
    failures: list[Failure],
) -> None:
    name = definition.name
    if name is None or inputs.get(name.property) is not None:
        return
    prefix = f"{name.property}Prefix"
    if name.property == "name" and inputs.get(prefix) is not None:
        return
    if inputs.get(prefix) is not None:
        return
    old = request.olds.get(name.property)
    if old is not None and name.property in (request.olds.get(DEFAULTS) or []):
        inputs[name.property] = old
    elif request.naming == "disable":
        failures.append(Failure(f"automatic naming is disabled: set '{name.property}'", name.property))
        return
    else:
        try:
            inputs[name.property] = autoname(
                name, request.name, request.seed, request.proposed_name, request.naming == "enforce"
            )
        except ValueError as error:
            failures.append(Failure(str(error)))
            return
    defaulted.append(name.property)


def _normalise(target: Any, parts: list[str], policy: bool, failures: list[Failure], where: str) -> None:
    head, *rest = parts
    if isinstance(target, list):
        for item in target:
            _normalise(item, parts, policy, failures, where)
        return
    if not isinstance(target, dict) or target.get(head) is None:
        return
    if rest:
        _normalise(target[head], rest, policy, failures, where)
        return
    # Other JSON texts, such as an add-on's configuration, are sent as they are written.
    if not policy and isinstance(target[head], str):
        return
    try:
        target[head] = documents.compact(target[head])
    except documents.DocumentError as error:
        failures.append(
            Failure(f'"{terraform_name(head)}" contains an invalid JSON policy: {error}. Examine values at '
                    f"'{where}.{head}'.")
        )  # fmt: skip
