"""What is wrong with parameters, said before they are sent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlcc_infra.profile import Problem
from mlcc_infra.template import load_contract, parameter_problems
from mlcc_infra.template.efa import efa_problem
from mlcc_infra.template.limits import ENVIRONMENT_BYTES, FIXED_ENVIRONMENT_BYTES, environment_bytes
from tests.unit.test_template_parameters import FLOOR_JSON, TABLE

CONTRACT = load_contract()


def found(**changed: str | None) -> dict[str, Problem]:
    """The problems of the table with changes, by parameter; with `None` it is left out."""
    sent = {name: value for name, value in {**TABLE, **changed}.items() if value is not None}
    return {entry.key: entry for entry in parameter_problems(CONTRACT, sent, region="us-west-2")}


def test_the_table_has_no_problem() -> None:
    assert found() == {}


def test_a_parameter_that_the_template_does_not_have_is_refused_with_the_nearest() -> None:
    assert "did you mean 'KubernetesVersion'" in found(KubernetesVersio="1.35")["KubernetesVersio"].found


@pytest.mark.parametrize(
    ("name", "value"),
    [("CreateVPCStack", "True"), ("NodeProvisioningMode", "continuous"), ("Stage", "beta")],
)
def test_a_value_that_is_not_allowed_is_refused_with_those_that_are(name: str, value: str) -> None:
    problem = found(**{name: value})[name]
    assert problem.value == value
    assert CONTRACT.parameters[name].allowed[0] in problem.remedy


def test_a_number_that_is_none_is_refused() -> None:
    fsx = {"CreateFsxStack": "true", "FsxAvailabilityZoneId": "usw2-az1"}
    assert "not a number" in found(**fsx, StorageCapacity="1200 GiB")["StorageCapacity"].found
    assert found(**fsx, StorageCapacity="1200") == {}


@pytest.mark.parametrize(
    "name", ["VpcId", "GithubRawUrl", "FsxAvailabilityZoneId", "HasGatedAccess", "ResourceNameShortPrefix"]
)
def test_a_parameter_that_nothing_uses_is_not_sent(name: str) -> None:
    assert "nothing uses it" in found(**{name: "something"})[name].found


@pytest.mark.parametrize(
    "name",
    [
        "S3BucketName",
        "SageMakerIAMRoleName",
        "AvailabilityZoneIds",
        "HyperPodClusterName",
        "ResourceNamePrefix",
        "KubernetesVersion",
        "NodeProvisioningMode",
        "InstanceGroupSettings1",
    ],
)
def test_a_live_placeholder_that_is_left_out_is_said(name: str) -> None:
    problem = found(**{name: None})[name]
    assert "not sent" in problem.found
    assert repr(CONTRACT.parameters[name].default) in problem.found


@pytest.mark.parametrize("name", ["S3BucketName", "SageMakerIAMRoleName", "HyperPodClusterName"])
def test_a_placeholder_that_is_sent_as_it_is_is_said(name: str) -> None:
    assert "a placeholder" in found(**{name: CONTRACT.parameters[name].default})[name].found


def test_a_kubernetes_version_may_be_the_templates_default() -> None:
    assert found(KubernetesVersion=CONTRACT.parameters["KubernetesVersion"].default) == {}


def test_the_ids_of_an_existing_vpc_must_be_given() -> None:
    problems = found(
        CreateVPCStack="false", CreateS3EndpointStack="false", VpcCIDR=None, AvailabilityZoneIds=None
    )
    assert set(problems) == {"VpcId", "PrivateSubnetIds", "EksPrivateSubnetIds"}


# ---------------------------------------------------------------------------------------- combinations


def test_inference_without_the_cluster_refers_to_nothing() -> None:
    inference = {
        "EnableHPInferenceFeature": "true",
        "EnableHPInferenceAddonFeature": "true",
        "ResourceNameShortPrefix": "m0123456",
    }
    for off in ("CreateHyperPodClusterStack", "CreateHelmChartStack"):
        problems = found(**inference, **{off: "false"})
        assert "refers to HyperPodClusterStack" in problems["EnableHPInferenceAddonFeature"].found


def test_task_governance_alone_depends_on_nothing_and_is_marked_unverified() -> None:
    problem = found(CreateTaskGovernanceClusterPolicyStack="true")["CreateTaskGovernanceClusterPolicyStack"]
    assert "depends on CertManagerStack" in problem.found
    assert "unverified on AWS" in problem.found


def test_the_training_operator_without_the_cluster_is_laid_to_its_own_switch() -> None:
    problems = found(
        EnableHPTrainingOperatorFeature="true",
        CreateHyperPodClusterStack="false",
    )
    assert "HyperPodClusterStack" in problems["EnableHPTrainingOperatorFeature"].found


def test_inference_without_the_addon_is_the_helm_chart_and_refused() -> None:
    problems = found(EnableHPInferenceFeature="true", ResourceNameShortPrefix="m0123456")
    assert "Helm chart" in problems["EnableHPInferenceAddonFeature"].found


def test_observability_where_the_template_leaves_it_out_is_refused() -> None:
    sent = {**TABLE, "EnableObservabilityFeature": "true", "AvailabilityZoneIds": "euw3-az1,euw3-az2"}
    keys = {entry.key: entry for entry in parameter_problems(CONTRACT, sent, region="eu-west-3")}
    assert "in eu-west-3" in keys["EnableObservabilityFeature"].found
    assert "us-west-2" in keys["EnableObservabilityFeature"].remedy


# ------------------------------------------------------------------------------- lengths and addresses


def test_a_prefix_is_as_long_as_the_names_made_of_it_allow() -> None:
    assert found(ResourceNamePrefix="a" * 55) == {}
    problem = found(ResourceNamePrefix="a" * 60)["ResourceNamePrefix"]
    assert "helmfunc', 68 characters of at most 64" in problem.found
    assert "at most 56" in problem.remedy


def test_with_cert_manager_a_prefix_has_at_most_46_characters() -> None:
    training = {"EnableHPTrainingOperatorFeature": "true"}
    assert found(ResourceNamePrefix="a" * 46, **training) == {}
    assert "at most 46" in found(ResourceNamePrefix="a" * 47, **training)["ResourceNamePrefix"].remedy


def test_names_that_no_service_takes_are_refused() -> None:
    assert "no name for one" in found(S3BucketName="Sagemaker_Bucket")["S3BucketName"].found
    assert "no name for one" in found(SageMakerIAMRoleName="path/role")["SageMakerIAMRoleName"].found
    assert "no name for one" in found(HyperPodClusterName="-x")["HyperPodClusterName"].found


def test_a_long_short_prefix_is_refused() -> None:
    problems = found(
        EnableHPInferenceFeature="true",
        EnableHPInferenceAddonFeature="true",
        ResourceNameShortPrefix="m01234567",
    )
    assert "9 characters" in problems["ResourceNameShortPrefix"].found


@pytest.mark.parametrize(
    ("cidr", "zones", "accepted"),
    [
        ("10.192.0.0/16", 4, True),
        ("10.1.0.0/16", 4, True),
        ("10.3.0.0/16", 2, True),
        ("10.2.0.0/16", 2, False),
        ("10.3.0.0/16", 3, False),
        ("10.4.0.0/16", 4, False),
        ("172.31.0.0/16", 2, False),
        ("10.192.0.0/20", 2, False),
        ("10.192.0.1/16", 2, False),
        ("ten", 2, False),
    ],
)
def test_the_block_of_the_vpc_is_apart_from_those_of_nodes(cidr: str, zones: int, accepted: bool) -> None:
    ids = ",".join(f"usw2-az{number}" for number in range(1, zones + 1))
    assert ("VpcCIDR" not in found(VpcCIDR=cidr, AvailabilityZoneIds=ids)) == accepted


@pytest.mark.parametrize(
    ("zones", "words"),
    [
        ("usw2-az1", "1 different zones"),
        ("usw2-az1,usw2-az1", "1 different zones"),
        ("usw2-az1,usw2-az2,usw2-az3,usw2-az4,usw2-az5", "5 different zones"),
        ("use2-az1,usw2-az2", "a zone of us-east-2"),
        ("us-west-2a,us-west-2b", "no zone id"),
    ],
)
def test_zones_are_two_to_four_ids_of_the_region(zones: str, words: str) -> None:
    sent = {**TABLE, "AvailabilityZoneIds": zones}
    assert any(words in entry.found for entry in parameter_problems(CONTRACT, sent, region="us-west-2"))


def test_fsx_in_a_zone_without_a_subnet_is_refused() -> None:
    fsx = {"CreateFsxStack": "true", "FsxAvailabilityZoneId": "usw2-az3"}
    assert "makes no subnet" in found(**fsx)["FsxAvailabilityZoneId"].found


# --------------------------------------------------------------------------------- groups, environment


def settings_of(*groups: dict[str, Any]) -> str:
    return json.dumps(groups)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("not json", "no JSON array"),
        ('{"InstanceGroupName":"a"}', "no JSON array"),
        ('["a"]', "no JSON array"),
        (settings_of({"InstanceType": "ml.c5.4xlarge", "InstanceCount": 1}), "without InstanceGroupName"),
        (settings_of({"InstanceGroupName": "a", "InstanceType": "ml.c5.4xlarge"}), "without InstanceCount"),
        (settings_of({"InstanceGroupName": "a", "InstanceCount": 1}), "one of InstanceType and"),
        (
            settings_of(
                {
                    "InstanceGroupName": "a",
                    "InstanceCount": 1,
                    "InstanceType": "ml.c5.4xlarge",
                    "TargetAvailabilityZoneId": "usw2-az4",
                }
            ),
            "usw2-az4 has no subnet",
        ),
    ],
)
def test_groups_that_the_template_would_drop_or_misplace_are_refused(value: str, words: str) -> None:
    assert words in found(InstanceGroupSettings1=value)["InstanceGroupSettings1"].found


def test_a_group_named_twice_over_two_slots_is_refused() -> None:
    assert "named twice" in found(InstanceGroupSettings2=FLOOR_JSON)["InstanceGroupSettings1"].found


def test_the_default_groups_leave_room_in_the_functions_environment() -> None:
    size = environment_bytes(CONTRACT.values(TABLE))
    assert FIXED_ENVIRONMENT_BYTES < size < 1_800


def test_too_many_groups_for_the_functions_environment_are_refused() -> None:
    group = {"InstanceType": "ml.c5.4xlarge", "InstanceCount": 1}
    many = [{"InstanceGroupName": f"group-{number}", **group} for number in range(40)]
    halves = {"InstanceGroupSettings1": many[:20], "InstanceGroupSettings2": many[20:]}
    problems = found(**{slot: json.dumps(groups) for slot, groups in halves.items()})
    assert f"of at most {ENVIRONMENT_BYTES}" in problems["InstanceGroupSettings2"].found


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 3_500))
def test_the_environment_is_refused_exactly_above_its_limit(length: int) -> None:
    tags = "k=" + "v" * length
    size = environment_bytes(CONTRACT.values({**TABLE, "Tags": tags}))
    assert bool(found(Tags=tags)) == (size > ENVIRONMENT_BYTES)


def test_one_parameter_has_at_most_4096_bytes() -> None:
    assert "CloudFormation takes 4096" in found(HelmOperators="ä" * 2_049)["HelmOperators"].found
    assert found(HelmOperators="ä" * 2_048) == {}


@pytest.mark.parametrize("path", ["/on_create.sh", "s3://bucket/on_create.sh", ""])
def test_a_script_is_a_key_and_no_address(path: str) -> None:
    assert "not a key" in found(OnCreatePath=path)["OnCreatePath"].found


# -------------------------------------------------------------------------------------------------- efa

TO_ITSELF = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": "sg-1"}]}
TO_EVERYBODY = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}], "UserIdGroupPairs": []}


def test_efa_needs_all_traffic_with_the_group_itself_both_ways() -> None:
    assert efa_problem("sg-1", ingress=[TO_ITSELF], egress=[TO_ITSELF, TO_EVERYBODY]) is None
    both = efa_problem("sg-1", ingress=[TO_EVERYBODY], egress=[TO_EVERYBODY])
    assert both is not None
    assert "ingress and egress" in both
    tcp = {**TO_ITSELF, "IpProtocol": "tcp"}
    assert efa_problem("sg-1", ingress=[tcp], egress=[TO_ITSELF]) is not None
    assert efa_problem("sg-2", ingress=[TO_ITSELF], egress=[TO_ITSELF]) is not None
