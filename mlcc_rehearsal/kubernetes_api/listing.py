"""Lists in pages: selectors, ``limit`` and ``continue``."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping

from mlcc_rehearsal.kubernetes_api.catalogue import Resource
from mlcc_rehearsal.kubernetes_api.lifecycle import Lifecycle
from mlcc_rehearsal.kubernetes_api.status import Object, bad_request


def list_page(
    lifecycle: Lifecycle, resource: Resource, namespace: str | None, query: Mapping[str, str]
) -> Object:
    """A list object with the items a query asks for.

    Items of built-in kinds carry no ``apiVersion`` and ``kind``, as those of a real server do not.

    Raises:
        ApiError: 400 for a bad selector or continue token.
    """
    with lifecycle.store.lock:
        found = lifecycle.select(resource, namespace, query.get("labelSelector"), query.get("fieldSelector"))
        revision = str(lifecycle.store.revision)
    after = _decode(query["continue"]) if query.get("continue") else None
    if after is not None:
        found = [obj for obj in found if _place(obj) > after]
    limit = int(query.get("limit") or 0)
    metadata: Object = {"resourceVersion": revision}
    if 0 < limit < len(found):
        metadata["continue"] = _encode(_place(found[limit - 1]))
        metadata["remainingItemCount"] = len(found) - limit
        found = found[:limit]
    hidden = () if resource.custom else ("apiVersion", "kind")
    items = [{key: value for key, value in obj.items() if key not in hidden} for obj in found]
    return {
        "kind": f"{resource.kind}List",
        "apiVersion": resource.api_version,
        "metadata": metadata,
        "items": items,
    }


def _place(obj: Object) -> tuple[str, str]:
    return (obj["metadata"].get("namespace", ""), obj["metadata"]["name"])


def _encode(place: tuple[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode("ascii")


def _decode(token: str) -> tuple[str, str]:
    try:
        namespace, name = json.loads(base64.urlsafe_b64decode(token))
    except (binascii.Error, ValueError) as error:
        raise bad_request(f"continue key is not valid: {error}") from error
    return (namespace, name)
