"""Talking to a cluster as `aws eks get-token` would, and asking it whether the caller is an admin."""

from __future__ import annotations

from typing import Any

import pytest
import urllib3

from mlcc_infra.account import cluster_client
from mlcc_infra.account.cluster_access import caller_access
from mlcc_infra.account.cluster_client import ClusterGoneError, ClusterRefusedError, ClusterUnreachableError
from mlcc_rehearsal.kubernetes_api import KubernetesApi
from tests.unit.account.hyperpod_fakes import Eks, Session, eks_cluster, node


def admin() -> Any:
    return Session()


def stranger() -> Any:
    return Session("AKIASTRANGER0000")


def test_the_cluster_itself_says_whether_the_caller_is_an_admin(kubernetes_api: KubernetesApi) -> None:
    cluster = eks_cluster(kubernetes_api)
    assert caller_access(admin(), cluster).reason == ""
    turned_away = caller_access(stranger(), cluster)
    assert turned_away.refused
    assert "401" in turned_away.reason
    silent = {**cluster, "endpoint": "https://127.0.0.1:1"}
    unreachable = caller_access(admin(), silent, seconds=1)
    assert not unreachable.refused
    assert "could not be reached" in unreachable.reason


def test_objects_are_listed_made_and_deleted_as_plain_json(kubernetes_api: KubernetesApi) -> None:
    kubernetes_api.objects.put(node("n"))
    with cluster_client.connect(admin(), eks_cluster(kubernetes_api)) as api:
        assert [item["metadata"]["name"] for item in api.items("/api/v1/nodes")] == ["n"]
        assert api.items("/apis/not.served/v1/things") == []
        api.create("/api/v1/namespaces", {"metadata": {"name": "team"}})
        api.delete("/api/v1/nodes/n")
        api.delete("/api/v1/nodes/n")
        assert api.items("/api/v1/nodes") == []
        with pytest.raises(ClusterRefusedError, match='404 Not Found: nodes "n" not found') as refused:
            api.get("/api/v1/nodes/n")
        assert refused.value.status == 404


def test_a_cluster_without_an_endpoint_and_one_that_is_gone_are_told_apart() -> None:
    with (
        pytest.raises(ClusterUnreachableError, match="is CREATING: no endpoint"),
        cluster_client.connect(admin(), {"name": "demo", "status": "CREATING"}),
    ):
        pass
    nothing: Any = Session(eks=Eks(None))
    with pytest.raises(ClusterGoneError, match="no EKS cluster demo in us-west-2"):
        cluster_client.describe(nothing, "demo")


@pytest.mark.parametrize(("spared", "proxied"), [("", True), ("gr7.us-west-2.eks.amazonaws.com", False)])
def test_a_cluster_is_reached_by_the_proxy_unless_its_host_is_spared(
    monkeypatch: pytest.MonkeyPatch, kubernetes_api: KubernetesApi, spared: str, proxied: bool
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", spared)
    cluster = {**eks_cluster(kubernetes_api), "endpoint": "https://gr7.us-west-2.eks.amazonaws.com"}
    session = admin()
    with cluster_client.connect(session, cluster) as api:
        assert isinstance(api.pool, urllib3.ProxyManager) is proxied
