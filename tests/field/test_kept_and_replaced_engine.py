"""Field reports, groups C and I: rows about what is kept and what is replaced, judged by one life.

The vanilla cluster of mlcc-demo with two roles that somebody else made (tests/engine/scripts/
kept_and_replaced.py): taken over, changed, its cluster replaced, destroyed.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.hyperpod_lives import Life

# Roles that somebody made, and what they trust once they are taken over.
ADOPTED = {
    "mlcc-demo-eks-node-role": "ec2.amazonaws.com",
    "mlcc-demo-eks-alb-controller-role": "sts:AssumeRoleWithWebIdentity",
}
PROVIDER = "pulumi:providers:kubernetes"


def below_kubernetes(life: Life, act: str) -> dict[str, dict[str, Any]]:
    """Kubernetes providers of the state and what is in their clusters, by URN."""
    providers = {f"{found['urn']}::{found['id']}": found for found in life.resources(act, PROVIDER)}
    inside = [found for found in life.resources(act) if found.get("provider") in providers]
    return {found["urn"]: found for found in (*providers.values(), *inside)}


@pytest.mark.parametrize(
    "act", ["adopting", "second", "third", "tag", "replacing", "after replacing", "destroy"]
)
def test_c10_i1_i4_i12_every_act_succeeds(kept_life: Life, act: str) -> None:
    assert kept_life.acts[act]["code"] == 0, kept_life.acts[act]["output"]


def test_i1_what_was_taken_over_is_no_change_in_the_runs_after(kept_life: Life) -> None:
    assert set(ADOPTED) <= set(kept_life.imported("adopting"))
    assert kept_life.during("second") == []
    assert kept_life.during("third") == []


def test_i2_a_trust_that_differs_is_taken_over_and_set_right_in_one_up(kept_life: Life) -> None:
    for role, trusted in ADOPTED.items():
        trust = str(kept_life.acts["adopted"][role]["trust"])
        assert "lambda.amazonaws.com" not in trust, role
        assert trusted in trust, role


def test_i4_destroy_leaves_what_was_taken_over_and_names_it(kept_life: Life) -> None:
    for role in ADOPTED:
        assert kept_life.acts["left"][role]["tags"]["mlcc:origin"] == "adopted"
    assert "mlcc-demo-eks-node-role" in str(kept_life.acts["retained"])


def test_i5_everything_taken_over_is_retained_by_the_state_itself(kept_life: Life) -> None:
    taken = [found for found in kept_life.resources("third") if found.get("importID")]
    taken += [
        found
        for found in kept_life.resources("third", "aws:iam/role:Role")
        if (found["outputs"].get("tags") or {}).get("mlcc:origin") == "adopted"
    ]
    assert {found["id"] for found in taken} >= set(ADOPTED)
    for found in taken:
        assert found.get("retainOnDelete") is True, found["urn"]


@pytest.mark.parametrize("act", ["refused preview", "refused"])
def test_i3_i6_a_replacement_of_what_is_protected_stops_before_any_step_naming_the_property(
    kept_life: Life, act: str
) -> None:
    assert kept_life.acts[act]["code"] != 0
    assert "kubernetesNetworkConfig" in kept_life.words(act)
    assert "192.168.0.0/16" in kept_life.words(act)
    assert "Traceback" not in kept_life.acts[act]["output"]
    assert kept_life.during(act) == []


def test_i12_a_cosmetic_change_of_the_cluster_touches_nothing_in_it(kept_life: Life) -> None:
    assert kept_life.during("tag") != []
    before, after = below_kubernetes(kept_life, "third"), below_kubernetes(kept_life, "tag")
    assert len(before) > 1
    assert {urn: (found["id"], found["inputs"]) for urn, found in before.items()} == {
        urn: (found["id"], found["inputs"]) for urn, found in after.items()
    }


def test_c10_with_the_cluster_everything_in_it_is_made_anew(kept_life: Life) -> None:
    assert kept_life.acts["new issuer"] != kept_life.acts["issuer"]
    assert len(kept_life.at("replacing", "CreateCluster")) == 1
    before, after = below_kubernetes(kept_life, "tag"), below_kubernetes(kept_life, "replacing")
    assert set(before) == set(after)
    for urn, found in before.items():
        if found["type"] == PROVIDER:
            assert found["id"] != after[urn]["id"], urn
        else:
            assert found["created"] != after[urn]["created"], urn
    assert kept_life.acts["in the new cluster"] == kept_life.acts["in the cluster"]
    assert "aws-load-balancer-controller" in kept_life.acts["in the new cluster"]


def test_i11_what_a_killed_run_had_begun_is_found_by_name_and_not_made_twice(killed_life: Life) -> None:
    kills = [kill for number in (0, 1) for kill in killed_life.acts[f"kills {number}"]]
    told = [kill["pending"] for kill in kills if not isinstance(kill["pending"], str)]
    creating = [line for pending in told for line in pending if line.startswith("creating ")]
    assert creating
    assert [kill["left"] for kill in kills] == [[]] * len(kills)
    for number in (0, 1):
        assert killed_life.acts[f"up {number}"]["code"] == 0
        assert killed_life.acts[f"shape {number}"]["EKS cluster mlcc-demo-eks"] == 1
