"""Objects of one cluster with their history: what etcd is to a real API server.

Thread-safe. Stored objects are never changed in place: ``write`` keeps a copy, ``scan`` hands out the
stored objects themselves, to be read only, and ``read`` hands out a copy.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mlcc_rehearsal.kubernetes_api.json_copy import copied
from mlcc_rehearsal.kubernetes_api.status import Object, gone

HISTORY = 20_000
"""Changes kept for watches; an older resourceVersion is answered with 410, as etcd's compaction does."""


@dataclass(frozen=True)
class Change:
    """One entry of the history: ``kind`` is ADDED, MODIFIED or DELETED."""

    revision: int
    kind: str
    group: str
    plural: str
    new: Object
    old: Object | None


class Store:
    """Key-value store by (group, plural) and (namespace, name), with a revision for each write."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.revision = 1
        self._objects: dict[tuple[str, str], dict[tuple[str, str], Object]] = {}
        self._history: deque[Change] = deque(maxlen=HISTORY)

    def read(self, group: str, plural: str, namespace: str, name: str) -> Object | None:
        """A copy of one object."""
        with self.lock:
            found = self._objects.get((group, plural), {}).get((namespace, name))
            return copied(found)

    def scan(self, group: str, plural: str, namespace: str | None = None) -> list[Object]:
        """All objects of a resource, or those of one namespace, by namespace and name; read only."""
        with self.lock:
            kept = self._objects.get((group, plural), {})
            return [obj for (where, _), obj in sorted(kept.items()) if namespace in (None, where)]

    def everything(self) -> Iterator[tuple[str, str, Object]]:
        """(group, plural, object) of all objects; read only."""
        with self.lock:
            found = [
                (group, plural, obj)
                for (group, plural), kept in self._objects.items()
                for obj in list(kept.values())
            ]
        return iter(found)

    def write(self, group: str, plural: str, obj: Object) -> Object:
        """Keep ``obj`` under a new revision; answers it with its resourceVersion."""
        with self.lock:
            kept = self._objects.setdefault((group, plural), {})
            metadata = obj["metadata"]
            key = (metadata.get("namespace", ""), metadata["name"])
            old = kept.get(key)
            self.revision += 1
            stored = copied(obj)
            stored["metadata"]["resourceVersion"] = str(self.revision)
            kept[key] = stored
            self._note(Change(self.revision, "MODIFIED" if old else "ADDED", group, plural, stored, old))
            return copied(stored)

    def erase(self, group: str, plural: str, namespace: str, name: str) -> Object | None:
        """Drop an object; answers what it was."""
        with self.lock:
            old = self._objects.get((group, plural), {}).pop((namespace, name), None)
            if old is None:
                return None
            self.revision += 1
            last = copied(old)
            last["metadata"]["resourceVersion"] = str(self.revision)
            self._note(Change(self.revision, "DELETED", group, plural, last, old))
            return copied(last)

    def drop_resource(self, group: str, plural: str) -> None:
        """Forget a resource whose definition is gone."""
        with self.lock:
            for obj in self.scan(group, plural):
                self.erase(group, plural, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
            self._objects.pop((group, plural), None)

    def changes(self, group: str, plural: str, after: int) -> list[Change]:
        """History of a resource after a revision.

        Raises:
            ApiError: 410 Expired when the history no longer reaches that far back.
        """
        with self.lock:
            if self._history and len(self._history) == HISTORY and after < self._history[0].revision - 1:
                raise gone(f"too old resource version: {after} ({self._history[0].revision})")
            found = []
            for change in reversed(self._history):
                if change.revision <= after:
                    break
                if change.group == group and change.plural == plural:
                    found.append(change)
            return found[::-1]

    def wait(self, after: int, timeout: float, ended: Callable[[], bool] = bool) -> None:
        """Block until something is newer than ``after``, ``ended`` says so, or real seconds have passed."""
        with self.changed:
            self.changed.wait_for(lambda: self.revision > after or ended(), timeout)

    def wake(self) -> None:
        """Have everybody who waits look again."""
        with self.changed:
            self.changed.notify_all()

    def _note(self, change: Change) -> None:
        self._history.append(change)
        self.changed.notify_all()
