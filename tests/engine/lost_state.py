"""What holds for every stack whose state is lost; `test_lost_state*.py` have one class a stack.

Each stack is made, loses its state, and is made again by a plain `up`; then loses it again after resources
were deleted behind its back. With MLCC_EVERY_SEED=1 every stack does so three times, which takes long.
"""

from __future__ import annotations

import os
import re
from typing import Any, ClassVar

import pytest

from mlcc_infra.account.import_ids import IMPORT_IDS
from mlcc_infra.account.lookups import LOOKUPS
from tests.engine.hyperpod_lives import Life, play_life

# Calls that bring something to what the profile says, or put marks and tags on it; each may be made again.
CONVERGENCE = {
    ("ec2", "CreateTags"),
    ("sagemaker", "AddTags"),
    ("eks", "TagResource"),
    # The script in the lifecycle bucket: the provider does not read what an object holds.
    ("s3", "PutObject"),
}
DESTRUCTIVE = ("Delete", "Detach", "Remove", "Release", "Disassociate", "Terminate", "Revoke")
# What is not of the account: made with the state, whatever the account holds.
OF_THE_STATE = ("pulumi:", "pulumi-python:", "mlcc:", "eks:")
# A tag on a subnet of AWS's template is nobody's: it is set again, and goes with the subnet.
NOT_LOOKED_UP = ("aws:ec2/tag:Tag",)
# Ids that hold the moment of a creation.
STAMPED = ("aws:iam/rolePolicyAttachment:RolePolicyAttachment",)
# Whose deletion takes an OIDC issuer away.
WITH_ISSUER = ("aws:eks/cluster:Cluster", "aws:cloudformation/stack:Stack")


class LostState:
    """The tests of one stack: `seeds` are played always, `more_seeds` on request, `retained` stays."""

    stack: ClassVar[str]
    seeds: ClassVar[tuple[int, ...]]
    more_seeds: ClassVar[tuple[int, ...]]
    retained: ClassVar[tuple[str, ...]]
    since: ClassVar[str] = "start"
    loses_cluster: ClassVar[bool] = False

    @pytest.fixture
    def life(self, tmp_path_factory: pytest.TempPathFactory) -> Life:
        environment = {
            "MLCC_LOST_STACK": self.stack,
            "MLCC_LOST_SEEDS": " ".join(map(str, self.played())),
            "MLCC_LOST_CLUSTER": "1" if self.loses_cluster else "",
        }
        return play_life(tmp_path_factory, "lost_state", environment, name=f"lost-{self.stack}")

    def played(self) -> tuple[int, ...]:
        return (*self.seeds, *(self.more_seeds if os.environ.get("MLCC_EVERY_SEED") else ()))

    def test_every_act_succeeds(self, life: Life) -> None:
        failed = {
            name: act["output"]
            for name, act in life.acts.items()
            if act.get("code") and name not in ("without a cluster", "orphans")
        }
        assert failed == {}

    def test_one_up_takes_everything_over_again(self, life: Life) -> None:
        before, after = of_the_account(life, "up"), of_the_account(life, "after the loss")
        assert before.keys() == after.keys()
        anew = {one["type"] for one in after.values() if not one.get("importID")}
        assert anew <= set(NOT_LOOKED_UP)
        for urn, one in after.items():
            if one["type"] not in STAMPED:
                assert one["id"] == before[urn]["id"]

    def test_nothing_that_exists_is_created_replaced_or_deleted(self, life: Life) -> None:
        assert made(life, "after the loss") == []
        assert life.acts["after the loss"]["account"] == life.acts["up"]["account"]
        assert not re.search(r"\b(replaced|deleted)\b", life.acts["after the loss"]["output"])

    def test_what_was_published_is_what_it_was(self, life: Life) -> None:
        assert life.acts["after the loss"]["published"] == life.acts["up"]["published"]

    def test_the_next_up_has_nothing_to_do(self, life: Life) -> None:
        assert life.during("no-op up") == []
        assert life.during("last no-op up") == []

    def test_every_type_has_a_row_in_the_table_of_import_ids_and_ids_of_its_form(self, life: Life) -> None:
        for one in of_the_account(life, "after the loss").values():
            kind = one["type"]
            assert kind in IMPORT_IDS, f"{kind} has no row in mlcc_infra/account/import_ids.py"
            assert kind in LOOKUPS
            if kind not in NOT_LOOKED_UP:
                form = re.sub(r"\\\{\w+\\\}", ".+", re.escape(IMPORT_IDS[kind]))
                assert re.fullmatch(form, one["importID"])

    def test_what_was_deleted_is_made_again_and_the_rest_taken_over(self, life: Life) -> None:
        for seed in self.played():
            deleted = set(life.acts[f"deleted {seed}"]["urns"])
            after = of_the_account(life, f"after the loss {seed}")
            assert after.keys() == of_the_account(life, "up").keys()
            anew = {urn for urn, one in after.items() if not one.get("importID")}
            types = {urn: after[urn]["type"] for urn in anew | deleted}
            expected = set(deleted)
            if any(types[urn] in WITH_ISSUER for urn in deleted):
                # An issuer is new with its cluster, so its provider is another one.
                expected |= {urn for urn in anew if "openIdConnectProvider" in types[urn]}
            assert {urn for urn in anew - expected if types[urn] not in NOT_LOOKED_UP} == set()
            assert expected <= anew

    def test_nothing_is_taken_away_after_deletions_either(self, life: Life) -> None:
        for seed in self.played():
            assert destructive(life, f"after the loss {seed}") == []

    def test_destroy_leaves_what_it_would_have_left(self, life: Life) -> None:
        left = life.new("destroy", self.since)
        things = [line for line in left if not line.startswith(("attachment ", "inline policy "))]
        dead = [line for line in things if line.startswith("OIDC provider ")]
        assert sorted(set(things) - set(dead)) == sorted(self.retained)
        # Clusters that went while nobody had a state leave the providers of their issuers: these are named.
        for line in dead:
            assert line.removeprefix("OIDC provider ") in life.words("orphans")
        gone = [urn for seed in self.played() for urn in life.acts[f"deleted {seed}"]["urns"]]
        assert not dead or any(kind in urn for kind in WITH_ISSUER for urn in gone)
        roles = {name.removeprefix("role ") for name in self.retained if name.startswith("role ")}
        hang = [re.sub("^(attachment|inline policy) ", "", line) for line in left if line not in things]
        assert roles <= {re.split("[/:]", name)[0] for name in hang}


def of_the_account(life: Life, act: str) -> dict[str, dict[str, Any]]:
    return {
        one["urn"]: one
        for one in life.resources(act)
        if one.get("custom") and not one["type"].startswith(OF_THE_STATE)
    }


def destructive(life: Life, act: str) -> list[str]:
    """Calls that take something away."""
    return [call["operation"] for call in life.during(act) if call["operation"].startswith(DESTRUCTIVE)]


def made(life: Life, act: str) -> list[tuple[str, str]]:
    """Calls that change something and are neither marks nor convergence."""
    calls = {(call["service"], call["operation"]) for call in life.during(act)}
    return sorted(calls - CONVERGENCE)


def replaced(life: Life) -> set[tuple[str, str]]:
    """(type, name) of what the last change replaced."""
    output = life.acts["replaced"]["output"]
    return set(re.findall(r"^ \+-\s+(\S+) (\S+) replaced", output, re.MULTILINE))


def assert_just_the_fargate_profile_was_replaced(life: Life) -> None:
    assert replaced(life) == {("aws:eks:FargateProfile", "eks-fargate")}
    assert made(life, "replaced") == [("eks", "CreateFargateProfile"), ("eks", "DeleteFargateProfile")]


def assert_just_the_roles_with_a_path_were_replaced(life: Life) -> None:
    """And what hangs on them; those that must sit at `/` (rule 3) stay."""
    found = replaced(life)
    kinds = {kind for kind, _ in found}
    assert kinds == {"aws:iam:Role", "aws:iam:RolePolicy", "aws:iam:RolePolicyAttachment"}
    roles = {name for kind, name in found if kind == "aws:iam:Role"}
    wanted = ("alb-controller-role", "fsx-csi-role", "keda-operator-role", "s3-csi-role")
    assert roles == {f"operator-{role}-role" for role in wanted}
    assert all(any(name.startswith(role) for role in roles) for _, name in found)
