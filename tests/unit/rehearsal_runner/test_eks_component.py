"""The eks stand-in's pure parts: what it refuses, the kubeconfig, the CNI's configuration."""

from __future__ import annotations

import json
from typing import Any

import pulumi
import pytest

from mlcc_rehearsal.plugins.eks.kubeconfig import compact_json, credential_options, kubeconfig, region_of
from mlcc_rehearsal.plugins.eks.options import MODELLED, check, known_names, refusals
from mlcc_rehearsal.plugins.eks.vpc_cni import configuration

pulumi_eks = pytest.importorskip("pulumi_eks")
BASE = {"skipDefaultNodeGroup": True}


def refused(**inputs: Any) -> dict[str, str]:
    return {refusal.path: refusal.reason for refusal in refusals({**BASE, **inputs})}


def test_everything_modelled_is_known_to_the_installed_component() -> None:
    assert known_names(pulumi_eks.ClusterArgs) >= MODELLED


def test_what_is_modelled_is_taken() -> None:
    assert refused(**dict.fromkeys(MODELLED - {"subnetIds", "authenticationMode", "accessEntries"})) == {
        "skipDefaultNodeGroup": refused(skipDefaultNodeGroup=None)["skipDefaultNodeGroup"]
    }
    assert refused(authenticationMode="API", accessEntries={"a": {"principalArn": "arn"}}) == {}


def test_an_input_the_component_does_not_have_is_refused() -> None:
    assert "has no input 'clusterNmae'" in refused(clusterNmae="x")["clusterNmae"]


def test_nested_inputs_are_checked_as_well() -> None:
    found = refused(corednsAddonOptions={"enabeld": True}, vpcCniOptions={"addonVersion": "v1", "warm": 1})
    assert set(found) == {"corednsAddonOptions.enabeld", "vpcCniOptions.warm"}


@pytest.mark.parametrize("name", ["autoMode", "fargate", "storageClasses", "proxy", "instanceRole", "gpu"])
def test_what_is_not_modelled_says_where_to_add_it(name: str) -> None:
    reason = refused(**{name: {"enabled": True}})[name]
    assert "mlcc_rehearsal/plugins/eks/" in reason or "default node group" in reason


@pytest.mark.parametrize("value", [None, False, [], {}])
def test_an_input_that_asks_for_nothing_is_taken(value: object) -> None:
    assert refused(fargate=value, createOidcProvider=value, roleMappings=value) == {}


def test_the_default_node_group_must_be_skipped() -> None:
    assert "aws.eks.NodeGroup" in {r.path: r.reason for r in refusals({})}["skipDefaultNodeGroup"]


def test_access_entries_need_an_authentication_mode_that_knows_them() -> None:
    assert "accessEntries" in refused(accessEntries={"a": {"principalArn": "arn"}})
    assert refused(authenticationMode="IAM").keys() == {"authenticationMode"}


def test_two_ways_to_give_subnets_exclude_each_other() -> None:
    assert "subnetIds" in refused(subnetIds=["a"], privateSubnetIds=["b"])


def test_all_refusals_come_at_once() -> None:
    with pytest.raises(pulumi.InputPropertiesError) as raised:
        check({"nonsense": 1, "fargate": True})
    assert raised.value.errors is not None
    assert [error["property_path"] for error in raised.value.errors] == [
        "nonsense", "fargate", "skipDefaultNodeGroup",
    ]  # fmt: skip


def make(**changes: Any) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "name": "mlcc-demo-eks",
        "endpoint": "https://127.0.0.1:1",
        "region": "us-west-2",
        "certificate_authority": "Q0E=",
        "credentials": {"profileName": "corp", "roleArn": "arn:role"},
        "with_profile": True,
    }
    return kubeconfig(**{**arguments, **changes})


def exec_arguments(config: dict[str, Any]) -> list[str]:
    arguments: list[str] = config["users"][0]["user"]["exec"]["args"]
    return arguments


def test_the_kubeconfig_asks_the_aws_command_for_a_token() -> None:
    assert exec_arguments(make(credentials=None)) == (
        ["--region", "us-west-2", "eks", "get-token", "--cluster-name", "mlcc-demo-eks", "--output", "json"]
    )
    assert make()["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:1"


def test_the_profile_is_named_only_where_it_is_the_callers_own() -> None:
    assert exec_arguments(make())[-4:] == ["--role", "arn:role", "--profile", "corp"]
    assert "--profile" not in exec_arguments(make(with_profile=False))


def test_the_components_profile_is_as_given_else_the_environments_else_the_configured_one() -> None:
    ambient = {"AWS_PROFILE": "ambient"}
    assert credential_options({"profileName": "team"}, ambient, None) == {"profileName": "team"}
    assert credential_options({}, ambient, "configured") == {}
    assert credential_options(None, ambient, "configured") == {"profileName": "ambient"}
    assert credential_options(None, {}, "configured") == {"profileName": "configured"}
    assert credential_options(None, {}, None) is None


def test_json_is_written_as_javascript_writes_it() -> None:
    assert compact_json({"b": [1, True], "a": "é"}) == '{"b":[1,true],"a":"é"}'
    assert list(json.loads(compact_json(make()))) == [
        "apiVersion", "clusters", "contexts", "current-context", "kind", "users",
    ]  # fmt: skip


def test_the_region_is_the_arns() -> None:
    assert region_of("arn:aws:eks:eu-west-1:123456789012:cluster/x") == "eu-west-1"
    with pytest.raises(ValueError, match="Invalid ARN"):
        region_of("not-an-arn")


def test_the_cni_gets_the_components_defaults() -> None:
    made = configuration({})
    assert made["env"]["WARM_ENI_TARGET"] == "1"
    assert made["env"]["AWS_VPC_K8S_CNI_EXTERNALSNAT"] == "false"
    assert made["init"] == {"env": {"DISABLE_TCP_EARLY_DEMUX": "false"}}


def test_given_values_win_over_defaults_at_every_depth() -> None:
    values = {"env": {"WARM_ENI_TARGET": "3"}, "init": {"env": {"X": "1"}, "resources": {}}, "replicas": 2}
    made = configuration(
        {"configurationValues": values, "enablePrefixDelegation": True, "enableNetworkPolicy": True}
    )
    assert made["env"]["WARM_ENI_TARGET"] == "3"
    assert made["env"]["ENABLE_PREFIX_DELEGATION"] == "true"
    assert made["init"]["env"] == {"DISABLE_TCP_EARLY_DEMUX": "false", "X": "1"}
    assert (made["replicas"], made["enableNetworkPolicy"]) == (2, "true")


def test_contradicting_options_are_refused() -> None:
    with pytest.raises(ValueError, match="cniExternalSnat"):
        configuration({"cniExternalSnat": True, "externalSnat": True})
