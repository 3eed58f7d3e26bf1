"""The contract of AWS's template as data, its conditions, and what is live under them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlcc_infra.template import (
    ConditionError,
    evaluate,
    flags,
    live_outputs,
    live_parameters,
    live_resources,
    liveness,
    load_contract,
)
from mlcc_infra.template.liveness import Reference, references

CONTRACT = load_contract()
SWITCHES = {
    **dict.fromkeys(
        (
            "CreateVPCStack",
            "CreateSecurityGroupStack",
            "CreateEKSClusterStack",
            "CreateS3EndpointStack",
            "CreateHelmChartStack",
            "CreateHyperPodClusterStack",
        ),
        "true",
    ),
    **dict.fromkeys(
        (
            "CreateS3BucketStack",
            "CreateLifeCycleScriptStack",
            "CreateSageMakerIAMRoleStack",
            "CreateFsxStack",
            "CreateTaskGovernanceClusterPolicyStack",
            "EnableHPInferenceFeature",
            "EnableHPInferenceAddonFeature",
            "EnableObservabilityFeature",
            "EnableHPTrainingOperatorFeature",
        ),
        "false",
    ),
}
"""What the design sends for a profile with nothing extra."""


def text_of(parameter: str) -> st.SearchStrategy[str]:
    """Values of a parameter: those allowed, else the default, nothing, or something."""
    entry = CONTRACT.parameters[parameter]
    return st.sampled_from(entry.allowed or (entry.default, "", "[]", "something"))


ASSIGNMENTS = st.fixed_dictionaries({name: text_of(name) for name in sorted(flags(CONTRACT))})


def test_the_contract_has_what_was_counted_in_the_template() -> None:
    assert len(CONTRACT.parameters) == 150
    assert len(CONTRACT.conditions) == 23
    assert len(CONTRACT.resources) == 26
    assert len(CONTRACT.outputs) == 19
    assert CONTRACT.commit == "288892733c45e138bcf3bdcbae5f6de5093a239d"


def test_every_name_in_the_contract_is_defined_in_it() -> None:
    every = dict.fromkeys(CONTRACT.conditions, True)
    neither = dict.fromkeys(CONTRACT.conditions, False)
    for resource in CONTRACT.resources.values():
        assert resource.condition in CONTRACT.conditions
        assert set(resource.depends_on) <= set(CONTRACT.resources)
        for holds in (every, neither):
            for reference in references(list(resource.values.values()), holds):
                known = CONTRACT.parameters if reference.kind == "parameter" else CONTRACT.resources
                assert reference.name in known or reference.name.startswith("AWS::"), resource.name
    for output in CONTRACT.outputs.values():
        assert output.condition in CONTRACT.conditions


def test_every_default_is_allowed() -> None:
    for parameter in CONTRACT.parameters.values():
        assert not parameter.allowed or parameter.default in parameter.allowed


def test_numbers_have_their_default_as_text() -> None:
    numbers = {name: entry.default for name, entry in CONTRACT.parameters.items() if entry.type == "Number"}
    assert numbers == {
        "PerUnitStorageThroughput": "250",
        "FileSystemTypeVersion": "2.15",
        "StorageCapacity": "1200",
    }


# ------------------------------------------------------------------------------------------ conditions


def test_under_the_switches_of_the_design_seven_conditions_hold() -> None:
    assert {name for name, holds in evaluate(CONTRACT, SWITCHES).items() if holds} == {
        "CreateVPCStackCondition",
        "CreatePrivateSubnetStackCondition",
        "CreateSecurityGroupStackCondition",
        "CreateEKSClusterStackCondition",
        "CreateS3EndpointStackCondition",
        "CreateHelmChartStackCondition",
        "CreateHyperPodClusterStackCondition",
    }


def by_hand(sent: Mapping[str, str], *, region: str) -> dict[str, bool]:
    """The conditions that are more than one comparison, written out."""
    values = CONTRACT.values(sent)

    def on(name: str) -> bool:
        return values[name] == "true"

    inference, training = on("EnableHPInferenceFeature"), on("EnableHPTrainingOperatorFeature")
    eks, hyperpod, governance = (
        on("CreateEKSClusterStack"),
        on("CreateHyperPodClusterStack"),
        on("CreateTaskGovernanceClusterPolicyStack"),
    )
    return {
        "EnableHPInferenceAddonFeatureCondition": inference and on("EnableHPInferenceAddonFeature"),
        "EnableHPInferenceHelmFeatureCondition": inference and not on("EnableHPInferenceAddonFeature"),
        "EnableObservabilityFeatureCondition": on("EnableObservabilityFeature") and region == "us-west-2",
        "CreateHyperPodClusterStackCondition": hyperpod and not (eks and not on("CreateHelmChartStack")),
        "CreateRigCondition": values["RigSettings1"] != "[]",
        "TieredKVCacheConfigCondition": hyperpod and eks and values["TieredKVCacheConfig"] != "",
        "InstallCertManagerCondition": inference or training,
        "DataScientistSetupCondition": any(values[f"DataScientistRole{n}"] for n in range(1, 11)),
        "CustomBucketCondition": values["CustomBucketName"] != "",
        "EnableTaskGovernanceClusterPolicyLambdaCondition": eks and governance,
        "EnableTaskGovernanceClusterPolicyCondition": eks and hyperpod and governance,
        "CreatePrivateSubnetStackCondition": on("CreateVPCStack"),
    }


@settings(max_examples=300, deadline=None)
@given(ASSIGNMENTS, st.sampled_from(["us-west-2", "eu-west-3"]))
def test_conditions_are_what_the_template_says(sent: dict[str, str], region: str) -> None:
    found = evaluate(CONTRACT, sent, region=region)
    assert {name: found[name] for name in by_hand(sent, region=region)} == by_hand(sent, region=region)


@settings(max_examples=100, deadline=None)
@given(ASSIGNMENTS, st.sampled_from(sorted(CONTRACT.parameters)), st.text(max_size=5))
def test_only_switches_decide_conditions(sent: dict[str, str], name: str, value: str) -> None:
    if name in flags(CONTRACT):
        return
    before = evaluate(CONTRACT, sent, region="us-west-2")
    assert evaluate(CONTRACT, {**sent, name: value}, region="us-west-2") == before


def test_comparison_is_case_sensitive_as_in_cloudformation() -> None:
    assert not evaluate(CONTRACT, {"CreateVPCStack": "True"})["CreateVPCStackCondition"]


def test_the_region_is_asked_for_only_where_a_condition_looks_at_it() -> None:
    evaluate(CONTRACT, SWITCHES)
    with pytest.raises(ConditionError, match="looks at the region"):
        evaluate(CONTRACT, {**SWITCHES, "EnableObservabilityFeature": "true"})


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ({"Fn::Contains": []}, "no condition function"),
        ({"Condition": "Missing"}, "no condition 'Missing'"),
        ({"Fn::Equals": [{"Ref": "Missing"}, "x"]}, "no parameter 'Missing'"),
        ({"Fn::Equals": [{"Fn::Join": ["", []]}, "x"]}, "Fn::Join in a condition"),
        ("text", "no intrinsic function"),
    ],
)
def test_what_cannot_be_evaluated_is_an_error_and_not_false(expression: Any, words: str) -> None:
    broken = replace(CONTRACT, conditions={"X": expression})
    with pytest.raises(ConditionError, match=words):
        evaluate(broken, {})


def test_switches_are_seen_through_conditions_on_conditions() -> None:
    nested = replace(
        CONTRACT,
        conditions={
            "A": {"Fn::Equals": [{"Ref": "Stage"}, "prod"]},
            "B": {"Fn::Not": [{"Condition": "A"}]},
        },
    )
    assert flags(nested) == {"Stage"}
    assert evaluate(nested, {}) == {"A": True, "B": False}


# -------------------------------------------------------------------------------------------- liveness


def test_under_the_switches_of_the_design_eight_nested_stacks_exist() -> None:
    assert live_resources(CONTRACT, SWITCHES) == {
        "VPCStack",
        "PrivateSubnetStack",
        "SecurityGroupStack",
        "EKSClusterStack",
        "S3EndpointStack",
        "HelmChartStack",
        "HyperPodParamClusterStack",
        "HyperPodClusterStack",
    }


def test_under_the_switches_of_the_design_seven_outputs_are_there() -> None:
    assert live_outputs(CONTRACT, SWITCHES) == {
        "OutputVpcId",
        "OutputPrivateSubnetIds",
        "OutputSecurityGroupId",
        "OutputEKSClusterArn",
        "OutputEKSClusterName",
        "OutputHyperPodClusterName",
        "OutputHyperPodClusterArn",
    }


def test_under_the_switches_of_the_design_placeholders_of_networks_do_nothing() -> None:
    live = live_parameters(CONTRACT, SWITCHES)
    assert len([name for name in live if "Settings" in name]) == 40
    assert live.isdisjoint(
        {"VpcId", "NatGatewayIds", "PrivateSubnetIds", "EksPrivateSubnetIds", "PrivateRouteTableIds"}
        | {"EksPrivateRouteTableIds", "SecurityGroupIds", "FsxSubnetId", "FsxAvailabilityZoneId"}
        | {"GithubRawUrl", "ResourceNameShortPrefix", "HasGatedAccess"}
    )
    assert {"S3BucketName", "SageMakerIAMRoleName", "OnCreatePath", "AvailabilityZoneIds"} <= live


def test_a_parameter_that_nothing_uses_is_never_live() -> None:
    everything_on = {
        name: "true" for name, entry in CONTRACT.parameters.items() if entry.allowed == ("true", "false")
    }
    assert "GithubRawUrl" not in live_parameters(CONTRACT, everything_on, region="us-west-2")


def test_a_mirror_makes_the_stage_idle() -> None:
    assert "Stage" in live_parameters(CONTRACT, SWITCHES)
    mirrored = live_parameters(CONTRACT, {**SWITCHES, "CustomBucketName": "mirror"})
    assert "Stage" not in mirrored
    assert "CustomBucketName" in mirrored


def test_the_address_of_nested_templates_uses_the_stage_or_the_mirror() -> None:
    off = {name: "false" for name, entry in CONTRACT.parameters.items() if entry.allowed == ("true", "false")}
    alone = {**off, "CreateVPCStack": "true"}
    assert "Stage" in live_parameters(CONTRACT, alone)
    assert "CustomBucketName" in live_parameters(CONTRACT, {**alone, "CustomBucketName": "mirror"})
    assert "Stage" not in live_parameters(CONTRACT, off)


def test_substitutions_refer_to_what_they_name() -> None:
    expression = {"Fn::Sub": ["${Given}-${Plain}-${Stack.Outputs.X}", {"Given": {"Ref": "Used"}}]}
    assert list(references(expression, {})) == [
        Reference("parameter", "Used"),
        Reference("parameter", "Plain"),
        Reference("attribute", "Stack"),
    ]


@settings(max_examples=200, deadline=None)
@given(ASSIGNMENTS)
def test_what_a_dead_parameter_is_set_to_changes_nothing(sent: dict[str, str]) -> None:
    found = liveness(CONTRACT, sent, region="us-west-2")
    idle = set(CONTRACT.parameters) - found.parameters - flags(CONTRACT)
    assert liveness(CONTRACT, {**sent, **dict.fromkeys(idle, "x")}, region="us-west-2") == found
