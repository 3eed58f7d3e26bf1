"""SimulatePrincipalPolicy and SimulateCustomPolicy, which moto lacks.

Source: AWS IAM API reference; resources default to ``*``, each action is decided for each resource.
"""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.cloud.account import RehearsedAccount
from mlcc_rehearsal.cloud.errors import AwsError
from mlcc_rehearsal.cloud.iam.roles import boundary_of, documents_of
from mlcc_rehearsal.cloud.iam_evaluation import (
    ContextValue,
    Decision,
    Request,
    Result,
    evaluate,
    permitted_with_boundary,
)

_POLICY_KIND = "IAM Policy"


def simulate_principal(account: RehearsedAccount, iam: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    """What a user, group or role may do, with the policies given in addition.

    :raises AwsError: NoSuchEntity or InvalidInput for a principal that does not exist or is a session.
    """
    arn = parameters["PolicySourceArn"]
    entity = _entity(iam, arn)
    documents: list[Any] = [*documents_of(account, entity), *(parameters.get("PolicyInputList") or [])]
    own_boundary = boundary_of(account, entity)
    boundaries = parameters.get("PermissionsBoundaryPolicyInputList") or (
        [own_boundary] if own_boundary is not None else []
    )
    context: dict[str, ContextValue] = {
        "aws:PrincipalArn": arn,
        "aws:PrincipalAccount": account.account_id,
        "aws:ResourceAccount": account.account_id,
    }
    return _results(documents, boundaries, context, parameters)


def simulate_custom(parameters: dict[str, Any]) -> dict[str, Any]:
    """What the policies given allow."""
    boundaries = parameters.get("PermissionsBoundaryPolicyInputList") or []
    return _results(parameters.get("PolicyInputList") or [], boundaries, {}, parameters)


def _entity(iam: Any, arn: str) -> Any:
    if ":sts:" in arn or arn.endswith(":root"):
        message = f"Invalid Entity Arn: {arn} does not clearly define entity type and name."
        raise AwsError("InvalidInput", message, status=400)
    for entity in [*iam.get_roles(), *iam.users.values(), *iam.groups.values()]:
        if entity.arn == arn:
            return entity
    kind = "role" if ":role/" in arn else "user"
    message = f"The {kind} with name {arn.rsplit('/', 1)[-1]} cannot be found."
    raise AwsError("NoSuchEntity", message, status=404)


def _results(
    documents: list[Any], boundaries: list[Any], context: dict[str, ContextValue], parameters: dict[str, Any]
) -> dict[str, Any]:
    for entry in parameters.get("ContextEntries") or []:
        values = [str(value) for value in entry.get("ContextKeyValues") or []]
        context[entry["ContextKeyName"]] = values if len(values) != 1 else values[0]
    found = []
    for action in parameters.get("ActionNames") or []:
        for resource in parameters.get("ResourceArns") or ["*"]:
            request = Request(action, resource, context)
            try:
                result = evaluate(documents, request)
                limit = evaluate(boundaries, request) if boundaries else None
            except ValueError as wrong:
                raise AwsError("PolicyEvaluation", str(wrong), status=500) from wrong
            found.append(_shown(action, resource, result, limit))
    return {"EvaluationResults": found, "IsTruncated": False}


def _shown(action: str, resource: str, result: Result, limit: Result | None) -> dict[str, Any]:
    decision = permitted_with_boundary(result, limit)
    shown: dict[str, Any] = {
        "EvalActionName": action,
        "EvalResourceName": resource,
        "EvalDecision": decision.value,
        "MatchedStatements": [
            {"SourcePolicyId": f"policy.{match.policy + 1}", "SourcePolicyType": _POLICY_KIND}
            for match in result.matches
        ],
        "MissingContextValues": list(result.missing_context),
    }
    if limit is not None:
        shown["PermissionsBoundaryDecisionDetail"] = {
            "AllowedByPermissionsBoundary": limit.decision is Decision.ALLOWED
        }
    return shown
