"""What tries to leave the loopback through the proxy is refused and written down."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlcc_rehearsal.runner.tripwire import Tripwire


@pytest.fixture
def tripwire(tmp_path: Path) -> Iterator[Tripwire]:
    started = Tripwire(tmp_path / "refused.jsonl")
    yield started
    started.stop()


def test_a_plain_request_is_refused_and_recorded(tripwire: Tripwire, tmp_path: Path) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": tripwire.address}))
    with pytest.raises(urllib.error.HTTPError) as refused:
        opener.open("http://example.com/path", timeout=5)
    assert refused.value.code == 403
    assert b"rehearsal" in refused.value.read()
    assert tripwire.attempts == ["http://example.com/path"]
    assert json.loads((tmp_path / "refused.jsonl").read_text())["target"] == "http://example.com/path"


def test_a_tunnel_is_refused_and_recorded(tripwire: Tripwire) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"https": tripwire.address}))
    with pytest.raises(urllib.error.URLError, match="403"):
        opener.open("https://eks.us-west-2.amazonaws.com/", timeout=5)
    assert tripwire.attempts == ["eks.us-west-2.amazonaws.com:443"]


def test_it_listens_on_the_loopback_only(tripwire: Tripwire) -> None:
    host, port = tripwire.address.removeprefix("http://").split(":")
    assert host == "127.0.0.1"
    with socket.create_connection((host, int(port)), timeout=5):
        pass
