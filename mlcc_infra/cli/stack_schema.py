"""The JSON Schema of stack files, for editors: the profile's own schema under Pulumi's keys."""

from __future__ import annotations

from typing import Any

from mlcc_infra.profile import KEYS, Profile

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REGION = {
    "type": "string",
    "pattern": "^[a-z]{2}(-[a-z]+)+-[0-9]$",
    "description": "The AWS region.",
    "examples": ["us-west-2"],
}
# Pulumi's own wrapping of encrypted values is allowed for any text, as it is for Pulumi.
_OTHER_NAMESPACES = "^(?!mlcc:)[A-Za-z0-9_.-]+:"


def _adopt(schema: dict[str, Any]) -> dict[str, Any]:
    """How `mlcc:adopt` is written in a file: one mode, or modes by kind with `default` beside them."""
    properties = schema["$defs"]["Adopt"]["properties"]
    kinds = properties["kinds"]
    mode = kinds["additionalProperties"]
    by_kind = dict.fromkeys(["default", *kinds["propertyNames"]["enum"]], mode)
    return {
        "description": schema["properties"]["adopt"].get("description", ""),
        "default": "auto",
        "anyOf": [mode, {"type": "object", "properties": by_kind, "additionalProperties": False}],
    }


def stack_file_schema() -> dict[str, Any]:
    """The schema of ``Pulumi.<stack>.yaml``: what `mlcc:` keys exist, their values, texts and defaults."""
    schema = Profile.model_json_schema(by_alias=True)
    keys = {f"mlcc:{key}": schema["properties"][key] for key in KEYS}
    keys["mlcc:adopt"] = _adopt(schema)
    definitions = {name: part for name, part in schema["$defs"].items() if name != "Adopt"}
    required = [f"mlcc:{key}" for key in schema.get("required", []) if key in KEYS]
    return {
        "$schema": _DIALECT,
        "title": "Stack file of an mlcc-infra profile",
        "type": "object",
        "required": ["config"],
        "properties": {
            "config": {
                "type": "object",
                "required": required,
                "properties": {"aws:region": _REGION, **keys},
                "patternProperties": {_OTHER_NAMESPACES: {}},
                "additionalProperties": False,
            },
            "encryptionsalt": {"type": "string"},
            "secretsprovider": {"type": "string"},
            "encryptedkey": {"type": "string"},
            "environment": {},
        },
        "additionalProperties": False,
        "$defs": definitions,
    }
