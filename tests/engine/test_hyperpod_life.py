"""Stack mlcc-hyperpod from first to last on the real engine, judged by account, state and API log."""

from __future__ import annotations

import json

import pytest

from tests.engine.hyperpod_lives import Life

POLICY = "arn:aws:iam::aws:policy/AmazonSageMakerClusterInstanceRolePolicy"
ROLE = "mlcc-hyperpod-hyperpod-instance-role"
TLS_BUCKET = "hyperpod-tls-mlcc-hyperpod-88de702d"
RETAINED = [
    f"attachment {ROLE}/{POLICY}",
    f"bucket {TLS_BUCKET}",
    f"inline policy {ROLE}:mlcc-hyperpod-instance",
    f"role {ROLE}",
]
# The settings of a bucket are resources of their own; a listing of the account does not show them.
BUCKET_SETTINGS = [
    f"bucket {setting} {TLS_BUCKET}"
    for setting in ("encryption", "ownership", "policy", "public access block")
]
ACTS = ("preview", "up", "no-op up", "changed", "after the change", "destroy", "up again")


@pytest.mark.parametrize("act", ACTS)
def test_every_act_succeeds(hyperpod_life: Life, act: str) -> None:
    assert hyperpod_life.acts[act]["code"] == 0, hyperpod_life.acts[act]["output"]


def test_no_call_that_changes_something_failed(hyperpod_life: Life) -> None:
    assert [call for call in hyperpod_life.calls if call["mutating"] and call["error"]] == []


@pytest.mark.parametrize("act", ["preview", "no-op up", "after the change"])
def test_what_has_nothing_to_do_changes_nothing(hyperpod_life: Life, act: str) -> None:
    assert hyperpod_life.during(act) == []


def test_up_makes_both_clusters_and_the_operator(hyperpod_life: Life) -> None:
    made = hyperpod_life.new("up")
    assert {"stack mlcc-hyperpod-hp", "EKS cluster mlcc-hyperpod-hp-eks"} <= set(made)
    assert "HyperPod cluster mlcc-hyperpod-hyperpod" in made
    keys = {line.rsplit("/", 1)[-1] for line in made if line.startswith("parameter /mlcc/hyperpod/hyperpod/")}
    assert keys == {
        "PrivateSubnetIds",
        "HyperPodInstanceRoleArn",
        "EksClusterArn",
        "EksClusterName",
        "ClusterSecurityGroupId",
        "HyperPodClusterArn",
        "HyperPodClusterName",
        "TemplateDigest",
        "InferenceOperatorStatus",
        "TlsBucketName",
        "HyperpodInferenceRoleArn",
        "AlbControllerRoleArn",
        "KedaOperatorRoleArn",
        "S3CsiRoleArn",
        "FsxCsiRoleArn",
    }


class TestWithoutAnyGpu:
    """All GPU types are out of capacity: nothing waits for them."""

    def test_floor_and_operator_are_verified(self, hyperpod_life: Life) -> None:
        groups = hyperpod_life.only("up", "InstanceGroups")["outputs"]["statuses"]
        assert groups["default-worker"]["state"] == "ready"
        assert hyperpod_life.only("up", "OperatorReady")["outputs"]["state"] == "active"
        published = hyperpod_life.acts["up"]["published"]
        assert published["/mlcc/hyperpod/hyperpod/InferenceOperatorStatus"] == "active"
        assert hyperpod_life.acts["cluster"]["groups"]["default-worker"] == [2, 2]
        assert len(hyperpod_life.acts["cluster"]["nodes"]) == 2

    def test_each_group_is_warned_about_once(self, hyperpod_life: Life) -> None:
        told = [line for line in hyperpod_life.warnings("up") if "Instance group" in line]
        assert len(told) == 2
        for group, line in zip(("gpu", "big"), told, strict=True):
            assert f"Instance group {group} is waiting for capacity: 0 of 1 instances run" in line
            assert "sufficient capacity" in line


class TestFrozenSettings:
    """Zones, version and node recovery of the profile change together with its instance groups."""

    def test_the_stack_is_never_updated(self, hyperpod_life: Life) -> None:
        sent = {call["operation"] for call in hyperpod_life.calls if call["service"] == "cloudformation"}
        assert "CreateStack" in sent
        assert not {name for name in sent if "Update" in name or "ChangeSet" in name}

    def test_each_parameter_is_named_in_a_warning(self, hyperpod_life: Life) -> None:
        (line,) = [line for line in hyperpod_life.warnings("changed") if "frozen" in line]
        assert 'KubernetesVersion: "1.35" in the stack, "1.34" by the profile' in line
        assert 'NodeRecovery: "Automatic" in the stack, "None" by the profile' in line
        assert "AvailabilityZoneIds: " in line
        assert "InstanceGroupSettings" not in line

    def test_groups_change_through_one_update_of_the_cluster_and_nothing_else(
        self, hyperpod_life: Life
    ) -> None:
        assert [call["operation"] for call in hyperpod_life.during("changed")] == ["UpdateCluster"]

    def test_the_groups_are_those_of_the_profile_where_omitted_ones_would_stay(
        self, hyperpod_life: Life
    ) -> None:
        assert hyperpod_life.acts["changed cluster"]["groups"] == {"default-worker": [2, 2], "gpu": [2, 2]}

    def test_trouble_that_is_over_is_not_told_again(self, hyperpod_life: Life) -> None:
        told = [line for line in hyperpod_life.warnings("changed") if "Instance group" in line]
        assert [line for line in told if "sufficient capacity" in line] == []


class TestDestroyAndUpAgain:
    """What stays, what is taken over, and a cluster of the same name right after the first."""

    def test_the_account_holds_the_retained_resources_and_nothing_else(self, hyperpod_life: Life) -> None:
        assert hyperpod_life.new("destroy") == RETAINED

    def test_the_printed_retained_list_is_what_the_account_holds(self, hyperpod_life: Life) -> None:
        listed = sorted(f"{item['kind']} {item['name']}" for item in hyperpod_life.acts["retained"])
        assert listed == sorted([*RETAINED, *BUCKET_SETTINGS])

    def test_up_imports_exactly_the_retained_list(self, hyperpod_life: Life) -> None:
        wanted = sorted(line.rsplit(" ", 1)[1] for line in (*RETAINED, *BUCKET_SETTINGS))
        assert hyperpod_life.imported("up again") == wanted
        assert f"= {len(wanted)} imported" in hyperpod_life.words("up again")

    def test_it_is_another_cluster_with_another_issuer(self, hyperpod_life: Life) -> None:
        first, second = hyperpod_life.acts["cluster"], hyperpod_life.acts["cluster again"]
        assert first["arn"] != second["arn"]
        assert first["issuer"] != second["issuer"]
        assert second["status"] == "InService"

    def test_the_old_watcher_is_waited_out(self, hyperpod_life: Life) -> None:
        assert "Underlying watcher service is being deleted" in hyperpod_life.acts["drain"]["line"]
        assert hyperpod_life.only("up again", "OperatorReady")["outputs"]["state"] == "active"

    def test_the_operator_has_the_new_clusters_arn(self, hyperpod_life: Life) -> None:
        (operator,) = [
            found
            for found in hyperpod_life.resources("up again", "aws:eks/addon:Addon")
            if found["inputs"]["addonName"] == "amazon-sagemaker-hyperpod-inference"
        ]
        values = operator["inputs"]["configurationValues"]
        assert hyperpod_life.acts["cluster again"]["arn"] in values
        assert hyperpod_life.acts["cluster"]["arn"] not in values

    def test_roles_trust_the_new_issuer_only(self, hyperpod_life: Life) -> None:
        new = hyperpod_life.acts["cluster again"]["issuer"].rsplit("/", 1)[1]
        old = hyperpod_life.acts["cluster"]["issuer"].rsplit("/", 1)[1]
        live = json.dumps(hyperpod_life.acts["cluster again"]["trust"])
        assert new in live
        assert old not in live
        for role in hyperpod_life.resources("up again", "aws:iam/role:Role"):
            assert old not in json.dumps(role["inputs"]["assumeRolePolicy"]), role["urn"]
