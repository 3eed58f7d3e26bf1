"""Watches, as informers and `kubectl get -w` use them."""

import json
import threading
from typing import Any

from tests.unit.kubernetes_api.support import Client, config_map, eventually

MAPS = "/api/v1/namespaces/default/configmaps"


class Watching:
    """Collects the events of a watch in a thread."""

    def __init__(self, admin: Client, query: str) -> None:
        self.events: list[dict[str, Any]] = []
        self._response = admin.open("GET", f"{MAPS}?watch=true&timeoutSeconds=10&{query}")
        self._thread = threading.Thread(target=self._collect, daemon=True)
        self._thread.start()

    def _collect(self) -> None:
        for line in self._response:
            self.events.append(json.loads(line))

    def ended(self) -> bool:
        return not self._thread.is_alive()

    def seen(self) -> list[tuple[str, str]]:
        """(type, name) of the events so far."""
        return [(event["type"], event["object"]["metadata"].get("name", "")) for event in self.events]


def test_a_watch_tells_what_changes_after_a_list(admin: Client) -> None:
    admin.ok("POST", MAPS, config_map("before", labels={"a": "b"}))
    start = admin.ok("GET", MAPS)["metadata"]["resourceVersion"]
    watching = Watching(admin, f"resourceVersion={start}&labelSelector=a%3Db")
    admin.ok("POST", MAPS, config_map("one", labels={"a": "b"}))
    admin.ok("POST", MAPS, config_map("other"))
    patch = {"metadata": {"labels": {"a": "c"}}}
    admin.ok("PATCH", f"{MAPS}/one", patch, "application/merge-patch+json")
    admin.ok("DELETE", f"{MAPS}/before")
    eventually(lambda: len(watching.events) >= 3)
    assert watching.seen() == [("ADDED", "one"), ("DELETED", "one"), ("DELETED", "before")], (
        "an object that leaves the selection counts as deleted"
    )


def test_a_watch_without_version_begins_with_what_is_there(admin: Client) -> None:
    admin.ok("POST", MAPS, config_map("one"))
    watching = Watching(admin, "fieldSelector=metadata.name%3Done")
    eventually(lambda: watching.seen() == [("ADDED", "one")])


def test_a_watch_ends_with_the_server(admin: Client) -> None:
    watching = Watching(admin, "resourceVersion=1")
    admin.api.stop()
    eventually(watching.ended)
