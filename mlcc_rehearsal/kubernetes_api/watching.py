"""Watches: changes of a resource since a resourceVersion."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

from mlcc_rehearsal.kubernetes_api.catalogue import Resource
from mlcc_rehearsal.kubernetes_api.lifecycle import Lifecycle
from mlcc_rehearsal.kubernetes_api.selectors import field_matcher, label_matcher
from mlcc_rehearsal.kubernetes_api.status import ApiError, Object, bad_request

_TICK = 0.5
_BOOKMARK_EVERY = 60.0
_LONGEST = 3600.0


def watch(
    lifecycle: Lifecycle,
    resource: Resource,
    namespace: str | None,
    query: Mapping[str, str],
    stopping: Callable[[], bool],
) -> Iterator[Object]:
    """Watch events until ``timeoutSeconds`` (real seconds) have passed or the server stops.

    Raises:
        ApiError: 400 for a bad selector or resourceVersion, before the first event.
    """
    by_label, by_field = label_matcher(query.get("labelSelector")), field_matcher(query.get("fieldSelector"))
    given = query.get("resourceVersion") or "0"
    if not given.isdigit():
        raise bad_request(f'Invalid value: "{given}": resourceVersion must be a number')

    def selected(obj: Object | None) -> bool:
        return (
            obj is not None
            and namespace in (None, obj["metadata"].get("namespace", ""))
            and by_label(obj)
            and by_field(obj)
        )

    def events() -> Iterator[Object]:
        deadline = time.monotonic() + float(query.get("timeoutSeconds") or _LONGEST)
        bookmarks = query.get("allowWatchBookmarks", "").lower() in ("true", "1")
        initial = query.get("sendInitialEvents", "").lower() == "true"
        last = int(given)
        if last == 0 or initial:
            with lifecycle.store.lock:
                last = lifecycle.store.revision
                present = lifecycle.store.scan(resource.group, resource.plural, namespace)
            for obj in present:
                if selected(obj):
                    yield {"type": "ADDED", "object": lifecycle.presented(resource, obj)}
            if initial and bookmarks:
                yield _bookmark(resource, last, {"k8s.io/initial-events-end": "true"})
        told = time.monotonic()
        while not stopping() and time.monotonic() < deadline:
            try:
                changes = lifecycle.store.changes(resource.group, resource.plural, last)
            except ApiError as error:
                yield {"type": "ERROR", "object": error.body()}
                return
            for change in changes:
                last = change.revision
                now = change.kind != "DELETED" and selected(change.new)
                before = selected(change.old)
                if now:
                    kind = "MODIFIED" if before else "ADDED"
                    yield {"type": kind, "object": lifecycle.presented(resource, change.new)}
                elif before:
                    yield {"type": "DELETED", "object": lifecycle.presented(resource, change.new)}
            if bookmarks and time.monotonic() - told > _BOOKMARK_EVERY:
                told = time.monotonic()
                yield _bookmark(resource, last, {})
            with lifecycle.store.lock:
                current = lifecycle.store.revision
            if current > last and not lifecycle.store.changes(resource.group, resource.plural, last):
                last = current
            lifecycle.store.wait(last, min(_TICK, max(0.0, deadline - time.monotonic())))

    return events()


def _bookmark(resource: Resource, revision: int, annotations: Mapping[str, str]) -> Object:
    metadata: Object = {"resourceVersion": str(revision), "creationTimestamp": None}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {
        "type": "BOOKMARK",
        "object": {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata},
    }
