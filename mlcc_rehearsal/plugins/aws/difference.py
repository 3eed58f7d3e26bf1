"""Diff: what differs between the state and a program's inputs, as Terraform's plan sees it.

An input that is given is compared with the state. One left out counts as its default; where AWS
fills it (optional and computed) it is no difference; else its removal is one, unless the state
holds a zero value, which Terraform does not tell from nothing. An unknown input counts as a
change, and replaces where a change would: so a preview may show a replacement that the update
does not make. Source: terraform-plugin-sdk ``helper/schema``; the bridge's ``pkg/tfbridge/diff.go``
and ``provider.go`` for kinds, deleteBeforeReplace and what is stable.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mlcc_rehearsal.plugins.aws import documents
from mlcc_rehearsal.plugins.aws.checking import DEFAULTS
from mlcc_rehearsal.plugins.aws.definition import Definition
from mlcc_rehearsal.plugins.aws.schema import Shape
from mlcc_rehearsal.plugins.values import Asset, contains_unknown

ADD, UPDATE, DELETE = "ADD", "UPDATE", "DELETE"


@dataclass(frozen=True)
class Change:
    """One difference: `path` as the engine shows it (``tags["a"]``), `plain` without positions."""

    path: str
    plain: str
    kind: str
    replace: bool = False


@dataclass(frozen=True)
class Difference:
    """All differences of a resource."""

    changes: tuple[Change, ...]
    delete_before_replace: bool = False

    @property
    def replaces(self) -> list[str]:
        """The properties that ask for a replacement, by their first part."""
        return sorted({_top(change.path) for change in self.changes if change.replace})

    @property
    def paths(self) -> set[str]:
        """What differs, without positions in lists."""
        return {change.plain for change in self.changes}


def _top(path: str) -> str:
    return path.split(".", maxsplit=1)[0].split("[", maxsplit=1)[0]


def is_empty(value: Any) -> bool:
    """Whether Terraform cannot tell a value from nothing: null, false, 0, "", [] and blocks of these."""
    if isinstance(value, Mapping):
        return all(is_empty(item) for key, item in value.items() if key != DEFAULTS)
    return value is None or (not isinstance(value, Asset) and value in (False, 0, "", []))


class _Comparison:
    def __init__(self, definition: Definition, ignored: Iterable[str]) -> None:
        self.definition = definition
        self.ignored = tuple(plain_path(path) for path in ignored)
        self.changes: list[Change] = []

    def record(self, path: str, plain: str, kind: str, block: Any = None) -> None:
        """Note a difference. A `block` that comes or goes as a whole replaces when a leaf in it would."""
        if any(plain == item or plain.startswith(f"{item}.") for item in self.ignored):
            return
        replace = any(
            plain == item
            or plain.startswith(f"{item}.")
            or (item.startswith(f"{plain}.") and _holds(block, item.removeprefix(f"{plain}.").split(".")))
            for item in self.definition.replace
        )
        self.changes.append(Change(path, plain, kind, replace))

    def fields(
        self, shape: Shape, old: Mapping[str, Any], new: Mapping[str, Any], path: str, plain: str
    ) -> None:
        for name, child in shape.fields.items():
            self.value(
                child,
                old.get(name),
                new.get(name),
                f"{path}.{name}" if path else name,
                f"{plain}.{name}" if plain else name,
            )

    def value(self, shape: Shape, old: Any, new: Any, path: str, plain: str) -> None:
        if new is None:
            if plain in self.definition.defaults:
                new = self.definition.defaults[plain]
            elif plain in self.definition.computed or plain == "region":
                return
        if new is None or (is_empty(new) and is_empty(old)):
            if not is_empty(old):
                self.removed(shape, old, path, plain)
        elif old is None and not contains_unknown(new):
            self.added(shape, new, path, plain)
        else:
            self.both(shape, old, new, path, plain)

    def both(self, shape: Shape, old: Any, new: Any, path: str, plain: str) -> None:
        if shape.kind == "object" and isinstance(new, Mapping) and isinstance(old, Mapping):
            self.fields(shape, old, new, path, plain)
        elif shape.kind == "map" and isinstance(new, Mapping) and isinstance(old, Mapping):
            self.map(old, new, path, plain)
        elif contains_unknown(new):
            self.record(path, plain, ADD if is_empty(old) else UPDATE)
        elif shape.kind == "list" and isinstance(new, list) and isinstance(old, list):
            if not self.same_lists(shape, old, new, plain):
                self.record(path, plain, ADD if not old else DELETE if not new else UPDATE)
        elif not self.same(old, new, plain):
            self.record(path, plain, ADD if is_empty(old) else UPDATE)

    def removed(self, shape: Shape, old: Any, path: str, plain: str) -> None:
        if shape.kind == "map" and isinstance(old, Mapping):
            self.map(old, {}, path, plain)
        else:
            self.record(path, plain, DELETE, old)

    def added(self, shape: Shape, new: Any, path: str, plain: str) -> None:
        if shape.kind == "map" and isinstance(new, Mapping) and new:
            self.map({}, new, path, plain)
        else:
            self.record(path, plain, ADD, new)

    def map(self, old: Mapping[str, Any], new: Mapping[str, Any], path: str, plain: str) -> None:
        for key in sorted({*old, *new}):
            if old.get(key) == new.get(key):
                continue
            kind = ADD if key not in old else DELETE if key not in new else UPDATE
            shown = f"{path}.{key}" if key.replace("_", "").isalnum() else f'{path}["{key}"]'
            self.record(shown, f"{plain}.{key}", kind)

    def same_lists(self, shape: Shape, old: list[Any], new: list[Any], plain: str) -> bool:
        element = shape.element or Shape("any")
        if element.kind == "object":
            left = [self.canonical(element, item, item2, plain) for item, item2 in _pairs(old, new)]
            right = [self.canonical(element, item, None, plain) for item in new]
        else:
            left, right = [_scalar(item) for item in old], [_scalar(item) for item in new]
        if plain in self.definition.ordered:
            return left == right
        return sorted(map(_key, left)) == sorted(map(_key, right))

    def canonical(self, shape: Shape, item: Any, counterpart: Any, plain: str) -> Any:
        """A list element with zero values left out and defaults filled in, so that equal ones are equal."""
        if not isinstance(item, Mapping):
            return item
        normal: dict[str, Any] = {}
        for name, child in shape.fields.items():
            value, path = item.get(name), f"{plain}.{name}"
            if value is None:
                value = self.definition.defaults.get(path)
            elif (
                path in self.definition.computed and counterpart is not None and counterpart.get(name) is None
            ):
                continue
            if is_empty(value):
                continue
            normal[name] = self.canonical_value(child, value, (counterpart or {}).get(name), path)
        return normal

    def canonical_value(self, shape: Shape, value: Any, counterpart: Any, path: str) -> Any:
        if path in self.definition.policies:
            return repr(documents._policy(value))
        if shape.kind == "object":
            return self.canonical(
                shape, value, counterpart if isinstance(counterpart, Mapping) else None, path
            )
        if shape.kind == "list" and isinstance(value, list):
            element = shape.element or Shape("any")
            items = [self.canonical_value(element, item, None, path) for item in value]
            return items if path in self.definition.ordered else sorted(items, key=_key)
        return _scalar(value)

    def same(self, old: Any, new: Any, plain: str) -> bool:
        if plain in self.definition.same:
            return self.definition.same[plain](old, new)
        if plain in self.definition.policies:
            return documents.same_policy(old, new)
        if plain in self.definition.json:
            return documents.same_json(old, new)
        return bool(_scalar(old) == _scalar(new))


def _holds(block: Any, parts: list[str]) -> bool:
    if not parts:
        return not is_empty(block)
    return isinstance(block, Mapping) and _holds(block.get(parts[0]), parts[1:])


def _pairs(old: list[Any], new: list[Any]) -> list[tuple[Any, Any]]:
    return [(item, new[index] if index < len(new) else None) for index, item in enumerate(old)]


def _scalar(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(int(value) if float(value).is_integer() else value)
    return value


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)


def plain_path(path: str) -> str:
    """A property path of the engine without positions and quotes: ``tags["a.b"]`` → ``tags.a.b``."""
    text = path.replace('["', ".").replace('"]', "")
    parts = []
    for part in text.split("."):
        head = part.split("[", maxsplit=1)[0]
        if head and head != "*":
            parts.append(head)
    return ".".join(parts)


def compare(
    definition: Definition,
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    ignored: Iterable[str] = (),
) -> Difference:
    """Old state (outputs) against checked new inputs."""
    comparison = _Comparison(definition, ignored)
    shape = definition.shape.inputs
    comparison.fields(shape, old, new, "", "")
    if "tagsAll" in new:
        comparison.value(definition.shape.outputs.fields["tagsAll"], old.get("tagsAll"), new["tagsAll"],
                         "tagsAll", "tagsAll")  # fmt: skip
    if old.get("region") and new.get("region") and old["region"] != new["region"]:
        comparison.record("region", "region", UPDATE)
    changes = {change.path: change for change in comparison.changes}
    if "region" in changes:
        changes["region"] = Change("region", "region", UPDATE, replace=True)
    if definition.replace_when is not None:
        for path in definition.replace_when(old, new):
            kind = changes[path].kind if path in changes else UPDATE
            changes[path] = Change(path, plain_path(path), kind, replace=True)
    replaced = any(change.replace for change in changes.values())
    return Difference(
        tuple(changes[path] for path in sorted(changes)),
        delete_before_replace=replaced
        and (definition.delete_before_replace or _fixed_name(definition, old, new)),
    )


def _fixed_name(definition: Definition, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether the program gives both the same name: then they cannot exist at once."""
    if definition.name is None:
        return False
    name = definition.name.property
    return (
        name not in (new.get(DEFAULTS) or []) and new.get(name) is not None and new.get(name) == old.get(name)
    )
