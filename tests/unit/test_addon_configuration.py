"""Configuration values of add-ons: one text, nothing empty in it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mlcc_infra.addon_configuration import configuration_text, without_empty

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


def nulls(value: Any) -> bool:
    """Whether a null is anywhere in it."""
    if isinstance(value, dict):
        return any(nulls(entry) for entry in value.values())
    return any(nulls(entry) for entry in value) if isinstance(value, list) else value is None


def test_nothing_to_say_is_left_out_of_the_call_altogether() -> None:
    assert configuration_text({}) is None
    assert configuration_text({"a": None, "b": {"c": None}}) is None


def test_an_optional_role_without_a_value_leaves_no_key() -> None:
    text = configuration_text({"executionRoleArn": "arn", "jumpstartGatedModelDownloadRoleArn": None})
    assert text == '{"executionRoleArn":"arn"}'


def test_false_zero_and_empty_text_are_values() -> None:
    assert configuration_text({"z": False, "y": 0, "x": ""}) == '{"x":"","y":0,"z":false}'


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=4))
def test_no_null_survives_and_the_text_does_not_depend_on_the_order(values: dict[str, Any]) -> None:
    assert not nulls(without_empty(values))
    backwards = dict(reversed(list(values.items())))
    assert configuration_text(values) == configuration_text(backwards)
    text = configuration_text(values)
    assert text is None or json.loads(text) == without_empty(values)
