"""Stack mlcc-demo with both targets: made side by side, and destroyed while users still have things in it."""

from __future__ import annotations

import pytest

from tests.engine.hyperpod_lives import Life

# What a program sends later than it would at AWS counts after the work done meanwhile, so the time depends a
# little on how busy the machine is; one after the other would be 1.6. bench/side_by_side.py measures it.
TOLERANCE = 1.25


@pytest.mark.parametrize("act", ["up", "destroy"])
def test_every_act_succeeds(demo_life: Life, act: str) -> None:
    assert demo_life.acts[act]["code"] == 0, demo_life.acts[act]["output"]


def test_both_clusters_are_made_side_by_side(demo_life: Life, hyperpod_life: Life) -> None:
    together = demo_life.acts["up"]["working"]
    longer = hyperpod_life.acts["up"]["working"]
    assert together < TOLERANCE * longer


def test_both_clusters_are_begun_before_one_is_there(demo_life: Life) -> None:
    (vanilla,) = demo_life.at("up", "CreateCluster", "mlcc-demo-eks")
    (stack,) = demo_life.at("up", "CreateStack")
    first_node_group = min(demo_life.at("up", "CreateNodegroup"))
    assert max(vanilla, stack) < first_node_group


def test_users_had_load_balancers_and_a_certificate(demo_life: Life) -> None:
    made = demo_life.new("used", "up")
    assert len([line for line in made if "load balancer " in line]) == 5
    assert len([line for line in made if line.startswith("certificate ")]) == 1


def test_a_destroy_takes_them_out_first(demo_life: Life) -> None:
    words = demo_life.words("destroy")
    assert "Removing InferenceEndpointConfig default/mistral" in words
    assert words.count("Removing Service default/front") >= 2
    assert words.count("Removing Ingress default/web") >= 2


def test_nothing_that_users_left_blocks_or_outlives_the_destroy(demo_life: Life) -> None:
    kinds = {line.split(" ", 1)[0] for line in demo_life.new("destroy")}
    assert kinds == {"attachment", "bucket", "inline", "role"}
    assert [call for call in demo_life.during("destroy") if call["error"] == "DependencyViolation"] == []


def test_what_is_left_is_the_retained_list(demo_life: Life) -> None:
    shown = ("role", "attachment", "inline policy", "bucket")
    listed = [
        f"{item['kind']} {item['name']}" for item in demo_life.acts["retained"] if item["kind"] in shown
    ]
    assert demo_life.new("destroy") == sorted(listed)
