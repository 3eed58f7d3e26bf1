"""Field reports, group E: HyperPod clusters. Rows that need no engine."""

from __future__ import annotations

import pytest

from mlcc_infra.instance_types import instance_type
from mlcc_infra.template import load_contract, parameter_problems
from mlcc_infra.template.efa import efa_problem
from tests.unit.profile_support import hyperpod, problems, warnings
from tests.unit.test_template_parameters import TABLE

GROUPS = "mlcc:hyperpod.instanceGroups"


def groups(*entries: tuple[str, str, int]) -> dict[str, object]:
    """Keys of a HyperPod profile with these groups: name, type, count."""
    listed = [{"name": name, "instanceType": kind, "instanceCount": count} for name, kind, count in entries]
    return hyperpod({"instanceGroups": listed})


@pytest.mark.parametrize("path", ["s3://sagemaker-bucket/on_create.sh", "/on_create.sh"])
def test_e3_a_script_given_as_an_address_or_with_a_leading_slash_is_refused(path: str) -> None:
    sent = {**TABLE, "OnCreatePath": path}
    (found,) = parameter_problems(load_contract(), sent, region="us-west-2")
    assert found.key == "OnCreatePath"


def test_e6_egress_to_everybody_is_no_rule_for_efa() -> None:
    everybody = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
    itself = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": "sg-0a1b2c3d"}]}
    found = efa_problem("sg-0a1b2c3d", ingress=[itself], egress=[everybody])
    assert found is not None
    assert "egress" in found
    assert efa_problem("sg-0a1b2c3d", ingress=[itself], egress=[everybody, itself]) is None


def test_e7_a_floor_of_one_small_gpu_node_is_refused_with_the_floor() -> None:
    found = problems(groups(("default-worker", "ml.g5.xlarge", 1)))
    assert any("default-worker: 2 × ml.c5.4xlarge" in problem.remedy for problem in found.values())


def test_e7_a_floor_is_judged_by_the_pods_it_holds() -> None:
    assert instance_type("ml.g5.xlarge").hyperpod_pods == 14
    assert "13" in problems(groups(("default-worker", "ml.c5.large", 2)))[GROUPS].found
    assert not problems(groups(("default-worker", "ml.c5.4xlarge", 1)))


@pytest.mark.parametrize(
    ("name", "efa"), [("ml.g5.xlarge", False), ("ml.p5.48xlarge", True), ("ml.g5.8xlarge", True)]
)
def test_e8_one_table_says_which_types_have_efa(name: str, efa: bool) -> None:
    assert instance_type(name).has_efa == efa


def test_e9_an_unknown_region_is_refused_and_one_where_hyperpod_was_not_seen_is_said() -> None:
    assert "aws:region" in problems(hyperpod(), region="eu-west-9")
    assert "unverified" in warnings(hyperpod(), region="eu-west-3")["aws:region"].found


def test_e12_a_cluster_of_gpu_groups_alone_is_refused() -> None:
    found = problems(groups(("gpu", "ml.g5.8xlarge", 2), ("big", "ml.p5.48xlarge", 1)))[GROUPS]
    assert "no x86 CPU group" in found.found


def test_e12_a_vanilla_cluster_without_a_node_for_dns_is_refused() -> None:
    keys = {"eks": {"nodeGroups": [{"name": "gpu", "taints": [{"key": "nvidia.com/gpu"}]}]}}
    assert "CoreDNS" in problems(keys)["mlcc:eks.nodeGroups"].found
