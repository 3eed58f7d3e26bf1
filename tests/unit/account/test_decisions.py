"""The decision table of adoption, row by row and by property."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlcc_infra.account.decisions import (
    Action,
    AdoptMode,
    Decision,
    Fact,
    Presence,
    Recorded,
    Wanted,
    decide,
    decide_all,
)
from mlcc_infra.tagging import Origin, Owner, OwnerKind

ROLE = Wanted(key=("aws:iam/role:Role", "service-roles-x"), kind="role", physical="mlcc-demo-x")
VPC = Wanted(
    key=("aws:ec2/vpc:Vpc", "eks-network-vpc"), kind="network", physical="the VPC", identified_by_name=False
)


def exists(kind: OwnerKind, *, origin: Origin | None = None, stack: str | None = None) -> Fact:
    return Fact(
        presence=Presence.PRESENT,
        import_id="mlcc-demo-x",
        resource_id="mlcc-demo-x",
        owner=Owner(kind=kind, evidence="mlcc:profile=other", origin=origin),
        stack=stack,
    )


ABSENT = Fact(presence=Presence.ABSENT)
DENIED = Fact(presence=Presence.UNKNOWN, reason="GetRole: AccessDenied")


def test_what_the_state_knows_is_kept() -> None:
    decision = decide(ROLE, exists(OwnerKind.OURS), Recorded(id="mlcc-demo-x"), AdoptMode.AUTO)
    assert (decision.action, decision.import_id) == (Action.KEEP, None)


ATTACHMENT = Wanted(
    key=("aws:iam/rolePolicyAttachment:RolePolicyAttachment", "x-p"),
    kind="role",
    physical="p on mlcc-demo-x",
    belongs_to="mlcc-demo-x",
)
SUBNET_TAG = Wanted(key=("aws:ec2/tag:Tag", "eks-network-tag"), kind="network", physical="tag k of subnet-1")
STACK = Wanted(key=("aws:cloudformation/stack:Stack", "hyperpod-stack"), kind="stack", physical="made")


@pytest.mark.parametrize("retained", [True, False])
def test_what_has_no_tags_stays_what_it_was_registered_as(retained: bool) -> None:
    origin = Origin.ADOPTED if retained else Origin.CREATED
    recorded = Recorded(id="x", retained=retained)
    untagged = Fact(presence=Presence.PRESENT, import_id="x", resource_id="x")
    assert decide(SUBNET_TAG, untagged, recorded, AdoptMode.AUTO).origin is origin
    on_adopted = Fact(
        presence=Presence.PRESENT,
        import_id="x",
        owner=Owner(kind=OwnerKind.OURS, origin=Origin.ADOPTED),
    )
    assert decide(ATTACHMENT, on_adopted, recorded, AdoptMode.AUTO).origin is origin


@pytest.mark.parametrize("retained", [True, False])
def test_a_stack_is_what_the_mark_on_its_cluster_says(retained: bool) -> None:
    marked = Fact(
        presence=Presence.PRESENT,
        import_id="arn",
        resource_id="arn",
        owner=Owner(kind=OwnerKind.OURS, origin=Origin.ADOPTED),
    )
    decision = decide(STACK, marked, Recorded(id="arn", retained=retained), AdoptMode.AUTO)
    assert decision.origin is Origin.ADOPTED


def test_the_state_and_the_account_disagreeing_about_the_id_is_refused_naming_both() -> None:
    fact = Fact(presence=Presence.PRESENT, import_id="vpc-2", resource_id="vpc-2")
    decision = decide(VPC, fact, Recorded(id="vpc-1"), AdoptMode.AUTO)
    assert decision.action is Action.REFUSE
    assert "vpc-1" in decision.reason
    assert "vpc-2" in decision.reason


def test_ids_that_differ_from_one_creation_to_the_next_are_not_compared() -> None:
    fact = Fact(presence=Presence.PRESENT, import_id="role/arn", resource_id=None)
    assert decide(ROLE, fact, Recorded(id="role-2026"), AdoptMode.AUTO).action is Action.KEEP


def test_what_is_gone_but_recorded_is_left_to_the_engine() -> None:
    assert decide(ROLE, ABSENT, Recorded(id="mlcc-demo-x"), AdoptMode.REQUIRED).action is Action.KEEP


def test_what_is_nowhere_is_created() -> None:
    decision = decide(ROLE, ABSENT, None, AdoptMode.AUTO)
    assert (decision.action, decision.origin) == (Action.CREATE, Origin.CREATED)


@pytest.mark.parametrize("origin", list(Origin))
def test_ours_after_a_lost_state_is_imported_and_keeps_its_origin(origin: Origin) -> None:
    decision = decide(ROLE, exists(OwnerKind.OURS, origin=origin), None, AdoptMode.AUTO)
    assert (decision.action, decision.import_id, decision.origin) == (Action.IMPORT, "mlcc-demo-x", origin)


@pytest.mark.parametrize("kind", [OwnerKind.UNTAGGED, OwnerKind.PREDECESSOR])
def test_what_nobody_or_the_predecessor_owns_is_imported_as_adopted(kind: OwnerKind) -> None:
    decision = decide(ROLE, exists(kind), None, AdoptMode.AUTO)
    assert (decision.action, decision.origin) == (Action.IMPORT, Origin.ADOPTED)


def test_what_a_live_cloudformation_stack_owns_is_refused_with_the_steps() -> None:
    fact = exists(OwnerKind.PREDECESSOR, stack="mlcc-demo-eks-cluster")
    decision = decide(ROLE, fact, None, AdoptMode.AUTO)
    assert decision.action is Action.REFUSE
    assert "mlcc-demo-eks-cluster" in decision.reason
    assert "DeletionPolicy: Retain" in decision.remedy


def test_somebody_elses_is_refused_with_the_tag_that_was_seen() -> None:
    decision = decide(ROLE, exists(OwnerKind.FOREIGN), None, AdoptMode.AUTO)
    assert decision.action is Action.REFUSE
    assert "mlcc:profile=other" in decision.reason


def test_adopt_never_refuses_what_exists_and_creates_what_does_not() -> None:
    assert decide(ROLE, exists(OwnerKind.OURS), None, AdoptMode.NEVER).action is Action.REFUSE
    assert decide(ROLE, ABSENT, None, AdoptMode.NEVER).action is Action.CREATE


def test_adopt_required_refuses_what_does_not_exist() -> None:
    assert decide(ROLE, ABSENT, None, AdoptMode.REQUIRED).action is Action.REFUSE


def test_a_denied_read_of_a_named_thing_is_said_and_creation_may_collide() -> None:
    decision = decide(ROLE, DENIED, None, AdoptMode.AUTO)
    assert decision.action is Action.CREATE
    assert "AccessDenied" in decision.warning


def test_a_denied_read_of_a_thing_without_a_name_is_refused_because_it_would_be_made_twice() -> None:
    assert decide(VPC, DENIED, None, AdoptMode.AUTO).action is Action.REFUSE


owners = st.builds(
    Owner,
    kind=st.sampled_from(OwnerKind),
    evidence=st.just("seen"),
    origin=st.sampled_from([None, *Origin]),
)
facts = st.one_of(
    st.just(ABSENT),
    st.just(DENIED),
    st.builds(
        Fact,
        presence=st.just(Presence.PRESENT),
        import_id=st.just("id"),
        resource_id=st.sampled_from([None, "id", "other"]),
        owner=owners,
        stack=st.sampled_from([None, "stack"]),
    ),
)
recorded = st.one_of(
    st.none(),
    st.builds(Recorded, id=st.just("id"), origin=st.sampled_from([None, *Origin]), retained=st.booleans()),
)
cases = st.builds(
    lambda wanted, fact, known, mode: (fact, known, mode, decide(wanted, fact, known, mode)),
    st.sampled_from([ROLE, VPC]),
    facts,
    recorded,
    st.sampled_from(AdoptMode),
)


@given(cases)
def test_nothing_that_exists_is_ever_created(
    case: tuple[Fact, Recorded | None, AdoptMode, Decision],
) -> None:
    fact, _, _, decision = case
    if fact.presence is Presence.PRESENT:
        assert decision.action is not Action.CREATE


@given(cases)
def test_import_ids_come_with_imports_and_only_outside_the_state(
    case: tuple[Fact, Recorded | None, AdoptMode, Decision],
) -> None:
    fact, known, _, decision = case
    assert (decision.import_id is not None) == (decision.action is Action.IMPORT)
    if decision.action is Action.IMPORT:
        assert known is None
        assert fact.presence is Presence.PRESENT


@given(cases)
def test_unknown_never_becomes_a_creation_where_existence_is_required_and_never_an_import(
    case: tuple[Fact, Recorded | None, AdoptMode, Decision],
) -> None:
    fact, known, mode, decision = case
    if fact.presence is Presence.UNKNOWN and known is None:
        assert decision.action is not Action.IMPORT
        if mode is AdoptMode.REQUIRED:
            assert decision.action is Action.REFUSE
        elif decision.action is Action.CREATE:
            assert decision.warning


@given(cases)
def test_a_decision_to_create_is_made_only_about_what_neither_state_nor_account_has(
    case: tuple[Fact, Recorded | None, AdoptMode, Decision],
) -> None:
    fact, known, mode, decision = case
    if decision.action is Action.CREATE:
        assert known is None
        assert fact.presence is not Presence.PRESENT
        assert mode is not AdoptMode.REQUIRED


@given(cases)
def test_unknown_never_leads_to_a_deletion(
    case: tuple[Fact, Recorded | None, AdoptMode, Decision],
) -> None:
    """A deletion follows from an import of another id, and from an origin that gives up retention."""
    fact, known, _, decision = case
    if fact.presence is Presence.UNKNOWN and known is not None:
        assert (decision.action, decision.import_id) == (Action.KEEP, None)
        if known.origin is Origin.ADOPTED or (known.retained and known.origin is None):
            assert decision.origin is Origin.ADOPTED


def test_an_adopted_thing_without_tags_of_its_own_stays_adopted_when_the_read_is_denied() -> None:
    attachment = Recorded(id="role-2026", retained=True)
    assert decide(ROLE, DENIED, attachment, AdoptMode.AUTO).origin is Origin.ADOPTED
    assert decide(ROLE, DENIED, Recorded(id="role-2026"), AdoptMode.AUTO).origin is Origin.CREATED


@given(st.dictionaries(st.sampled_from([ROLE.key, VPC.key]), facts), st.sampled_from(AdoptMode))
def test_every_wanted_thing_gets_exactly_one_decision(
    found: dict[tuple[str, str], Fact], mode: AdoptMode
) -> None:
    decisions = decide_all([ROLE, VPC], found, {}, dict.fromkeys(("role", "network"), mode))
    assert decisions.by_key.keys() == {ROLE.key, VPC.key}
    for key, decision in decisions.by_key.items():
        assert decision.wanted.key == key
        exists = key in found and found[key].presence is Presence.PRESENT
        assert not (exists and decision.action is Action.CREATE)


@given(cases)
def test_every_refusal_says_why_and_what_to_do(
    case: tuple[Fact, Recorded | None, AdoptMode, Decision],
) -> None:
    decision = case[3]
    if decision.action is Action.REFUSE:
        assert decision.reason
        assert decision.remedy


def test_what_nobody_looked_up_counts_as_unknown() -> None:
    decisions = decide_all([ROLE, VPC], {}, {}, {"role": AdoptMode.REQUIRED})
    assert {decision.action for decision in decisions.by_key.values()} == {Action.REFUSE}
