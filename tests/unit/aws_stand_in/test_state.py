"""Outputs, inputs and previews made from what AWS answers."""

import json
from typing import Any

import pytest

from mlcc_rehearsal.plugins.aws import catalogue, state
from mlcc_rehearsal.plugins.aws.checking import TagSettings
from mlcc_rehearsal.plugins.values import UNKNOWN, Secret

ROLE = catalogue.resources()["aws:iam/role:Role"]
CLUSTER = catalogue.resources()["aws:eks/cluster:Cluster"]
PARAMETER = catalogue.resources()["aws:ssm/parameter:Parameter"]
WRITTEN = json.dumps({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": ["a:B"]}})
READ = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "a:B"}]})


def test_a_document_that_means_the_same_keeps_the_form_the_program_wrote() -> None:
    found = {"assumeRolePolicy": READ, "tags": {}}
    kept = state.outputs(ROLE, found, {"assumeRolePolicy": WRITTEN}, TagSettings(), "us-west-2")
    assert kept["assumeRolePolicy"] == WRITTEN


def test_what_the_api_does_not_give_back_is_kept_from_the_program() -> None:
    kept = state.outputs(
        ROLE, {"name": "r", "tags": {}}, {"forceDetachPolicies": True}, TagSettings(), "us-west-2"
    )
    assert kept["forceDetachPolicies"] is True


def test_default_tags_are_among_all_tags_only_unless_the_program_declares_them() -> None:
    tags = TagSettings(default={"team": "ml", "both": "x"}, ignored_keys=frozenset({"hidden"}))
    found = {"tags": {"team": "ml", "both": "x", "own": "y", "hidden": "z", "aws:system": "s"}}
    made = state.outputs(ROLE, found, {"tags": {"both": "x"}}, tags, "us-west-2")
    assert made["tags"] == {"both": "x", "own": "y"}
    assert made["tagsAll"] == {"team": "ml", "both": "x", "own": "y"}


def test_an_output_the_sdk_does_not_have_is_an_error_of_the_table() -> None:
    with pytest.raises(KeyError, match="no output nonsense"):
        state.outputs(ROLE, {"nonsense": 1}, {}, TagSettings(), "us-west-2")


def test_a_refresh_keeps_the_inputs_there_were_with_the_values_found() -> None:
    old = {"assumeRolePolicy": WRITTEN, "tags": {"a": "b", "gone": "x"}, "__defaults": ["path"], "path": "/"}
    found = {
        "assumeRolePolicy": "drifted",
        "tags": {"a": "c", "foreign": "y"},
        "path": "/",
        "description": "new",
    }
    assert state.refreshed_inputs(ROLE, old, found) == {
        "assumeRolePolicy": "drifted",
        "tags": {"a": "c"},
        "__defaults": ["path"],
        "path": "/",
    }


def test_an_import_takes_the_inputs_that_are_neither_zero_nor_defaults() -> None:
    found: dict[str, Any] = {
        "arn": "arn:r",
        "assumeRolePolicy": READ,
        "description": "",
        "maxSessionDuration": 3600,
        "name": "r",
        "path": "/mine/",
        "tags": {"a": "b"},
    }
    assert state.imported_inputs(ROLE, found) == {
        "assumeRolePolicy": READ,
        "name": "r",
        "path": "/mine/",
        "tags": {"a": "b"},
        "__defaults": [],
    }


def test_a_preview_knows_the_inputs_of_what_is_to_be_created_and_nothing_that_aws_fills() -> None:
    inputs = {"name": "c", "roleArn": "arn:r", "vpcConfig": {"subnetIds": ["a"]}, "__defaults": []}
    known = state.preview_created(CLUSTER, inputs)
    assert known["name"] == "c"
    assert known["vpcConfig"]["subnetIds"] == ["a"]
    for unknown in (
        known["arn"],
        known["identities"],
        known["version"],
        known["vpcConfig"]["clusterSecurityGroupId"],
    ):
        assert unknown is UNKNOWN
    assert "__defaults" not in known
    assert "encryptionConfig" not in known, "an input that AWS does not fill stays absent"


def test_a_preview_of_an_update_keeps_outputs_but_those_that_the_change_moves() -> None:
    old = {"name": "/a", "type": "String", "value": "x", "arn": "arn:p", "version": 3}
    known = state.preview_updated(PARAMETER, old, {"name": "/a", "type": "String", "value": "y"})
    assert (known["value"], known["arn"]) == ("y", "arn:p")
    assert known["version"] is UNKNOWN


def test_sensitive_outputs_are_marked() -> None:
    assert state.secret(PARAMETER, {"value": "x", "name": "/a"}) == {"value": Secret("x"), "name": "/a"}


def test_what_an_import_cannot_know_counts_as_its_default() -> None:
    made = state.outputs(CLUSTER, {"name": "c", "tags": {}}, {}, TagSettings(), "us-west-2")
    assert made["bootstrapSelfManagedAddons"] is True, "else an adopted cluster would be replaced"
