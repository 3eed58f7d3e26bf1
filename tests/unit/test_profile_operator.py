"""Checks of the inference operator."""

from __future__ import annotations

import pytest

from tests.unit.profile_support import hyperpod, load, operator_only, problems, warnings

ROLE = "arn:aws:iam::123456789012:role/SageMakerHyperPodInference-team"


def operator(**keys: object) -> dict[str, object]:
    """Keys of a HyperPod profile with these settings under `mlcc:operator`."""
    return hyperpod(operator=keys)


def test_operator_only_names_the_cluster_it_goes_to() -> None:
    profile = load(operator_only())
    assert profile.operator.cluster is not None
    assert profile.operator.cluster.eks_cluster_name == "theirs"
    found = problems({"targets": ["operator-only"]})["mlcc:operator.cluster"]
    assert "hyperPodClusterArn" in found.remedy


def test_a_cluster_without_its_target_is_refused() -> None:
    keys = operator_only() | {"targets": ["hyperpod-eks"]}
    assert "without target operator-only" in problems(keys)["mlcc:operator.cluster"].found


@pytest.mark.parametrize(
    "arn",
    [
        "",
        "arn:aws:eks:us-west-2:123456789012:cluster/theirs",
        "arn:aws:sagemaker:us-west-2:123456789012:cluster/my-cluster",
        "arn:aws:sagemaker:us-west-2:12345678901:cluster/abcdefghijkl",
    ],
)
def test_an_arn_that_is_not_a_hyperpod_clusters_is_refused(arn: str) -> None:
    keys = {
        "targets": ["operator-only"],
        "operator": {"cluster": {"eksClusterName": "x", "hyperPodClusterArn": arn}},
    }
    assert "mlcc:operator.cluster.hyperPodClusterArn" in problems(keys)


def test_a_cluster_of_another_region_or_account_is_refused() -> None:
    key = "mlcc:operator.cluster.hyperPodClusterArn"
    assert "us-west-2" in problems(operator_only(), region="us-east-1")[key].found
    assert "210987654321" in problems(operator_only(accountId="210987654321"))[key].found


# ------------------------------------------------------------------------------------ version, install


@pytest.mark.parametrize("version", ["latest", "v2.1.0", "v9.0.0-eksbuild.1"])
def test_a_version_without_a_known_configuration_is_refused(version: str) -> None:
    assert "mlcc:operator.version" in problems(operator(version=version))


def test_the_gateway_needs_an_addon_that_has_it() -> None:
    assert (
        "v2.0.0-eksbuild.2"
        in problems(operator(version="v1.5.0-eksbuild.1", gateway={"enabled": True}))[
            "mlcc:operator.gateway.enabled"
        ].found
    )
    assert load(operator(gateway={"enabled": True})).operator.gateway.enabled


def test_an_old_version_is_warned_about() -> None:
    assert "v1.2.0" in warnings(operator(version="v1.0.0-eksbuild.1"))["mlcc:operator.version"].found


def test_installation_by_the_template_is_for_hyperpod_eks_with_its_own_roles() -> None:
    key = "mlcc:operator.install"
    assert "v1.0.0" in warnings(operator(install="template"))[key].found
    assert key in problems(operator_only({"install": "template"}))
    assert key in problems(operator(install="template", gateway={"enabled": True}))
    assert key in problems(operator(install="template", roles={"execution": ROLE}))


# --------------------------------------------------------------------------------------- roles, bucket


def test_an_execution_role_with_the_prefix_at_the_root_is_accepted() -> None:
    assert load(operator(roles={"execution": ROLE})).operator.roles.execution == ROLE


@pytest.mark.parametrize(
    ("arn", "reason"),
    [
        ("arn:aws:iam::123456789012:role/mlcc-demo-hyperpod-inference-role", "SageMakerHyperPodInference"),
        ("arn:aws:iam::123456789012:role/team/SageMakerHyperPodInference-x", "path"),
        ("SageMakerHyperPodInference-x", "another form"),
    ],
)
def test_rule_09_another_execution_role_is_refused(arn: str, reason: str) -> None:
    assert reason in problems(operator(roles={"execution": arn}))["mlcc:operator.roles.execution"].found


def test_a_role_of_another_account_is_refused() -> None:
    keys = operator(roles={"kedaOperator": "arn:aws:iam::123456789012:role/keda"}) | {
        "accountId": "210987654321"
    }
    assert "210987654321" in problems(keys)["mlcc:operator.roles.kedaOperator"].found


def test_a_tls_bucket_of_a_predecessor_is_accepted_and_an_odd_one_warned_about() -> None:
    key = "mlcc:operator.tlsBucket"
    assert key not in warnings(operator(tlsBucket="mlcc-hyperpod-tls-demo"))
    assert "unverified" in warnings(operator(tlsBucket="certificates"))[key].found
    assert "dots" in problems(operator(tlsBucket="hyperpod-tls.example"))[key].found


# --------------------------------------------------------------------------- configuration and add-ons


@pytest.mark.parametrize(
    ("configuration", "key", "reason"),
    [
        ({"executionRoleArn": ROLE}, "executionRoleArn", "sets from the other keys"),
        ({"inferenceGateway": {"enabled": True}}, "inferenceGateway", "sets from the other keys"),
        ({"toleration": []}, "toleration", "'tolerations'"),
        ({"affinity": {"a": None}}, "affinity", "JSON null"),
    ],
)
def test_configuration_that_would_be_refused_or_fought_over_is_refused(
    configuration: dict[str, object], key: str, reason: str
) -> None:
    found = problems(operator(configuration=configuration))[f"mlcc:operator.configuration.{key}"]
    assert reason in found.found


def test_free_configuration_is_accepted() -> None:
    tolerations = [{"key": "x", "operator": "Exists"}]
    assert load(operator(configuration={"tolerations": tolerations})).operator.configuration["tolerations"]


def test_a_prerequisite_below_the_documented_minimum_is_refused() -> None:
    key = 'mlcc:operator.addons["cert-manager"].version'
    assert (
        "v1.18.2-eksbuild.2"
        in problems(operator(addons={"cert-manager": {"version": "v1.17.0-eksbuild.1"}}))[key].found
    )
    assert not problems(operator(addons={"cert-manager": {"version": "v1.18.2-eksbuild.2"}}))


def test_an_addon_that_is_no_prerequisite_is_refused() -> None:
    assert "'metrics-server'" in str(problems(operator(addons={"metric-server": {}})))


def test_two_owners_of_one_cluster_wide_thing_are_refused() -> None:
    cluster = {
        "eksClusterName": "mlcc-demo-eks",
        "hyperPodClusterArn": "arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghijkl",
    }
    keys: dict[str, object] = {
        "targets": ["vanilla-eks", "operator-only"],
        "operator": {"cluster": cluster},
        "eks": {"loadBalancerController": {"enabled": True}, "addons": {"cert-manager": {}}},
    }
    found = problems(keys)
    assert "mlcc:operator.loadBalancerController.enabled" in found
    assert 'mlcc:operator.addons["cert-manager"].enabled' in found
    keys["operator"] = {
        "cluster": cluster,
        "loadBalancerController": {"enabled": False},
        "addons": {"cert-manager": {"enabled": False}},
    }
    assert problems(keys) == {}
