"""The demo stack, with both targets, from first to last on the real engine, judged by the account."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.engine.hyperpod_lives import Life

TLS_BUCKET = "hyperpod-tls-mlcc-demo-88de702d"
AWS_POLICY = "arn:aws:iam::aws:policy"
# What stays after a destroy, as a listing of the account shows it.
RETAINED = [
    f"attachment mlcc-demo-eks-cluster-role/{AWS_POLICY}/AmazonEKSClusterPolicy",
    f"attachment mlcc-demo-eks-node-role/{AWS_POLICY}/AmazonEC2ContainerRegistryPullOnly",
    f"attachment mlcc-demo-eks-node-role/{AWS_POLICY}/AmazonEKSWorkerNodePolicy",
    f"attachment mlcc-demo-eks-node-role/{AWS_POLICY}/AmazonEKS_CNI_Policy",
    f"attachment mlcc-demo-fargate-pod-exec-role/{AWS_POLICY}/AmazonEKSFargatePodExecutionRolePolicy",
    f"attachment mlcc-demo-hyperpod-instance-role/{AWS_POLICY}/AmazonSageMakerClusterInstanceRolePolicy",
    f"bucket {TLS_BUCKET}",
    "inline policy mlcc-demo-hyperpod-instance-role:mlcc-hyperpod-instance",
    "role mlcc-demo-eks-cluster-role",
    "role mlcc-demo-eks-node-role",
    "role mlcc-demo-fargate-pod-exec-role",
    "role mlcc-demo-hyperpod-instance-role",
]
# The settings of a bucket are resources of their own; each is imported by the bucket's name.
BUCKET_SETTINGS = [
    f"bucket {setting} {TLS_BUCKET}"
    for setting in ("encryption", "ownership", "policy", "public access block")
]
RETAINED_RESOURCES = sorted([*RETAINED, *BUCKET_SETTINGS])
# The stack is marked on its clusters instead (facts, rule 7); S3 objects take ten tags at most.
UNTAGGED_TYPES = ("aws:cloudformation/stack:Stack", "aws:s3/bucketObjectv2:BucketObjectv2")
TAG_KEYS = {
    "mlcc:managed-by",
    "mlcc:profile",
    "mlcc:module",
    "mlcc:region",
    "mlcc:stack",
    "mlcc:resource",
    "mlcc:origin",
}


def custom(life: Life, act: str, prefix: str = "aws:") -> list[dict[str, Any]]:
    return [
        found for found in life.resources(act) if found["type"].startswith(prefix) and found.get("custom")
    ]


def taggable(life: Life) -> list[dict[str, Any]]:
    return [
        found
        for found in custom(life, "up")
        if "tagsAll" in (found.get("outputs") or {}) and found["type"] not in UNTAGGED_TYPES
    ]


@pytest.mark.parametrize(
    "act", ["up", "no-op up", "repair", "after repair", "destroy", "second up", "release's destroy"]
)
def test_every_act_succeeds(vanilla_life: Life, act: str) -> None:
    assert vanilla_life.acts[act]["code"] == 0, vanilla_life.acts[act]["output"]


def test_up_makes_the_cluster_and_what_it_needs(vanilla_life: Life) -> None:
    made = vanilla_life.new("up")
    assert "EKS cluster mlcc-demo-eks" in made
    assert "EKS cluster mlcc-demo-hp-eks" in made
    assert "stack mlcc-demo-hp" in made
    assert "role mlcc-demo-eks-inference-role" in made
    assert "policy mlcc-demo-eks-alb-controller-policy" in made
    # The template's VPC has three subnets a zone and a NAT gateway of its own.
    assert len([line for line in made if line.startswith("Subnets ")]) == 4 + 6
    assert len([line for line in made if line.startswith("NatGateways ")]) == 1 + 1
    keys = {line.rsplit("/", 1)[-1] for line in made if line.startswith("parameter /mlcc/demo/eks/")}
    assert keys == {
        "EksClusterArn",
        "EksClusterName",
        "ClusterSecurityGroupId",
        "VpcId",
        "PrivateSubnetIds",
        "OidcProviderArn",
        "EksInferenceRoleArn",
        "AlbControllerRoleArn",
        "EksClusterRoleArn",
        "EksNodeRoleArn",
        "FargatePodExecRoleArn",
    }


def test_a_second_up_writes_nothing(vanilla_life: Life) -> None:
    assert vanilla_life.new("no-op up") == vanilla_life.new("up")
    assert vanilla_life.during("no-op up") == []


def test_an_up_after_the_repair_writes_nothing(vanilla_life: Life) -> None:
    assert vanilla_life.during("after repair") == []


def test_drift_of_a_roles_trust_is_repaired(vanilla_life: Life) -> None:
    statements = vanilla_life.acts["repaired"]["trust"]["Statement"]
    assert [statement["Principal"] for statement in statements] == [{"Service": "ec2.amazonaws.com"}]


def test_a_detached_wanted_policy_is_attached_again(vanilla_life: Life) -> None:
    assert "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy" in vanilla_life.acts["repaired"]["attached"]


def test_a_foreign_policy_stays_and_is_reported(vanilla_life: Life) -> None:
    assert "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess" in vanilla_life.acts["repaired"]["attached"]
    output = " ".join(vanilla_life.acts["repair"]["output"].split())
    assert re.search(r"mlcc-demo-eks-node-role also carries .*AmazonS3ReadOnlyAccess.*left alone", output)


def test_a_deleted_addon_comes_back(vanilla_life: Life) -> None:
    assert vanilla_life.acts["repaired"]["addon"] == "ACTIVE"


def test_a_removed_subnet_tag_comes_back(vanilla_life: Life) -> None:
    assert vanilla_life.acts["repaired"]["subnet_tags"]["kubernetes.io/role/internal-elb"] == "1"


@pytest.mark.parametrize("act", ["destroy", "release's destroy"])
def test_after_a_destroy_the_account_holds_the_retained_resources_and_nothing_else(
    vanilla_life: Life, act: str
) -> None:
    assert vanilla_life.new(act) == RETAINED


def test_the_printed_retained_list_is_what_the_account_holds(vanilla_life: Life) -> None:
    listed = sorted(f"{item['kind']} {item['name']}" for item in vanilla_life.acts["retained"])
    assert listed == RETAINED_RESOURCES


def test_up_after_a_destroy_imports_exactly_the_retained_list(vanilla_life: Life) -> None:
    output = vanilla_life.acts["second up"]["output"]
    assert re.search(rf"= {len(RETAINED_RESOURCES)} imported\b", output), output[-3000:]
    imported = [found for found in custom(vanilla_life, "second up") if found.get("importID")]
    assert sorted(found["importID"] for found in imported) == sorted(
        line.rsplit(" ", 1)[1] for line in RETAINED_RESOURCES
    )


def test_nobody_declares_the_creators_access_entry(vanilla_life: Life) -> None:
    creations = [call for call in vanilla_life.calls if call["operation"] == "CreateAccessEntry"]
    assert creations == []


def test_no_mutating_call_of_the_whole_life_failed_for_another_reason_than_waiting(
    vanilla_life: Life,
) -> None:
    waits = {
        # IAM tells other services about a role with a delay; interfaces outlive what they belonged to.
        ("eks", "CreateCluster", "InvalidParameterException"),
        ("eks", "CreateNodegroup", "InvalidParameterException"),
        ("ec2", "DeleteSubnet", "DependencyViolation"),
        ("ec2", "DeleteSecurityGroup", "DependencyViolation"),
        ("ec2", "DeleteVpc", "DependencyViolation"),
        ("ec2", "DetachInternetGateway", "DependencyViolation"),
    }
    failed = {
        (call["service"], call["operation"], call["error"])
        for call in vanilla_life.calls
        if call["mutating"] and call["error"]
    }
    assert failed - waits == set()


class TestComponentContracts:
    """What holds for every component, read from the state that the engine wrote."""

    def test_tokens_name_area_and_class(self, vanilla_life: Life) -> None:
        tokens = {
            found["type"] for found in vanilla_life.resources("up") if found["type"].startswith("mlcc:")
        }
        assert tokens == {
            "mlcc:iam:ServiceRoles",
            "mlcc:iam:ServiceAccountRole",
            "mlcc:network:Network",
            "mlcc:eks:EksBase",
            "mlcc:eks:ClusterCharts",
            "mlcc:outputs:PublishedOutputs",
            "mlcc:hyperpod:HyperPodNativeFromTemplate",
            "mlcc:operator:InferenceOperatorAddon",
        }

    def test_every_taggable_child_carries_all_tags(self, vanilla_life: Life) -> None:
        for found in taggable(vanilla_life):
            tags = found["outputs"].get("tags") or {}
            assert set(tags) >= TAG_KEYS, found["urn"]
            assert tags["mlcc:origin"] == "created", found["urn"]

    def test_the_resource_tag_is_unique(self, vanilla_life: Life) -> None:
        seen = [found["outputs"]["tags"]["mlcc:resource"] for found in taggable(vanilla_life)]
        assert len(seen) == len(set(seen))

    def test_components_register_their_outputs(self, vanilla_life: Life) -> None:
        for found in vanilla_life.resources("up"):
            if found["type"].startswith("mlcc:"):
                assert found.get("outputs"), found["urn"]

    def test_exactly_the_retained_list_is_retained_in_the_state(self, vanilla_life: Life) -> None:
        kept = [found for found in custom(vanilla_life, "up") if found.get("retainOnDelete")]
        assert len(kept) == len(RETAINED_RESOURCES)
        assert {found["type"].split("/")[0] for found in kept} == {"aws:iam", "aws:s3"}

    def test_children_have_their_component_as_parent(self, vanilla_life: Life) -> None:
        for found in vanilla_life.resources("up"):
            if found["type"].startswith(("aws:", "pulumi-python:", "kubernetes:")):
                assert "pulumi:pulumi:Stack::" not in found["parent"], found["urn"]

    def test_no_resource_uses_a_default_aws_or_kubernetes_provider(self, vanilla_life: Life) -> None:
        providers = {found.get("provider", "") for found in vanilla_life.resources("up")}
        assert not [
            provider for provider in providers if re.search(r"providers:(aws|kubernetes)::default", provider)
        ]

    def test_no_exclusive_policy_owner_is_registered(self, vanilla_life: Life) -> None:
        for found in custom(vanilla_life, "up"):
            assert found["type"] != "aws:iam/policyAttachment:PolicyAttachment"
            if found["type"] == "aws:iam/role:Role":
                assert not {"managedPolicyArns", "inlinePolicies"} & set(found["inputs"])

    def test_every_addon_overwrites_on_create_and_on_update(self, vanilla_life: Life) -> None:
        addons = custom(vanilla_life, "up", "aws:eks/addon:Addon")
        assert {found["inputs"]["addonName"] for found in addons} == {
            "coredns",
            "eks-pod-identity-agent",
            "kube-proxy",
            "vpc-cni",
            "cert-manager",
            "metrics-server",
            "aws-mountpoint-s3-csi-driver",
            "aws-fsx-csi-driver",
            "amazon-sagemaker-hyperpod-inference",
        }
        for found in addons:
            flags = {found["inputs"][f"resolveConflictsOn{moment}"] for moment in ("Create", "Update")}
            assert flags == {"OVERWRITE"}, found["urn"]

    def test_the_state_holds_no_secret_and_no_credentials(self, vanilla_life: Life) -> None:
        text = json.dumps(vanilla_life.acts["up"]["state"]["deployment"]["resources"])
        assert "AKIA" not in text
        assert "k8s-aws-v1" not in text
