"""Physical names: what names.md says, and that each fits its service."""

from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlcc_infra.naming import (
    MAX_PROFILE_LENGTH,
    PREDECESSOR_TEMPLATES,
    PROFILE_PATTERN,
    SSM_KEYS,
    TEMPLATES,
    Names,
    default_profile,
    location_hash,
    name_problems,
)

DEMO = Names("demo", "123456789012", "us-west-2")
PROFILES = st.from_regex(r"[a-z0-9](?:[a-z0-9-]{0,33}[a-z0-9])?", fullmatch=True)


def test_the_hash_of_a_place_is_the_documented_one() -> None:
    assert location_hash("123456789012", "us-west-2") == "88de702d"


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ("eks_cluster_role", "mlcc-demo-eks-cluster-role"),
        ("eks_node_role", "mlcc-demo-eks-node-role"),
        ("fargate_pod_exec_role", "mlcc-demo-fargate-pod-exec-role"),
        ("hyperpod_instance_role", "mlcc-demo-hyperpod-instance-role"),
        ("eks_cluster", "mlcc-demo-eks"),
        ("eks_inference_role", "mlcc-demo-eks-inference-role"),
        ("eks_alb_controller_role", "mlcc-demo-eks-alb-controller-role"),
        ("eks_alb_controller_policy", "mlcc-demo-eks-alb-controller-policy"),
        ("hyperpod_stack", "mlcc-demo-hp"),
        ("hyperpod_eks_cluster", "mlcc-demo-hp-eks"),
        ("hyperpod_cluster", "mlcc-demo-hyperpod"),
        ("lifecycle_bucket", "sagemaker-mlcc-demo-88de702d"),
        ("operator_execution_role", "SageMakerHyperPodInference-demo"),
        ("alb_controller_role", "mlcc-demo-alb-controller-role"),
        ("alb_controller_policy", "mlcc-demo-alb-controller-policy"),
        ("keda_operator_role", "mlcc-demo-keda-operator-role"),
        ("s3_csi_role", "mlcc-demo-s3-csi-role"),
        ("fsx_csi_role", "mlcc-demo-fsx-csi-role"),
        ("gated_model_role", "mlcc-demo-gated-model-role"),
        ("gateway_role", "mlcc-demo-gateway-role"),
        ("tls_bucket", "hyperpod-tls-mlcc-demo-88de702d"),
        ("predecessor_tls_bucket", "mlcc-hyperpod-tls-demo"),
        ("predecessor_inference_role", "mlcc-demo-hyperpod-inference-role"),
    ],
)
def test_a_name_is_the_one_of_the_contract(attribute: str, expected: str) -> None:
    assert getattr(DEMO, attribute) == expected


def test_every_template_has_a_property_of_its_name() -> None:
    missing = [key for key in TEMPLATES if not isinstance(getattr(Names, key, None), property)]
    assert not missing


def test_the_mirror_is_named_by_twelve_digits_of_the_digest_and_the_place() -> None:
    assert DEMO.template_mirror("ab" * 32) == "mlcc-hp-templates-abababababab-88de702d"


@pytest.mark.parametrize("digest", ["", "abc", "XYZ" * 10, "AB" * 32])
def test_a_mirror_without_a_digest_is_refused(digest: str) -> None:
    with pytest.raises(ValueError, match="digest"):
        DEMO.template_mirror(digest)


def test_published_parameters_have_the_predecessors_spelling() -> None:
    assert DEMO.ssm_parameter("hyperpod", "HyperpodInferenceRoleArn") == (
        "/mlcc/demo/hyperpod/HyperpodInferenceRoleArn"
    )
    assert DEMO.ssm_prefix("eks") == "/mlcc/demo/eks/"
    assert {len(keys) for keys in SSM_KEYS.values()} == {15, 11}


def test_a_parameter_outside_the_contract_is_refused_with_what_there_is() -> None:
    with pytest.raises(KeyError, match="EksClusterName"):
        DEMO.ssm_parameter("eks", "ClusterName")
    with pytest.raises(KeyError, match="hyperpod"):
        DEMO.ssm_prefix("sagemaker")


def test_the_longest_profile_name_has_35_characters() -> None:
    assert MAX_PROFILE_LENGTH == 35
    assert name_problems("a" * 35) == ()


def test_one_character_more_is_refused_with_every_offender_and_the_length_that_fits() -> None:
    found = name_problems("a" * 36)
    assert {problem.thing for problem in found} == {
        "load balancer controller role (vanilla-eks)",
        "inference role (predecessor)",
        "TLS bucket (older predecessor)",
    }
    for problem in found:
        assert problem.name in str(problem)
        assert str(problem.limit.maximum) in str(problem)
        assert "at most 35" in str(problem)


def test_a_name_with_other_characters_is_refused_by_the_services_that_mind() -> None:
    services = {problem.limit.service for problem in name_problems("My_Profile")}
    assert {"S3 bucket", "HyperPod cluster", "CloudFormation stack"} <= services
    assert "IAM role" not in services


@given(PROFILES)
def test_every_name_of_a_valid_profile_fits_its_service(profile: str) -> None:
    assert name_problems(profile) == ()
    names = Names(profile, "123456789012", "ap-southeast-4")
    for template in (*TEMPLATES.values(), *PREDECESSOR_TEMPLATES.values()):
        name = template.render(profile, names.location)
        assert len(name) <= template.limit.maximum
        assert re.fullmatch(template.limit.pattern, name)
        assert profile in name, "a name is never truncated"


@given(PROFILES, PROFILES)
def test_two_profiles_share_no_name_unless_one_ends_in_hp(first: str, second: str) -> None:
    if first == second or first.endswith("-hp") or second.endswith("-hp"):
        return
    rendered = [
        {template.render(profile, "88de702d") for template in TEMPLATES.values()}
        for profile in (first, second)
    ]
    shared = rendered[0] & rendered[1]
    # `a-eks` and `a` share `mlcc-a-eks-alb-controller-…`, of different targets: warned about, told by tags.
    assert all("alb-controller" in name for name in shared)


@given(st.integers(min_value=36, max_value=80))
def test_a_name_that_is_too_long_always_has_an_offender(length: int) -> None:
    assert name_problems("a" * length)


def test_names_depend_on_account_and_region_only_where_names_are_global() -> None:
    other = Names("demo", "210987654321", "eu-west-1")
    differing = {key for key in TEMPLATES if getattr(DEMO, key) != getattr(other, key)}
    assert differing == {"lifecycle_bucket", "tls_bucket"}


def test_names_cannot_be_changed_after_the_fact() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        DEMO.profile = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("stack", "profile"), [("mlcc-demo", "demo"), ("demo", "demo"), ("mlcc-mlcc-x", "mlcc-x")]
)
def test_the_profile_is_the_stack_without_its_prefix(stack: str, profile: str) -> None:
    assert default_profile(stack) == profile
    assert PROFILE_PATTERN.fullmatch(profile)
