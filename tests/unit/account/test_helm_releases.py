"""Helm releases in a cluster: taken over after a lost state, and never while somebody works on them."""

from __future__ import annotations

from typing import Any

import pytest

from mlcc_infra.account.decisions import Presence, Wanted
from mlcc_infra.account.inventory import take_inventory
from mlcc_infra.account.lookups.helm import check_release
from mlcc_infra.account.preflight import Verdict
from mlcc_infra.account.reader import Reader
from mlcc_infra.components.cluster_charts import RELEASE, wanted_cluster_charts
from mlcc_infra.profile.eks import Eks as EksProfile
from mlcc_infra.tagging import Origin, OwnerKind, tags
from mlcc_rehearsal.kubernetes_api import KubernetesApi
from tests.unit.account.hyperpod_fakes import Eks, Session, eks_cluster

CHART = "nvidia-device-plugin"
OURS = tags(
    profile="demo", region="us-west-2", stack="mlcc-demo", module="eks", resource="eks/cluster-eksCluster"
)


def wanted(*recorded: tuple[str, str]) -> Wanted:
    config = EksProfile.model_validate({"devicePlugin": {"enabled": True}})
    (found,) = wanted_cluster_charts("eks-charts", config, "demo", recorded)
    return found


def put(api: KubernetesApi, revision: int, status: str, release: str = CHART) -> None:
    api.objects.put(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "helm.sh/release.v1",
            "metadata": {
                "name": f"sh.helm.release.v1.{release}.v{revision}",
                "namespace": "kube-system",
                "labels": {"owner": "helm", "name": release, "version": str(revision), "status": status},
            },
        }
    )


def reader(cluster: dict[str, Any] | None, access_key_id: str = "AKIAADMN00000000") -> Reader:
    session: Any = Session(access_key_id, eks=Eks(cluster))
    return Reader(session, profile="demo")


def test_a_release_is_found_by_its_secret_and_belongs_to_the_clusters_owner(
    kubernetes_api: KubernetesApi,
) -> None:
    put(kubernetes_api, 1, "deployed")
    item = wanted()
    fact = take_inventory(reader(eks_cluster(kubernetes_api, tags=OURS)), [item])[item.key]
    assert (fact.presence, fact.import_id) == (Presence.PRESENT, f"kube-system/{CHART}")
    assert (fact.owner.kind, fact.owner.origin) == (OwnerKind.OURS, Origin.CREATED)


def test_no_secret_is_no_release_and_no_cluster_neither(kubernetes_api: KubernetesApi) -> None:
    put(kubernetes_api, 1, "deployed", release="another")
    item = wanted()
    for cluster in (eks_cluster(kubernetes_api), None):
        assert take_inventory(reader(cluster), [item])[item.key].presence is Presence.ABSENT


@pytest.mark.parametrize("silent", [True, False])
def test_a_cluster_that_does_not_tell_leaves_it_unknown(kubernetes_api: KubernetesApi, silent: bool) -> None:
    cluster = eks_cluster(kubernetes_api)
    if silent:
        cluster["endpoint"] = "https://127.0.0.1:1"
    item = wanted()
    fact = take_inventory(reader(cluster, "AKIASTRANGER0000"), [item])[item.key]
    assert fact.presence is Presence.UNKNOWN
    assert ("could not be reached" if silent else "401") in fact.reason


def test_a_release_in_the_state_costs_no_connection(kubernetes_api: KubernetesApi) -> None:
    silent = {**eks_cluster(kubernetes_api, tags=OURS), "endpoint": "https://127.0.0.1:1"}
    item = wanted((RELEASE, f"eks-charts-{CHART}"))
    found = reader(silent)
    assert take_inventory(found, [item])[item.key].presence is Presence.PRESENT
    assert check_release(found, item) == []


def test_a_release_somebody_works_on_is_refused_with_the_way_out(kubernetes_api: KubernetesApi) -> None:
    put(kubernetes_api, 9, "deployed")
    put(kubernetes_api, 10, "pending-upgrade")
    cluster = eks_cluster(kubernetes_api)
    (result,) = check_release(reader(cluster), wanted())
    assert result.verdict is Verdict.REFUSED
    assert "is pending-upgrade" in result.found
    assert f"kubectl delete secret -n kube-system sh.helm.release.v1.{CHART}.v10" in result.remedy
    put(kubernetes_api, 11, "deployed")
    assert check_release(reader(cluster), wanted()) == []
