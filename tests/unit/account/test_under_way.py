"""Waiting for what AWS is still at work on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from mlcc_infra.account.decisions import Fact, Presence, ResourceKey, Wanted
from mlcc_infra.account.under_way import WAIT_SECONDS, wait_until_at_rest

CLUSTER = Wanted(key=("aws:eks/cluster:Cluster", "eks"), kind="cluster", physical="mlcc-demo-eks")
GATEWAY = Wanted(key=("aws:ec2/natGateway:NatGateway", "nat"), kind="network", physical="nat of the VPC")


class Account:
    """Answers each thing's words one after the other; at the end it is at rest."""

    def __init__(self, **words: list[str]) -> None:
        self.words = words
        self.asked: list[list[str]] = []

    def read(self, items: Sequence[Wanted]) -> Mapping[ResourceKey, Fact]:
        self.asked.append([item.kind for item in items])
        facts = {}
        for item in items:
            left = self.words[item.kind]
            word = left.pop(0) if left else ""
            facts[item.key] = Fact(presence=Presence.PRESENT, under_way=word)
        return facts


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLCC_CLOCK_SPEED", "100000")


def test_each_thing_is_said_once_for_each_word_and_asked_until_it_rests() -> None:
    account = Account(cluster=["CREATING", "CREATING", "UPDATING"], network=["pending"])
    said: list[str] = []
    wait_until_at_rest([CLUSTER, GATEWAY], account.read, said.append)
    assert said == [
        "cluster mlcc-demo-eks is CREATING; waiting for it.",
        "network nat of the VPC is pending; waiting for it.",
        "cluster mlcc-demo-eks is UPDATING; waiting for it.",
    ]
    assert account.asked == [["cluster", "network"], ["cluster", "network"], ["cluster"], ["cluster"]]


def test_what_never_rests_is_given_up_and_left_to_aws_to_refuse() -> None:
    account = Account(cluster=["CREATING"] * 100_000)
    wait_until_at_rest([CLUSTER], account.read, lambda _text: None)
    assert len(account.asked) <= WAIT_SECONDS / 20 + 2
