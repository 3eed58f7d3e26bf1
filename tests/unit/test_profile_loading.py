"""Reading a profile: values as Pulumi gives them, region, keys, and all problems at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from mlcc_infra.profile import KEYS, Problem, Profile, ProfileError, load_profile, load_stack_file
from mlcc_infra.profile.problems import closest
from tests.unit.profile_support import TODAY, load, problems

DESIGN_KEYS = [
    "profile",
    "targets",
    "awsProfile",
    "accountId",
    "admins",
    "adopt",
    "own",
    "forceDelete",
    "exclusive",
    "tags",
    "permissionsBoundary",
    "rolePath",
    "network",
    "eks",
    "hyperpod",
    "operator",
]


def stack_file(tmp_path: Path, config: str, name: str = "Pulumi.mlcc-demo.yaml") -> Path:
    """A stack file with these lines under `config:`."""
    path = tmp_path / name
    indented = "\n".join(f"  {line}" for line in config.strip().splitlines())
    path.write_text(f"config:\n{indented}\n")
    return path


def test_the_keys_are_those_of_the_design() -> None:
    assert sorted(KEYS) == sorted(DESIGN_KEYS)


def test_a_profile_of_nothing_but_a_target_has_the_documented_defaults() -> None:
    profile = load()
    assert (profile.name, profile.stack, profile.region) == ("demo", "mlcc-demo", "us-west-2")
    assert profile.targets == ("vanilla-eks",)
    assert profile.eks.version == "1.35"
    assert [group.name for group in profile.eks.node_groups] == ["default"]
    assert profile.network.nat_mode == "one"
    assert profile.network.vpc_cidr == "10.0.0.0/16"
    assert profile.adopt.mode("bucket") == "auto"
    assert profile.account_id is None
    assert not profile.force_delete
    assert profile.hyperpod.node_provisioning_mode == "Continuous"
    floor = profile.hyperpod.floor_groups[0]
    assert (floor.name, floor.instance_type, floor.instance_count) == ("default-worker", "ml.c5.4xlarge", 2)
    assert (profile.operator.install, profile.operator.verify) == ("graph", "warn")


def test_values_arrive_as_text_and_become_what_they_mean() -> None:
    profile = load(
        {
            "targets": '["vanilla-eks"]',
            "forceDelete": "true",
            "eks": '{"nodeGroups": [{"name": "a", "minSize": "1", "desiredSize": "2", "maxSize": "3"}],'
            ' "loadBalancerController": {"enabled": "true"}}',
        }
    )
    assert profile.force_delete is True
    assert profile.eks.node_groups[0].desired_size == 2
    assert profile.eks.load_balancer_controller.enabled is True


def test_structured_values_are_taken_as_they_are() -> None:
    config = {"mlcc:targets": ["vanilla-eks"], "mlcc:forceDelete": True, "aws:region": "us-west-2"}
    assert load_profile(config, "mlcc-demo", today=TODAY).force_delete is True


def test_keys_of_other_namespaces_are_not_the_profiles_business() -> None:
    config = {
        "mlcc:targets": '["vanilla-eks"]',
        "aws:region": "us-west-2",
        "pulumi:tags": "{}",
        "other:x": "1",
    }
    assert load_profile(config, "mlcc-demo", today=TODAY).name == "demo"


def test_a_profile_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        setattr(load(), "name", "other")  # noqa: B010 - a type checker would refuse the plain assignment


def test_a_profile_made_directly_is_checked_too() -> None:
    with pytest.raises(ProfileError, match="eight hex digits"):
        Profile.model_validate(
            {"stack": "mlcc-demo", "region": "us-west-2", "targets": ["vanilla-eks"], "profile": "deadbeef"}
        )


# ------------------------------------------------------------------------------------- several at once

BAD = {
    "taargets": "x",
    "profile": "a" * 36,
    "targets": ["vanila-eks"],
    "accountId": "12345678901",
    "network": {
        "zones": ["use2-az1", "usw2-az2"],
        "privateSubnetCidrs": ["10.0.0.0/19", "10.0.16.0/20"],
        "publicSubnetCidrs": ["10.0.64.0/20", "10.0.80.0/20"],
    },
    "eks": {"versoin": "1.35", "addons": {"vpc-cni": {"version": "latest"}}},
}


def test_every_mistake_of_the_issue_is_printed_in_one_go_with_key_value_and_remedy() -> None:
    with pytest.raises(ProfileError) as error:
        load(BAD)
    found = {problem.key: problem for problem in error.value.problems}
    assert set(found) == {
        "mlcc:taargets",
        "mlcc:profile",
        "mlcc:targets[0]",
        "mlcc:accountId",
        "mlcc:network.zones[0]",
        "mlcc:network.privateSubnetCidrs[1]",
        "mlcc:eks.versoin",
        'mlcc:eks.addons["vpc-cni"].version',
    }
    text = str(error.value)
    for problem in error.value.problems:
        assert problem.key in text
        assert problem.found in text
        assert problem.remedy in text
    for value in ("12345678901", "use2-az1", "vanila-eks", "latest", "a" * 36):
        assert value in text


def test_the_text_says_how_many_and_whose_profile_it_is() -> None:
    with pytest.raises(ProfileError, match=r"profile of stack mlcc-demo has 8 settings"):
        load(BAD)


def test_problems_come_in_the_order_of_the_keys() -> None:
    keys = [key.split(".")[0].split("[")[0] for key in problems(BAD)]
    order = ["mlcc:taargets", *(f"mlcc:{key}" for key in KEYS)]
    assert [order.index(key) for key in keys] == sorted(order.index(key) for key in keys)


@pytest.mark.parametrize(
    ("keys", "key", "hint"),
    [
        ({"target": []}, "mlcc:target", "'targets'"),
        ({"eks": {"nodegroups": []}}, "mlcc:eks.nodegroups", "'nodeGroups'"),
        ({"eks": {"node_groups": []}}, "mlcc:eks.node_groups", "'nodeGroups'"),
        ({"hyperpod": {"instanceGroup": []}}, "mlcc:hyperpod.instanceGroup", "'instanceGroups'"),
        ({"targets": ["hyperpod"]}, "mlcc:targets[0]", "'hyperpod-eks'"),
        ({"network": {"nat": "per-zone"}}, "mlcc:network.nat", "'perZone'"),
        ({"operator": {"gateway": {"enabledd": True}}}, "mlcc:operator.gateway.enabledd", "'enabled'"),
    ],
)
def test_a_misspelt_key_or_value_names_the_closest_valid_one(
    keys: dict[str, object], key: str, hint: str
) -> None:
    assert hint in problems(keys)[key].found


def test_the_snake_case_spelling_is_refused_in_stack_files() -> None:
    found = problems({"eks": {"service_cidr": "172.20.0.0/16"}})
    assert "'serviceCidr'" in found["mlcc:eks.service_cidr"].found


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ({"eks": {"version": 1.35}}, "mlcc:eks.version"),
        ({"tags": {"cost-center": 1234}}, 'mlcc:tags["cost-center"]'),
    ],
)
def test_a_number_where_text_is_needed_is_refused_with_the_advice_to_quote(
    keys: dict[str, object], key: str
) -> None:
    assert "quote it" in problems(keys)[key].remedy


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [("targets", "vanilla-eks", "a list"), ("eks", "1.35", None), ("network", "{oops", "a mapping")],
)
def test_text_where_a_structure_is_needed_is_explained(name: str, text: str, wanted: str | None) -> None:
    found = problems({name: text})[f"mlcc:{name}"]
    assert wanted is None or wanted in found.found


def test_a_missing_target_is_one_problem() -> None:
    with pytest.raises(ProfileError) as error:
        load_profile({"aws:region": "us-west-2"}, "mlcc-demo", today=TODAY)
    assert [problem.key for problem in error.value.problems] == ["mlcc:targets"]
    assert "vanilla-eks" in error.value.problems[0].remedy


def test_an_empty_list_of_targets_is_refused() -> None:
    assert "mlcc:targets" in problems({"targets": []})


def test_settings_of_the_default_provider_are_refused_with_ours() -> None:
    config = {"mlcc:targets": '["vanilla-eks"]', "aws:region": "us-west-2", "aws:profile": "team"}
    with pytest.raises(ProfileError, match="pulumi config set mlcc:awsProfile team"):
        load_profile(config, "mlcc-demo", today=TODAY)


@pytest.mark.parametrize(
    ("key", "instead"),
    [
        ("aws:allowedAccountIds", "mlcc:accountId"),
        ("aws:defaultTags", "mlcc:tags"),
        ("aws:assumeRoles", ""),
        ("aws:endpoints", ""),
        ("eks:autoMode", ""),
        ("kubernetes:context", ""),
    ],
)
def test_every_other_setting_of_a_default_provider_is_refused_too(key: str, instead: str) -> None:
    config: dict[str, object] = {"mlcc:targets": '["vanilla-eks"]', "aws:region": "us-west-2", key: "some"}
    (found,) = refusals(config)
    assert found.key == key
    assert f"pulumi config rm {key} -s mlcc-demo" in found.remedy
    assert instead in found.remedy


def test_a_secret_among_them_is_not_shown() -> None:
    (found,) = refusals({"mlcc:targets": ["vanilla-eks"], "aws:region": "us-west-2", "aws:token": "s3cr3t"})
    assert "s3cr3t" not in str(found)


def refusals(config: dict[str, object]) -> tuple[Problem, ...]:
    """The refusals of a configuration; another error than ours would fail the test."""
    try:
        load_profile(config, "mlcc-demo", today=TODAY)
    except ProfileError as error:
        return error.problems
    return ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from([*DESIGN_KEYS, "oops"]), JSON | st.text(max_size=12), max_size=6))
def test_any_input_is_either_accepted_or_refused_by_our_own_error(keys: dict[str, object]) -> None:
    config = {
        f"mlcc:{key}": value if isinstance(value, str) else json.dumps(value) for key, value in keys.items()
    }
    found = refusals({"aws:region": "us-west-2", **config})
    assert all(problem.found and problem.remedy for problem in found)


NESTED = st.sampled_from(
    [
        ("network", name)
        for name in (
            "cidr",
            "zones",
            "nat",
            "vpcId",
            "privateSubnetIds",
            "privateSubnetCidrs",
            "publicSubnetCidrs",
        )
    ]
    + [
        ("eks", name)
        for name in ("version", "endpoint", "serviceCidr", "nodeGroups", "fargateNamespaces", "addons")
    ]
    + [
        ("hyperpod", name)
        for name in ("zones", "instanceGroups", "vpcCidr", "template", "existingVpc", "fsx")
    ]
    + [("operator", name) for name in ("version", "roles", "cluster", "configuration", "addons", "tlsBucket")]
)


@settings(max_examples=120, deadline=None)
@given(NESTED, JSON, st.sampled_from(["vanilla-eks", "hyperpod-eks", "operator-only"]))
def test_any_nested_value_is_either_accepted_or_refused_by_our_own_error(
    path: tuple[str, str], value: object, target: str
) -> None:
    part, name = path
    found = problems({"targets": [target], part: {name: value}})
    assert all(problem.found and problem.remedy for problem in found.values())


# ---------------------------------------------------------------------------------------------- region


def test_the_stack_files_region_is_taken_when_the_environment_agrees_or_is_silent() -> None:
    assert load(environ={"AWS_REGION": "us-west-2"}).region == "us-west-2"
    assert load(environ={"AWS_REGION": ""}).region == "us-west-2"


@pytest.mark.parametrize("variable", ["AWS_REGION", "AWS_DEFAULT_REGION"])
def test_without_a_region_in_the_stack_file_the_environments_is_taken(variable: str) -> None:
    assert load(region=None, environ={variable: "eu-west-1"}).region == "eu-west-1"


@pytest.mark.parametrize("variable", ["AWS_REGION", "AWS_DEFAULT_REGION"])
def test_two_regions_that_differ_are_refused_with_both_and_the_way_out(variable: str) -> None:
    found = problems(region="us-east-2", environ={variable: "us-west-2"})["aws:region"]
    assert found.value == "us-east-2"
    assert f"{variable}=us-west-2" in found.found
    assert f"unset {variable}" in found.remedy


def test_two_variables_that_differ_are_refused_too() -> None:
    found = problems(region=None, environ={"AWS_REGION": "us-east-2", "AWS_DEFAULT_REGION": "us-west-2"})
    assert "AWS_DEFAULT_REGION=us-west-2" in found["AWS_REGION"].found


def test_no_region_at_all_is_refused_with_the_command() -> None:
    assert "pulumi config set aws:region" in problems(region=None)["aws:region"].remedy


def test_the_callers_region_counts_like_the_stack_files() -> None:
    config = {"mlcc:targets": '["vanilla-eks"]'}
    assert load_profile(config, "mlcc-demo", "eu-west-1", {}, today=TODAY).region == "eu-west-1"


# ----------------------------------------------------------------------------------------- stack files


@pytest.mark.parametrize("stack", ["mlcc-demo", "mlcc-eks"])
def test_the_stack_files_of_the_repository_are_valid(stack: str) -> None:
    path = Path(__file__).parents[2] / "stacks" / f"Pulumi.{stack}.yaml"
    profile = load_stack_file(path, {}, today=TODAY)
    assert profile.stack == stack
    text = path.read_text()
    assert text.startswith("# yaml-language-server: $schema=../docs/profile.schema.json")
    assert "encryptionsalt" not in text
    switched_off = yaml.safe_load(text)["config"]["pulumi:disable-default-providers"]
    assert {"aws", "kubernetes"} <= set(switched_off)


@pytest.mark.parametrize("digits", ["012345678901", "12345678901", "012345670123", "123456789012"])
def test_an_account_id_without_quotes_is_refused_with_the_advice_to_quote(
    tmp_path: Path, digits: str
) -> None:
    path = stack_file(
        tmp_path, f"mlcc:targets: [vanilla-eks]\naws:region: us-west-2\nmlcc:accountId: {digits}"
    )
    with pytest.raises(ProfileError) as error:
        load_stack_file(path, today=TODAY)
    assert [problem.key for problem in error.value.problems] == ["mlcc:accountId"]
    assert "quote it" in str(error.value)


def test_an_account_id_in_quotes_keeps_its_leading_zero(tmp_path: Path) -> None:
    path = stack_file(
        tmp_path, 'mlcc:targets: [vanilla-eks]\naws:region: us-west-2\nmlcc:accountId: "012345678901"'
    )
    assert load_stack_file(path, today=TODAY).account_id == "012345678901"


def test_a_file_that_is_missing_is_refused_with_those_that_are_there(tmp_path: Path) -> None:
    stack_file(tmp_path, "aws:region: us-west-2")
    with pytest.raises(ProfileError, match=r"Pulumi\.mlcc-demo\.yaml"):
        load_stack_file(tmp_path / "Pulumi.mlcc-typo.yaml")


@pytest.mark.parametrize("text", ["config: [", "config: 3", "just text", "config:\n- a"])
def test_a_file_that_is_no_stack_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "Pulumi.mlcc-demo.yaml"
    path.write_text(text)
    with pytest.raises(ProfileError, match=r"config|YAML"):
        load_stack_file(path)


def test_an_empty_stack_file_lacks_its_targets_and_region(tmp_path: Path) -> None:
    path = tmp_path / "Pulumi.mlcc-demo.yaml"
    path.write_text("")
    with pytest.raises(ProfileError) as error:
        load_stack_file(path)
    assert {problem.key for problem in error.value.problems} == {"mlcc:targets", "aws:region"}


def test_a_file_of_another_name_needs_the_stacks_name(tmp_path: Path) -> None:
    path = stack_file(tmp_path, "mlcc:targets: [vanilla-eks]\naws:region: us-west-2", name="profile.yaml")
    with pytest.raises(ProfileError, match=r"Pulumi\.<stack>\.yaml"):
        load_stack_file(path)
    assert load_stack_file(path, stack="mlcc-x", today=TODAY).name == "x"


def test_the_closest_word_is_found_across_spellings() -> None:
    assert closest("node_groups", ["nodeGroups", "addons"]) == " (did you mean 'nodeGroups'?)"
    assert closest("zzz", ["nodeGroups"]) == ""
