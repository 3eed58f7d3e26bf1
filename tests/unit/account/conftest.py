"""What tests of what waits share: a fast clock, and a Kubernetes API."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from mlcc_rehearsal.kubernetes_api import Caller, KubernetesApi

SPEED = 3000.0
ADMIN = "AKIAADMN00000000"


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty modelled minutes in a real second."""
    monkeypatch.setenv("MLCC_CLOCK_SPEED", str(SPEED))


@pytest.fixture
def kubernetes_api(fast: None) -> Iterator[KubernetesApi]:
    """The API of an EKS cluster `demo`, of which the caller is an admin."""
    callers = {ADMIN: Caller("admin", (), ("AmazonEKSClusterAdminPolicy",))}
    api = KubernetesApi("demo", callers.get, clock_now=lambda: time.monotonic() * SPEED)
    api.start()
    yield api
    api.stop()
