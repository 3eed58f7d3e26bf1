"""What a state stores of identities, and rewriting it."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from mlcc_infra.account.stored_identity import (
    EncryptedIdentityError,
    kubeconfig_profile,
    kubeconfig_with,
    pending_operations,
    stored_accounts,
    stored_identities,
    stored_region,
    with_identity,
    with_secrets_of,
)
from mlcc_infra.kubeconfig import kubeconfig, kubeconfig_text
from mlcc_rehearsal.plugins.eks.kubeconfig import compact_json
from mlcc_rehearsal.plugins.eks.kubeconfig import kubeconfig as published_kubeconfig

ACCOUNT = "012345678901"
SIGNATURE = "4dabf18193072939515e22adb298388d"
SECRET = "1b47061264138c4ac30d75fd1eb44270"


def ours(profile: str | None) -> str:
    return kubeconfig_text(
        kubeconfig(
            cluster_name="mlcc-x-eks",
            endpoint="https://127.0.0.1:1",
            certificate_authority="Q0E=",
            region="us-west-2",
            aws_profile=profile,
        )
    )


def published(profile: str | None) -> str:
    return compact_json(
        published_kubeconfig(
            name="mlcc-x-eks",
            endpoint="https://127.0.0.1:1",
            region="us-west-2",
            certificate_authority="Q0E=",
            credentials={"profileName": profile} if profile else {},
            with_profile=True,
        )
    )


def resource(kind: str, name: str, **values: Any) -> dict[str, Any]:
    urn = f"urn:pulumi:mlcc-x::mlcc::{kind}::{name}"
    return {
        "urn": urn,
        "type": kind,
        "id": "id",
        "inputs": copy.deepcopy(values),
        "outputs": copy.deepcopy(values),
    }


def secret(text: str) -> dict[str, str]:
    return {SIGNATURE: SECRET, "ciphertext": f"v1:{text}"}


def state(profile: str | None) -> dict[str, Any]:
    """A state as a vanilla stack leaves it, with one profile everywhere or none."""
    named = {"profile": profile} if profile else {}
    own = {"aws_profile": profile} if profile else {}
    stack = resource("pulumi:pulumi:Stack", "mlcc-mlcc-x")
    stack["outputs"] = {"eks.kubeconfig": ours(profile), "eks.VpcId": "vpc-1", "other.kubeconfig": "none"}
    config = (
        {"mlcc:awsProfile": profile, "aws:region": "us-west-2"} if profile else {"aws:region": "us-west-2"}
    )
    made = [
        stack,
        resource(
            "pulumi:providers:aws", "aws", region="us-west-2", allowedAccountIds=f'["{ACCOUNT}"]', **named
        ),
        resource("pulumi:providers:kubernetes", "eks-charts-kubernetes", kubeconfig=ours(profile)),
        resource("pulumi:providers:kubernetes", "eks-cluster-eks-k8s", kubeconfig=published(profile)),
        resource("pulumi:providers:pulumi-python", "default", **config),
        resource("pulumi-python:dynamic/eks:Access", "eks-access", account=ACCOUNT, admins=["a"], **own),
        resource("aws:ssm/parameter:Parameter", "x", value=secret("hidden")),
        {"urn": "urn:pulumi:mlcc-x::mlcc::mlcc:eks:EksBase::eks", "type": "mlcc:eks:EksBase"},
    ]
    made[-1] |= {"inputs": {}, "outputs": {"kubeconfig": ours(profile)}}
    return {"version": 3, "deployment": {"resources": made, "pending_operations": []}}


@pytest.mark.parametrize("make", [ours, published], ids=["ours", "the published component's"])
@pytest.mark.parametrize(
    ("before", "after"), [("team", None), (None, "team"), ("team", "corp"), (None, None)]
)
def test_a_kubeconfig_with_another_profile_is_the_one_that_the_program_would_write(
    make: Any, before: str | None, after: str | None
) -> None:
    assert kubeconfig_with(make(before), after) == make(after)
    assert kubeconfig_profile(make(before)) == before


def test_a_profile_that_is_a_variable_of_the_command_is_found_and_goes() -> None:
    config = json.loads(ours(None))
    command = config["users"][0]["user"]["exec"]
    command["env"] = [{"name": "AWS_PROFILE", "value": "team"}, {"name": "OTHER", "value": "1"}]
    text = json.dumps(config)
    assert kubeconfig_profile(text) == "team"
    rewritten = json.loads(kubeconfig_with(text, None))
    assert rewritten["users"][0]["user"]["exec"]["env"] == [{"name": "OTHER", "value": "1"}]


@pytest.mark.parametrize(("before", "after"), [("team", None), (None, "team"), ("team", "corp")])
def test_a_rewritten_state_is_the_one_that_an_up_with_the_other_identity_leaves(
    before: str | None, after: str | None
) -> None:
    given = state(before)
    untouched = copy.deepcopy(given)
    rewritten = with_identity(given, after)
    expected = state(after)
    # Of the configuration that dynamic resources get, a profile that was never in it is not put there.
    if before is None:
        expected["deployment"]["resources"][4] = given["deployment"]["resources"][4]
    assert rewritten.export == expected
    assert given == untouched
    assert {found.profile for found in rewritten.changed} == {after}


def test_the_identity_that_is_stored_already_changes_nothing() -> None:
    assert with_identity(state("team"), "team").changed == ()
    assert with_identity(state(None), None).changed == ()


def test_every_holder_is_told_with_its_profile_and_nothing_else_is() -> None:
    found = {each.holder: each.profile for each in stored_identities(state("team"))}
    assert found == {
        "pulumi:pulumi:Stack mlcc-mlcc-x": "team",
        "pulumi:providers:aws aws": "team",
        "pulumi:providers:kubernetes eks-charts-kubernetes": "team",
        "pulumi:providers:kubernetes eks-cluster-eks-k8s": "team",
        "pulumi:providers:pulumi-python default": "team",
        "pulumi-python:dynamic/eks:Access eks-access": "team",
        "mlcc:eks:EksBase eks": "team",
    }
    assert {each.profile for each in stored_identities(state(None))} == {None}


def test_account_and_region_are_read_with_leading_zeros() -> None:
    assert stored_accounts(state(None)) == (ACCOUNT,)
    assert stored_region(state(None)) == "us-west-2"
    assert stored_identities({"version": 3, "deployment": None}) == ()


def test_what_a_killed_run_left_is_named() -> None:
    given = state(None)
    given["deployment"]["pending_operations"] = [{"resource": {"urn": "urn:x"}, "type": "creating"}]
    assert [found["resource"]["urn"] for found in pending_operations(given)] == ["urn:x"]
    assert pending_operations(state(None)) == []


def test_an_encrypted_kubeconfig_is_opened_in_memory_and_handed_back_as_a_secret() -> None:
    given, shown = state("team"), state("team")
    for side in ("inputs", "outputs"):
        given["deployment"]["resources"][2][side]["kubeconfig"] = secret("kubeconfig")
        clear = {SIGNATURE: SECRET, "plaintext": json.dumps(ours("team"))}
        shown["deployment"]["resources"][2][side]["kubeconfig"] = clear
        opened_value = {SIGNATURE: SECRET, "plaintext": json.dumps("hidden")}
        shown["deployment"]["resources"][6][side]["value"] = opened_value
    with pytest.raises(EncryptedIdentityError, match="kubeconfig of pulumi:providers:kubernetes"):
        stored_identities(given)
    opened = with_secrets_of(given, shown)
    assert "hidden" not in json.dumps(opened).replace("v1:hidden", "")
    rewritten = with_identity(opened, None).export["deployment"]["resources"]
    assert rewritten[2]["inputs"]["kubeconfig"] == {SIGNATURE: SECRET, "plaintext": json.dumps(ours(None))}
    assert rewritten[6]["inputs"]["value"] == secret("hidden")
