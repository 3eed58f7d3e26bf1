"""The JSON Schema of stack files: current, valid, and as strict about shape as the loader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from mlcc_infra.profile import KEYS
from mlcc_infra.profile.schema import SCHEMA_FILE, profile_schema, schema_text

ROOT = Path(__file__).parents[2]
SCHEMA = profile_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def accepts(config: dict[str, Any]) -> bool:
    """Whether the schema accepts a stack file with this configuration."""
    return bool(VALIDATOR.is_valid({"config": {"mlcc:targets": ["vanilla-eks"], **config}}))


def test_the_file_in_docs_is_current() -> None:
    assert (ROOT / SCHEMA_FILE).read_text(encoding="utf-8") == schema_text(), (
        f"{SCHEMA_FILE} is out of date: write mlcc_infra.profile.schema.schema_text() to it"
    )


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", sorted((ROOT / "stacks").glob("Pulumi.*.yaml")), ids=lambda path: path.name)
def test_a_stack_file_of_the_repository_fits_the_schema(path: Path) -> None:
    VALIDATOR.validate(yaml.safe_load(path.read_text(encoding="utf-8")))


def test_every_key_is_in_the_schema_with_a_description() -> None:
    properties = SCHEMA["properties"]["config"]["properties"]
    assert {name.removeprefix("mlcc:") for name in properties if name.startswith("mlcc:")} == set(KEYS)
    for name in KEYS:
        assert properties[f"mlcc:{name}"].get("description"), name


def test_every_nested_key_has_a_description() -> None:
    missing = [
        f"{part}.{name}"
        for part, definition in SCHEMA["$defs"].items()
        for name, field in definition.get("properties", {}).items()
        if not field.get("description")
    ]
    assert not missing


@pytest.mark.parametrize(
    "config",
    [
        {"mlcc:adopt": "never"},
        {"mlcc:adopt": {"default": "never", "role": "required"}},
        {"mlcc:eks": {"version": "1.34", "nodeGroups": [{"name": "a"}]}},
        {"aws:region": "eu-west-1", "pulumi:disable-default-providers": ["aws"]},
    ],
)
def test_what_the_loader_accepts_the_schema_accepts(config: dict[str, Any]) -> None:
    assert accepts(config)


@pytest.mark.parametrize(
    "config",
    [
        {"mlcc:target": []},
        {"aws:profile": "x"},
        {"aws:defaultTags": {}},
        {"kubernetes:context": "x"},
        {"mlcc:targets": ["vanila-eks"]},
        {"mlcc:accountId": 12345678901},
        {"mlcc:adopt": "sometimes"},
        {"mlcc:adopt": {"roles": "auto"}},
        {"mlcc:eks": {"version": 1.35}},
        {"mlcc:eks": {"nodegroups": []}},
        {"mlcc:eks": {"addons": {"vpc-cni": {"version": "latest"}}}},
        {"aws:region": "moon-1"},
    ],
)
def test_what_has_a_wrong_shape_the_schema_refuses(config: dict[str, Any]) -> None:
    assert not accepts(config)


def test_the_schemas_text_is_stable() -> None:
    assert schema_text() == schema_text()
    assert json.loads(schema_text()) == SCHEMA
