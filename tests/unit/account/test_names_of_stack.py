"""Clusters that have the names which the template's stack is about to give, read from a rehearsed account."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mlcc_infra.account.hyperpod_checks import check_names_of_stack
from mlcc_infra.account.preflight import CheckResult, Verdict
from mlcc_infra.account.reader import Reader
from tests.unit.desk_reader import desk_reader
from tests.unit.rehearsal_cloud.conftest import Desk, desk
from tests.unit.rehearsal_cloud.hyperpod_desk import CLUSTER, STACK, HyperPodDesk

__all__ = ["desk"]
EKS = f"{STACK}-eks"


@pytest.fixture
def reader(desk: Desk) -> Iterator[Reader]:
    with desk_reader(desk) as made:
        yield made


def results(reader: Reader, stack: str, eks: str = EKS, hyperpod: str = CLUSTER) -> list[CheckResult]:
    return check_names_of_stack(reader, stack_name=stack, eks_cluster=eks, hyperpod_cluster=hyperpod)


def test_in_an_empty_account_the_names_are_free(reader: Reader) -> None:
    assert results(reader, STACK) == []


def test_clusters_of_the_stack_itself_are_its_own_and_those_of_others_are_refused(
    desk: Desk, reader: Reader
) -> None:
    HyperPodDesk(desk).prepare().create()
    assert results(reader, STACK) == []
    eks, hyperpod = results(reader, "another-hp")
    assert (eks.verdict, hyperpod.verdict) == (Verdict.REFUSED, Verdict.REFUSED)
    assert f"EKS cluster {EKS}" in eks.found
    assert f"HyperPod cluster {CLUSTER}" in hyperpod.found
    assert f"aws sagemaker delete-cluster --cluster-name {CLUSTER}" in hyperpod.remedy


def test_only_what_is_there_is_refused(desk: Desk, reader: Reader) -> None:
    HyperPodDesk(desk).prepare().create()
    (found,) = results(reader, "another-hp", eks="another-hp-eks")
    assert CLUSTER in found.found
