"""What is kept is not replaced: which resources that is, and what is said."""

from __future__ import annotations

from dataclasses import replace

import pulumi
import pytest

from mlcc_infra.account.decisions import AdoptMode, Fact, Presence, Recorded, Wanted, decide_all
from mlcc_infra.account.recorded_state import index_export
from mlcc_infra.components.kept import KeptResources, changed_inputs, kept_resources
from mlcc_infra.errors import UserError

ROLE = Wanted(key=("aws:iam/role:Role", "r"), kind="role", physical="mlcc-demo-eks-node-role")
RECORDED = Recorded(id="x", retained=True, inputs={"path": "/a/", "name": "x", "tags": {"a": "b"}})
PRESENT = Fact(presence=Presence.PRESENT, import_id="x", resource_id="x")


def kept(recorded: Recorded, fact: Fact = PRESENT) -> bool:
    resources, facts = {ROLE.key: recorded}, {ROLE.key: fact}
    decided = decide_all([ROLE], facts, resources, {"role": AdoptMode.AUTO})
    return ROLE.key in kept_resources(resources, facts, decided)


def test_retained_and_protected_resources_are_kept_and_others_are_not() -> None:
    assert kept(RECORDED)
    assert kept(replace(RECORDED, retained=False, protected=True))
    assert not kept(replace(RECORDED, retained=False))


@pytest.mark.parametrize("presence", [Presence.ABSENT, Presence.UNKNOWN])
def test_what_may_be_gone_may_be_made_again(presence: Presence) -> None:
    assert not kept(RECORDED, Fact(presence=presence))


def test_the_flags_and_inputs_come_from_the_state() -> None:
    entry = {"urn": "urn:pulumi:s::p::aws:iam/role:Role::r", "type": "aws:iam/role:Role", "id": "x"}
    export = {"deployment": {"resources": [{**entry, "protect": True, "inputs": {"path": "/a/"}}]}}
    (found,) = index_export(export).resources.values()
    assert (found.retained, found.protected, found.kept) == (False, True, True)
    assert found.inputs == {"path": "/a/"}


def test_only_what_differs_is_named_and_never_tags() -> None:
    new = {"path": "/b/", "name": "x", "tags": {}, "__defaults": []}
    assert changed_inputs(RECORDED.inputs, new) == {"path": ("/a/", "/b/")}


def test_i3_the_refusal_names_the_property_old_and_new_and_the_way_out() -> None:
    guard = KeptResources({ROLE.key: RECORDED}, stack="mlcc-demo")
    urn = "urn:pulumi:mlcc-demo::mlcc::aws:iam/role:Role::r"
    args = pulumi.ResourceHookArgs(
        urn=urn, id="", name="r", type="aws:iam/role:Role", new_inputs={"path": "/b/", "name": "x"}
    )
    with pytest.raises(UserError, match=r"path /a/ -> /b/") as refused:
        guard._refuse(args)
    assert "Put that setting back" in str(refused.value)
    assert f"pulumi state delete '{urn}' --stack mlcc-demo" in str(refused.value)


def test_what_is_not_kept_gets_no_hook() -> None:
    assert KeptResources({}, stack="mlcc-demo").binding(ROLE.key) is None
