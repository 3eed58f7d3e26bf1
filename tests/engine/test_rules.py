"""The numbered rules of the HyperPod stack that need a graph or an engine, judged by lives of whole stacks.

Each test has the number of its rule; docs/rules.md is the index of all. What can be decided bare is in
tests/unit.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable
from typing import Any

import pytest

from mlcc_rehearsal.cloud.s3 import public_templates
from tests.engine.hyperpod_lives import Life

UNKNOWN = (
    "04da6b54-80e4-46f7-96ec-b56ff0331ba9"  # what Pulumi's engine has in a preview for what is not known
)
OPERATOR = "amazon-sagemaker-hyperpod-inference"
PREREQUISITES = ("cert-manager", "metrics-server", "aws-mountpoint-s3-csi-driver", "aws-fsx-csi-driver")
EXECUTION_ROLE = "SageMakerHyperPodInference-hyperpod"
STACK = "aws:cloudformation/stack:Stack"


def names(urns: Iterable[str]) -> set[str]:
    """Logical names of URNs."""
    return {urn.rsplit("::", 1)[1] for urn in urns}


def before(life: Life, act: str, resource: dict[str, Any]) -> set[str]:
    """Logical names of all that a resource depends on, through others as well."""
    known = {found["urn"]: found for found in life.resources(act)}
    seen: set[str] = set()
    waiting = [resource["urn"]]
    while waiting:
        for urn in known[waiting.pop()].get("dependencies") or []:
            if urn not in seen:
                seen.add(urn)
                waiting.append(urn)
    return names(seen)


def addon(life: Life, act: str, name: str) -> dict[str, Any]:
    (found,) = [
        each for each in life.resources(act, "aws:eks/addon:Addon") if each["inputs"]["addonName"] == name
    ]
    return found


def in_order(*moments: list[float]) -> None:
    """Each group of calls is over before the next begins."""
    for earlier, later in itertools.pairwise(moments):
        assert earlier
        assert later
        assert max(earlier) < min(later)


def test_rule_01_time_is_given_and_a_dead_stack_is_replaced_by_the_engine(recovery_life: Life) -> None:
    stack = recovery_life.only("mended", STACK)
    assert stack["customTimeouts"] == {"create": 9000, "update": 9000, "delete": 9000}
    # The trigger is the dead stack's id, and stays so that nothing is replaced again.
    (dead, _), *_ = recovery_life.acts["failed stacks"]
    assert stack["replacementTrigger"] == dead
    assert recovery_life.only("third", STACK)["id"] == stack["id"] != dead
    timeouts = addon(recovery_life, "mended", OPERATOR)["customTimeouts"]
    assert timeouts["create"] == timeouts["update"] == 45 * 60


def test_rule_02_floor_by_nodes_comes_before_the_operator_and_others_do_not(hyperpod_life: Life) -> None:
    groups = hyperpod_life.only("up", "InstanceGroups")
    assert groups["outputs"]["statuses"]["default-worker"] == {
        "state": "ready",
        "current": 2,
        "wanted": 2,
        "reason": "",
    }
    assert groups["outputs"]["statuses"]["gpu"]["current"] == 0
    assert "hyperpod-instance-groups" in before(hyperpod_life, "up", addon(hyperpod_life, "up", OPERATOR))
    labels = [
        node["sagemaker.amazonaws.com/instance-group-name"] for node in hyperpod_life.acts["cluster"]["nodes"]
    ]
    assert labels == ["default-worker", "default-worker"]


def test_rule_03_instance_role_has_its_policies_before_the_stack(hyperpod_life: Life) -> None:
    role = "hyperpod-service-roles-hyperpod-instance-role"
    assert {
        f"{role}-AmazonSageMakerClusterInstanceRolePolicy",
        f"{role}-mlcc-hyperpod-instance",
    } <= before(hyperpod_life, "up", hyperpod_life.only("up", STACK))


@pytest.mark.parametrize("life", ["hyperpod_life", "demo_life"])
def test_rule_04_access_entries_are_ensured_and_the_callers_is_never_declared(
    life: str, request: pytest.FixtureRequest
) -> None:
    played: Life = request.getfixturevalue(life)
    assert played.resources("up", "aws:eks/accessEntry") == []
    assert [call for call in played.calls if call["operation"] == "CreateAccessEntry"] == []


def test_rule_06_later_updates_of_the_stack_are_not_sent(hyperpod_life: Life, demo_life: Life) -> None:
    for life in (hyperpod_life, demo_life):
        assert [call for call in life.calls if call["operation"] in ("UpdateStack", "CreateChangeSet")] == []
    stack = hyperpod_life.only("changed", STACK)
    assert {"parameters", "templateUrl", "templateBody", "capabilities", "tags"} <= set(
        stack["ignoreChanges"]
    )
    assert "Deny" in stack["inputs"]["policyBody"]
    digest = hyperpod_life.acts["up"]["published"]["/mlcc/hyperpod/hyperpod/TemplateDigest"]
    made_from = public_templates.objects()["templates/main-stack-eks-based-template.yaml"]
    assert digest == hashlib.sha256(made_from).hexdigest()
    assert digest not in json.dumps(stack["inputs"])


def test_rule_07_ownership_is_marked_on_the_clusters_and_not_on_the_stack(hyperpod_life: Life) -> None:
    stack = hyperpod_life.only("up", STACK)
    assert not stack["inputs"].get("tags")
    assert "hyperpod-marks" in names(found["urn"] for found in hyperpod_life.resources("up", "ClusterMarks"))
    marked = [call["resource"] for call in hyperpod_life.during("up") if call["operation"] == "AddTags"]
    assert marked == [hyperpod_life.acts["cluster"]["arn"]]


def test_rule_11_load_balancer_subnets_are_the_two_public_ones_of_the_template(hyperpod_life: Life) -> None:
    tags = hyperpod_life.resources("up", "aws:ec2/tag:Tag")
    assert [tag["inputs"]["key"] for tag in tags] == ["kubernetes.io/role/elb"] * 2
    assert len({tag["inputs"]["resourceId"] for tag in tags}) == 2
    # A zone more in the profile is a frozen difference: the stack has no subnet there.
    assert len(hyperpod_life.resources("changed", "aws:ec2/tag:Tag")) == 2


def test_rule_12_lifecycle_bucket_is_there_before_the_stack_and_goes_after_it(hyperpod_life: Life) -> None:
    (bucket,) = [
        found
        for found in hyperpod_life.resources("up", "aws:s3/bucket:Bucket")
        if found["inputs"]["bucket"].startswith("sagemaker-")
    ]
    assert bucket["inputs"]["forceDestroy"] is True
    assert not bucket.get("retainOnDelete")
    needed = {"hyperpod-lifecycle-bucket", "hyperpod-lifecycle-script", "hyperpod-lifecycle-bucket-policy"}
    assert needed <= before(hyperpod_life, "up", hyperpod_life.only("up", STACK))
    versioned = [call for call in hyperpod_life.calls if call["operation"] == "PutBucketVersioning"]
    assert versioned == []
    in_order(
        hyperpod_life.at("destroy", "DeleteStack"),
        hyperpod_life.at("destroy", "DeleteBucket", bucket["inputs"]["bucket"]),
    )


def test_rule_13_instance_groups_are_sent_only_when_they_differ_and_go_with_the_stack(
    hyperpod_life: Life, recovery_life: Life
) -> None:
    for life, acts in (
        (hyperpod_life, {"up": 1, "no-op up": 0, "changed": 1, "after the change": 0, "destroy": 0}),
        (recovery_life, {"mended": 1, "third": 0, "other groups": 1, "after the change": 0}),
    ):
        for act, count in acts.items():
            sent = [call["operation"] for call in life.during(act) if call["service"] == "sagemaker"]
            assert sent.count("UpdateCluster") == count, act
            assert not {"DeleteCluster", "BatchDeleteClusterNodes"} & set(sent)


class TestRule14:
    """The published EKS component, as the vanilla cluster of the demo uses it."""

    def test_rule_14_published_component_authenticates_by_the_api_alone(self, demo_life: Life) -> None:
        (cluster,) = demo_life.resources("up", "aws:eks/cluster:Cluster")
        assert cluster["inputs"]["accessConfig"]["authenticationMode"] == "API"

    def test_rule_14_published_component_makes_no_groups_and_no_oidc_provider(self, demo_life: Life) -> None:
        (component,) = demo_life.resources("up", "eks:index:Cluster")
        inside = [
            found["type"]
            for found in demo_life.resources("up")
            if found["urn"].split("::")[-2].count("eks:index:Cluster") and found["urn"] != component["urn"]
        ]
        assert "aws:eks/cluster:Cluster" in inside
        unwanted = (
            "ec2/securityGroup",
            "openIdConnectProvider",
            "nodeGroup",
            "launchTemplate",
            "instanceProfile",
        )
        assert [kind for kind in inside if any(part in kind for part in unwanted)] == []

    def test_rule_14_coredns_comes_after_the_nodes(self, demo_life: Life) -> None:
        groups = demo_life.resources("up", "aws:eks/nodeGroup:NodeGroup")
        assert groups
        coredns = addon(demo_life, "up", "coredns")
        assert names(found["urn"] for found in groups) <= before(demo_life, "up", coredns)


def test_rule_15_issuer_is_unknown_in_the_first_preview_and_read_from_eks(hyperpod_life: Life) -> None:
    steps = json.loads(hyperpod_life.acts["preview"]["stdout"])["steps"]
    planned = {step["urn"]: step["newState"].get("inputs", {}) for step in steps}
    (url,) = [inputs["url"] for urn, inputs in planned.items() if "openIdConnectProvider" in urn]
    assert url == UNKNOWN
    # Nothing is there yet, so nothing is taken over.
    assert not [step for step in steps if step["newState"].get("importID") or step["op"] == "import"]
    made = hyperpod_life.only("up", "aws:iam/openIdConnectProvider")
    assert made["inputs"]["url"].endswith(hyperpod_life.acts["cluster"]["issuer"].removeprefix("https://"))


def test_rule_16_order_of_an_up(hyperpod_life: Life) -> None:
    def addons(*wanted: str) -> list[float]:
        return [moment for name in wanted for moment in hyperpod_life.at("up", "CreateAddon", f"/{name}")]

    in_order(
        hyperpod_life.at("up", "CreateStack"),
        hyperpod_life.at("up", "CreateOpenIDConnectProvider"),
        hyperpod_life.at("up", "CreateRole", EXECUTION_ROLE),
        addons(*PREREQUISITES),
        addons(OPERATOR),
        hyperpod_life.at("up", "PutParameter", "/InferenceOperatorStatus"),
    )
    in_order(hyperpod_life.at("up", "UpdateCluster"), addons(*PREREQUISITES))


def test_rule_19_teardown_in_order(hyperpod_life: Life) -> None:
    def at(operation: str, *ends: str) -> list[float]:
        return [moment for end in ends or ("",) for moment in hyperpod_life.at("destroy", operation, end)]

    in_order(
        at("DeleteAddon", OPERATOR),
        at("DeleteAddon", *PREREQUISITES),
        at("DeleteOpenIDConnectProvider"),
        at("DeleteStack"),
        at("DeleteBucket"),
        at("DeleteLogGroup"),
    )
    in_order(at("DeleteAddon", OPERATOR), at("DeleteRole", EXECUTION_ROLE), at("DeleteOpenIDConnectProvider"))
    assert [line for line in hyperpod_life.new("destroy") if line.startswith("log group ")] == []


def test_rule_19_teardown_begins_with_what_users_made(demo_life: Life) -> None:
    drains = demo_life.resources("up", "ClusterDrain")
    assert len(drains) == 2
    outlived = set().union(*(before(demo_life, "up", drain) for drain in drains))
    assert {"operator-addon", "operator-ready"} <= outlived
    # Each drain depends on what has to live while it works, and so is destroyed before that.
    by_name = {drain["urn"].rsplit("::", 1)[1]: drain for drain in drains}
    assert set(by_name) == {"eks-drain", "operator-drain"}
    assert "eks-charts-aws-load-balancer-controller" in before(demo_life, "up", by_name["eks-drain"])
    assert {"operator-addon", "operator-ready"} <= before(demo_life, "up", by_name["operator-drain"])
    # As the engine reports it: no controller and no add-on begins to go before a drain is over.
    lines = demo_life.acts["destroy"]["output"].splitlines()
    drained = [at for at, line in enumerate(lines) if "ClusterDrain" in line and " deleted (" in line]
    later = [
        at
        for at, line in enumerate(lines)
        if " deleting (" in line and ("operator-addon" in line or "helm.sh" in line)
    ]
    assert len(drained) == 2
    assert min(drained) < min(later)


def test_rule_22_trust_names_the_issuer_of_the_living_cluster(operator_life: Life) -> None:
    issuer = operator_life.acts["cluster"]["issuer"].removeprefix("https://")
    (statement,) = [
        found
        for found in operator_life.acts["cluster"]["trust"]["Statement"]
        if found["Action"] == "sts:AssumeRoleWithWebIdentity"
    ]
    assert statement["Condition"]["StringEquals"][f"{issuer}:aud"] == "sts.amazonaws.com"
    assert "StringLike" not in statement["Condition"]
