"""A Kubernetes API of the rehearsal, and ways to talk to it."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from mlcc_rehearsal.kubernetes_api import KubernetesApi
from tests.unit.kubernetes_api.support import ADMIN, CALLERS, SPEED, Client, token_of


@pytest.fixture
def api() -> Iterator[KubernetesApi]:
    api = KubernetesApi("demo", CALLERS.get, clock_now=lambda: time.monotonic() * SPEED)
    api.start()
    yield api
    api.stop()


@pytest.fixture
def admin(api: KubernetesApi) -> Client:
    return Client(api, token_of(ADMIN))


@pytest.fixture
def kubeconfig(api: KubernetesApi, tmp_path: Path) -> Path:
    """A kubeconfig file of the administrator."""
    cluster = {"server": api.endpoint, "certificate-authority-data": api.certificate_authority_data}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "demo", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": token_of(ADMIN)}}],
        "contexts": [{"name": "demo", "context": {"cluster": "demo", "user": "admin"}}],
        "current-context": "demo",
    }
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path
