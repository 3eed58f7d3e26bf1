"""How what is taken over differs from the profile: one comparison a property, and the words for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from mlcc_infra.account import adoption_facts
from mlcc_infra.account.decisions import Action, Decision, Fact, Presence, Wanted
from mlcc_infra.account.differences import COMPARED, Aspect, Difference, Effect, aspects, compare
from mlcc_infra.account.lookups import LOOKUPS
from mlcc_infra.account.preflight import Verdict
from mlcc_infra.policies import service_statement, trust
from mlcc_infra.tagging import Origin, OwnerKind
from mlcc_infra.targets.adoption import (
    LINES_SHOWN,
    LONGEST_LINE,
    Adopted,
    replacement_refusals,
    short_form,
    unread_results,
)

ROLE = "aws:iam/role:Role"
ADDON = "aws:eks/addon:Addon"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"


def words(token: str, found: dict[str, Any], wanted: dict[str, Any], **more: bool) -> list[str]:
    return [str(difference) for difference in compare(token, found, wanted, **more)]


def test_what_only_one_side_knows_is_not_compared() -> None:
    assert compare(ROLE, {"path": "/"}, {"description": "x"}) == ()
    assert (
        compare("aws:iam/rolePolicyAttachment:RolePolicyAttachment", {"tags": {}}, {"tags": {"a": "b"}}) == ()
    )


def test_a_trust_differs_by_statement_and_not_by_spelling() -> None:
    theirs = trust(service_statement("ec2.amazonaws.com"))
    ours = trust(service_statement("eks.amazonaws.com"))
    assert words(ROLE, {"trust": theirs}, {"trust": ours}) == [
        "trust: + Allow eks.amazonaws.com to sts:AssumeRole",
        "trust: - Allow ec2.amazonaws.com to sts:AssumeRole",
    ]
    respelt = {
        "Version": "2012-10-17",
        "Statement": {
            "Effect": "Allow",
            "Principal": {"Service": ["eks.amazonaws.com"]},
            "Action": ["sts:assumerole"],
        },
    }
    assert compare(ROLE, {"trust": respelt}, {"trust": ours}) == ()


def test_foreign_policies_are_kept_and_with_exclusive_taken_off() -> None:
    found, wanted = {"policies": ["theirs", "both"]}, {"policies": ["ours", "both"]}
    kept = compare(ROLE, found, wanted)
    assert [str(difference) for difference in kept] == ["policies: + ours", "policies: theirs (kept)"]
    off = compare(ROLE, found, wanted, exclusive=True)
    assert [(difference.found, difference.effect) for difference in off] == [
        ("", Effect.CHANGED),
        ("theirs", Effect.TAKEN_OFF),
    ]
    assert str(off[1]) == "policies: - theirs"


def test_tags_of_other_people_do_not_matter() -> None:
    found = {"tags": {"mlcc:managed-by": "ml-container-creator", "team": "ml"}}
    wanted = {"tags": {"mlcc:managed-by": "mlcc-infra", "mlcc:origin": "adopted", "mlcc:region": "us-west-2"}}
    assert words(ROLE, found, wanted) == [
        "tag mlcc:managed-by: ml-container-creator -> mlcc-infra",
        "tags: + mlcc:origin=adopted, mlcc:region=us-west-2",
    ]


def test_settings_versions_and_configurations() -> None:
    found = {"add-on version": "v1.0.0-eksbuild.1", "configuration": '{"b": 1, "a": 2}', "role": None}
    same = {"add-on version": "v1.0.0-eksbuild.1", "configuration": '{"a":2,"b":1}', "role": None}
    assert compare(ADDON, found, same) == ()
    other = {**same, "add-on version": "v1.1.0-eksbuild.1", "configuration": ""}
    assert words(ADDON, found, other) == [
        "add-on version: v1.0.0-eksbuild.1 -> v1.1.0-eksbuild.1",
        'configuration: {"b": 1, "a": 2} -> none',
    ]


def test_frozen_parameters_of_a_stack_are_kept() -> None:
    found = {"parameter": {"NodeRecovery": "None", "Stage": "prod", "Other": "x"}}
    wanted = {"parameter": {"NodeRecovery": "Automatic", "Stage": "prod"}}
    assert words("aws:cloudformation/stack:Stack", found, wanted) == [
        "parameter NodeRecovery: None -> Automatic (kept)"
    ]


def test_a_long_value_is_cut() -> None:
    (difference,) = compare(ROLE, {"description": "x" * 400}, {"description": "y"})
    assert len(difference.found) <= 160


def test_the_aspects_come_once_and_in_one_order() -> None:
    found = {"trust": {}, "tags": {}, "description": ""}
    wanted = {
        "trust": trust(service_statement("eks.amazonaws.com")),
        "tags": {"a": "b"},
        "description": "words",
    }
    assert aspects(compare(ROLE, found, wanted)) == (Aspect.TRUST, Aspect.TAGS, Aspect.SETTINGS)


def test_every_compared_type_is_one_that_is_looked_up() -> None:
    assert set(COMPARED) <= set(LOOKUPS)


def adopted(number: int, *differences: Difference) -> Adopted:
    wanted = Wanted(key=(ROLE, f"roles-{number}"), kind="role", physical=f"mlcc-demo-role-{number}")
    decision = Decision(wanted=wanted, action=Action.IMPORT, origin=Origin.ADOPTED, import_id="x")
    return Adopted(decision=decision, owner=OwnerKind.UNTAGGED, differences=differences)


TAGS = Difference(aspect=Aspect.TAGS, what="tags", found="", wanted="a=b")
TRUST = Difference(aspect=Aspect.TRUST, what="trust", found="", wanted="Allow x")


def test_the_short_form_says_what_differs_in_a_few_words() -> None:
    text = short_form([adopted(1, TAGS, TRUST), adopted(2), adopted(3, TAGS)], stack="mlcc-demo")
    assert text.splitlines() == [
        "Taking over 3 existing, 2 of them unlike the profile:",
        "  role mlcc-demo-role-1: trust, tags",
        "  role mlcc-demo-role-3: tags",
        "How each differs: mlcc-infra adopt mlcc-demo",
    ]
    assert (
        short_form([adopted(1), adopted(2)], stack="mlcc-demo")
        == "Taking over 2 existing, all as the profile has them: role mlcc-demo-role-1, role mlcc-demo-role-2"
    )


def test_what_could_not_be_compared_is_never_said_to_be_as_the_profile_has_it() -> None:
    denied = replace(adopted(1), unread="GetRole: AccessDenied")
    assert short_form([denied, adopted(2)], stack="mlcc-demo").splitlines() == [
        "Taking over 2 existing, 0 of them unlike the profile:",
        "  role mlcc-demo-role-1: not read",
        "How each differs: mlcc-infra adopt mlcc-demo",
    ]
    (result,) = unread_results([denied, adopted(2)])
    assert result.verdict is Verdict.UNKNOWN
    assert "GetRole: AccessDenied" in result.found


def test_a_denied_read_is_kept_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: Any) -> None:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "GetRole")

    monkeypatch.setattr(adoption_facts, "get_role", denied)
    wanted = Wanted(key=(ROLE, "r"), kind="role", physical="r", lookup={"role": "r"})
    fact = Fact(presence=Presence.PRESENT, import_id="r", tags={"a": "b"})
    reader: Any = None
    found = adoption_facts.read_facts(reader, [wanted], {wanted.key: fact})[wanted.key]
    assert found.unread == "GetRole: AccessDenied"
    assert found.properties == {"tags": {"a": "b"}}


def test_the_short_form_has_a_bounded_length() -> None:
    lines = short_form([adopted(number, TAGS) for number in range(400)], stack="mlcc-demo").splitlines()
    assert len(lines) == LINES_SHOWN + 3
    assert lines[-2] == f"  and {400 - LINES_SHOWN} more"
    assert max(len(line) for line in lines) <= LONGEST_LINE


@pytest.mark.parametrize(("found", "refused"), [(["m5.large"], True), (["m6i.large"], False)])
def test_what_only_a_replacement_would_change_is_refused_naming_the_property(
    found: list[str], refused: bool
) -> None:
    differences = compare(NODE_GROUP, {"instance types": found}, {"instance types": ["m6i.large"]})
    results = replacement_refusals([adopted(1, *differences)], stack="mlcc-demo")
    assert [result.verdict for result in results] == ([Verdict.REFUSED] if refused else [])
    if refused:
        assert "instance types m5.large" in results[0].found
        assert "instance types m6i.large" in results[0].needed
