"""A stack that the console or `hyp` made, taken over by name, on the real engine."""

from __future__ import annotations

import pytest

from tests.engine.hyperpod_lives import Life
from tests.engine.scripts.existing_stack_life import EKS, HYPERPOD, PREFIX, STACK

BUCKETS = {f"bucket {PREFIX}-bucket", f"bucket {PREFIX}-logs"}


@pytest.mark.parametrize("act", ["taken over", "no-op up", "destroy", "owned", "destroy owned"])
def test_every_act_but_the_refused_one_succeeds(existing_stack_life: Life, act: str) -> None:
    assert existing_stack_life.acts[act]["code"] == 0, existing_stack_life.acts[act]["output"]


def test_a_stack_that_there_is_not_is_refused_before_the_first_write(existing_stack_life: Life) -> None:
    assert existing_stack_life.acts["no such stack"]["code"] != 0
    assert "names no-such-stack, and there is no such stack" in existing_stack_life.words("no such stack")
    assert existing_stack_life.during("no such stack") == []


@pytest.mark.parametrize("act", ["taken over", "no-op up", "destroy", "owned"])
def test_rule_07_no_update_is_ever_sent_to_it(existing_stack_life: Life, act: str) -> None:
    sent = [call for call in existing_stack_life.during(act) if call["service"] == "cloudformation"]
    assert sent == []


def test_it_keeps_its_parameters_and_gets_no_tags(existing_stack_life: Life) -> None:
    before, after = existing_stack_life.acts["before"], existing_stack_life.acts["after"]
    assert after["parameters"] == before["parameters"]
    assert after["tags"] == before["tags"] == []


def test_rule_07_ownership_is_marked_on_the_clusters_and_in_ssm(existing_stack_life: Life) -> None:
    marks = existing_stack_life.acts["after"]["marks"]
    assert marks["mlcc:managed-by"] == "mlcc-infra"
    assert marks["mlcc:profile"] == "hyperpod"
    assert marks["mlcc:origin"] == "adopted"
    published = existing_stack_life.acts["taken over"]["published"]
    assert published["/mlcc/hyperpod/hyperpod/EksClusterName"] == EKS
    assert published["/mlcc/hyperpod/hyperpod/HyperPodClusterName"] == HYPERPOD
    assert published["/mlcc/hyperpod/hyperpod/HyperPodInstanceRoleArn"].endswith(f":role/{PREFIX}ExecRole")
    assert published["/mlcc/hyperpod/hyperpod/InferenceOperatorStatus"] == "active"


def test_its_groups_stay_what_they_are(existing_stack_life: Life) -> None:
    assert existing_stack_life.acts["after"]["groups"] == {"workers": 2}
    assert existing_stack_life.at("taken over", "UpdateCluster") == []


def test_nothing_is_made_that_the_stack_has_itself(existing_stack_life: Life) -> None:
    made = existing_stack_life.new("taken over", "theirs")
    assert not [
        line
        for line in made
        if line.startswith(("role mlcc-hyperpod-hyperpod-instance", "bucket sagemaker-"))
    ]


def test_a_second_up_writes_nothing(existing_stack_life: Life) -> None:
    assert existing_stack_life.during("no-op up") == []


def test_destroy_leaves_it_as_it_was(existing_stack_life: Life) -> None:
    left = set(existing_stack_life.acts["destroy"]["account"])
    kept = {f"stack {STACK}", f"EKS cluster {EKS}", f"HyperPod cluster {HYPERPOD}", f"role {PREFIX}ExecRole"}
    assert kept | BUCKETS <= left
    assert existing_stack_life.acts["kept"]["status"] == "CREATE_COMPLETE"
    assert existing_stack_life.at("destroy", "DeleteLogGroup") == []
    assert existing_stack_life.at("destroy", "DeleteObjects") == []
    assert not [
        line for line in left if line.startswith(("role SageMakerHyperPodInference-", "parameter /mlcc/"))
    ]


def test_rule_19_owned_its_buckets_are_emptied_first_and_then_it_goes(existing_stack_life: Life) -> None:
    emptied = existing_stack_life.at("destroy owned", "DeleteObjects")
    (deleted,) = existing_stack_life.at("destroy owned", "DeleteStack")
    assert emptied
    assert max(emptied) < deleted
    left = set(existing_stack_life.acts["destroy owned"]["account"])
    gone = {f"stack {STACK}", f"EKS cluster {EKS}", f"HyperPod cluster {HYPERPOD}", f"role {PREFIX}ExecRole"}
    assert not (gone | BUCKETS) & left
