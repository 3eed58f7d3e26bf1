"""CloudFormation stacks in the provider's manner, against a scripted CloudFormation."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import Any

import boto3
import pytest

from mlcc_rehearsal.plugins.aws import catalogue, checking, difference, state
from mlcc_rehearsal.plugins.aws.calling import AwsError, Call, Clients
from mlcc_rehearsal.plugins.serving import ProviderError

TOKEN = "aws:cloudformation/stack:Stack"
STACK = catalogue.resources()[TOKEN]
ARN = "arn:aws:cloudformation:us-west-2:123456789012:stack/s/1"
TAGS = checking.TagSettings()
URL = "https://b.s3.us-west-2.amazonaws.com/t.yaml"


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLCC_CLOCK_SPEED", "400")


def refusal(message: str) -> AwsError:
    return AwsError(f"api error ValidationError: {message}", "ValidationError", message, 400)


class Formation(Clients):
    """A CloudFormation with one stack that goes through the statuses it is given."""

    def __init__(self, *statuses: str, **stack: Any) -> None:
        super().__init__(boto3.Session("made-up", "made-up", region_name="us-west-2"), {})
        self.statuses = itertools.chain(statuses, itertools.repeat(statuses[-1] if statuses else ""))
        self.stack = {"StackId": ARN, "StackName": "s", **stack}
        self.events: list[dict[str, Any]] = []
        self.template: Any = "Resources: {}\n"
        self.refusals: dict[str, AwsError] = {}
        self.sent: list[tuple[str, dict[str, Any]]] = []

    def call(
        self, service: str, region: str, operation: str, parameters: Mapping[str, Any], cancel: Any
    ) -> dict[str, Any]:
        given = {key: value for key, value in parameters.items() if value is not None}
        self.sent.append((operation, given))
        if operation in self.refusals:
            raise self.refusals[operation]
        if operation == "describe_stacks":
            status = next(self.statuses)
            if not status:
                raise refusal("Stack with id s does not exist")
            return {"Stacks": [{**self.stack, "StackStatus": status}]}
        if operation == "describe_stack_events":
            token = next(
                item["ClientRequestToken"] for _, item in reversed(self.sent) if "ClientRequestToken" in item
            )
            return {"StackEvents": [{"ClientRequestToken": token, **event} for event in self.events]}
        if operation == "get_template":
            return {"TemplateBody": self.template}
        return {"StackId": ARN}

    def requests(self, operation: str) -> list[dict[str, Any]]:
        return [given for name, given in self.sent if name == operation]


def checked(news: dict[str, Any], olds: dict[str, Any] | None = None) -> dict[str, Any]:
    request = checking.Request("thing", news, olds=olds or {}, seed=b"seed")
    inputs, failures = checking.check(STACK, request, TAGS, "us-west-2")
    assert failures == []
    return inputs


def a_call(formation: Formation, **more: Any) -> Call:
    return Call(formation, region="us-west-2", account_id="123456789012", **more)


def event(status: str, reason: str | None, kind: str = "AWS::EC2::VPC") -> dict[str, Any]:
    found = {"ResourceStatus": status, "ResourceType": kind}
    return found if reason is None else {**found, "ResourceStatusReason": reason}


GIVEN: dict[str, Any] = {
    "name": "s",
    "templateUrl": URL,
    "parameters": {"A": "1", "B": "2"},
    "capabilities": ["CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"],
    "policyBody": '{"Statement": []}',
}
MADE: dict[str, Any] = {
    "Capabilities": ["CAPABILITY_AUTO_EXPAND", "CAPABILITY_NAMED_IAM"],
    "DisableRollback": False,
    "Parameters": [
        {"ParameterKey": "A", "ParameterValue": "1"},
        {"ParameterKey": "B", "ParameterValue": "2"},
        {"ParameterKey": "Other", "ParameterValue": "default"},
    ],
    "Outputs": [{"OutputKey": "VpcId", "OutputValue": "vpc-1"}],
}


def made(formation: Formation, news: dict[str, Any] | None = None) -> tuple[Call, dict[str, Any]]:
    inputs = checked(news or GIVEN)
    call = a_call(formation, inputs=inputs)
    call.id = STACK.create(call)
    found = STACK.read(call)
    assert found is not None
    return call, state.outputs(STACK, found, inputs, TAGS, "us-west-2")


def test_the_id_is_the_stacks_arn_and_what_was_asked_is_no_difference() -> None:
    formation = Formation("CREATE_IN_PROGRESS", "CREATE_COMPLETE", **MADE)
    call, now = made(formation)
    assert call.id == ARN
    assert now["outputs"] == {"VpcId": "vpc-1"}
    assert difference.compare(STACK, now, call.inputs).changes == ()
    sent = formation.requests("create_stack")[0]
    assert sent["StackPolicyBody"] == '{"Statement":[]}'
    assert sent["Parameters"] == MADE["Parameters"][:2]


def test_only_parameters_the_program_names_are_read_back_and_their_drift_shows() -> None:
    drifted = {**MADE, "Parameters": [{"ParameterKey": "A", "ParameterValue": "9"}, MADE["Parameters"][2]]}
    call, now = made(Formation("CREATE_COMPLETE", **drifted))
    assert now["parameters"] == {"A": "9"}
    assert difference.compare(STACK, now, call.inputs).paths == {"parameters.A", "parameters.B"}


def test_a_failed_creation_keeps_the_id_and_says_the_reasons_of_its_own_events() -> None:
    formation = Formation("CREATE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS", "ROLLBACK_COMPLETE")
    formation.events = [
        event("ROLLBACK_IN_PROGRESS", "The following resource(s) failed to create: [Vpc].", "AWS::X"),
        event("CREATE_FAILED", "The maximum number of VPCs has been reached."),
        event("CREATE_FAILED", None),
        {**event("CREATE_FAILED", "of another operation"), "ClientRequestToken": "another"},
        event("CREATE_COMPLETE", "no failure"),
    ]
    call = a_call(formation, inputs=checked(GIVEN))
    with pytest.raises(ProviderError) as failure:
        STACK.create(call)
    assert call.id == ARN
    assert failure.value.message == (
        f"waiting for CloudFormation Stack ({ARN}) create: stack status (ROLLBACK_COMPLETE): "
        "The following resource(s) failed to create: [Vpc].\nThe maximum number of VPCs has been reached."
    )


@pytest.mark.parametrize(
    ("status", "reason"),
    [("CREATE_FAILED", "a failure"), ("DELETE_COMPLETE", "a failure\ndeletion requested")],
)
def test_reasons_depend_on_what_becomes_of_a_failed_stack(status: str, reason: str) -> None:
    formation = Formation(status)
    formation.events = [
        event("CREATE_FAILED", "a failure"),
        event("ROLLBACK_IN_PROGRESS", "rollback requested"),
        event("DELETE_IN_PROGRESS", "deletion requested", "AWS::CloudFormation::Stack"),
    ]
    with pytest.raises(ProviderError) as failure:
        STACK.create(a_call(formation, inputs=checked(GIVEN)))
    assert failure.value.message.endswith(f"stack status ({status}): {reason}")


def test_without_events_the_stacks_own_reason_is_said() -> None:
    formation = Formation("ROLLBACK_FAILED", StackStatusReason="because")
    formation.refusals["describe_stack_events"] = refusal("no")
    with pytest.raises(ProviderError, match=r"\(ROLLBACK_FAILED\): because$"):
        STACK.create(a_call(formation, inputs=checked(GIVEN)))


def test_waits_are_of_half_an_hour_unless_the_program_says_otherwise() -> None:
    assert (STACK.timeouts.create, STACK.timeouts.update, STACK.timeouts.delete) == (1800, 1800, 1800)
    formation = Formation("CREATE_IN_PROGRESS")
    with pytest.raises(ProviderError, match=r"last state: 'CREATE_IN_PROGRESS', timeout: 5m0s"):
        STACK.create(a_call(formation, inputs=checked(GIVEN), timeout=300))


@pytest.mark.parametrize("status", ["ROLLBACK_COMPLETE", "DELETE_FAILED", "CREATE_IN_PROGRESS"])
def test_a_stack_that_is_there_in_whatever_state_is_no_difference(status: str) -> None:
    call, now = made(Formation("CREATE_COMPLETE", **MADE))
    found = STACK.read(a_call(Formation(status, **MADE), state=now, inputs=call.inputs, id=ARN))
    assert found is not None
    again = state.outputs(STACK, found, now, TAGS, "us-west-2")
    assert difference.compare(STACK, again, call.inputs).changes == ()


@pytest.mark.parametrize("status", ["DELETE_COMPLETE", ""])
def test_a_deleted_or_unknown_stack_is_gone(status: str) -> None:
    assert STACK.read(a_call(Formation(status), id=ARN)) is None


def updated(formation: Formation, change: dict[str, Any]) -> Call:
    call, now = made(Formation("CREATE_COMPLETE", **MADE))
    wanted = checked({**GIVEN, **change}, call.inputs)
    changes = difference.compare(STACK, now, wanted)
    assert changes.replaces == []
    again = a_call(formation, inputs=wanted, state=now, id=ARN, changes=changes.paths)
    assert STACK.update is not None
    STACK.update(again)
    return again


def test_any_update_sends_address_capabilities_and_every_parameter_but_an_unchanged_policy_not() -> None:
    formation = Formation("UPDATE_COMPLETE")
    updated(formation, {"parameters": {"A": "1", "B": "3"}})
    (sent,) = formation.requests("update_stack")
    assert sent["StackName"] == ARN
    assert sent["TemplateURL"] == URL
    assert "TemplateBody" not in sent
    assert "StackPolicyBody" not in sent
    assert {item["ParameterKey"]: item["ParameterValue"] for item in sent["Parameters"]} == {
        "A": "1",
        "B": "3",
    }
    assert set(sent["Capabilities"]) == set(GIVEN["capabilities"])


def test_a_changed_policy_is_sent() -> None:
    formation = Formation("UPDATE_COMPLETE")
    updated(formation, {"policyBody": '{"Statement": [1]}'})
    assert formation.requests("update_stack")[0]["StackPolicyBody"] == '{"Statement":[1]}'


def test_nothing_to_update_is_a_success_without_a_wait() -> None:
    formation = Formation("CREATE_COMPLETE")
    formation.refusals["update_stack"] = refusal("No updates are to be performed.")
    updated(formation, {"templateUrl": f"{URL}?other"})
    assert formation.requests("describe_stacks") == []


def test_an_update_that_rolls_back_says_why() -> None:
    formation = Formation("UPDATE_IN_PROGRESS", "UPDATE_ROLLBACK_COMPLETE")
    formation.events = [event("UPDATE_FAILED", "denied by stack policy")]
    with pytest.raises(ProviderError, match=r"update: stack status \(UPDATE_ROLLBACK_COMPLETE\): denied by"):
        updated(formation, {"parameters": {"A": "2", "B": "2"}})


def test_a_stack_in_creation_or_rolled_back_refuses_an_update_in_cloudformations_words() -> None:
    formation = Formation("ROLLBACK_COMPLETE")
    formation.refusals["update_stack"] = refusal(
        f"Stack:{ARN} is in ROLLBACK_COMPLETE state and can not be updated."
    )
    with pytest.raises(ProviderError, match="can not be updated"):
        updated(formation, {"parameters": {"A": "2", "B": "2"}})


def test_tags_alone_are_one_update_of_the_stack_with_everything_else() -> None:
    assert STACK.tagging is not None
    formation = Formation("UPDATE_COMPLETE")
    call, now = made(Formation("CREATE_COMPLETE", **MADE))
    wanted = checked({**GIVEN, "tags": {"new": "1"}}, call.inputs)
    paths = difference.compare(STACK, {**now, "tagsAll": {"old": "1"}}, wanted).paths
    again = a_call(formation, inputs=wanted, state={**now, "tagsAll": {"old": "1"}}, id=ARN, changes=paths)
    STACK.tagging.untag(again, ["old"])
    STACK.tagging.tag(again, {"new": "1"})
    (sent,) = formation.requests("update_stack")
    assert sent["Tags"] == [{"Key": "new", "Value": "1"}]
    assert sent["TemplateURL"] == URL
    assert len(sent["Parameters"]) == 2


@pytest.mark.parametrize(
    "change",
    [{"name": "t"}, {"onFailure": "DELETE"}, {"timeoutInMinutes": 9}, {"disableRollback": True}],
)
def test_what_only_creation_knows_replaces_the_stack(change: dict[str, Any]) -> None:
    call, now = made(Formation("CREATE_COMPLETE", **MADE))
    found = difference.compare(STACK, now, checked({**GIVEN, **change}, call.inputs))
    assert found.replaces == list(change)


def test_a_preview_of_any_update_makes_outputs_unknown() -> None:
    call, now = made(Formation("CREATE_COMPLETE", **MADE))
    wanted = checked({**GIVEN, "parameters": {"A": "2", "B": "2"}}, call.inputs)
    assert not isinstance(state.preview_updated(STACK, now, wanted)["outputs"], dict)
    assert state.preview_updated(STACK, now, call.inputs)["outputs"] == {"VpcId": "vpc-1"}


@pytest.mark.parametrize("id", ["s", ARN])
def test_an_import_keeps_the_id_it_is_given_and_reads_no_parameter_and_no_address(id: str) -> None:
    imported, known = STACK.imports.parse(id)
    call = a_call(Formation("CREATE_COMPLETE", **MADE), id=imported, state=known)
    found = STACK.read(call)
    assert found is not None
    now = state.outputs(STACK, found, known, TAGS, "us-west-2")
    assert call.id == id
    inputs = state.imported_inputs(STACK, now)
    assert "parameters" not in inputs
    assert "templateUrl" not in inputs
    assert inputs["templateBody"] == "Resources: {}\n"


def test_a_stack_that_becomes_deleted_or_unknown_is_deleted() -> None:
    for last in ("DELETE_COMPLETE", ""):
        formation = Formation("DELETE_IN_PROGRESS", last)
        STACK.delete(a_call(formation, state={}, id=ARN))
        assert formation.requests("delete_stack")[0]["StackName"] == ARN


def test_a_failed_deletion_says_why() -> None:
    formation = Formation("DELETE_FAILED")
    formation.events = [
        event("DELETE_FAILED", "The following resource(s) failed to delete: [VPCStack]."),
        event("DELETE_FAILED", "has dependencies and cannot be deleted"),
    ]
    with pytest.raises(ProviderError) as failure:
        STACK.delete(a_call(formation, state={}, id=ARN))
    assert failure.value.message.endswith(
        "delete: stack status (DELETE_FAILED): The following resource(s) failed to delete: [VPCStack].\n"
        "has dependencies and cannot be deleted"
    )


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"capabilities": ["CAPABILITY_ALL"]}, "expected capabilities to be one of"),
        ({"onFailure": "KEEP"}, "expected on_failure to be one of"),
        ({"policyBody": "{"}, "invalid JSON"),
    ],
)
def test_what_the_provider_validates_is_refused(wrong: dict[str, Any], text: str) -> None:
    request = checking.Request("thing", {**GIVEN, **wrong}, seed=b"seed")
    _, failures = checking.check(STACK, request, TAGS, "us-west-2")
    assert text in failures[0].reason


def test_a_json_template_is_the_same_in_any_layout() -> None:
    formation = Formation("CREATE_COMPLETE", **MADE)
    formation.template = {"Resources": {}, "A": 1}
    body = json.dumps({"A": 1, "Resources": {}}, indent=2)
    given = {key: value for key, value in GIVEN.items() if key != "templateUrl"} | {"templateBody": body}
    call, now = made(formation, given)
    assert difference.compare(STACK, now, call.inputs).changes == ()


def test_the_function_gives_every_parameter_and_refuses_a_stack_that_is_gone() -> None:
    function = catalogue.functions()["aws:cloudformation/getStack:getStack"]
    found = function(a_call(Formation("CREATE_COMPLETE", **MADE), inputs={"name": "s"}))
    assert found["parameters"] == {"A": "1", "B": "2", "Other": "default"}
    assert found["id"] == ARN
    with pytest.raises(ProviderError, match="couldn't find resource"):
        function(a_call(Formation("DELETE_COMPLETE"), inputs={"name": "s"}))
