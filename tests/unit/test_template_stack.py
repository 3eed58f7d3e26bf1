"""The pin, the stack's policy, what is frozen, the script, and names of what the template makes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mlcc_infra import policies, versions
from mlcc_infra.profile import Profile
from mlcc_infra.template import (
    CAPABILITIES,
    FROZEN,
    check_pin,
    frozen_differences,
    frozen_words,
    load_contract,
    profile_template_url,
    stack_policy,
    template_url,
)
from mlcc_infra.template.lifecycle import SCRIPT, SCRIPT_KEY, source_uri
from mlcc_infra.template.made import log_groups, prerequisites_by_template, public_subnet_names
from mlcc_infra.template.pin import digest
from mlcc_infra.template.stack import PROTECTED, TIMEOUT_MINUTES
from tests.unit.profile_support import hyperpod, load, problems
from tests.unit.test_template_parameters import TABLE, parameters

KNOWN = load_contract().sha256
OTHER = "0" * 64


def pinned(**template: Any) -> Profile:
    """A profile with these settings of the template."""
    return load(hyperpod({"template": template}))


# ------------------------------------------------------------------------------------------------- pin


def test_the_template_is_read_from_the_buckets_of_the_region() -> None:
    assert template_url("us-west-2") == (
        "https://aws-sagemaker-hyperpod-cluster-setup-us-west-2-prod.s3.us-west-2.amazonaws.com"
        "/templates/main-stack-eks-based-template.yaml"
    )
    assert "eu-west-1-gamma.s3.eu-west-1." in template_url("eu-west-1", stage="gamma")


def test_a_mirror_has_the_same_keys() -> None:
    assert profile_template_url(pinned(mirrorBucket="mirror-bucket")) == (
        "https://mirror-bucket.s3.us-west-2.amazonaws.com/templates/main-stack-eks-based-template.yaml"
    )


def test_an_address_of_ones_own_comes_first() -> None:
    url = "https://mine.s3.us-west-2.amazonaws.com/main.yaml"
    assert profile_template_url(pinned(url=url)) == url


def test_a_digest_is_that_of_the_bytes() -> None:
    assert digest(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_the_pinned_template_is_accepted() -> None:
    assert check_pin(pinned(), KNOWN).verdict == "ok"
    assert check_pin(pinned(digest=OTHER), OTHER).verdict == "ok"


def test_a_template_other_than_the_releases_is_a_warning_only_however_strict() -> None:
    assert check_pin(pinned(), OTHER).verdict == "warning"
    strict = check_pin(pinned(pin="strict", mirrorBucket="mirror-bucket"), OTHER)
    assert strict.verdict == "warning"
    assert f"mlcc:hyperpod.template.digest {OTHER}" in strict.remedy.replace("'", "")


def test_a_template_other_than_the_profiles_own_digest_is_refused_when_strict() -> None:
    own = {"digest": KNOWN, "mirrorBucket": "mirror-bucket"}
    assert check_pin(pinned(**own), OTHER).verdict == "warning"
    found = check_pin(pinned(pin="strict", **own), OTHER)
    assert found.verdict == "refused"
    assert KNOWN in found.found
    assert OTHER in found.found


def test_a_mirror_of_another_template_than_the_pinned_one_is_refused() -> None:
    bucket = f"mlcc-hp-templates-{KNOWN[:12]}-88de702d"
    assert problems(hyperpod({"template": {"mirrorBucket": bucket, "digest": KNOWN}})) == {}
    found = problems(hyperpod({"template": {"mirrorBucket": bucket, "digest": OTHER}}))
    assert KNOWN[:12] in found["mlcc:hyperpod.template.mirrorBucket"].found


# ----------------------------------------------------------------------------------------------- stack


def test_the_policy_denies_updates_of_what_would_be_replaced_and_allows_the_rest() -> None:
    allowed, denied = json.loads(stack_policy())["Statement"]
    assert (allowed["Effect"], allowed["Resource"]) == ("Allow", "*")
    assert denied["Effect"] == "Deny"
    assert sorted(denied["Resource"]) == [f"LogicalResourceId/{name}" for name in sorted(PROTECTED)]
    assert {statement["Action"] for statement in (allowed, denied)} == {"Update:*"}
    assert set(PROTECTED) <= set(load_contract().resources)


def test_properties_that_are_frozen_are_properties_of_the_resource() -> None:
    from pulumi_aws import cloudformation

    properties = {
        word[0] + "".join(part.capitalize() for part in word.split("_"))[1:]
        for word in dir(cloudformation.Stack)
        if not word.startswith("_")
    }
    assert set(FROZEN) <= properties


def test_nothing_differs_from_what_the_stack_was_made_with() -> None:
    assert frozen_differences(TABLE, parameters()) == ()
    assert frozen_words((), stack="mlcc-demo") == ("", "")


def test_each_parameter_that_differs_is_named_with_both_values_and_the_way_out() -> None:
    wanted = parameters({"kubernetesVersion": "1.34", "fsx": {"enabled": True}})
    live = {name: value for name, value in TABLE.items() if name != "RestrictedInstanceGroupsConfig"}
    found = frozen_differences({**live, "StorageCapacity": "1200"}, wanted)
    by_name = {entry.parameter: entry for entry in found}
    assert (by_name["KubernetesVersion"].live, by_name["KubernetesVersion"].wanted) == ("1.35", "1.34")
    assert by_name["RestrictedInstanceGroupsConfig"].live is None
    assert "StorageCapacity" not in by_name
    words, remedy = frozen_words(found, stack="mlcc-demo")
    assert 'KubernetesVersion: "1.35" in the stack, "1.34" by the profile' in words
    assert "RestrictedInstanceGroupsConfig: absent in the stack" in words
    assert "`pulumi destroy -s mlcc-demo`" in remedy


def test_instance_groups_are_no_difference_as_the_cluster_keeps_them_and_not_the_stack() -> None:
    live = {**TABLE, "InstanceGroupSettings1": "[]", "RigSettings1": "[]"}
    assert frozen_differences(live, TABLE) == ()


# -------------------------------------------------------------------------------------------- lifecycle


def test_the_script_says_something_and_exits_zero(tmp_path: Path) -> None:
    script = tmp_path / "on_create.sh"
    script.write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run(["/bin/bash", str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "mlcc-infra: on_create on " in done.stdout
    assert done.stderr == ""
    assert "\r" not in SCRIPT


def test_the_groups_source_is_the_prefix_of_the_scripts_key() -> None:
    assert f"{source_uri('bucket')}/on_create.sh" == f"s3://bucket/{SCRIPT_KEY}"


def test_the_policy_of_our_buckets_denies_plain_http_and_grants_nothing() -> None:
    policy = policies.deny_plain_http("sagemaker-mlcc-demo-88de702d", partition="aws-cn")
    (statement,) = policy["Statement"]
    assert statement["Effect"] == "Deny"
    assert statement["Principal"] == "*"
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    arn = "arn:aws-cn:s3:::sagemaker-mlcc-demo-88de702d"
    assert statement["Resource"] == [arn, f"{arn}/*"]


# ----------------------------------------------------------------------------------------------- made


def test_public_subnets_are_found_by_the_name_the_template_tags_them_with() -> None:
    assert public_subnet_names("mlcc-demo-hp", 2) == (
        "mlcc-demo-hp-Public-Subnet1",
        "mlcc-demo-hp-Public-Subnet2",
    )


def test_log_groups_that_nobody_deletes_are_known() -> None:
    found = log_groups("mlcc-demo-hp", "m0123abc", "mlcc-demo-hyperpod")
    assert {
        "/aws/lambda/mlcc-demo-hphpfunc",
        "/aws/lambda/mlcc-demo-hphelmfunc",
        "/aws/lambda/mlcc-demo-hpfsxfunc1",
        "/aws/lambda/inf-m0123abc-*",
        "/aws/eks/mlcc-demo-hp-eks/cluster",
        "/aws/sagemaker/Clusters/mlcc-demo-hyperpod/*",
    } <= set(found)


def test_log_groups_of_a_profile_with_a_longer_name_are_not_meant() -> None:
    """The functions of profile `demo-hp-x` have the prefix `mlcc-demo-hp-x-hp`."""
    prefixes = [
        name[:-1] for name in log_groups("mlcc-demo-hp", "m0", "mlcc-demo-hyperpod") if name[-1] == "*"
    ]
    assert not [each for each in prefixes if "/aws/lambda/mlcc-demo-hp-x-hphpfunc".startswith(each)]


@pytest.mark.parametrize(
    ("keys", "more", "oidc", "addons", "operator"),
    [
        ({}, {}, False, set[str](), False),
        ({"fsx": {"enabled": True}}, {}, True, {"aws-fsx-csi-driver"}, False),
        ({"trainingOperator": {"enabled": True}}, {}, False, {"cert-manager"}, False),
        ({}, {"operator": {"install": "template"}}, True, set(versions.PREREQUISITE_MINIMUM), True),
    ],
)
def test_what_the_template_makes_of_the_prerequisites_is_known(
    keys: dict[str, Any], more: dict[str, Any], oidc: bool, addons: set[str], operator: bool
) -> None:
    found = prerequisites_by_template(parameters(keys, **more), region="us-west-2")
    assert (found.oidc_provider, found.addons, found.operator) == (oidc, addons, operator)


def test_an_adopted_stack_that_used_the_chart_has_the_operator_but_not_its_addons() -> None:
    found = prerequisites_by_template({"CreateFsxStack": "false"}, region="us-west-2")
    assert (found.oidc_provider, found.addons, found.operator) == (True, {"cert-manager"}, True)


def test_capabilities_and_time_are_those_of_a_nested_template_with_named_roles() -> None:
    assert set(CAPABILITIES) == {"CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"}
    assert TIMEOUT_MINUTES == 150
