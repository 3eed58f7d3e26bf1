"""Configuration values of the operator's add-on: what is always sent, what only with a value."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mlcc_infra.operator_configuration import OWN_KEYS, OperatorConfiguration, knows_gateway

ARN = "arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghijkl"
ROLE = "arn:aws:iam::123456789012:role"
PLAIN = OperatorConfiguration(
    version="v2.1.0-eksbuild.1",
    execution_role_arn=f"{ROLE}/SageMakerHyperPodInference-demo",
    tls_bucket="hyperpod-tls-mlcc-demo-88de702d",
    hyperpod_cluster_arn=ARN,
    alb_role_arn=f"{ROLE}/alb",
    keda_role_arn=f"{ROLE}/keda",
)


def test_the_required_keys_and_the_cluster_are_always_sent() -> None:
    values = PLAIN.values()
    assert values["executionRoleArn"].endswith("SageMakerHyperPodInference-demo")
    assert values["tlsCertificateS3Bucket"] == "hyperpod-tls-mlcc-demo-88de702d"
    assert values["hyperpodClusterArn"] == ARN


@pytest.mark.parametrize("arn", ["", "arn:aws:eks:us-west-2:123456789012:cluster/demo", f"{ARN}x"])
def test_a_cluster_arn_that_is_none_is_refused(arn: str) -> None:
    with pytest.raises(ValueError, match="not the ARN of a HyperPod cluster"):
        replace(PLAIN, hyperpod_cluster_arn=arn).values()


def test_optional_roles_are_left_out_without_a_value() -> None:
    assert "jumpstartGatedModelDownloadRoleArn" not in PLAIN.values()
    gated = replace(PLAIN, gated_model_role_arn=f"{ROLE}/gated").values()
    assert gated["jumpstartGatedModelDownloadRoleArn"] == f"{ROLE}/gated"


def test_roles_sit_where_the_addon_looks_for_them() -> None:
    values = PLAIN.values()
    assert values["alb"] == {
        "enabled": True,
        "serviceAccount": {"create": True, "roleArn": f"{ROLE}/alb"},
    }
    assert values["keda"]["auth"]["aws"]["irsa"] == {"enabled": True, "roleArn": f"{ROLE}/keda"}


def test_parts_without_a_role_are_switched_off() -> None:
    values = replace(PLAIN, alb_role_arn=None, keda_role_arn=None).values()
    assert (values["alb"], values["keda"]) == ({"enabled": False}, {"enabled": False})


@pytest.mark.parametrize(
    ("version", "known"),
    [("v1.5.0-eksbuild.1", False), ("v2.0.0-eksbuild.2", True), ("v2.1.0-eksbuild.1", True)],
)
def test_the_gateway_is_said_explicitly_to_versions_that_know_it(version: str, known: bool) -> None:
    assert knows_gateway(version) is known
    values = replace(PLAIN, version=version).values()
    assert values.get("inferenceGateway") == ({"enabled": False} if known else None)


def test_a_gateway_that_is_on_comes_with_its_role() -> None:
    values = replace(PLAIN, gateway_enabled=True, gateway_role_arn=f"{ROLE}/gateway").values()
    assert values["inferenceGateway"] == {"enabled": True, "serviceAccount": {"roleArn": f"{ROLE}/gateway"}}


def test_further_configuration_never_replaces_what_this_product_sets() -> None:
    more: dict[str, Any] = {"tolerations": [], **dict.fromkeys(OWN_KEYS, "somebody else's")}
    values = replace(PLAIN, more=more).values()
    assert values["tolerations"] == []
    assert values["executionRoleArn"] == PLAIN.execution_role_arn
