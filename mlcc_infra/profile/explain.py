"""From pydantic's errors to problems that name the key in the stack file and what would work."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from mlcc_infra.profile.model import Profile
from mlcc_infra.profile.problems import Problem, closest, remove_command, set_command

_EXPECTED: dict[str, str] = {
    "accountId": "twelve digits in quotes, leading zeros kept",
    "version": "an exact version",
    "kubernetesVersion": 'a Kubernetes version in quotes, such as "1.35"',
}


def problems_of(
    error: ValidationError, raw: Mapping[str, Any], stack: str
) -> tuple[list[Problem], dict[str, Any]]:
    """The problems of a validation, and the input without the offending values.

    Args:
        error: what pydantic found.
        raw: the input that was validated.
        stack: the stack, for the commands.
    """
    rest: dict[str, Any] = copy.deepcopy(dict(raw))
    problems: list[Problem] = []
    # Last index first, so that removing an item of a list does not move the ones still to be removed.
    for details in sorted(
        error.errors(), key=lambda entry: [str(part).zfill(6) for part in entry["loc"]], reverse=True
    ):
        path = _path(details, rest)
        problems.append(_problem(details, path, raw, stack))
        _remove(rest, path, missing=details["type"] == "missing")
    problems.reverse()
    return problems, rest


def _path(details: ErrorDetails, raw: Mapping[str, Any]) -> tuple[str | int, ...]:
    """The location in the input: without the parts that pydantic adds for keys and unions."""
    path: list[str | int] = []
    here: Any = raw
    for part in details["loc"]:
        if part == "[key]":
            continue
        if (
            path == ["adopt"]
            and part in ("kinds", "default")
            and not (isinstance(here, Mapping) and part in here)
        ):
            continue
        path.append(part)
        try:
            here = here[part]
        except (KeyError, IndexError, TypeError):
            here = None
    return tuple(path)


def key_of(path: tuple[str | int, ...]) -> str:
    """`mlcc:network.zones[0]` for `("network", "zones", 0)`, quoted where Pulumi's paths need it."""
    text = ""
    for position, part in enumerate(path):
        if isinstance(part, int):
            text += f"[{part}]"
        elif position == 0:
            text = f"aws:{part}" if part == "region" else f"mlcc:{part}"
        elif part.replace("-", "").replace("_", "").isalnum() and "-" not in part:
            text += f".{part}"
        else:
            text += f'["{part}"]'
    return text


def _problem(
    details: ErrorDetails, path: tuple[str | int, ...], raw: Mapping[str, Any], stack: str
) -> Problem:
    key = key_of(path)
    value = None if details["type"] == "missing" else details["input"]
    kind = details["type"]
    context = details.get("ctx", {})
    if kind == "extra_forbidden":
        known = _known_keys(path)
        return Problem(
            key=key,
            value=value,
            found=f"an unknown key{closest(str(path[-1]), known)}",
            remedy=f"{remove_command(key, stack=stack)}; known keys here: {', '.join(known)}",
        )
    if kind == "missing":
        return Problem(
            key=key,
            value=None,
            found="a setting that is needed is missing",
            remedy=_missing_remedy(path, key, stack),
        )
    if kind == "string_type" and isinstance(value, (int, float)) and not isinstance(value, bool):
        return _unquoted(key, value, stack)
    if kind == "string_pattern_mismatch":
        return Problem(
            key=key,
            value=value,
            found=_pattern_reason(path, value),
            remedy=f"{_set(key, '<value>', stack)}, with a value like {_example(path)}",
        )
    if kind in ("too_short", "too_long"):
        limit = (
            f"at least {context['min_length']}" if kind == "too_short" else f"at most {context['max_length']}"
        )
        found = f"{context['actual_length']} entries where there are {limit}"
        return Problem(key=key, value=value, found=found, remedy=_missing_remedy(path, key, stack))
    if kind in ("literal_error", "enum"):
        allowed = str(context.get("expected", ""))
        choices = [choice.strip("' ") for choice in allowed.replace(" or ", ", ").split(",")]
        if "[key]" in details["loc"]:
            return Problem(
                key=key,
                value=_value_at(raw, path),
                found=f"an unknown key{closest(str(value), choices)}",
                remedy=f"{remove_command(key, stack=stack)}; known keys here: {', '.join(choices)}",
            )
        return Problem(
            key=key,
            value=value,
            found=f"an unknown value{closest(str(value), choices)}",
            remedy=f"{_set(key, choices[0], stack)}; allowed: {', '.join(choices)}",
        )
    return Problem(
        key=key,
        value=value,
        found=_plain(details["msg"]),
        remedy=f"{_set(key, '<value>', stack)}; {_expected(path)}",
    )


def _missing_remedy(path: tuple[str | int, ...], key: str, stack: str) -> str:
    """The command that adds what is missing, with an example where the field has one."""
    example = next(iter(getattr(_field(path), "examples", None) or ()), "<value>")
    if isinstance(example, list):
        return f"{_set(f'{key}[0]', str(example[0]), stack)}; {_expected(path)}"
    return f"{_set(key, str(example), stack)}; {_expected(path)}"


def _value_at(raw: Mapping[str, Any], path: tuple[str | int, ...]) -> Any:
    here: Any = raw
    for part in path:
        try:
            here = here[part]
        except (KeyError, IndexError, TypeError):
            return None
    return here


def _unquoted(key: str, value: float, stack: str) -> Problem:
    return Problem(
        key=key,
        value=value,
        found="a number where text is needed; YAML drops leading and trailing zeros of numbers",
        remedy=f'quote it: "…" around it in stacks/Pulumi.{stack}.yaml, or {_set(key, "<value>", stack)}',
    )


def _set(key: str, value: str, stack: str) -> str:
    return set_command(key, value, stack=stack)


def _plain(message: str) -> str:
    text = message.removeprefix("Value error, ").removeprefix("Input should be ")
    return f"not {text}" if message.startswith("Input should be ") else text[:1].lower() + text[1:]


def _field(path: tuple[str | int, ...]) -> Any:
    """The pydantic field that a path leads to, or `None`."""
    model: Any = Profile
    field: Any = None
    for part in path:
        if isinstance(part, int):
            continue
        fields = _fields(model)
        if part in fields:
            field = fields[part]
            model = _model_in(field.annotation)
        elif model is None:
            return field
    return field


def _fields(model: Any) -> dict[str, Any]:
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return {}
    return {str(field.alias or name): field for name, field in model.model_fields.items()}


def _model_in(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in getattr(annotation, "__args__", ()) or ():
        found = _model_in(argument)
        if found is not None:
            return found
    return None


def _known_keys(path: tuple[str | int, ...]) -> list[str]:
    model: Any = Profile
    for part in path[:-1]:
        if isinstance(part, int):
            continue
        fields = _fields(model)
        if part in fields:
            model = _model_in(fields[part].annotation)
    return list(_fields(model))


def _expected(path: tuple[str | int, ...]) -> str:
    field = _field(path)
    text = (field.description or "").replace("\n", " ").strip() if field is not None else ""
    return text or "see docs/profile.schema.json"


def _example(path: tuple[str | int, ...]) -> str:
    field = _field(path)
    examples: list[Any] = list(getattr(field, "examples", None) or ())
    if examples:
        first = examples[0]
        return repr(first[0] if isinstance(first, list) else first)
    for part in reversed(path):
        if isinstance(part, str) and part in _EXPECTED:
            return _EXPECTED[part]
    return f"its description asks for: {_expected(path)}"


def _pattern_reason(path: tuple[str | int, ...], value: Any) -> str:
    last = next((part for part in reversed(path) if isinstance(part, str)), "")
    if last == "version" and str(value).lower() in ("latest", "default", "recommended", ""):
        return "no exact version; a moving one changes the cluster from one run to the next"
    return "a value of another form"


def _remove(raw: dict[str, Any], path: tuple[str | int, ...], *, missing: bool) -> None:
    """Take the offending value out; with a missing one, the mapping that lacks it."""
    if missing:
        path = path[:-1]
    while path:
        here: Any = raw
        try:
            for part in path[:-1]:
                here = here[part]
            del here[path[-1]]
        except (KeyError, IndexError, TypeError):
            path = path[:-1]
            continue
        return
