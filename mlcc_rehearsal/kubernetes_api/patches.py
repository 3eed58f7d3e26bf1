"""JSON patch (RFC 6902), merge patch (RFC 7396) and Kubernetes' strategic merge patch."""

from __future__ import annotations

from typing import Any

import jsonpatch
import jsonpointer

from mlcc_rehearsal.kubernetes_api.json_copy import copied
from mlcc_rehearsal.kubernetes_api.shapes import Shape, item_key
from mlcc_rehearsal.kubernetes_api.status import ApiError, Object, bad_request

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
_DIRECTIVES = ("$patch", "$retainKeys", "$setElementOrder/")
APPLY_PATCH = ("application/apply-patch+yaml", "application/apply-patch+json")


def json_patch(obj: Object, operations: Any) -> Object:
    """``obj`` after a list of RFC 6902 operations.

    Raises:
        ApiError: 400 for a malformed patch, 422 for one that does not fit the object.
    """
    try:
        patched = jsonpatch.JsonPatch(operations).apply(copied(obj))
    except jsonpatch.InvalidJsonPatch as error:
        raise bad_request(f"error decoding patch: {error}") from error
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException) as error:
        message = f"the server rejected our request due to an error in our request: {error}"
        raise ApiError(422, "Invalid", message) from error
    return dict(patched)


def merge_patch(target: Any, patch: Any) -> Any:
    """``target`` after an RFC 7396 merge: null removes, lists are replaced."""
    if not isinstance(patch, dict):
        return copied(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


def strategic_merge(target: Any, patch: Any, shape: Shape, names: tuple[str, ...] = ()) -> Any:
    """``target`` after a strategic merge: keyed lists merge by key, ``$patch`` and its kin are obeyed.

    Source: https://github.com/kubernetes/community/blob/master/contributors/devel/sig-api-machinery/
    strategic-merge-patch.md
    """
    if not isinstance(patch, dict):
        return copied(patch)
    if patch.get("$patch") == "replace":
        return {key: copied(value) for key, value in patch.items() if key != "$patch"}
    if patch.get("$patch") == "delete":
        return {}
    result = dict(target) if isinstance(target, dict) else {}
    retained = patch.get("$retainKeys", list(result))
    result = {key: value for key, value in result.items() if key in retained}
    for key, value in patch.items():
        if key.startswith(_DIRECTIVES):
            continue
        if key.startswith("$deleteFromPrimitiveList/"):
            field = key.split("/", 1)[1]
            result[field] = [item for item in result.get(field) or [] if item not in value]
        elif value is None:
            result.pop(key, None)
        elif isinstance(value, list):
            result[key] = _merge_list(result.get(key), value, shape, (*names, key))
        else:
            result[key] = strategic_merge(result.get(key), value, shape, (*names, key))
    _set_orders(result, patch)
    return result


def _set_orders(result: Object, patch: Object) -> None:
    for key, order in patch.items():
        field = key.partition("/")[2]
        if key.startswith("$setElementOrder/") and isinstance(result.get(field), list):
            result[field] = _reordered(result[field], order)


def _merge_list(target: Any, patch: list[Any], shape: Shape, names: tuple[str, ...]) -> list[Any]:
    if any(isinstance(item, dict) and item.get("$patch") == "replace" for item in patch):
        return [copied(item) for item in patch if item != {"$patch": "replace"}]
    live = list(target) if isinstance(target, list) else []
    if shape.is_set(names):
        return [*live, *(item for item in patch if item not in live)]
    keys = shape.list_keys(names)
    if not keys:
        return copied(patch)
    merge_keys = keys if keys[0] not in ("containerPort", "port") else keys[:1]
    for item in patch:
        identity = item_key(item, merge_keys)
        index = next((i for i, kept in enumerate(live) if item_key(kept, merge_keys) == identity), None)
        if isinstance(item, dict) and item.get("$patch") == "delete":
            if index is not None:
                del live[index]
        elif index is None:
            live.append(strategic_merge({}, item, shape, names))
        else:
            live[index] = strategic_merge(live[index], item, shape, names)
    return live


def _reordered(items: list[Any], order: list[Any]) -> list[Any]:
    def place(item: Any) -> int:
        for index, wanted in enumerate(order):
            if wanted == item:
                return index
            if not isinstance(wanted, dict) or not isinstance(item, dict):
                continue
            if all(item.get(key) == value for key, value in wanted.items()):
                return index
        return len(order)

    return sorted(items, key=place)
