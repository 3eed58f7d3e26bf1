"""What Check makes of a program's inputs."""

import json
from typing import Any

import pytest

from mlcc_rehearsal.plugins.aws import catalogue
from mlcc_rehearsal.plugins.aws.checking import Request, TagSettings, check
from mlcc_rehearsal.plugins.values import UNKNOWN

ROLE = "aws:iam/role:Role"
TRUST = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole"}]}


def checked(
    token: str,
    news: dict[str, Any],
    *,
    olds: dict[str, Any] | None = None,
    tags: TagSettings | None = None,
    **more: Any,
) -> tuple[dict[str, Any], list[str]]:
    request = Request(name="thing", news=news, olds=olds or {}, seed=b"seed", **more)
    inputs, failures = check(catalogue.resources()[token], request, tags or TagSettings(), "us-west-2")
    return inputs, [failure.reason for failure in failures]


def test_an_unknown_property_is_refused_with_the_closest_names_and_the_place_to_add_it() -> None:
    _, failures = checked(ROLE, {"assumeRolePolicy": "{}", "permissionBoundary": "x"})
    assert len(failures) == 1
    for part in ("permissionBoundary", "Did you mean 'permissionsBoundary'", ROLE, "plugins/aws/resources"):
        assert part in failures[0]


def test_an_unknown_property_of_a_block_is_refused_by_its_path() -> None:
    _, failures = checked(
        "aws:eks/cluster:Cluster",
        {"roleArn": "arn:aws:iam::1:role/r", "vpcConfig": {"subnetIds": [], "subnets": []}},
    )
    assert "vpcConfig.subnets" in failures[0]
    assert "subnetIds" in failures[0]


def test_a_missing_required_input_is_told_as_the_provider_tells_it() -> None:
    _, failures = checked(ROLE, {})
    (failure,) = failures
    assert failure == (
        'Missing required argument. The argument "assume_role_policy" is required, but no definition was '
        "found.. Examine values at 'thing.assumeRolePolicy'."
    )


def test_a_name_left_out_gets_seven_hexadecimal_digits_and_keeps_them() -> None:
    inputs, _ = checked(ROLE, {"assumeRolePolicy": TRUST})
    name = inputs["name"]
    assert name.startswith("thing-")
    assert len(name) == len("thing-") + 7
    assert set(name[-7:]) <= set("0123456789abcdef")
    again, _ = checked(ROLE, {"assumeRolePolicy": TRUST}, olds={**inputs, "name": "thing-fixed00"})
    assert again["name"] == "thing-fixed00"


def test_a_given_name_is_kept_and_not_called_a_default() -> None:
    inputs, _ = checked(ROLE, {"assumeRolePolicy": TRUST, "name": "mine"})
    assert inputs["name"] == "mine"
    assert "name" not in inputs["__defaults"]


def test_a_name_longer_than_the_service_allows_is_refused_with_the_range() -> None:
    _, failures = checked(ROLE, {"assumeRolePolicy": TRUST, "name": "x" * 65})
    assert "expected length of name to be in the range (1 - 64)" in failures[0]


def test_defaults_are_filled_in_and_remembered() -> None:
    inputs, _ = checked(ROLE, {"assumeRolePolicy": TRUST})
    assert (inputs["path"], inputs["maxSessionDuration"], inputs["forceDetachPolicies"]) == ("/", 3600, False)
    assert inputs["__defaults"] == ["forceDetachPolicies", "maxSessionDuration", "name", "path"]


def test_documents_become_compact_text_with_sorted_keys() -> None:
    inputs, _ = checked(ROLE, {"assumeRolePolicy": json.dumps(TRUST, indent=2)})
    assert inputs["assumeRolePolicy"] == json.dumps(TRUST, sort_keys=True, separators=(",", ":"))
    assert checked(ROLE, {"assumeRolePolicy": TRUST})[0]["assumeRolePolicy"] == inputs["assumeRolePolicy"]


def test_a_document_that_is_no_json_is_refused() -> None:
    _, failures = checked(ROLE, {"assumeRolePolicy": "{not json"})
    assert '"assume_role_policy" contains an invalid JSON policy' in failures[0]


def test_all_tags_are_the_providers_own_and_the_resources_without_ignored_ones() -> None:
    tags = TagSettings(default={"team": "ml", "a": "default"}, ignored_prefixes=("hidden",))
    inputs, _ = checked(ROLE, {"assumeRolePolicy": TRUST, "tags": {"a": "b", "hidden-x": "1"}}, tags=tags)
    assert inputs["tagsAll"] == {"team": "ml", "a": "b"}
    assert inputs["tags"] == {"a": "b", "hidden-x": "1"}


def test_unknown_values_pass_and_make_all_tags_unknown() -> None:
    inputs, failures = checked(ROLE, {"assumeRolePolicy": UNKNOWN, "tags": {"a": UNKNOWN}})
    assert failures == []
    assert inputs["assumeRolePolicy"] is UNKNOWN
    assert inputs["tagsAll"] is UNKNOWN


def test_regional_types_get_the_providers_region_and_global_ones_do_not() -> None:
    assert checked("aws:ec2/vpc:Vpc", {"cidrBlock": "10.0.0.0/16"})[0]["region"] == "us-west-2"
    assert "region" not in checked(ROLE, {"assumeRolePolicy": TRUST})[0]


@pytest.mark.parametrize(
    ("cidr", "words"),
    [
        ("10.0.0.1/16", 'did you mean "10.0.0.0/16"?'),
        ("10.0.0.0/8", "between 16 and 28 significant bits, got: 8"),
    ],
)
def test_a_wrong_cidr_is_refused_with_what_would_do(cidr: str, words: str) -> None:
    assert words in checked("aws:ec2/vpc:Vpc", {"cidrBlock": cidr})[1][0]


def test_numbers_and_booleans_written_as_texts_are_taken_as_terraform_takes_them() -> None:
    inputs, failures = checked(
        ROLE, {"assumeRolePolicy": TRUST, "maxSessionDuration": "7200", "forceDetachPolicies": "true"}
    )
    assert failures == []
    assert (inputs["maxSessionDuration"], inputs["forceDetachPolicies"]) == (7200, True)
    _, failures = checked(ROLE, {"assumeRolePolicy": TRUST, "maxSessionDuration": "an hour"})
    assert "expected a number at 'maxSessionDuration', got a string" in failures[0]


def test_automatic_naming_can_be_switched_off_or_dictated_by_the_engine() -> None:
    _, failures = checked(ROLE, {"assumeRolePolicy": TRUST}, naming="disable")
    assert "automatic naming is disabled" in failures[0]
    inputs, _ = checked(ROLE, {"assumeRolePolicy": TRUST}, naming="enforce", proposed_name="dictated")
    assert inputs["name"] == "dictated"


def test_conflicting_inputs_are_refused_by_both_names() -> None:
    _, failures = checked(
        "aws:ssm/parameter:Parameter", {"name": "/a", "type": "String", "value": "x", "insecureValue": "y"}
    )
    assert '"value": conflicts with insecure_value' in failures[0]


def test_a_rule_without_a_source_is_refused() -> None:
    _, failures = checked(
        "aws:ec2/securityGroupRule:SecurityGroupRule",
        {"type": "ingress", "protocol": "tcp", "fromPort": 1, "toPort": 2, "securityGroupId": "sg-0abc"},
    )
    assert "one of `cidr_blocks" in failures[0]
