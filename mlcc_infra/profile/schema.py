"""The JSON Schema of a stack file, made from the profile's model, so that editors complete and check it."""

from __future__ import annotations

import json
from typing import Any, Final

from mlcc_infra.profile.base import ADOPT_MODES, KINDS
from mlcc_infra.profile.model import NOT_KEYS, Profile
from mlcc_infra.regions import REGIONS

SCHEMA_FILE: Final = "docs/profile.schema.json"
"""Where the schema lies in the repository; a test holds it current."""


def profile_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of `stacks/Pulumi.<stack>.yaml`.

    It says the shape only; what holds across keys is checked by `load_profile`.
    """
    model = Profile.model_json_schema(by_alias=True)
    definitions = dict(model.pop("$defs"))
    definitions.pop("Adopt", None)
    keys = {name: value for name, value in model["properties"].items() if name not in NOT_KEYS}
    keys["adopt"] = {
        "description": keys["adopt"].get("description", ""),
        "anyOf": [
            {"enum": list(ADOPT_MODES)},
            {
                "type": "object",
                "additionalProperties": False,
                "properties": {name: {"enum": list(ADOPT_MODES)} for name in ("default", *KINDS)},
            },
        ],
        "default": "auto",
    }
    keys["profile"].pop("default", None)
    region = {
        "description": "AWS region. Default: AWS_REGION.",
        "enum": list(REGIONS),
    }
    config = {
        "type": "object",
        "description": "Settings of the stack. The keys under `mlcc:` are the profile.",
        "properties": {"aws:region": region, **{f"mlcc:{name}": value for name, value in keys.items()}},
        # Other namespaces, such as pulumi:, are not the profile's business; misspelt keys of mlcc: are.
        "patternProperties": {"^(?!mlcc:|aws:|eks:|kubernetes:)": True},
        "additionalProperties": False,
        "required": ["mlcc:targets"],
    }
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mlcc-infra stack file",
        "description": "Pulumi.<stack>.yaml of one profile.",
        "type": "object",
        "properties": {"config": config},
        "required": ["config"],
        "$defs": dict(sorted(definitions.items())),
    }
    plain = _plain(schema)
    assert isinstance(plain, dict)
    return plain


def schema_text() -> str:
    """The schema as the text of its file."""
    return json.dumps(profile_schema(), indent=2, ensure_ascii=False) + "\n"


def _plain(value: Any) -> Any:
    """Without what pydantic adds for machines only, descriptions on one line."""
    if isinstance(value, dict):
        return {
            key: " ".join(entry.split()) if key == "description" and isinstance(entry, str) else _plain(entry)
            for key, entry in value.items()
            if not (key == "title" and isinstance(entry, str) and entry != "mlcc-infra stack file")
        }
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return value
