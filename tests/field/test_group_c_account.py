"""Field reports, group C: clusters as the account has them. On the rehearsed account."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mlcc_infra.account.decisions import Action, Wanted, decide_all
from mlcc_infra.account.eks_checks import check_kubernetes_version
from mlcc_infra.account.inventory import take_inventory
from mlcc_infra.account.preflight import Verdict
from mlcc_infra.account.reader import Reader
from tests.unit.desk_reader import desk_reader
from tests.unit.rehearsal_cloud.conftest import Desk, desk

__all__ = ["desk"]

PROVIDER = ("aws:iam/openIdConnectProvider:OpenIdConnectProvider", "eks-oidc-provider")


@pytest.fixture
def reader(desk: Desk) -> Iterator[Reader]:
    with desk_reader(desk) as made:
        yield made


def provider_of(desk: Desk, cluster: str) -> Wanted:
    """The OIDC provider of a cluster, as the targets want it."""
    prefix = f"arn:aws:iam::{desk.cloud.options.account_id}:oidc-provider/"
    return Wanted(
        key=PROVIDER,
        kind="oidc-provider",
        physical=f"OIDC provider of {cluster}",
        lookup={"cluster": cluster, "provider_arn_prefix": prefix},
    )


@pytest.mark.parametrize("thumbprint", ["0" * 40, "9" * 40])
def test_c8_a_provider_with_another_thumbprint_is_taken_over(
    desk: Desk, reader: Reader, thumbprint: str
) -> None:
    desk.cluster(desk.network(nat=False))
    issuer = desk.eks.describe_cluster(name="demo")["cluster"]["identity"]["oidc"]["issuer"]
    arn = desk.iam.create_open_id_connect_provider(
        Url=issuer, ClientIDList=["sts.amazonaws.com"], ThumbprintList=[thumbprint]
    )["OpenIDConnectProviderArn"]
    wanted = [provider_of(desk, "demo")]
    decision = decide_all(wanted, take_inventory(reader, wanted), {}, {}).by_key[PROVIDER]
    assert decision.action is Action.IMPORT
    assert decision.import_id == arn
    assert "https://" not in arn


def test_c8_the_provider_of_a_dead_cluster_is_nobodys_to_take(desk: Desk, reader: Reader) -> None:
    network = desk.cluster(desk.network(nat=False))
    issuer = desk.eks.describe_cluster(name="demo")["cluster"]["identity"]["oidc"]["issuer"]
    desk.iam.create_open_id_connect_provider(
        Url=issuer, ClientIDList=["sts.amazonaws.com"], ThumbprintList=["0" * 40]
    )
    desk.eks.delete_cluster(name="demo")
    desk.pass_time(1200)
    desk.cluster(network, roleArn=desk.cluster_role("another"))
    assert desk.eks.describe_cluster(name="demo")["cluster"]["identity"]["oidc"]["issuer"] != issuer
    wanted = [provider_of(desk, "demo")]
    assert decide_all(wanted, take_inventory(reader, wanted), {}, {}).by_key[PROVIDER].action is Action.CREATE


@pytest.mark.parametrize(
    ("live", "wanted", "words"),
    [
        ("1.34", "1.33", "EKS never goes back"),
        ("1.33", "1.35", "go via 1.34"),
        ("1.32", "1.35", "go via 1.33"),
    ],
)
def test_c9_a_version_back_or_two_forward_is_refused_with_the_way(
    desk: Desk, reader: Reader, live: str, wanted: str, words: str
) -> None:
    desk.cluster(desk.network(nat=False), version=live)
    (found,) = check_kubernetes_version(reader, "demo", wanted)
    assert found.verdict is Verdict.REFUSED
    assert words in found.remedy


@pytest.mark.parametrize("wanted", ["1.34", "1.35"])
def test_c9_the_same_version_and_the_next_one_are_fine(desk: Desk, reader: Reader, wanted: str) -> None:
    desk.cluster(desk.network(nat=False), version="1.34")
    assert [found.verdict for found in check_kubernetes_version(reader, "demo", wanted)] == [Verdict.OK]


@pytest.mark.parametrize(
    ("live", "wanted", "words"),
    [("1.32", "1.31", "EKS never goes back"), ("1.30", "1.32", "go via 1.31")],
)
def test_c9_the_reports_own_versions(
    reader: Reader, monkeypatch: pytest.MonkeyPatch, live: str, wanted: str, words: str
) -> None:
    # Versions that EKS no longer makes clusters of, but may still run.
    monkeypatch.setattr(
        "mlcc_infra.account.eks_checks.describe_cluster", lambda *_: {"name": "demo", "version": live}
    )
    (found,) = check_kubernetes_version(reader, "demo", wanted)
    assert found.verdict is Verdict.REFUSED
    assert words in found.remedy
