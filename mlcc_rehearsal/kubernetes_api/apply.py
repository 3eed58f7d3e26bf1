"""Field ownership: server-side apply with conflicts, and what plain writes own.

Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/ and
sigs.k8s.io/structured-merge-diff (``merge.Updater``).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from mlcc_rehearsal.kubernetes_api.fields import (
    ABSENT,
    Path,
    from_fields_v1,
    owned_paths,
    readable,
    remove_at,
    to_fields_v1,
    value_at,
)
from mlcc_rehearsal.kubernetes_api.json_copy import copied
from mlcc_rehearsal.kubernetes_api.shapes import Shape, item_key
from mlcc_rehearsal.kubernetes_api.status import ApiError, Object

DEFAULT_MANAGER = "unknown"


@dataclass(frozen=True)
class Writer:
    """Who writes: the field manager, the version written in, the subresource, the time (RFC 3339)."""

    manager: str
    api_version: str
    time: str
    subresource: str = ""


@dataclass
class _Entry:
    manager: str
    operation: str
    api_version: str
    subresource: str
    time: str
    paths: set[Path] = field(default_factory=set)

    def identity(self) -> tuple[str, str, str]:
        return (self.manager, self.operation, self.subresource)


def apply(
    live: Object | None,
    config: Object,
    shape: Shape,
    writer: Writer,
    *,
    force: bool,
    ignore: tuple[str, ...] = (),
) -> Object:
    """The object after ``config`` has been applied by ``writer``, managedFields included.

    ``ignore`` are top-level fields that this write must not touch (``status`` on the main resource).

    Raises:
        ApiError: 409 Conflict naming every field another manager owns with another value.
    """
    config = {key: value for key, value in config.items() if key not in ignore}
    if writer.subresource:
        kept = ("apiVersion", "kind", writer.subresource)
        identity = {
            key: config["metadata"][key] for key in ("name", "namespace") if key in config["metadata"]
        }
        config = {**{key: value for key, value in config.items() if key in kept}, "metadata": identity}
    base = copied(live) if live is not None else {}
    entries = _entries(base)
    wanted = owned_paths(config, shape)
    merged = _merged(base, config, (), shape)
    mine = next((e for e in entries if e.identity() == (writer.manager, "Apply", writer.subresource)), None)
    others = [entry for entry in entries if entry is not mine]

    clashes: list[tuple[_Entry, Path]] = []
    for entry in others:
        for path in sorted(wanted & entry.paths):
            before = value_at(base, path)
            if path[-1][:2] != "f:" or before is ABSENT or before == value_at(merged, path):
                continue
            clashes.append((entry, path))
    if clashes and not force:
        raise _apply_conflict(clashes)
    for entry, path in clashes:
        entry.paths.discard(path)

    still_owned = wanted.union(*(entry.paths for entry in others))
    # Shorter paths first: a list item that goes as a whole takes its fields along.
    for path in sorted((mine.paths if mine else set()) - wanted, key=len):
        if path in still_owned or any(other[: len(path)] == path for other in still_owned):
            continue
        if len(path) > 1 and path[-2][:2] == "k:" and path[-1][2:] in json.loads(path[-2][2:]):
            continue  # the item stays for another manager, so its key stays
        remove_at(merged, path, still_owned)

    before_entry = mine
    mine = _Entry(writer.manager, "Apply", writer.api_version, writer.subresource, writer.time, wanted)
    unchanged = before_entry is not None and before_entry.paths == wanted
    if unchanged and before_entry is not None and _same_content(base, merged):
        mine.time = before_entry.time
    _set_entries(merged, [*others, mine])
    return merged


def track_update(old: Object | None, new: Object, shape: Shape, writer: Writer) -> None:
    """Give ``writer`` the fields it changed from ``old`` to ``new`` (in place, on ``new``).

    ``new`` may bring managedFields of its own: a client that hands over ownership writes them, and an
    empty list forgets all owners.
    """
    source = new if "managedFields" in new.get("metadata", {}) else old or {}
    entries = _entries(source)
    before = owned_paths(old, shape) if old is not None else set()
    after = owned_paths(new, shape)
    changed = {path for path in after if path not in before or value_at(old, path) != value_at(new, path)}
    removed = before - after
    for entry in entries:
        lost = {path for path in changed if path[-1][:2] == "f:"} | removed
        entry.paths -= lost
    if changed:
        identity = (writer.manager, "Update", writer.subresource)
        mine = next((entry for entry in entries if entry.identity() == identity), None)
        if mine is None:
            mine = _Entry(writer.manager, "Update", writer.api_version, writer.subresource, writer.time)
            entries.append(mine)
        mine.paths |= changed
        mine.time, mine.api_version = writer.time, writer.api_version
    _set_entries(new, entries)


def _merged(live: Any, config: Any, names: tuple[str, ...], shape: Shape) -> Any:
    if isinstance(config, dict) and isinstance(live, dict) and not shape.is_atomic_map(names):
        result = dict(live)
        for key, value in config.items():
            result[key] = _merged(live.get(key), value, (*names, key), shape)
        return result
    if isinstance(config, list) and isinstance(live, list):
        if shape.is_set(names):
            return [*live, *(item for item in config if item not in live)]
        keys = shape.list_keys(names)
        if keys:
            return _merged_list(live, config, keys, names, shape)
    return copied(config)


def _merged_list(
    live: list[Any], config: list[Any], keys: tuple[str, ...], names: tuple[str, ...], shape: Shape
) -> list[Any]:
    result = list(live)
    places = {item_key(item, keys): index for index, item in enumerate(result)}
    for item in config:
        identity = item_key(item, keys)
        if identity is not None and identity in places:
            result[places[identity]] = _merged(result[places[identity]], item, names, shape)
        else:
            result.append(copied(item))
    return result


def _entries(obj: Object) -> list[_Entry]:
    return [
        _Entry(
            manager=raw.get("manager", DEFAULT_MANAGER),
            operation=raw.get("operation", "Update"),
            api_version=raw.get("apiVersion", ""),
            subresource=raw.get("subresource", ""),
            time=raw.get("time", ""),
            paths=from_fields_v1(raw.get("fieldsV1", {})),
        )
        for raw in obj.get("metadata", {}).get("managedFields") or []
    ]


def _set_entries(obj: Object, entries: list[_Entry]) -> None:
    listed = []
    for entry in entries:
        if not entry.paths:
            continue
        raw: Object = {
            "manager": entry.manager,
            "operation": entry.operation,
            "apiVersion": entry.api_version,
            "time": entry.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": to_fields_v1(entry.paths),
        }
        if entry.subresource:
            raw["subresource"] = entry.subresource
        listed.append(raw)
    metadata = obj.setdefault("metadata", {})
    metadata["managedFields"] = listed
    if not listed:
        del metadata["managedFields"]


def _same_content(one: Object, other: Object) -> bool:
    def bare(obj: Object) -> Object:
        metadata = {key: value for key, value in obj.get("metadata", {}).items() if key != "managedFields"}
        return {**obj, "metadata": metadata}

    return bare(one) == bare(other)


def _apply_conflict(clashes: list[tuple[_Entry, Path]]) -> ApiError:
    def owner(entry: _Entry) -> str:
        subresource = f' with subresource "{entry.subresource}"' if entry.subresource else ""
        return f'conflict with "{entry.manager}"{subresource} using {entry.api_version}'

    causes = [
        {"reason": "FieldManagerConflict", "message": owner(entry), "field": readable(path)}
        for entry, path in clashes
    ]
    number = f"{len(clashes)} conflict{'s' if len(clashes) > 1 else ''}"
    by_owner: dict[str, list[str]] = {}
    for entry, path in clashes:
        by_owner.setdefault(owner(entry), []).append(readable(path))
    if len(clashes) == 1:
        text = f"{owner(clashes[0][0])}: {readable(clashes[0][1])}"
    elif len(by_owner) == 1:
        text = next(f"{name}:\n- " + "\n- ".join(paths) for name, paths in by_owner.items())
    else:
        text = "conflicts " + "\n".join(
            f"{name.removeprefix('conflict ')}:\n- " + "\n- ".join(paths) for name, paths in by_owner.items()
        )
    return ApiError(409, "Conflict", f"Apply failed with {number}: {text}", causes=causes)
