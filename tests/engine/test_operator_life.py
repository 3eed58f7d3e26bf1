"""Stack mlcc-operator on a cluster that somebody else made, with a watcher that does not come at first."""

from __future__ import annotations

import json
import re

import pytest

from tests.engine.hyperpod_lives import Life

TLS_BUCKET = "hyperpod-tls-mlcc-operator-88de702d"
SETTINGS = ("encryption", "ownership", "policy", "public access block")


def status(life: Life, act: str) -> str:
    """The operator's state as it was published."""
    return str(life.acts[act]["published"]["/mlcc/operator/hyperpod/InferenceOperatorStatus"])


@pytest.mark.parametrize("act", ["without a watcher", "with a watcher", "no-op up", "destroy", "up again"])
def test_every_act_succeeds(operator_life: Life, act: str) -> None:
    assert operator_life.acts[act]["code"] == 0, operator_life.acts[act]["output"]


class TestAWatcherThatDoesNotCome:
    """25 modelled minutes, then a warning; looked for again by each `up` until it is there."""

    def test_it_is_a_warning_and_the_state_is_pending(self, operator_life: Life) -> None:
        (line,) = [line for line in operator_life.warnings("without a watcher") if "pending" in line]
        assert "the watcher did not come within 25 minutes" in line
        assert "ThrottlingException: Rate exceeded" in line
        assert status(operator_life, "without a watcher") == "pending"

    def test_it_is_waited_for_as_long_as_the_limit_says(self, operator_life: Life) -> None:
        act = operator_life.acts["without a watcher"]
        assert act["ended"] - act["began"] > 25 * 60

    def test_when_verification_is_strict_up_fails_with_the_reason(self, operator_life: Life) -> None:
        assert operator_life.acts["strict"]["code"] != 0
        words = operator_life.words("strict")
        assert "The inference operator is not ready: the watcher did not come within 25 minutes" in words
        assert "ThrottlingException: Rate exceeded" in words
        assert "Traceback" not in words

    def test_once_it_comes_the_next_up_verifies_it(self, operator_life: Life) -> None:
        assert operator_life.only("with a watcher", "OperatorReady")["outputs"]["state"] == "active"
        assert status(operator_life, "with a watcher") == "active"
        assert [line for line in operator_life.warnings("with a watcher") if "pending" in line] == []

    def test_nothing_but_the_published_state_is_written_for_it(self, operator_life: Life) -> None:
        written = [(call["operation"], call["resource"]) for call in operator_life.during("with a watcher")]
        assert written == [("PutParameter", "/mlcc/operator/hyperpod/InferenceOperatorStatus")]

    def test_the_up_after_that_changes_nothing(self, operator_life: Life) -> None:
        assert operator_life.during("no-op up") == []


class TestSomebodyElsesCluster:
    """It is used, not touched."""

    def test_after_a_destroy_it_is_as_it_was_and_only_what_is_retained_is_new(
        self, operator_life: Life
    ) -> None:
        before, after = operator_life.acts["theirs"]["account"], operator_life.acts["destroy"]["account"]
        # Their functions and nodes go on writing log groups.
        gone = [line for line in before if line not in after and not line.startswith("log group ")]
        assert gone == []
        new = [line for line in operator_life.new("destroy", "theirs") if not line.startswith("log group ")]
        assert new == [f"bucket {TLS_BUCKET}"]

    def test_their_clusters_and_stack_get_no_call_that_changes_them(self, operator_life: Life) -> None:
        ours = [
            call
            for act in ("without a watcher", "with a watcher", "destroy", "up again")
            for call in operator_life.during(act)
        ]
        assert ours
        assert [call for call in ours if call["service"] in ("cloudformation", "sagemaker")] == []
        operations = {call["operation"] for call in ours if call["service"] == "eks"}
        assert operations == {"CreateAddon", "DeleteAddon"}

    def test_the_role_trusts_their_issuer(self, operator_life: Life) -> None:
        issuer = operator_life.acts["cluster"]["issuer"].removeprefix("https://")
        assert issuer in json.dumps(operator_life.acts["cluster"]["trust"])


class TestDestroyAndUpAgain:
    """The TLS bucket stays, and is taken over with its settings."""

    def test_the_printed_retained_list_is_the_bucket(self, operator_life: Life) -> None:
        listed = sorted(f"{item['kind']} {item['name']}" for item in operator_life.acts["retained"])
        wanted = [f"bucket {TLS_BUCKET}", *(f"bucket {setting} {TLS_BUCKET}" for setting in SETTINGS)]
        assert listed == sorted(wanted)

    def test_up_imports_exactly_that(self, operator_life: Life) -> None:
        assert operator_life.imported("up again") == [TLS_BUCKET] * 5
        assert re.search(r"= 5 imported\b", operator_life.words("up again"))
        assert status(operator_life, "up again") == "active"
