"""Values of the plugin protocol, there and back."""

from google.protobuf import struct_pb2

from mlcc_rehearsal.plugins.values import (
    UNKNOWN,
    Asset,
    ResourceReference,
    Secret,
    contains_unknown,
    from_struct,
    name_of,
    to_struct,
    type_of,
    unmarked,
)


def test_every_kind_of_value_survives_the_way_there_and_back() -> None:
    values = {
        "text": "x",
        "whole": 3,
        "part": 1.5,
        "yes": True,
        "nothing": None,
        "unknown": UNKNOWN,
        "secret": Secret({"inner": [1, "a"]}),
        "resource": ResourceReference("urn:x", "id-1", "1.0"),
        "unborn": ResourceReference("urn:y", UNKNOWN),
        "asset": Asset({"text": "hi"}),
        "archive": Asset({"assets": {}}, archive=True),
    }
    assert from_struct(to_struct(values), keep_secrets=True) == values


def test_secrets_are_plain_unless_asked_for() -> None:
    assert from_struct(to_struct({"a": Secret("x")})) == {"a": "x"}
    assert unmarked({"a": [Secret("x")]}) == {"a": ["x"]}


def test_unknowns_are_found_at_any_depth_and_whatever_their_kind() -> None:
    assert contains_unknown({"a": [{"b": Secret(UNKNOWN)}]})
    assert not contains_unknown({"a": [1, None, ""]})
    unknown_number = struct_pb2.Struct()
    unknown_number["n"] = "3eeb2bf0-c639-47a8-9e75-3b44932eb421"
    assert from_struct(unknown_number) == {"n": UNKNOWN}


def test_outputs_sent_by_an_engine_become_their_values() -> None:
    signature = "4dabf18193072939515e22adb298388d"
    output = {signature: "d0e6a833031e9bbcd3f4e8bde6ca49a4", "value": "x", "secret": True}
    assert from_struct(to_struct({"a": output})) == {"a": "x"}
    assert from_struct(to_struct({"a": {signature: output[signature]}})) == {"a": UNKNOWN}


def test_type_and_name_come_from_the_urn_whatever_its_parents() -> None:
    urn = "urn:pulumi:dev::p::eks:index:Cluster$aws:eks/cluster:Cluster::a::b"
    assert type_of(urn) == "aws:eks/cluster:Cluster"
    assert name_of(urn) == "a::b"
