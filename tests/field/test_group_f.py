"""Field reports, group F: operator, load balancer controller, cert-manager. Rows that need no engine."""

from __future__ import annotations

import pytest

from mlcc_infra import versions
from tests.unit.profile_support import hyperpod, load, problems

ON_OUR_CLUSTER = {
    "eksClusterName": "mlcc-demo-eks",
    "hyperPodClusterArn": "arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghijkl",
}


def both(**eks: object) -> dict[str, object]:
    """The operator put on the profile's own vanilla cluster, with these settings of the cluster."""
    return {"targets": ["vanilla-eks", "operator-only"], "operator": {"cluster": ON_OUR_CLUSTER}, "eks": eks}


def test_f2_two_load_balancer_controllers_on_one_cluster_are_refused() -> None:
    keys = both(loadBalancerController={"enabled": True})
    assert (
        "two load balancer controllers"
        in problems(keys)["mlcc:operator.loadBalancerController.enabled"].found
    )
    assert not problems(both())


def test_f8_cert_manager_from_two_sides_is_refused() -> None:
    found = problems(both(addons={"cert-manager": {}}))
    assert "twice on mlcc-demo-eks" in found['mlcc:operator.addons["cert-manager"].enabled'].found


def test_f10_an_operator_version_without_a_known_configuration_is_refused() -> None:
    found = problems(hyperpod(operator={"version": "v7.0.0-eksbuild.1"}))["mlcc:operator.version"]
    assert versions.OPERATOR_ADDON in found.found
    assert load(hyperpod()).operator.version == versions.OPERATOR_ADDON


def test_f11_a_floor_of_graviton_is_refused() -> None:
    group = {"name": "default-worker", "instanceType": "ml.c6g.4xlarge", "instanceCount": 2}
    found = problems(hyperpod({"instanceGroups": [group]}))["mlcc:hyperpod.instanceGroups[0]"]
    assert "amd64 only" in found.found


@pytest.mark.parametrize("arn", ["", "arn:aws:eks:us-west-2:123456789012:cluster/x"])
def test_f12_an_empty_cluster_arn_or_that_of_an_eks_cluster_is_refused(arn: str) -> None:
    cluster = {"eksClusterName": "x", "hyperPodClusterArn": arn}
    keys = {"targets": ["operator-only"], "operator": {"cluster": cluster}}
    assert "mlcc:operator.cluster.hyperPodClusterArn" in problems(keys)
