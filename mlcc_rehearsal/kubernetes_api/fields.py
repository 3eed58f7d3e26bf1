"""Sets of field paths and their ``FieldsV1`` form, for the ownership of server-side apply.

A path is a tuple of FieldsV1 steps: ``f:name`` for a field, ``k:{...}`` for the item of a keyed list,
``v:...`` for a member of a set. Source: sigs.k8s.io/structured-merge-diff, ``fieldpath``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from mlcc_rehearsal.kubernetes_api.shapes import Shape, item_key
from mlcc_rehearsal.kubernetes_api.status import Object

Path = tuple[str, ...]
ABSENT: Any = object()

_UNOWNED_METADATA = frozenset(
    {"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
     "deletionGracePeriodSeconds", "managedFields", "selfLink", "generateName"}
)  # fmt: skip


def owned_paths(obj: Object, shape: Shape) -> set[Path]:
    """Paths of an object that can have an owner."""
    found: set[Path] = set()
    for key, value in obj.items():
        if key in ("apiVersion", "kind"):
            continue
        if key == "metadata":
            for name, part in (value or {}).items():
                if name not in _UNOWNED_METADATA:
                    _collect(part, ("f:metadata", f"f:{name}"), ("metadata", name), shape, found)
        else:
            _collect(value, (f"f:{key}",), (key,), shape, found)
    return found


def _collect(value: Any, path: Path, names: tuple[str, ...], shape: Shape, found: set[Path]) -> None:
    if isinstance(value, dict) and value and not shape.is_atomic_map(names):
        for key, part in value.items():
            _collect(part, (*path, f"f:{key}"), (*names, key), shape, found)
        return
    if isinstance(value, list) and value:
        if shape.is_set(names):
            found.update((*path, f"v:{json.dumps(item)}") for item in value)
            return
        keys = shape.list_keys(names)
        identities = [item_key(item, keys) for item in value] if keys else [None]
        if all(identity is not None for identity in identities):
            for identity, item in zip(identities, value, strict=True):
                place = (*path, f"k:{identity}")
                found.add(place)
                for key, part in item.items():
                    _collect(part, (*place, f"f:{key}"), (*names, key), shape, found)
            return
    found.add(path)


def value_at(obj: Any, path: Path) -> Any:
    """The value a path points at, or ABSENT."""
    for step in path:
        mark, name = step[:2], step[2:]
        if mark == "f:":
            if not isinstance(obj, dict) or name not in obj:
                return ABSENT
            obj = obj[name]
        elif mark == "k:":
            index = _index_of(obj, name)
            if index is None:
                return ABSENT
            obj = obj[index]
        else:
            member = json.loads(name)
            if not isinstance(obj, list) or member not in obj:
                return ABSENT
            obj = member
    return obj


def remove_at(obj: Object, path: Path, kept: set[Path]) -> None:
    """Remove what a path points at; parents left empty go too unless ``kept`` names them or their parts."""
    parents: list[Any] = [obj]
    for step in path[:-1]:
        following = value_at(parents[-1], (step,))
        if following is ABSENT:
            return
        parents.append(following)
    for depth in range(len(path) - 1, -1, -1):
        parent, step = parents[depth], path[depth]
        mark, name = step[:2], step[2:]
        if mark == "f:":
            parent.pop(name, None)
        elif mark == "k:":
            index = _index_of(parent, name)
            if index is not None:
                del parent[index]
        elif json.loads(name) in parent:
            parent.remove(json.loads(name))
        here = path[:depth]
        if parent or depth == 0 or here in kept or path[depth - 1][:2] == "k:":
            return


def to_fields_v1(paths: Iterable[Path]) -> Object:
    """The nested form that ``managedFields`` carries."""
    tree: Object = {}
    for path in sorted(paths):
        node = tree
        for step in path:
            node = node.setdefault(step, {})
        node["."] = {}
    return _without_lone_dots(tree)


def from_fields_v1(tree: Object) -> set[Path]:
    """Paths of a nested form."""
    found: set[Path] = set()

    def walk(node: Object, path: Path) -> None:
        if path and (not node or "." in node):
            found.add(path)
        for step, below in node.items():
            if step != ".":
                walk(below, (*path, step))

    walk(tree, ())
    return found


def readable(path: Path) -> str:
    """A path as conflict messages write it: ``.spec.template.spec.containers[name="a"].image``."""
    text = ""
    for step in path:
        mark, name = step[:2], step[2:]
        if mark == "f:":
            text += f".{name}"
        elif mark == "k:":
            keys = json.loads(name)
            text += "[" + ",".join(f"{key}={json.dumps(value)}" for key, value in keys.items()) + "]"
        else:
            text += f"[={name}]"
    return text


def _without_lone_dots(node: Object) -> Object:
    if set(node) == {"."}:
        return {}
    return {step: _without_lone_dots(below) if step != "." else {} for step, below in node.items()}


def _index_of(items: Any, identity: str) -> int | None:
    if not isinstance(items, list):
        return None
    keys = tuple(json.loads(identity))
    for index, item in enumerate(items):
        if item_key(item, keys) == identity:
            return index
    return None
