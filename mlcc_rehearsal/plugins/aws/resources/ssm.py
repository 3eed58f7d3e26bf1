"""SSM parameters.

Source: terraform-provider-aws ``internal/service/ssm/parameter.go``: PutParameter does not overwrite
on create unless asked, and does on update; tags cannot go with an overwriting put; ``value`` is a
secret and ``insecureValue`` is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlcc_rehearsal.plugins.aws.calling import Call
from mlcc_rehearsal.plugins.aws.definition import AutoName, Definition, Import, Tagging
from mlcc_rehearsal.plugins.aws.resources._common import checks, conflicts, length, one_of, tag_list, tag_map

TAGGING = Tagging(
    tag=lambda call, tags: call.aws(
        "ssm", "add_tags_to_resource", ResourceType="Parameter", ResourceId=call.id, Tags=tag_list(tags)
    ),
    untag=lambda call, keys: call.aws(
        "ssm", "remove_tags_from_resource", ResourceType="Parameter", ResourceId=call.id, TagKeys=keys
    ),
)


def _parameters(call: Call) -> dict[str, Any]:
    given = call.inputs
    value = given.get("value") if given.get("value") is not None else given.get("insecureValue")
    return {
        "Name": given["name"],
        "Type": given["type"],
        "Value": value if value is not None else given.get("valueWo"),
        "AllowedPattern": given.get("allowedPattern") or None,
        "DataType": given.get("dataType"),
        "Description": given.get("description") or None,
        "KeyId": given.get("keyId") if given["type"] == "SecureString" else None,
        "Tier": given.get("tier"),
    }


def _create(call: Call) -> str:
    overwrite = bool(call.inputs.get("overwrite"))
    tags = tag_list(call.tags)
    call.aws(
        "ssm",
        "put_parameter",
        **_parameters(call),
        Overwrite=overwrite,
        Tags=None if overwrite else tags,
    )
    call.id = str(call.inputs["name"])
    if overwrite and tags:
        TAGGING.tag(call, call.tags)
    return call.id


def _read(call: Call) -> dict[str, Any] | None:
    answer = call.find("ssm", "get_parameter", "ParameterNotFound", Name=call.id, WithDecryption=True)
    if answer is None:
        return None
    parameter = answer["Parameter"]
    described = call.aws(
        "ssm",
        "describe_parameters",
        ParameterFilters=[{"Key": "Name", "Option": "Equals", "Values": [call.id]}],
    )["Parameters"]
    if not described:
        return None
    detail = described[0]
    known = call.state or call.inputs
    insecure = known.get("insecureValue") not in (None, "") and parameter["Type"] != "SecureString"
    tags = call.aws("ssm", "list_tags_for_resource", ResourceType="Parameter", ResourceId=call.id)
    return {
        "allowedPattern": detail.get("AllowedPattern") or "",
        "arn": parameter.get("ARN"),
        "dataType": parameter.get("DataType") or "text",
        "description": detail.get("Description") or "",
        "hasValueWo": False,
        "insecureValue": parameter["Value"] if insecure else None,
        "keyId": detail.get("KeyId") or "",
        "name": parameter["Name"],
        "tags": tag_map(tags.get("TagList")),
        "tier": detail.get("Tier") or "Standard",
        "type": parameter["Type"],
        "value": parameter["Value"],
        "version": parameter["Version"],
    }


def _update(call: Call) -> None:
    given = call.inputs
    # The description goes along only when it changed; a tier cannot be lowered in place.
    parameters = _parameters(call)
    if call.changed("description"):
        parameters["Description"] = given.get("description") or ""
    call.aws("ssm", "put_parameter", **parameters, Overwrite=given.get("overwrite", True) is not False)


def _replace_when(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    # An Advanced parameter cannot become Standard.
    return ["tier"] if old.get("tier") == "Advanced" and new.get("tier") == "Standard" else []


def _one_value(inputs: Mapping[str, Any]) -> list[tuple[str, str]]:
    if any(inputs.get(name) is not None for name in ("value", "insecureValue", "valueWo")):
        return []
    text = (
        'Invalid combination of arguments. "value": one of `insecure_value,value,value_wo` must be specified'
    )
    return [("value", text)]


PARAMETER = Definition(
    token="aws:ssm/parameter:Parameter",
    label="SSM Parameter",
    create=_create,
    read=_read,
    update=_update,
    delete=lambda call: call.find("ssm", "delete_parameter", "ParameterNotFound", Name=call.id),
    imports=Import("name", "/my/parameter"),
    name=AutoName(limit=2048),
    tagging=TAGGING,
    replace=frozenset({"name"}),
    computed=frozenset({"arn", "dataType", "insecureValue", "keyId", "tier", "value"}),
    unread=frozenset({"overwrite", "valueWoVersion"}),
    sensitive=frozenset({"value"}),
    recomputed={
        "version": ("value", "insecureValue", "description", "type", "dataType", "tier", "keyId"),
        "insecureValue": ("value",),
        "value": ("insecureValue",),
    },
    replace_when=_replace_when,
    validate=checks(
        length("name", 1, 2048),
        one_of("type", "String", "StringList", "SecureString"),
        one_of("tier", "Standard", "Advanced", "Intelligent-Tiering"),
        conflicts("value", "insecureValue"),
        _one_value,
    ),
)

DEFINITIONS = (PARAMETER,)
