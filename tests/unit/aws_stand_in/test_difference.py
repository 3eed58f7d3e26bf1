"""What Diff sees between a state and new inputs."""

import json
from typing import Any

import pytest

from mlcc_rehearsal.plugins.aws import catalogue
from mlcc_rehearsal.plugins.aws.difference import Difference, compare, plain_path
from mlcc_rehearsal.plugins.values import UNKNOWN

ROLE = "aws:iam/role:Role"
CLUSTER = "aws:eks/cluster:Cluster"


def policy(**more: Any) -> str:
    statement = {
        "Effect": "Allow",
        "Action": "sts:AssumeRole",
        "Principal": {"Service": "ec2.amazonaws.com"},
        **more,
    }
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def diff(token: str, old: dict[str, Any], new: dict[str, Any], *ignored: str) -> Difference:
    return compare(catalogue.resources()[token], old, new, ignored)


def changes(difference: Difference) -> dict[str, str]:
    return {
        change.path: change.kind + ("_REPLACE" if change.replace else "") for change in difference.changes
    }


BASE: dict[str, Any] = {"name": "r", "assumeRolePolicy": policy(), "path": "/", "maxSessionDuration": 3600}


def test_policies_that_grant_the_same_are_no_difference() -> None:
    same = json.dumps(
        {
            "Statement": {
                "Action": ["sts:assumerole"],
                "Effect": "Allow",
                "Principal": {"Service": ["ec2.amazonaws.com"]},
            },
            "Version": "2012-10-17",
        }
    )
    assert changes(diff(ROLE, BASE, {**BASE, "assumeRolePolicy": same})) == {}


def test_policies_that_grant_other_things_are_an_update() -> None:
    other = policy(Principal={"Service": ["ec2.amazonaws.com", "eks.amazonaws.com"]})
    assert changes(diff(ROLE, BASE, {**BASE, "assumeRolePolicy": other})) == {"assumeRolePolicy": "UPDATE"}


def test_a_new_name_replaces_and_the_old_one_goes_first_only_where_the_name_is_fixed() -> None:
    renamed = diff(ROLE, BASE, {**BASE, "name": "other"})
    assert changes(renamed) == {"name": "UPDATE_REPLACE"}
    assert renamed.replaces == ["name"]
    assert not renamed.delete_before_replace
    moved = diff(ROLE, BASE, {**BASE, "path": "/x/"})
    assert moved.delete_before_replace, "both roles would have the name the program gives"
    auto = diff(ROLE, BASE, {**BASE, "path": "/x/", "__defaults": ["name"]})
    assert not auto.delete_before_replace


def test_leaving_out_what_aws_fills_is_no_difference_and_leaving_out_the_rest_is() -> None:
    old = {**BASE, "managedPolicyArns": ["arn:a"], "description": "words", "permissionsBoundary": "arn:b"}
    assert changes(diff(ROLE, old, BASE)) == {"description": "DELETE", "permissionsBoundary": "DELETE"}


def test_zero_values_are_the_same_as_nothing() -> None:
    old = {**BASE, "description": "", "permissionsBoundary": None, "tags": {}}
    assert changes(diff(ROLE, old, {**BASE, "forceDetachPolicies": False})) == {}


def test_an_input_left_out_counts_as_its_default() -> None:
    new = {key: value for key, value in BASE.items() if key != "maxSessionDuration"}
    assert changes(diff(ROLE, {**BASE, "maxSessionDuration": 7200}, new)) == {"maxSessionDuration": "UPDATE"}
    assert changes(diff(ROLE, BASE, new)) == {}


def test_tags_changed_out_of_band_show_one_by_one() -> None:
    old = {**BASE, "tags": {"a": "b", "foreign": "x"}, "tagsAll": {"a": "b", "foreign": "x"}}
    new = {**BASE, "tags": {"a": "c", "k8s.io/role": "1"}, "tagsAll": {"a": "c", "k8s.io/role": "1"}}
    assert changes(diff(ROLE, old, new)) == {
        "tags.a": "UPDATE",
        "tags.foreign": "DELETE",
        'tags["k8s.io/role"]': "ADD",
        "tagsAll.a": "UPDATE",
        "tagsAll.foreign": "DELETE",
        'tagsAll["k8s.io/role"]': "ADD",
    }


def test_sets_in_another_order_are_the_same_and_lists_are_not() -> None:
    group: dict[str, Any] = {
        "clusterName": "c",
        "nodeGroupName": "g",
        "subnetIds": ["a", "b"],
        "instanceTypes": ["x", "y"],
    }
    token = "aws:eks/nodeGroup:NodeGroup"
    assert changes(diff(token, group, {**group, "subnetIds": ["b", "a"]})) == {}
    assert changes(diff(token, group, {**group, "instanceTypes": ["y", "x"]})) == {
        "instanceTypes": "UPDATE_REPLACE"
    }


def test_blocks_are_compared_by_property_and_computed_ones_left_out_are_no_difference() -> None:
    old = {
        "name": "c",
        "roleArn": "arn:r",
        "accessConfig": {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": True},
        "vpcConfig": {
            "subnetIds": ["a"],
            "endpointPublicAccess": True,
            "endpointPrivateAccess": False,
            "vpcId": "vpc-1",
            "publicAccessCidrs": ["0.0.0.0/0"],
        },
        "version": "1.34",
        "bootstrapSelfManagedAddons": True,
    }
    new: dict[str, Any] = {"name": "c", "roleArn": "arn:r", "vpcConfig": {"subnetIds": ["a"]}}
    assert changes(diff(CLUSTER, old, new)) == {}
    new["vpcConfig"] = {"subnetIds": ["a", "b"], "endpointPrivateAccess": True}
    assert changes(diff(CLUSTER, old, new)) == {
        "vpcConfig.subnetIds": "UPDATE",
        "vpcConfig.endpointPrivateAccess": "ADD",
    }
    new["accessConfig"] = {"bootstrapClusterCreatorAdminPermissions": False}
    assert "accessConfig" in diff(CLUSTER, old, new).replaces
    assert changes(diff(CLUSTER, old, {**new, "version": "1.35"}))["version"] == "UPDATE"


def test_rules_in_blocks_are_a_set_whatever_their_zero_values() -> None:
    token = "aws:ec2/securityGroup:SecurityGroup"
    https = {"protocol": "tcp", "fromPort": 443, "toPort": 443, "cidrBlocks": ["10.0.0.0/8"]}
    dns = {"protocol": "udp", "fromPort": 53, "toPort": 53, "cidrBlocks": ["10.0.0.0/8"]}
    read = [
        {**rule, "description": "", "self": False, "securityGroups": [], "prefixListIds": []}
        for rule in (dns, https)
    ]
    old, new = {"description": "d", "ingress": read}, {"description": "d", "ingress": [https, dns]}
    assert changes(diff(token, old, new)) == {}
    assert changes(diff(token, old, {**new, "ingress": [https]})) == {"ingress": "UPDATE"}


def test_an_unknown_value_counts_as_a_change_and_replaces_where_a_change_would() -> None:
    old = {"role": "r", "policyArn": "arn:p"}
    found = diff("aws:iam/rolePolicyAttachment:RolePolicyAttachment", old, {**old, "role": UNKNOWN})
    assert changes(found) == {"role": "UPDATE_REPLACE"}
    assert found.delete_before_replace


@pytest.mark.parametrize("path", ["assumeRolePolicy", "tags", 'tags["a"]', "tags.a"])
def test_ignored_paths_are_no_difference(path: str) -> None:
    new = {**BASE, "tags": {"a": "c"}, "assumeRolePolicy": policy(Action="sts:TagSession")}
    found = diff(ROLE, {**BASE, "tags": {"a": "b"}}, new, path)
    assert plain_path(path).split(".")[0] not in {change.plain.split(".")[0] for change in found.changes}
    assert len(found.changes) == 1


def test_a_region_change_replaces() -> None:
    old = {"cidrBlock": "10.0.0.0/16", "region": "us-west-2"}
    found = diff("aws:ec2/vpc:Vpc", old, {"cidrBlock": "10.0.0.0/16", "region": "us-east-1"})
    assert found.replaces == ["region"]


def test_output_only_drift_is_no_difference() -> None:
    assert changes(diff(ROLE, {**BASE, "arn": "arn:new", "uniqueId": "X", "createDate": "now"}, BASE)) == {}


def test_an_advanced_parameter_is_replaced_when_it_becomes_a_standard_one() -> None:
    old = {"name": "/a", "type": "String", "value": "x", "tier": "Advanced"}
    assert diff("aws:ssm/parameter:Parameter", old, {**old, "tier": "Standard"}).replaces == ["tier"]
    assert diff("aws:ssm/parameter:Parameter", {**old, "tier": "Standard"}, old).replaces == []


def test_an_issuer_with_and_without_its_scheme_is_the_same() -> None:
    old = {"url": "oidc.eks.us-west-2.amazonaws.com/id/A", "clientIdLists": ["sts.amazonaws.com"]}
    new = {**old, "url": "https://oidc.eks.us-west-2.amazonaws.com/id/A"}
    assert changes(diff("aws:iam/openIdConnectProvider:OpenIdConnectProvider", old, new)) == {}
