"""Checks of name, region, targets, identity, adoption and tags."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlcc_infra.profile import KINDS, read_principal
from mlcc_infra.profile.principals import principal_arns
from tests.unit.profile_support import hyperpod, load, operator_only, problems, warnings

ROLE = "arn:aws:iam::123456789012:role/Admin"
SESSION = "arn:aws:sts::123456789012:assumed-role/Admin/jane@example.com"
SSO_PATH = "aws-reserved/sso.amazonaws.com/us-west-2"
SSO = f"arn:aws:iam::123456789012:role/{SSO_PATH}/AWSReservedSSO_Admin_0123456789abcdef"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a" * 36, "at most 35"),
        ("My-Profile", "lower-case"),
        ("under_score", "lower-case"),
        ("-x", "hyphen"),
        ("x-", "hyphen"),
        ("dots.too", "lower-case"),
        ("demo-hp", "HyperPod cluster of profile 'demo'"),
        ("88de702d", "eight hex digits"),
    ],
)
def test_a_name_that_breaks_a_rule_is_refused_with_the_rule(name: str, reason: str) -> None:
    assert (
        reason
        in problems({"profile": name})["mlcc:profile"].found
        + problems({"profile": name})["mlcc:profile"].remedy
    )


@pytest.mark.parametrize("name", ["a", "1", "a" * 35, "mlcc-demo-us-west-2", "hp", "88de702", "88de702g"])
def test_a_name_within_the_rules_is_accepted(name: str) -> None:
    assert load({"profile": name}).name == name


def test_a_stack_whose_name_gives_a_bad_profile_is_refused_though_the_key_is_unset() -> None:
    assert "mlcc:profile" in problems(stack="mlcc-" + "a" * 36)


def test_a_stack_of_pulumi_cloud_is_known_by_its_last_part() -> None:
    assert load(stack="team/mlcc/mlcc-demo").name == "demo"


def test_a_name_that_shares_a_role_with_another_profile_is_warned_about() -> None:
    assert "mlcc:profile" in warnings(hyperpod(profile="a-eks"))
    assert "mlcc:profile" not in warnings({"profile": "a-eks"})


@pytest.mark.parametrize("region", ["ap-southeast-9", "us-west2", "uswest-2", "moon-1"])
def test_an_unknown_region_is_refused_never_guessed(region: str) -> None:
    assert "does not know" in problems(region=region)["aws:region"].found


def test_an_unknown_region_names_similar_ones() -> None:
    assert "us-west-2" in problems(region="us-west2")["aws:region"].remedy


def test_a_region_where_hyperpod_was_not_seen_is_warned_about_as_the_list_is_unverified() -> None:
    keys = hyperpod({"zones": ["euw3-az1", "euw3-az2"]})
    assert "unverified" in warnings(keys, region="eu-west-3")["aws:region"].found
    assert "aws:region" not in warnings(region="eu-west-3")


@pytest.mark.parametrize("targets", [["vanilla-eks"], ["hyperpod-eks"], ["vanilla-eks", "hyperpod-eks"]])
def test_targets_go_together(targets: list[str]) -> None:
    assert load({"targets": targets}).targets == tuple(targets)


def test_hyperpod_and_operator_only_exclude_each_other() -> None:
    keys = operator_only() | {"targets": ["hyperpod-eks", "operator-only"]}
    assert "a stack of its own" in problems(keys)["mlcc:targets"].remedy


def test_a_target_named_twice_is_refused() -> None:
    assert "twice" in problems({"targets": ["vanilla-eks", "vanilla-eks"]})["mlcc:targets"].found


@pytest.mark.parametrize(
    "account", ["12345678901", "1234567890123", "1.2345678901e+10", "abc", "12345678901x", "١٢٣٤٥٦٧٨٩٠١٢"]
)
def test_what_is_no_account_id_is_refused_and_never_padded(account: str) -> None:
    found = problems({"accountId": account})["mlcc:accountId"]
    assert found.value == account
    assert "quote it" in found.remedy


def test_a_leading_zero_is_kept() -> None:
    assert load({"accountId": "012345678901"}).account_id == "012345678901"


def test_names_are_given_for_a_real_account_only() -> None:
    assert load().names("123456789012").tls_bucket == "hyperpod-tls-mlcc-demo-88de702d"
    with pytest.raises(ValueError, match="twelve digits"):
        load().names("1234")


# ---------------------------------------------------------------------------------------------- admins


def test_a_session_becomes_its_role_once_with_a_warning() -> None:
    profile = load({"admins": [SESSION, ROLE]})
    assert profile.admins == (ROLE,)
    said = {warning.key: warning.found for warning in profile.warnings}
    assert "session" in said["mlcc:admins[0]"]
    assert "same administrator" in said["mlcc:admins[1]"]


def test_a_role_of_identity_center_without_its_path_is_said_to_need_the_look_up() -> None:
    arn = "arn:aws:iam::111122223333:role/AWSReservedSSO_Admin_0123456789abcdef"
    assert "aws-reserved/sso.amazonaws.com" in warnings({"admins": [arn]})["mlcc:admins[0]"].found
    assert read_principal(arn).lookup == "AWSReservedSSO_Admin_0123456789abcdef"


@pytest.mark.parametrize(
    "arn", [ROLE, SSO, "arn:aws:iam::123456789012:user/jane", "arn:aws:iam::123456789012:role/a/b"]
)
def test_roles_and_users_are_taken_as_they_are(arn: str) -> None:
    assert load({"admins": [arn]}).admins == (arn,)
    assert read_principal(arn).note == ""


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("arn:aws:iam::123456789012:root", "root"),
        ("123456789012", "root"),
        ("*", "wildcard"),
        ("arn:aws:iam::123456789012:role/*", "wildcard"),
        ("arn:aws:iam::123456789012:group/admins", "group"),
        ("arn:aws:sts::123456789012:federated-user/jane", "federated"),
        ("arn:aws:iam::12345678901:role/Admin", "no ARN"),
        ("Admin", "no ARN"),
        ("", "empty"),
        (" " + ROLE, "spaces"),
    ],
)
def test_what_eks_takes_as_no_administrator_is_refused_with_the_reason(entry: str, reason: str) -> None:
    found = problems({"admins": [entry]})["mlcc:admins[0]"]
    assert reason in found.found
    assert found.remedy


def test_an_administrator_of_another_account_is_warned_about() -> None:
    keys = {"admins": [ROLE], "accountId": "210987654321"}
    assert "123456789012" in warnings(keys)["mlcc:admins[0]"].found


@given(st.lists(st.sampled_from([ROLE, SESSION, SSO, "junk", "*"]), max_size=8))
def test_administrators_are_unique_usable_and_keep_their_order(entries: list[str]) -> None:
    arns = principal_arns(entries)
    assert len(set(arns)) == len(arns)
    assert set(arns) <= {ROLE, SSO}
    assert principal_arns(arns) == arns


# ----------------------------------------------------------------------------- adoption, tags, company


def test_one_mode_of_adoption_counts_for_everything() -> None:
    assert {load({"adopt": "never"}).adopt.mode(kind) for kind in KINDS} == {"never"}


def test_modes_of_adoption_can_be_given_by_kind_with_a_default() -> None:
    adopt = load({"adopt": {"default": "never", "role": "required"}}).adopt
    assert (adopt.mode("role"), adopt.mode("bucket")) == ("required", "never")


@pytest.mark.parametrize(
    ("value", "key", "hint"),
    [
        ("sometimes", "mlcc:adopt.default", "auto"),
        ({"roles": "auto"}, "mlcc:adopt.roles", "'role'"),
        ({"role": "autoo"}, "mlcc:adopt.role", "'auto'"),
    ],
)
def test_an_unknown_mode_or_kind_of_adoption_is_refused(value: object, key: str, hint: str) -> None:
    found = problems({"adopt": value})
    assert list(found) == [key] or list(found) == ["mlcc:adopt"]
    assert hint in str(next(iter(found.values())))


def test_what_destroy_may_delete_is_a_kind_or_one_thing_of_it() -> None:
    profile = load({"own": ["bucket", "role/mlcc-demo-eks-node-role"]})
    assert profile.owns("bucket", "anything")
    assert profile.owns("role", "mlcc-demo-eks-node-role")
    assert not profile.owns("role", "mlcc-demo-eks-cluster-role")
    assert load({"forceDelete": "true"}).owns("role", "any")


@pytest.mark.parametrize("entry", ["buckets", "role/", "mlcc-demo-eks-node-role", ""])
def test_an_unknown_kind_to_own_is_refused(entry: str) -> None:
    assert "mlcc:own[0]" in problems({"own": [entry]})


def test_owning_what_is_never_adopted_is_warned_about() -> None:
    assert "never adopted" in warnings({"own": ["role"], "adopt": {"role": "never"}})["mlcc:own[0]"].found


def test_deleting_the_retained_things_is_said() -> None:
    assert "retained" in warnings({"forceDelete": "true"})["mlcc:forceDelete"].found


def test_tags_that_aws_refuses_are_named_each() -> None:
    found = problems({"tags": {"aws:x": "1", "ok": "1", "mlcc:profile": "x", "bad#": "v"}})
    assert set(found) == {'mlcc:tags["aws:x"]', 'mlcc:tags["mlcc:profile"]', 'mlcc:tags["bad#"]'}


def test_tags_that_differ_in_case_only_are_refused_because_iam_does() -> None:
    found = problems({"tags": {"Team": "ml", "team": "ml"}})
    assert list(found) == ['mlcc:tags["team"]']
    assert "'Team' in case only" in found['mlcc:tags["team"]'].found


def test_too_many_tags_are_refused_with_how_many_fit() -> None:
    # Fifty, less seven of ours on everything and two more on a subnet.
    assert "41 fit" in problems({"tags": {f"k{number}": "v" for number in range(42)}})["mlcc:tags"].found
    assert len(load({"tags": {f"k{number}": "v" for number in range(41)}}).tags) == 41


@pytest.mark.parametrize("path", ["/", "/team/", "/team/ml/"])
def test_a_path_of_roles_starts_and_ends_with_a_slash(path: str) -> None:
    assert load({"rolePath": path}).role_path == path


@pytest.mark.parametrize("path", ["team", "/team", "team/", "//", "/with space/", "/" + "x" * 512 + "/"])
def test_another_path_of_roles_is_refused(path: str) -> None:
    assert "mlcc:rolePath" in problems({"rolePath": path})


def test_a_permissions_boundary_is_a_policy_of_the_account_and_partition() -> None:
    boundary = "arn:aws:iam::123456789012:policy/team/boundary"
    assert load({"permissionsBoundary": boundary}).permissions_boundary == boundary
    other = {"permissionsBoundary": boundary, "accountId": "210987654321"}
    assert "210987654321" in problems(other)["mlcc:permissionsBoundary"].found
    china = {"permissionsBoundary": "arn:aws-cn:iam::123456789012:policy/boundary"}
    assert "partition" in problems(china)["mlcc:permissionsBoundary"].found
    role = {"permissionsBoundary": "arn:aws:iam::123456789012:role/boundary"}
    assert "mlcc:permissionsBoundary" in problems(role)


def test_no_profile_of_the_environment_gets_into_the_profile() -> None:
    profile = load(environ={"AWS_PROFILE": "ambient", "AWS_ACCESS_KEY_ID": "AKIA"})
    assert profile.aws_profile is None
    assert "ambient" not in profile.model_dump_json()
