"""What became of an interrupted operation, from what state and account say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlcc_infra.account.decisions import AdoptMode, Fact, Presence, Recorded, Wanted, decide
from mlcc_infra.account.recorded_state import Pending, index_export
from mlcc_infra.recovery.pending import Outcome, judge
from mlcc_infra.tagging import Origin, Owner, OwnerKind

PREFIX = "urn:pulumi:mlcc-demo::mlcc::"
VPC = Pending(urn=f"{PREFIX}mlcc:net:Network$aws:ec2/vpc:Vpc::eks-network-vpc", operation="creating")
WANTED = Wanted(key=VPC.key, kind="network", physical="vpc", identified_by_name=False)
RELEASE = Pending(urn=f"{PREFIX}kubernetes:helm.sh/v3:Release::charts-x", operation="creating")


def outcome(fact: Fact, mode: AdoptMode = AdoptMode.AUTO) -> Outcome:
    return judge(VPC, recorded=(), decision=decide(WANTED, fact, None, mode, begun=True)).outcome


def test_what_exists_is_left_to_the_next_up() -> None:
    assert outcome(Fact(presence=Presence.PRESENT, import_id="vpc-1")) is Outcome.EXISTS


def test_what_does_not_exist_is_cleared() -> None:
    assert outcome(Fact(presence=Presence.ABSENT)) is Outcome.ABSENT


@pytest.mark.parametrize("mode", AdoptMode)
def test_what_could_not_be_read_stays(mode: AdoptMode) -> None:
    assert outcome(Fact(presence=Presence.UNKNOWN, reason="DescribeVpcs: denied"), mode) is Outcome.UNKNOWN


@given(
    presence=st.sampled_from(Presence),
    owner=st.sampled_from(OwnerKind),
    mode=st.sampled_from(AdoptMode),
    by_name=st.booleans(),
)
def test_unknown_is_never_cleared_whatever_else_is_the_case(
    presence: Presence, owner: OwnerKind, mode: AdoptMode, by_name: bool
) -> None:
    wanted = Wanted(key=VPC.key, kind="network", physical="vpc", identified_by_name=by_name)
    fact = Fact(presence=presence, import_id="vpc-1", owner=Owner(kind=owner), reason="denied")
    found = judge(VPC, recorded=(), decision=decide(wanted, fact, None, mode, begun=True)).outcome
    assert (found is Outcome.ABSENT) == (presence is Presence.ABSENT and mode is not AdoptMode.REQUIRED)
    if presence is Presence.UNKNOWN:
        assert found is Outcome.UNKNOWN


def test_what_this_stack_began_is_its_own_also_where_the_tags_did_not_come_to_it() -> None:
    untagged = Fact(presence=Presence.PRESENT, import_id="b")
    assert decide(WANTED, untagged, None, AdoptMode.AUTO, begun=True).origin is Origin.CREATED
    assert decide(WANTED, untagged, None, AdoptMode.AUTO).origin is Origin.ADOPTED


def test_another_owners_tag_counts_more_than_that_this_stack_began() -> None:
    foreign = Owner(kind=OwnerKind.FOREIGN, evidence="mlcc:profile=other")
    fact = Fact(presence=Presence.PRESENT, import_id="vpc-1", owner=foreign)
    assert outcome(fact) is Outcome.UNKNOWN


def test_a_creation_that_the_state_knows_of_is_over() -> None:
    assert judge(VPC, recorded={VPC.key}, decision=None).outcome is Outcome.RECORDED


@pytest.mark.parametrize("operation", ["updating", "deleting", "reading", "importing"])
def test_other_operations_are_compared_by_the_next_up(operation: str) -> None:
    pending = Pending(urn=VPC.urn, operation=operation)
    assert judge(pending, recorded={VPC.key}, decision=None).outcome is Outcome.RECORDED


@pytest.mark.parametrize(
    ("kind", "custom"),
    [
        ("pulumi-python:dynamic/eks:Access", True),
        ("pulumi:providers:aws", True),
        ("mlcc:eks:EksBase", False),
    ],
)
def test_what_is_no_thing_in_aws_is_made_again(kind: str, custom: bool) -> None:
    pending = Pending(urn=f"{PREFIX}{kind}::x", operation="creating", custom=custom)
    assert judge(pending, recorded=(), decision=None).outcome is Outcome.ENSURED


def test_what_the_profile_does_not_ask_for_any_more_is_not_cleared() -> None:
    assert judge(VPC, recorded=(), decision=None).outcome is Outcome.UNKNOWN


def test_pending_operations_are_read_from_the_export() -> None:
    inputs = {"name": "x"}
    state = index_export(
        {
            "deployment": {
                "resources": [],
                "pending_operations": [
                    {"type": "creating", "resource": {"urn": VPC.urn, "custom": True, "inputs": inputs}},
                    {"type": "deleting", "resource": {"urn": RELEASE.urn, "custom": True}},
                ],
            }
        }
    )
    assert [(found.operation, found.inputs) for found in state.pending] == [
        ("creating", inputs),
        ("deleting", {}),
    ]
    assert state.begun == {VPC.key}


def test_a_recorded_resource_is_kept_whatever_was_begun() -> None:
    fact = Fact(presence=Presence.PRESENT, import_id="vpc-1", resource_id="vpc-1")
    decided = decide(WANTED, fact, Recorded(id="vpc-1"), AdoptMode.AUTO, begun=True)
    assert judge(VPC, recorded=(), decision=decided).outcome is Outcome.RECORDED
