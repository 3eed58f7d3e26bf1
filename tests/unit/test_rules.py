"""The numbered rules of the HyperPod stack and the operator on it, as far as they can be decided bare.

Each test has the number of its rule. The others need a graph, an engine or an account and are tested there:
4 (access entries), 14 (the published EKS component), 15 (unknown issuer in a preview), 16 (order). Of several
rules only the part that is pure is here.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlcc_infra import policies, versions
from mlcc_infra.account.hyperpod_checks import check_operator_owner
from mlcc_infra.account.preflight import Verdict
from mlcc_infra.naming import MAX_PROFILE_LENGTH, Names, location_hash
from mlcc_infra.policies import SERVICE_ACCOUNT_ROLES, SERVICE_ROLES, RoleContext
from mlcc_infra.policies.service_account_roles import OPERATOR_POLICY
from mlcc_infra.policies.service_roles import INSTANCE_POLICY
from mlcc_infra.template import (
    FROZEN,
    check_pin,
    frozen_differences,
    later_groups,
    live_outputs,
    load_contract,
    parameter_problems,
    profile_template_url,
    stack_groups,
    stack_policy,
    template_parameters,
)
from mlcc_infra.template.lifecycle import SCRIPT, SCRIPT_KEY
from mlcc_infra.template.made import log_groups, prerequisites_by_template, public_subnet_names
from mlcc_infra.template.parameters import short_prefix
from mlcc_infra.template.stack import TIMEOUT_MINUTES
from tests.unit.profile_support import FLOOR, hyperpod, load, problems, warnings
from tests.unit.test_template_parameters import TABLE, parameters

CONTRACT = load_contract()
ACCOUNT = "123456789012"
NAMES = Names("demo", ACCOUNT, "us-west-2")
CONTEXT = RoleContext(names=NAMES, issuer="oidc.eks.us-west-2.amazonaws.com/id/ABC")


def statement_of(policy: dict[str, Any], action: str) -> dict[str, Any]:
    """The one statement of a policy that has an action."""
    having = [
        statement
        for statement in policy["Statement"]
        if action in ([statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"])
    ]
    assert len(having) == 1, f"{action} in {len(having)} statements"
    return having[0]


def test_rule_01_time_of_the_stack_is_five_times_the_providers_default() -> None:
    assert TIMEOUT_MINUTES == 150


def test_rule_02_floor_has_no_minimum_and_is_never_accelerated() -> None:
    with_minimum = {**FLOOR, "minInstanceCount": 1}
    found = problems(hyperpod({"instanceGroups": [with_minimum]}))
    assert "rolled back" in found["mlcc:hyperpod.instanceGroups[0].minInstanceCount"].found
    assert "MinInstanceCount" not in parameters()["InstanceGroupSettings1"]
    assert parameters()["NodeProvisioningMode"] == "Continuous"


def test_rule_03_instance_role_trusts_sagemaker_and_ec2_only_for_a_predecessors_sake() -> None:
    entry = SERVICE_ROLES["hyperpod-instance-role"]
    assert policies.trusted_services(entry.trust(CONTEXT, None)) == {"sagemaker.amazonaws.com"}
    theirs = policies.trust(policies.service_statement("ec2.amazonaws.com"))
    assert policies.trusted_services(entry.trust(CONTEXT, theirs)) == {
        "sagemaker.amazonaws.com",
        "ec2.amazonaws.com",
    }


def test_rule_03_instance_role_may_what_awss_template_grants_and_reads_only_its_bucket() -> None:
    entry = SERVICE_ROLES["hyperpod-instance-role"]
    assert entry.managed_policies == ("AmazonSageMakerClusterInstanceRolePolicy",)
    policy = entry.inline(CONTEXT)[INSTANCE_POLICY]
    interfaces = statement_of(policy, "ec2:CreateNetworkInterfacePermission")
    assert {resource.rsplit(":", 1)[1] for resource in interfaces["Resource"]} == {
        "instance/*",
        "network-interface/*",
        "subnet/*",
        "security-group/*",
        "vpc/*",
    }
    assert all(f":us-west-2:{ACCOUNT}:" in resource for resource in interfaces["Resource"])
    assert statement_of(policy, "ec2:CreateTags")["Resource"].endswith("network-interface/*")
    assert statement_of(policy, "ecr:BatchGetImage")["Resource"] == "*"
    pods = statement_of(policy, "eks-auth:AssumeRoleForPodIdentity")["Resource"]
    assert pods.endswith("cluster/mlcc-demo-*")
    assert statement_of(policy, "s3:GetObject")["Resource"] == f"arn:aws:s3:::{NAMES.lifecycle_bucket}/*"
    assert statement_of(policy, "s3:ListBucket")["Resource"] == f"arn:aws:s3:::{NAMES.lifecycle_bucket}"


@pytest.mark.parametrize(
    "entry", [SERVICE_ROLES["hyperpod-instance-role"], SERVICE_ACCOUNT_ROLES["operator-execution-role"]]
)
def test_rule_03_instance_role_and_the_operators_are_refused_at_another_path(entry: Any) -> None:
    assert entry.path("/ml/") == "/"
    assert entry.path_problem("/") is None
    assert "/ml/" in str(entry.path_problem("/ml/"))


def test_rule_05_prerequisites_are_left_out_where_the_template_makes_them() -> None:
    def made(keys: dict[str, Any] | None = None, **more: Any) -> Any:
        return prerequisites_by_template(parameters(keys, **more), region="us-west-2")

    assert not made().oidc_provider
    assert made().addons == frozenset()
    assert made({"fsx": {"enabled": True}}).oidc_provider
    assert made({"fsx": {"enabled": True}}).addons == {"aws-fsx-csi-driver"}
    assert made({"trainingOperator": {"enabled": True}}).addons == {"cert-manager"}
    assert made(operator={"install": "template"}).addons == set(versions.PREREQUISITE_MINIMUM)


def test_rule_06_later_updates_are_frozen_and_denied() -> None:
    assert {"parameters", "templateUrl", "templateBody", "capabilities", "tags"} <= set(FROZEN)
    denied = json.loads(stack_policy())["Statement"][1]
    assert set(denied["Resource"]) == {
        f"LogicalResourceId/{name}"
        for name in (
            "HyperPodClusterStack",
            "HyperPodParamClusterStack",
            "EKSClusterStack",
            "PrivateSubnetStack",
            "VPCStack",
        )
    }


def test_rule_06_later_updates_that_the_profile_asks_for_are_named_one_by_one() -> None:
    wanted = parameters({"nodeRecovery": "None", "kubernetesVersion": "1.34"})
    names = {difference.parameter for difference in frozen_differences(TABLE, wanted)}
    assert names == {"NodeRecovery", "KubernetesVersion"}


def test_rule_06_later_updates_never_come_from_a_digest_in_a_tag() -> None:
    assert all(CONTRACT.sha256[:12] not in value for value in parameters().values())


def test_rule_07_adopted_stacks_keep_their_own_parameters() -> None:
    profile = load(hyperpod({"existingStack": "hyp-made"}))
    with pytest.raises(ValueError, match="keeps its own parameters"):
        template_parameters(profile, profile.names(ACCOUNT), zones=("usw2-az1", "usw2-az2"))


def test_rule_08_mirror_is_one_bucket_for_a_digest_and_region_and_is_named_without_a_prefix() -> None:
    bucket = NAMES.template_mirror(CONTRACT.sha256)
    assert bucket == f"mlcc-hp-templates-{CONTRACT.sha256[:12]}-{location_hash(ACCOUNT, 'us-west-2')}"
    assert Names("other", ACCOUNT, "us-west-2").template_mirror(CONTRACT.sha256) == bucket
    profile = load(hyperpod({"template": {"mirrorBucket": bucket}}))
    sent = template_parameters(profile, NAMES, zones=("usw2-az1", "usw2-az2"))
    assert sent["CustomBucketName"] == bucket
    assert profile_template_url(profile).startswith(f"https://{bucket}.s3.us-west-2.amazonaws.com/templates/")


def test_rule_08_mirror_or_none_the_release_digest_only_warns() -> None:
    assert check_pin(load(hyperpod()), "0" * 64).verdict == "warning"


def test_rule_09_operator_role_has_awss_prefix_at_the_root() -> None:
    name = SERVICE_ACCOUNT_ROLES["operator-execution-role"].role_name(CONTEXT)
    assert name == "SageMakerHyperPodInference-demo"
    other = {"operator": {"roles": {"execution": f"arn:aws:iam::{ACCOUNT}:role/mlcc-demo-inference"}}}
    assert "SageMakerHyperPodInference" in problems(hyperpod(**other))["mlcc:operator.roles.execution"].found


def test_rule_09_operator_role_has_the_grants_beside_the_managed_policy() -> None:
    entry = SERVICE_ACCOUNT_ROLES["operator-execution-role"]
    assert entry.managed_policies == ("AmazonSageMakerHyperPodInferenceAccess",)
    policy = entry.inline(CONTEXT)[OPERATOR_POLICY]
    assert statement_of(policy, "sagemaker:DescribeEndpointConfig")["Resource"].endswith(":endpoint-config/*")
    assert statement_of(policy, "acm:AddTagsToCertificate")["Resource"].endswith(":certificate/*")
    imported = statement_of(policy, "acm:ImportCertificate")
    assert imported["Condition"] == {"StringEquals": {"aws:RequestTag/CreatedBy": "HyperPodInference"}}
    objects = statement_of(policy, "s3:PutObjectTagging")
    assert set(objects["Action"]) == {
        "s3:GetObject",
        "s3:PutObject",
        "s3:PutObjectTagging",
        "s3:DeleteObject",
    }
    assert objects["Resource"] == f"arn:aws:s3:::{NAMES.tls_bucket}/*"
    assert statement_of(policy, "s3:ListBucket")["Resource"] == f"arn:aws:s3:::{NAMES.tls_bucket}"
    passed = statement_of(policy, "iam:PassRole")
    assert passed["Resource"] == f"arn:aws:iam::{ACCOUNT}:role/SageMakerHyperPodInference-demo"
    assert passed["Condition"] == {"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}}


def test_rule_09_operator_role_is_granted_an_adopted_bucket_by_its_own_name() -> None:
    adopted = RoleContext(names=NAMES, issuer=CONTEXT.issuer, tls_bucket=NAMES.predecessor_tls_bucket)
    policy = SERVICE_ACCOUNT_ROLES["operator-execution-role"].inline(adopted)[OPERATOR_POLICY]
    assert statement_of(policy, "s3:PutObject")["Resource"] == "arn:aws:s3:::mlcc-hyperpod-tls-demo/*"


def test_rule_10_install_by_the_template_takes_the_addon_and_not_the_chart() -> None:
    sent = parameters(operator={"install": "template"})
    assert sent["EnableHPInferenceFeature"] == sent["EnableHPInferenceAddonFeature"] == "true"
    assert sent["TlsCertificateBucketName"] == NAMES.tls_bucket
    assert len(sent["ResourceNameShortPrefix"]) <= 8
    for name in (
        "InferenceOperatorExecutionRoleArn",
        "KedaRoleArn",
        "AlbControllerRoleArn",
        "JumpstartGatedModelDownloadRoleArn",
    ):
        assert sent[name] == ""
    found = warnings(hyperpod(operator={"install": "template"}))["mlcc:operator.install"].found
    assert "v1.0.0 without a cluster ARN" in found
    assert "reports success" in found


@pytest.mark.parametrize(
    ("live", "by_template", "words"),
    [
        ({"EnableHPInferenceFeature": "true"}, False, ("`graph`", "made with `template`")),
        ({"EnableHPInferenceFeature": "false"}, True, ("`template`", "made with `graph`")),
    ],
)
def test_rule_10_who_installs_the_operator_is_not_changed_under_a_living_stack(
    live: dict[str, str], by_template: bool, words: tuple[str, str]
) -> None:
    (refused,) = check_operator_owner("mlcc-demo-hp", live, by_template=by_template, stack="mlcc-demo")
    assert refused.verdict is Verdict.REFUSED
    for word in words:
        assert word in refused.found
    assert "pulumi destroy -s mlcc-demo" in refused.remedy
    assert check_operator_owner("mlcc-demo-hp", live, by_template=not by_template, stack="mlcc-demo") == []
    assert check_operator_owner("mlcc-demo-hp", {}, by_template=by_template, stack="mlcc-demo") == []


def test_rule_11_load_balancer_subnets_of_the_template_are_public_ones_without_a_tag() -> None:
    assert public_subnet_names("mlcc-demo-hp", 3)[2] == "mlcc-demo-hp-Public-Subnet3"
    assert not any("Public" in output for output in CONTRACT.outputs)


def test_rule_12_lifecycle_bucket_is_one_for_each_profile_with_a_stable_key() -> None:
    assert NAMES.lifecycle_bucket != Names("other", ACCOUNT, "us-west-2").lifecycle_bucket
    assert NAMES.lifecycle_bucket.startswith("sagemaker-")
    sent = parameters()
    assert (sent["S3BucketName"], sent["OnCreatePath"]) == (NAMES.lifecycle_bucket, SCRIPT_KEY)
    assert (sent["CreateS3BucketStack"], sent["CreateLifeCycleScriptStack"]) == ("false", "false")
    assert SCRIPT.rstrip().endswith("exit 0")
    (statement,) = policies.deny_plain_http(NAMES.lifecycle_bucket)["Statement"]
    assert statement["Effect"] == "Deny"


def test_rule_13_instance_groups_other_than_the_floor_are_no_part_of_the_stack() -> None:
    gpu = {"name": "gpu", "instanceType": "ml.p5.48xlarge", "instanceCount": 2}
    profile = load(hyperpod({"instanceGroups": [FLOOR, gpu]}))
    assert [group.name for group in stack_groups(profile.hyperpod)] == ["default-worker"]
    assert [group.name for group in later_groups(profile.hyperpod)] == ["gpu"]
    assert parameters({"instanceGroups": [FLOOR, gpu]}) == TABLE


def test_rule_15_issuer_is_no_output_of_the_stack() -> None:
    outputs = live_outputs(CONTRACT, parameters())
    assert "OutputEKSClusterName" in outputs
    assert not any("oidc" in output.lower() or "issuer" in output.lower() for output in CONTRACT.outputs)


def test_rule_17_names_fit_at_35_characters() -> None:
    assert MAX_PROFILE_LENGTH == 35
    longest = Names("a" * 35, ACCOUNT, "us-west-2")
    assert len(longest.operator_execution_role) == 62
    assert len(longest.tls_bucket) == 62
    assert len(longest.lifecycle_bucket) == 59


def test_rule_17_names_of_two_profiles_never_meet() -> None:
    assert Names("a", ACCOUNT, "us-west-2").hyperpod_eks_cluster == "mlcc-a-hp-eks"
    assert Names("a-hp", ACCOUNT, "us-west-2").eks_cluster == "mlcc-a-hp-eks"
    assert problems({"profile": "a-hp"})
    assert problems({"targets": ["hyperpod-eks", "operator-only"]})
    roles = (NAMES.alb_controller_role, NAMES.eks_alb_controller_role)
    assert len(set(roles)) == 2


@pytest.mark.parametrize(
    ("cidr", "accepted"),
    [("10.192.0.0/16", True), ("10.1.0.0/16", True), ("10.2.0.0/16", False), ("10.0.0.0/8", False)],
)
def test_rule_18_addresses_are_a_block_of_their_own(cidr: str, accepted: bool) -> None:
    assert ("mlcc:hyperpod.vpcCidr" not in problems(hyperpod({"vpcCidr": cidr}))) == accepted
    found = parameter_problems(CONTRACT, {**TABLE, "VpcCIDR": cidr}, region="us-west-2")
    assert (found == ()) == accepted


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 255), st.integers(2, 4))
def test_rule_18_addresses_are_judged_alike_in_the_profile_and_before_sending(
    second: int, zones: int
) -> None:
    cidr = f"10.{second}.0.0/16"
    ids = [f"usw2-az{number}" for number in range(1, zones + 1)]
    refused = "mlcc:hyperpod.vpcCidr" in problems(hyperpod({"vpcCidr": cidr, "zones": ids}))
    sent = {**TABLE, "VpcCIDR": cidr, "AvailabilityZoneIds": ",".join(ids)}
    assert refused == bool(parameter_problems(CONTRACT, sent, region="us-west-2"))
    assert refused == (2 <= second <= zones)


def test_rule_18_addresses_are_in_two_to_four_zones() -> None:
    assert problems(hyperpod({"zones": ["usw2-az1"]}))
    five = {**TABLE, "AvailabilityZoneIds": ",".join(f"usw2-az{number}" for number in range(1, 6))}
    assert parameter_problems(CONTRACT, five, region="us-west-2")


def test_rule_19_teardown_knows_the_log_groups_that_are_written_again() -> None:
    found = log_groups(NAMES.hyperpod_stack, short_prefix(NAMES), NAMES.hyperpod_cluster)
    assert f"/aws/eks/{NAMES.hyperpod_eks_cluster}/cluster" in found
    assert {"/aws/lambda/mlcc-demo-hphpfunc", "/aws/lambda/mlcc-demo-hphelmfunc"} <= set(found)


@pytest.mark.parametrize("kubernetes", ["1.32", "1.33", "1.34", "1.35"])
def test_rule_20_versions_of_prerequisites_are_pinned_at_their_minimum_or_above(kubernetes: str) -> None:
    for name, minimum in versions.PREREQUISITE_MINIMUM.items():
        pin = versions.addon_version(name, kubernetes)
        assert versions.addon_version_key(pin) >= versions.addon_version_key(minimum)


def test_rule_21_combinations_that_break_the_template_are_refused_with_the_reason() -> None:
    inference = {
        "EnableHPInferenceFeature": "true",
        "EnableHPInferenceAddonFeature": "true",
        "ResourceNameShortPrefix": "m0123456",
    }
    broken = (
        {**inference, "CreateHyperPodClusterStack": "false"},
        {**inference, "CreateHelmChartStack": "false"},
        {"CreateTaskGovernanceClusterPolicyStack": "true"},
    )
    for change in broken:
        found = parameter_problems(CONTRACT, {**TABLE, **change}, region="us-west-2")
        assert any("which does not exist under these switches" in entry.found for entry in found), change
    governance = problems(hyperpod({"taskGovernance": {"enabled": True}}))
    assert "does not exist" in governance["mlcc:hyperpod.taskGovernance.enabled"].found


def test_rule_22_trust_is_exact_but_for_two_subjects() -> None:
    wide: set[str] = set()
    for key, entry in SERVICE_ACCOUNT_ROLES.items():
        if key == "eks-inference-role":
            continue
        for statement in entry.trust(CONTEXT, None)["Statement"]:
            condition = statement.get("Condition")
            if condition is None:
                continue
            assert condition["StringEquals"][f"{CONTEXT.issuer}:aud"] == "sts.amazonaws.com"
            if "StringLike" in condition:
                wide.add(key)
                assert "*" in condition["StringLike"][f"{CONTEXT.issuer}:sub"]
    assert wide == {"alb-controller-role", "gated-model-role"}
