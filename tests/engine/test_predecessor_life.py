"""A predecessor's profile moved over, on the real engine, judged by the account."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.engine.hyperpod_lives import Life
from tests.engine.scripts.predecessor import BOUNDARY, CLUSTER, DEAD_ISSUER, STACKS, TLS_BUCKET

SERVICE_ROLES = ("eks-cluster-role", "eks-node-role", "fargate-pod-exec-role")
POD_ROLES = ("alb-controller-role", "keda-operator-role")
LOOKS = ("adopt while owned", "adopt", "adopt table", "adopt wide", "adopt nothing")


def roles(life: Life, look: str) -> dict[str, Any]:
    found: dict[str, Any] = life.acts[look]["roles"]
    return found


@pytest.mark.parametrize("act", ["taken over", "no-op up", "remade", "destroy", "owned", "destroy owned"])
def test_every_act_but_the_refused_one_succeeds(predecessor_life: Life, act: str) -> None:
    assert predecessor_life.acts[act]["code"] == 0, predecessor_life.acts[act]["output"]


class TestWhileItsStacksLive:
    def test_up_is_refused_before_the_first_write(self, predecessor_life: Life) -> None:
        assert predecessor_life.acts["while owned"]["code"] != 0
        assert predecessor_life.during("while owned") == []

    def test_each_stack_is_named_with_what_it_owns_and_the_steps(self, predecessor_life: Life) -> None:
        words = predecessor_life.words("while owned")
        assert "2 things stand in the way" in words
        for stack in STACKS:
            assert f"CloudFormation stack {stack}: the stack exists and still owns" in words
            assert f"aws cloudformation delete-stack --stack-name {stack}" in words
        assert f"still owns bucket {TLS_BUCKET}" in words
        for role in (*SERVICE_ROLES, *POD_ROLES):
            assert f"role mlcc-demo-{role}" in words
        assert "DeletionPolicy: Retain" in words
        assert "run again" in words

    def test_adopt_says_the_same_with_the_code_for_refusals(self, predecessor_life: Life) -> None:
        look = predecessor_life.acts["adopt while owned"]
        assert look["code"] == 3
        assert "In the way, so `up` would be refused:" in look["output"]
        assert f"CloudFormation stack {STACKS[0]}" in look["output"]


class TestAdopt:
    @pytest.mark.parametrize("look", LOOKS)
    def test_looking_changes_nothing(self, predecessor_life: Life, look: str) -> None:
        assert predecessor_life.during(look, mutating=False)
        assert predecessor_life.during(look) == []

    def test_the_json_has_every_thing_with_how_it_differs(self, predecessor_life: Life) -> None:
        look = predecessor_life.acts["adopt"]
        assert look["code"] == 0, look["output"]
        told = json.loads(look["stdout"])
        assert (told["account"], told["region"], told["refused"]) == ("123456789012", "us-west-2", [])
        found = {entry["name"]: entry for entry in told["adopt"] if entry["kind"] != "network"}
        imported = predecessor_life.imported("taken over")
        assert sorted(entry["importId"] for entry in told["adopt"]) == imported
        node = found["mlcc-demo-eks-node-role"]
        assert (node["owner"], node["origin"]) == ("predecessor", "adopted")
        assert {(each["aspect"], each["what"], each["effect"]) for each in node["differences"]} >= {
            ("policies", "policies", "changed"),
            ("policies", "policies", "kept"),
            ("tags", "tags", "changed"),
        }
        trusts = [
            each for each in found["mlcc-demo-alb-controller-role"]["differences"] if each["what"] == "trust"
        ]
        assert DEAD_ISSUER in " ".join(each["found"] for each in trusts)
        mode = [each for each in found[CLUSTER]["differences"] if each["what"] == "authentication mode"]
        assert [(each["found"], each["wanted"]) for each in mode] == [("API_AND_CONFIG_MAP", "API")]

    @pytest.mark.parametrize(("look", "columns"), [("adopt table", 80), ("adopt wide", 120)])
    def test_the_table_fits_and_says_all_of_it(self, predecessor_life: Life, look: str, columns: int) -> None:
        output = predecessor_life.acts[look]["output"]
        table = [line for line in output.splitlines() if line.startswith(("│", "┃", "├"))]
        assert table
        assert max(len(line) for line in output.splitlines()[: len(table)]) <= columns
        assert "authentication mode" in output
        assert "in account 123456789012, us-west-2" in " ".join(output.split())

    def test_nothing_to_adopt_is_said_with_account_and_region(self, predecessor_life: Life) -> None:
        look = predecessor_life.acts["adopt nothing"]
        assert look["code"] == 0
        assert look["output"].startswith("Nothing to adopt in account 123456789012, us-west-2")

    def test_up_says_it_in_a_few_words(self, predecessor_life: Life) -> None:
        words = predecessor_life.words("taken over")
        assert "role mlcc-demo-fargate-pod-exec-role: trust, tags, settings" in words
        assert f"bucket {TLS_BUCKET}: tags" in words
        assert "How each differs: mlcc-infra adopt mlcc-demo" in words


class TestTakenOver:
    def test_nothing_that_existed_is_made_again_or_deleted(self, predecessor_life: Life) -> None:
        theirs = set(predecessor_life.acts["theirs"]["account"])
        released = {f"stack {stack}" for stack in STACKS}
        assert theirs - released - set(predecessor_life.acts["taken over"]["account"]) == set()
        made = {(call["operation"], call["resource"]) for call in predecessor_life.during("taken over")}
        for role in (*SERVICE_ROLES, *POD_ROLES):
            assert ("CreateRole", f"mlcc-demo-{role}") not in made
        assert not {operation for operation, _ in made} & {"CreateCluster", "CreateVpc", "DeleteRole"}
        assert not [name for operation, name in made if operation == "CreateBucket" and name == TLS_BUCKET]

    def test_all_of_it_is_marked_as_adopted(self, predecessor_life: Life) -> None:
        look = predecessor_life.acts["after taking over"]
        for tags in (*(role["tags"] for role in look["roles"].values()), look["cluster"]["tags"]):
            assert tags["mlcc:managed-by"] == "mlcc-infra"
            assert tags["mlcc:origin"] == "adopted"

    def test_a_boundary_and_a_path_are_kept(self, predecessor_life: Life) -> None:
        found = roles(predecessor_life, "after taking over")
        assert found["eks-node-role"]["boundary"] == BOUNDARY
        assert found["fargate-pod-exec-role"]["path"] == "/mlcc/"

    def test_missing_policies_are_attached_and_foreign_ones_stay(self, predecessor_life: Life) -> None:
        attached = roles(predecessor_life, "after taking over")["eks-node-role"]["attached"]
        assert "AmazonEC2ContainerRegistryPullOnly" in attached
        assert "AmazonEC2ContainerRegistryReadOnly" in attached
        assert "also carries arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryReadOnly; left alone" in (
            predecessor_life.words("taken over")
        )

    def test_a_second_up_writes_nothing(self, predecessor_life: Life) -> None:
        assert predecessor_life.during("no-op up") == []


@pytest.mark.parametrize("look", ["after taking over", "after remaking"])
def test_pods_roles_trust_the_issuer_of_the_cluster_that_lives(predecessor_life: Life, look: str) -> None:
    seen = predecessor_life.acts[look]
    issuer = seen["issuer"].removeprefix("https://")
    trusts = [seen["roles"][role]["trust"] for role in POD_ROLES] + [seen["execution trust"]]
    for trust in trusts:
        federated = [
            statement["Principal"]["Federated"]
            for statement in trust["Statement"]
            if "Federated" in statement["Principal"]
        ]
        assert federated == [f"arn:aws:iam::123456789012:oidc-provider/{issuer}"]


def test_a_cluster_made_anew_under_its_name_has_another_issuer(predecessor_life: Life) -> None:
    before, after = (
        predecessor_life.acts[look]["issuer"] for look in ("after taking over", "after remaking")
    )
    assert before != after


def test_exclusive_takes_off_what_is_not_the_profiles(predecessor_life: Life) -> None:
    attached = roles(predecessor_life, "after remaking")["eks-node-role"]["attached"]
    assert attached == [
        "AmazonEC2ContainerRegistryPullOnly",
        "AmazonEKSWorkerNodePolicy",
        "AmazonEKS_CNI_Policy",
    ]
    assert "taken off, as mlcc:exclusive is set" in predecessor_life.words("remade")


class TestDestroy:
    def test_what_was_adopted_stays(self, predecessor_life: Life) -> None:
        left = set(predecessor_life.acts["destroy"]["account"])
        assert f"EKS cluster {CLUSTER}" in left
        assert f"bucket {TLS_BUCKET}" in left
        assert {f"role mlcc-demo-{role}" for role in (*SERVICE_ROLES, *POD_ROLES)} <= left

    def test_what_was_made_goes_also_from_what_stays(self, predecessor_life: Life) -> None:
        left = predecessor_life.acts["destroy"]["account"]
        assert "role SageMakerHyperPodInference-demo" not in left
        assert not [line for line in left if line.startswith(("policy ", "OIDC provider ", "parameter "))]
        assert not [line for line in left if "alb-controller-policy" in line]

    def test_tags_that_the_subnets_had_before_stay(self, predecessor_life: Life) -> None:
        assert "no subnet of" not in predecessor_life.words("owned")

    def test_what_mlcc_own_lists_goes_and_the_retained_list_stays(self, predecessor_life: Life) -> None:
        left = set(predecessor_life.acts["destroy owned"]["account"])
        assert f"EKS cluster {CLUSTER}" not in left
        assert not {f"role mlcc-demo-{role}" for role in POD_ROLES} & left
        assert {f"role mlcc-demo-{role}" for role in SERVICE_ROLES} <= left
        assert f"bucket {TLS_BUCKET}" in left
