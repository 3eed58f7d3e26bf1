"""The parameters that come from a profile: the table, its variants, and a walk over all 150."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlcc_infra.template import (
    flags,
    group_settings,
    instance_group,
    later_groups,
    live_parameters,
    load_contract,
    parameter_problems,
    short_prefix,
    stack_groups,
    template_parameters,
)
from mlcc_infra.template.problems import MUST_BE_SENT, PLACEHOLDERS
from tests.unit.profile_support import FLOOR, hyperpod, load

CONTRACT = load_contract()
ACCOUNT = "123456789012"
ZONES = ("usw2-az1", "usw2-az2")
FLOOR_JSON = '[{"InstanceGroupName":"default-worker","InstanceType":"ml.c5.4xlarge","InstanceCount":2}]'
VPC = {
    "vpcId": "vpc-0a1b2c3d4e5f60718",
    "privateSubnetIds": ["subnet-0a1b2c3d4e5f60718", "subnet-0a1b2c3d4e5f60719"],
}


def parameters(keys: Mapping[str, Any] | None = None, **more: Any) -> dict[str, str]:
    """The parameters for a profile with these settings under `mlcc:hyperpod`."""
    given = {key: more.pop(key) for key in ("tls_bucket", "eks_route_table_ids") if key in more}
    profile = load(hyperpod(keys, **more))
    return template_parameters(profile, profile.names(ACCOUNT), zones=ZONES, **given)


TABLE = {
    "Stage": "prod",
    "CustomBucketName": "",
    "ResourceNamePrefix": "mlcc-demo-hp",
    "VpcCIDR": "10.192.0.0/16",
    "AvailabilityZoneIds": "usw2-az1,usw2-az2",
    "SecurityGroupId": "",
    "KubernetesVersion": "1.35",
    "EKSClusterName": "eks",
    "S3BucketName": "sagemaker-mlcc-demo-88de702d",
    "SageMakerIAMRoleName": "mlcc-demo-hyperpod-instance-role",
    "OnCreatePath": "lifecycle/on_create.sh",
    "HyperPodClusterName": "mlcc-demo-hyperpod",
    "NodeRecovery": "Automatic",
    "NodeProvisioningMode": "Continuous",
    "AutoScalerType": "None",
    "HyperPodClusterRole": "",
    "InstanceGroupSettings1": FLOOR_JSON,
    "Tags": "",
    "TieredStorageConfig": "",
    "RestrictedInstanceGroupsConfig": "",
    **{
        name: CONTRACT.parameters[name].default
        for name in ("HelmRepoUrl", "HelmRepoPath", "Namespace", "HelmRelease", "HelmOperators")
    },
    "CreateVPCStack": "true",
    "CreateSecurityGroupStack": "true",
    "CreateEKSClusterStack": "true",
    "CreateS3EndpointStack": "true",
    "CreateHelmChartStack": "true",
    "CreateHyperPodClusterStack": "true",
    "CreateS3BucketStack": "false",
    "CreateLifeCycleScriptStack": "false",
    "CreateSageMakerIAMRoleStack": "false",
    "CreateFsxStack": "false",
    "CreateTaskGovernanceClusterPolicyStack": "false",
    "EnableHPInferenceFeature": "false",
    "EnableHPInferenceAddonFeature": "false",
    "EnableObservabilityFeature": "false",
    "EnableHPTrainingOperatorFeature": "false",
}


def test_the_parameters_of_profile_demo_are_exactly_the_table() -> None:
    assert parameters() == TABLE


def test_parameters_come_in_the_order_of_the_template_so_that_plans_do_not_wobble() -> None:
    assert list(parameters()) == [name for name in CONTRACT.parameters if name in TABLE]


VARIANTS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"fsx": {"enabled": True, "storageCapacity": 2400, "perUnitStorageThroughput": 500}}, {}),
    ({"observability": {"enabled": True}}, {}),
    ({"trainingOperator": {"enabled": True}}, {}),
    ({"trainingOperator": {"enabled": True}, "taskGovernance": {"enabled": True}}, {}),
    ({}, {"operator": {"install": "template"}}),
    ({"taskGovernance": {"enabled": True}}, {"operator": {"install": "template"}}),
    ({"existingVpc": VPC}, {}),
    ({"existingVpc": {**VPC, "securityGroupIds": ["sg-0a1b2c3d4e5f60718"]}}, {}),
    ({"existingVpc": VPC, "fsx": {"enabled": True}}, {}),
    (
        {"existingVpc": VPC},
        {"operator": {"install": "template"}, "eks_route_table_ids": ["rtb-0a1b2c3d4e5f60718"]},
    ),
    ({"template": {"mirrorBucket": "mlcc-hp-templates-c4c3a9d66143-88de702d"}}, {}),
    ({"vpcCidr": "10.1.0.0/16", "nodeRecovery": "None", "kubernetesVersion": "1.33"}, {}),
]


@pytest.mark.parametrize(("keys", "more"), VARIANTS)
def test_all_150_parameters_are_walked(keys: dict[str, Any], more: dict[str, Any]) -> None:
    """Every parameter sent is in the contract and does something; every one that does and whose default is a
    placeholder is set."""
    sent = parameters(keys, **more)
    live = live_parameters(CONTRACT, sent, region="us-west-2")
    switches = flags(CONTRACT)
    walked = 0
    for name, parameter in CONTRACT.parameters.items():
        walked += 1
        if name in sent:
            assert name in live or name in switches, f"{name} is sent and does nothing"
            assert isinstance(sent[name], str)
            assert not parameter.allowed or sent[name] in parameter.allowed
        elif name in live:
            assert name not in MUST_BE_SENT, f"{name} would be used at its default {parameter.default}"
            assert parameter.default == "[]", f"{name} is live and left to AWS's default of the day"
        if name in sent and name in live and name in PLACEHOLDERS:
            assert sent[name] not in ("", parameter.default), f"{name} is a placeholder"
    assert walked == 150
    assert set(sent) <= set(CONTRACT.parameters)
    assert parameter_problems(CONTRACT, sent, region="us-west-2") == ()


# -------------------------------------------------------------------------------------------- variants


def differing(sent: Mapping[str, str]) -> dict[str, str]:
    """What is sent otherwise than in the table."""
    return {name: value for name, value in sent.items() if TABLE.get(name) != value}


def test_fsx_is_sent_with_its_sizes_and_a_zone_that_has_a_subnet() -> None:
    sent = parameters(VARIANTS[1][0])
    assert differing(sent) == {
        "CreateFsxStack": "true",
        "FsxSubnetId": "",
        "FsxAvailabilityZoneId": "usw2-az1",
        "PerUnitStorageThroughput": "500",
        "DataCompressionType": "LZ4",
        "FileSystemTypeVersion": "2.15",
        "StorageCapacity": "2400",
        "DeploymentType": "PERSISTENT_2",
        "FsxFileSystemId": "",
    }


def test_observability_makes_its_workspaces_and_roles_in_place_of_using_none() -> None:
    sent = differing(parameters(VARIANTS[2][0]))
    assert {name for name, value in sent.items() if value == "true"} == {
        "EnableObservabilityFeature",
        "CreateHyperPodObservabilityRole",
        "CreatePrometheusWorkspace",
        "CreateGrafanaWorkspace",
        "CreateGrafanaRole",
    }
    assert sent["RayMetricLevel"] == "ADVANCED"
    assert sent["PrometheusWorkspaceId"] == ""


def test_the_training_operator_and_task_governance_are_switches() -> None:
    sent = differing(parameters(VARIANTS[4][0]))
    assert sent == {
        "EnableHPTrainingOperatorFeature": "true",
        "CreateTaskGovernanceClusterPolicyStack": "true",
        "PriorityClasses": "",
        "FairShare": "Disabled",
        "IdleResourceSharing": "Disabled",
    }


def test_an_existing_vpc_is_sent_with_its_subnets_and_without_addresses_to_make() -> None:
    sent = parameters({"existingVpc": VPC})
    subnets = "subnet-0a1b2c3d4e5f60718,subnet-0a1b2c3d4e5f60719"
    assert differing(sent) == {
        "CreateVPCStack": "false",
        "CreateS3EndpointStack": "false",
        "VpcId": VPC["vpcId"],
        "PrivateSubnetIds": subnets,
        "EksPrivateSubnetIds": subnets,
    }
    assert set(TABLE) - set(sent) == {"VpcCIDR", "AvailabilityZoneIds"}


def test_security_groups_of_an_existing_vpc_are_used_as_they_are() -> None:
    sent = parameters(VARIANTS[8][0])
    assert sent["CreateSecurityGroupStack"] == "false"
    assert sent["SecurityGroupIds"] == "sg-0a1b2c3d4e5f60718"
    assert "SecurityGroupId" not in sent


def test_subnets_for_eks_of_an_existing_vpc_may_be_others() -> None:
    keys = {"existingVpc": {**VPC, "eksSubnetIds": ["subnet-0a1b2c3d4e5f60720", "subnet-0a1b2c3d4e5f60721"]}}
    assert parameters(keys)["EksPrivateSubnetIds"] == "subnet-0a1b2c3d4e5f60720,subnet-0a1b2c3d4e5f60721"


def test_a_mirror_is_named_and_makes_the_stage_idle() -> None:
    sent = parameters(VARIANTS[11][0])
    assert sent["CustomBucketName"] == "mlcc-hp-templates-c4c3a9d66143-88de702d"
    assert "Stage" not in sent


def test_an_adopted_bucket_for_certificates_is_passed_on() -> None:
    sent = parameters(operator={"install": "template"}, tls_bucket="mlcc-hyperpod-tls-demo")
    assert sent["TlsCertificateBucketName"] == "mlcc-hyperpod-tls-demo"
    own = parameters(operator={"install": "template", "tlsBucket": "hyperpod-tls-team"})
    assert own["TlsCertificateBucketName"] == "hyperpod-tls-team"


def test_the_short_prefix_is_short_stable_and_of_one_profile() -> None:
    def of(profile: str, account: str = ACCOUNT) -> str:
        return short_prefix(load({"profile": profile}).names(account))

    assert of("demo") == of("demo")
    assert len({of("demo"), of("other"), of("demo", "210987654321")}) == 3
    assert all(len(of(name)) == 8 and of(name).isalnum() and of(name)[0] == "m" for name in ("a", "demo"))


def test_an_adopted_stack_keeps_its_own_parameters() -> None:
    profile = load(hyperpod({"existingStack": "console-made"}))
    with pytest.raises(ValueError, match="console-made is adopted"):
        template_parameters(profile, profile.names(ACCOUNT), zones=ZONES)


@settings(max_examples=60, deadline=None)
@given(
    name=st.from_regex(r"[a-z0-9]([a-z0-9-]{0,33}[a-z0-9])?", fullmatch=True).filter(
        lambda name: not name.endswith("-hp")
    ),
    fsx=st.booleans(),
    observability=st.booleans(),
    training=st.booleans(),
    governance=st.booleans(),
    by_template=st.booleans(),
    existing=st.booleans(),
)
def test_whatever_the_profile_asks_for_the_parameters_have_no_problem(
    name: str,
    fsx: bool,
    observability: bool,
    training: bool,
    governance: bool,
    by_template: bool,
    existing: bool,
) -> None:
    keys: dict[str, Any] = {
        "fsx": {"enabled": fsx},
        "observability": {"enabled": observability},
        "trainingOperator": {"enabled": training},
        # Governance alone is refused by the profile.
        "taskGovernance": {"enabled": governance and (training or by_template)},
        **({"existingVpc": VPC} if existing else {}),
    }
    more = {"operator": {"install": "template"}} if by_template else {}
    if len(name) == 8 and set(name) <= set("0123456789abcdef"):
        return
    profile = load(hyperpod(keys, profile=name, **more))
    sent = template_parameters(
        profile, profile.names(ACCOUNT), zones=ZONES, eks_route_table_ids=["rtb-0a1b2c3d4e5f60718"]
    )
    assert parameter_problems(CONTRACT, sent, region="us-west-2") == ()


# ---------------------------------------------------------------------------------------------- groups


def test_the_stack_gets_the_floor_and_the_rest_is_added_later() -> None:
    gpu = {"name": "gpu", "instanceType": "ml.p5.48xlarge", "instanceCount": 4}
    profile = load(hyperpod({"instanceGroups": [gpu, FLOOR]}))
    assert group_settings(stack_groups(profile.hyperpod)) == FLOOR_JSON
    assert [group.name for group in later_groups(profile.hyperpod)] == ["gpu"]


def test_a_group_is_written_with_everything_the_profile_says() -> None:
    keys = {
        "name": "gpu",
        "instanceType": "ml.p5.48xlarge",
        "instanceCount": 4,
        "minInstanceCount": 1,
        "threadsPerCore": 1,
        "ebsVolumeSize": 500,
        "labels": {"b": "2", "a": "1"},
        "trainingPlanArn": "arn:aws:sagemaker:us-west-2:123456789012:training-plan/x",
        "zone": "usw2-az2",
    }
    checked = {**keys, "name": "checked", "deepHealthChecks": ["InstanceStress"]}
    tainted = {**keys, "name": "tainted", "taints": [{"key": "a"}, {"key": "b", "value": "c"}]}
    _, first, second = load(hyperpod({"instanceGroups": [FLOOR, checked, tainted]})).hyperpod.instance_groups
    found = instance_group(first)
    assert found == {
        "InstanceGroupName": "checked",
        "InstanceType": "ml.p5.48xlarge",
        "InstanceCount": 4,
        "MinInstanceCount": 1,
        "ThreadsPerCore": 1,
        "InstanceStorageConfigs": [{"EbsVolumeConfig": {"VolumeSizeInGB": 500}}],
        "OnStartDeepHealthChecks": ["InstanceStress"],
        "TrainingPlanArn": "arn:aws:sagemaker:us-west-2:123456789012:training-plan/x",
        "KubernetesConfig": {"Labels": {"a": "1", "b": "2"}},
    }
    assert instance_group(second)["KubernetesConfig"]["Taints"] == [
        {"Key": "a", "Effect": "NoSchedule"},
        {"Key": "b", "Value": "c", "Effect": "NoSchedule"},
    ]
    assert json.loads(group_settings([first]))[0]["TargetAvailabilityZoneId"] == "usw2-az2"


def test_the_form_of_a_group_is_that_of_the_api() -> None:
    import botocore.session
    from botocore.validate import ParamValidator

    every = {
        "name": "gpu",
        "instanceType": "ml.p5.48xlarge",
        "instanceCount": 4,
        "ebsVolumeSize": 500,
        "labels": {"a": "1"},
        "taints": [{"key": "a"}],
        "threadsPerCore": 2,
    }
    group = load(hyperpod({"instanceGroups": [FLOOR, every]})).hyperpod.instance_groups[1]
    model = botocore.session.get_session().get_service_model("sagemaker")
    shape = model.shape_for("ClusterInstanceGroupSpecification")
    filled = {**instance_group(group), "ExecutionRole": f"arn:aws:iam::{ACCOUNT}:role/x"}
    report = ParamValidator().validate(filled, shape)
    assert not report.has_errors(), report.generate_report()
