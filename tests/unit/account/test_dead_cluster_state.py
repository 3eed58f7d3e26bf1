"""What is dropped from a state with a cluster that is gone, and what is never dropped."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from mlcc_infra.account import dead_cluster_state
from mlcc_infra.account.dead_cluster_state import (
    Dropped,
    clusters_in_state,
    drop_in_cluster_state,
    without,
)
from mlcc_infra.errors import UserError
from mlcc_infra.kubeconfig import kubeconfig, kubeconfig_text
from mlcc_rehearsal.kubernetes_api import KubernetesApi
from tests.unit.account.hyperpod_fakes import Eks, Session, eks_cluster

STACK, ACCOUNT = "mlcc-demo", "123456789012"
PREFIX = f"urn:pulumi:{STACK}::mlcc::"
PROVIDER = f"{PREFIX}pulumi:providers:kubernetes::eks-charts-kubernetes"
RELEASE = f"{PREFIX}kubernetes:helm.sh/v3:Release::eks-charts-nvidia-device-plugin"
DRAIN = f"{PREFIX}pulumi-python:dynamic/eks:ClusterDrain::eks-drain"
AWS = f"{PREFIX}pulumi:providers:aws::aws"


def exported(endpoint: str, **provider: Any) -> dict[str, Any]:
    config = kubeconfig(
        cluster_name="demo",
        endpoint=endpoint,
        certificate_authority="QQ==",
        region="us-west-2",
        aws_profile="p",
    )
    resources = [
        {
            "urn": AWS,
            "type": "pulumi:providers:aws",
            "id": "a",
            "inputs": {"allowedAccountIds": f'["{ACCOUNT}"]'},
        },
        {
            "urn": PROVIDER,
            "type": "pulumi:providers:kubernetes",
            "id": "k",
            "inputs": {"kubeconfig": kubeconfig_text(config), **provider},
        },
        {
            "urn": RELEASE,
            "type": "kubernetes:helm.sh/v3:Release",
            "id": "kube-system/x",
            "provider": f"{PROVIDER}::k",
        },
        {
            "urn": DRAIN,
            "type": "pulumi-python:dynamic/eks:ClusterDrain",
            "id": "d",
            "dependencies": [RELEASE, AWS],
            "propertyDependencies": {"cluster_name": [RELEASE], "region": []},
            "deletedWith": RELEASE,
            "replaceWith": [RELEASE],
        },
    ]
    return {"version": 3, "deployment": {"manifest": {}, "resources": resources}}


class Pulumi:
    """A backend that has one state."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.export: dict[str, Any] = {}
        self.written: dict[str, Any] | None = None
        monkeypatch.setattr(dead_cluster_state, "export_state", self._export)
        monkeypatch.setattr(dead_cluster_state, "import_state", self._import)

    def has(self, export: dict[str, Any]) -> None:
        self.export = export

    def _export(self, stack: str) -> dict[str, Any]:
        assert stack == STACK
        return self.export

    def _import(self, stack: str, export: dict[str, Any]) -> None:
        assert stack == STACK
        self.written = export


@pytest.fixture
def pulumi(monkeypatch: pytest.MonkeyPatch) -> Pulumi:
    return Pulumi(monkeypatch)


class Sts:
    def __init__(self, account: str) -> None:
        self.account = account


class Caller(Session):
    """A session that also says who it is."""

    aws_profile = None

    def __init__(self, account: str = ACCOUNT, **clients: Any) -> None:
        super().__init__(**clients)
        self.account = account

    def identity(self) -> Any:
        return Sts(self.account)


def drop(eks: Any, account: str = ACCOUNT) -> Dropped:
    session: Any = Caller(account, eks=eks)
    return drop_in_cluster_state(STACK, lambda _region: session)


def test_the_clusters_of_a_state_are_read_from_its_kubeconfigs() -> None:
    (cluster,) = clusters_in_state(exported("https://one"))
    assert (cluster.name, cluster.region, cluster.endpoint) == ("demo", "us-west-2", "https://one")
    assert cluster.resources == (RELEASE,)


@pytest.mark.parametrize("text", ["not JSON", "{}", '{"contexts": []}', None])
def test_other_kubeconfigs_are_not_ours_to_judge(text: str | None) -> None:
    assert clusters_in_state(exported("https://one", kubeconfig=text)) == []


def test_nothing_that_stays_names_what_goes() -> None:
    left = without(exported("https://one"), [RELEASE])["deployment"]["resources"]
    assert [one["urn"] for one in left] == [AWS, PROVIDER, DRAIN]
    assert RELEASE not in json.dumps(left)
    assert left[2]["dependencies"] == [AWS]


def test_what_was_in_a_cluster_that_is_gone_is_dropped(pulumi: Pulumi) -> None:
    pulumi.has(exported("https://one"))
    dropped = drop(Eks(None))
    assert dropped.resources == (RELEASE,)
    assert dropped.because == ("There is no EKS cluster demo in us-west-2",)
    assert pulumi.written == without(pulumi.export, [RELEASE])


def test_a_cluster_made_anew_under_the_same_name_has_nothing_of_the_old_one(
    kubernetes_api: KubernetesApi, pulumi: Pulumi
) -> None:
    pulumi.has(exported("https://old"))
    dropped = drop(Eks(eks_cluster(kubernetes_api)))
    assert dropped.resources == (RELEASE,)
    assert dropped.because == ("The EKS cluster demo was made anew",)


def test_nothing_is_written_while_the_cluster_answers(kubernetes_api: KubernetesApi, pulumi: Pulumi) -> None:
    pulumi.has(exported(kubernetes_api.endpoint))
    assert drop(Eks(eks_cluster(kubernetes_api))) == Dropped()
    assert pulumi.written is None


def test_a_cluster_that_exists_and_does_not_answer_stops_with_the_way_out(
    kubernetes_api: KubernetesApi, pulumi: Pulumi
) -> None:
    silent = {**eks_cluster(kubernetes_api), "endpoint": "https://127.0.0.1:1"}
    pulumi.has(exported("https://127.0.0.1:1"))
    with pytest.raises(UserError, match="exists but cannot be asked") as refused:
        drop(Eks(silent))
    assert "pulumi state delete" in refused.value.remedy
    assert RELEASE in refused.value.remedy
    assert pulumi.written is None


class Denied:
    def describe_cluster(self, **_given: str) -> Any:
        raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "DescribeCluster")


def test_denied_is_not_gone(pulumi: Pulumi) -> None:
    pulumi.has(exported("https://one"))
    with pytest.raises(UserError, match=r"demo still exists could not be read: AccessDeniedException"):
        drop(Denied())
    assert pulumi.written is None


def test_in_another_account_every_cluster_would_seem_gone(pulumi: Pulumi) -> None:
    pulumi.has(exported("https://one"))
    with pytest.raises(UserError, match="belongs to account 123456789012; the credentials are for 999"):
        drop(Eks(None), account="999999999999")
    assert pulumi.written is None
