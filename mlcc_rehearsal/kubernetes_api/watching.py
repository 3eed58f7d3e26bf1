"""Watches: changes of a resource since a resourceVersion."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

from mlcc_rehearsal.kubernetes_api.catalogue import Resource
from mlcc_rehearsal.kubernetes_api.lifecycle import Lifecycle
from mlcc_rehearsal.kubernetes_api.selectors import field_matcher, label_matcher
from mlcc_rehearsal.kubernetes_api.status import ApiError, Object, bad_request
from mlcc_rehearsal.kubernetes_api.store import Change

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

    return _Watch(lifecycle, resource, namespace, query, stopping, selected).events(int(given))


class _Watch:
    """One watch: what it looks at, how long, and what it has told."""

    def __init__(
        self,
        lifecycle: Lifecycle,
        resource: Resource,
        namespace: str | None,
        query: Mapping[str, str],
        stopping: Callable[[], bool],
        selected: Callable[[Object | None], bool],
    ) -> None:
        self._lifecycle = lifecycle
        self._store = lifecycle.store
        self._resource = resource
        self._namespace = namespace
        self._stopping = stopping
        self._selected = selected
        self._deadline = time.monotonic() + float(query.get("timeoutSeconds") or _LONGEST)
        self._bookmarks = query.get("allowWatchBookmarks", "").lower() in ("true", "1")
        self._initial = query.get("sendInitialEvents", "").lower() == "true"

    def events(self, last: int) -> Iterator[Object]:
        """Events after a revision; what is there already comes first when that is 0 or was asked for."""
        if last == 0 or self._initial:
            with self._store.lock:
                last = self._store.revision
                present = self._store.scan(self._resource.group, self._resource.plural, self._namespace)
            for obj in present:
                if self._selected(obj):
                    yield {"type": "ADDED", "object": self._lifecycle.presented(self._resource, obj)}
            if self._initial and self._bookmarks:
                yield _bookmark(self._resource, last, {"k8s.io/initial-events-end": "true"})
        told = time.monotonic()
        while not self._stopping() and time.monotonic() < self._deadline:
            with self._store.lock:
                current = self._store.revision
                try:
                    changes = self._store.changes(self._resource.group, self._resource.plural, last)
                except ApiError as error:
                    changes, trouble = [], error
                else:
                    trouble = None
            if trouble is not None:
                yield {"type": "ERROR", "object": trouble.body()}
                return
            for change in changes:
                event = self._event(change)
                if event is not None:
                    yield event
            last = current
            if self._bookmarks and time.monotonic() - told > _BOOKMARK_EVERY:
                told = time.monotonic()
                yield _bookmark(self._resource, last, {})
            left = max(0.0, self._deadline - time.monotonic())
            self._store.wait(last, min(_TICK, left), self._stopping)

    def _event(self, change: Change) -> Object | None:
        now = change.kind != "DELETED" and self._selected(change.new)
        before = self._selected(change.old)
        if not now and not before:
            return None
        kind = "DELETED" if not now else "MODIFIED" if before else "ADDED"
        return {"type": kind, "object": self._lifecycle.presented(self._resource, change.new)}


def _bookmark(resource: Resource, revision: int, annotations: Mapping[str, str]) -> Object:
    metadata: Object = {"resourceVersion": str(revision), "creationTimestamp": None}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {
        "type": "BOOKMARK",
        "object": {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata},
    }
