"""IAM roles that are there, and policy documents put together.

Source: terraform-provider-aws ``internal/service/iam/{role,policy_document}_data_source.go``: statements of
``source`` documents come first, those of ``override`` ones replace by Sid; ``&{`` in text means ``${``.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

from mlcc_rehearsal.plugins.aws.calling import Call
from mlcc_rehearsal.plugins.aws.resources._common import rfc3339, tag_map
from mlcc_rehearsal.plugins.aws.resources._iam import GONE, document
from mlcc_rehearsal.plugins.serving import ProviderError


def _role(call: Call) -> dict[str, Any]:
    name = str(call.inputs["name"])
    answer = call.find("iam", "get_role", GONE, RoleName=name)
    if answer is None:
        raise ProviderError(f"reading IAM Role ({name}): couldn't find resource")
    role = answer["Role"]
    used = role.get("RoleLastUsed") or {}
    return {
        "arn": role["Arn"],
        "assumeRolePolicy": document(role["AssumeRolePolicyDocument"]),
        "createDate": rfc3339(role["CreateDate"]),
        "description": role.get("Description") or "",
        "id": name,
        "maxSessionDuration": role.get("MaxSessionDuration", 3600),
        "name": role["RoleName"],
        "path": role["Path"],
        "permissionsBoundary": (role.get("PermissionsBoundary") or {}).get("PermissionsBoundaryArn", ""),
        "roleLastUseds": [{"lastUsedDate": rfc3339(used["LastUsedDate"]), "region": used.get("Region", "")}]
        if used.get("LastUsedDate")
        else [],
        "tags": tag_map(role.get("Tags")),
        "uniqueId": role["RoleId"],
    }


def _values(items: Any) -> Any:
    texts = sorted({str(item).replace("&{", "${") for item in items}, reverse=True)
    return texts[0] if len(texts) == 1 else texts


def _principals(blocks: Any) -> Any:
    if all(block["type"] == "*" or block["identifiers"] == ["*"] for block in blocks) and any(
        block["type"] == "*" for block in blocks
    ):
        return "*"
    merged: dict[str, list[str]] = {}
    for block in blocks:
        merged.setdefault(block["type"], []).extend(block["identifiers"])
    return {kind: _values(names) for kind, names in merged.items()}


def _conditions(blocks: Any) -> dict[str, Any]:
    conditions: dict[str, Any] = {}
    for block in blocks:
        values = [str(item).replace("&{", "${") for item in block["values"]]
        conditions.setdefault(block["test"], {})[block["variable"].replace("&{", "${")] = (
            values[0] if len(values) == 1 else values
        )
    return conditions


def _statement(block: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"Effect": block.get("effect") or "Allow"}
    if block.get("sid"):
        made["Sid"] = block["sid"]
    lists = {
        "Action": "actions",
        "NotAction": "notActions",
        "Resource": "resources",
        "NotResource": "notResources",
    }
    for key, name in lists.items():
        if block.get(name):
            made[key] = _values(block[name])
    for key, name in (("Principal", "principals"), ("NotPrincipal", "notPrincipals")):
        if block.get(name):
            made[key] = _principals(block[name])
    if block.get("conditions"):
        made["Condition"] = _conditions(block["conditions"])
    return made


def _statements(text: str) -> list[dict[str, Any]]:
    found = json.loads(text).get("Statement") or []
    return [found] if isinstance(found, dict) else list(found)


def policy_document(given: Mapping[str, Any]) -> str:
    """The JSON text for the arguments of getPolicyDocument. ProviderError for a Sid used twice."""
    statements: list[dict[str, Any]] = []
    for text in [*(given.get("sourcePolicyDocuments") or []), given.get("sourceJson")]:
        if text:
            statements += _statements(text)
    for block in given.get("statements") or []:
        statement = _statement(block)
        if statement.get("Sid") and any(item.get("Sid") == statement["Sid"] for item in statements):
            raise ProviderError(
                f"duplicate Sid ({statement['Sid']}). Remove the Sid or ensure the Sid is unique."
            )
        statements.append(statement)
    for text in [*(given.get("overridePolicyDocuments") or []), given.get("overrideJson")]:
        for statement in _statements(text) if text else ():
            same = [
                item for item in statements if statement.get("Sid") and item.get("Sid") == statement["Sid"]
            ]
            if same:
                statements[statements.index(same[0])] = statement
            else:
                statements.append(statement)
    made: dict[str, Any] = {"Version": given.get("version") or "2012-10-17"}
    if given.get("policyId"):
        made["Id"] = given["policyId"]
    made["Statement"] = statements
    return json.dumps(made, indent=2)


def _policy_document(call: Call) -> dict[str, Any]:
    text = policy_document(call.inputs)
    return {
        **call.inputs,
        "id": str(zlib.crc32(text.encode())),
        "json": text,
        "minifiedJson": json.dumps(json.loads(text), separators=(",", ":")),
        "version": call.inputs.get("version") or "2012-10-17",
    }


FUNCTIONS = {
    "aws:iam/getRole:getRole": _role,
    "aws:iam/getPolicyDocument:getPolicyDocument": _policy_document,
}
