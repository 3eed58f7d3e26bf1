"""Whether the caller, and roles of ours, may do what is about to be done: asked of IAM's policy simulator.

A denial found here is one that would come after half an hour of creation (field report B13). What the
simulator does not know is never a refusal: its own denial, a principal it cannot simulate, a condition on
something that no request of ours is known to carry (IAM API reference, SimulatePrincipalPolicy:
MissingContextValues). Policies of the organisation and of the session are not in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from mlcc_infra.account.caller_needs import Context, Need
from mlcc_infra.account.lookups.iam import get_role
from mlcc_infra.account.preflight import CheckResult, Verdict
from mlcc_infra.account.reader import Reader, error_words
from mlcc_infra.account.session import Identity

NAME = "permissions"
WORKERS = 8
ALLOWED = "allowed"
EXPLICIT_DENY = "explicitDeny"
_SESSION = re.compile(r"^arn:[^:]+:sts::\d{12}:assumed-role/([^/]+)/.+$")
SHOWN = 12


@dataclass(frozen=True, kw_only=True)
class Denied:
    """An action that the simulator does not allow; `unsure` when a condition lacks its value."""

    action: str
    resource: str
    explicit: bool = False
    boundary: bool = False
    unsure: bool = False

    def __str__(self) -> str:
        why = ""
        if self.boundary:
            why = " (its permissions boundary does not allow it)"
        elif self.explicit:
            why = " (a policy denies it)"
        return f"{self.action} on {self.resource}{why}"


def check_caller(reader: Reader, identity: Identity, needs: Sequence[Need]) -> list[CheckResult]:
    """What the caller may not do of these needs, in one result a verdict; nothing when there are none."""
    if not needs:
        return []
    if identity.arn.endswith(":root"):
        return [CheckResult(name=NAME, verdict=Verdict.OK, found="the account's root may do everything")]
    try:
        principal = principal_of(reader, identity.arn)
        denied = simulate(reader, principal, needs)
    except (ClientError, BotoCoreError) as error:
        return [_unknown(error)]
    if not denied:
        count = len({action for need in needs for action in (*need.create, *need.delete)})
        return [CheckResult(name=NAME, verdict=Verdict.OK, found=f"{count} actions, for {principal}")]
    return _caller_results(principal, needs, denied)


def _caller_results(principal: str, needs: Sequence[Need], denied: Sequence[Denied]) -> list[CheckResult]:
    creating = {action for need in needs for action in need.create}
    certain = [found for found in denied if not found.unsure]
    create = [found for found in certain if found.action in creating]
    delete = [found for found in certain if found.action not in creating]
    unsure = [found for found in denied if found.unsure]
    results: list[CheckResult] = []
    if create:
        results.append(
            CheckResult(
                name=NAME,
                verdict=Verdict.REFUSED,
                found=f"{principal} may not {_listed(create)}",
                needed="these actions: what is missing would be made with them",
                remedy="have the policy of that identity allow them, or run as another one; `aws iam "
                f"simulate-principal-policy --policy-source-arn {principal} --action-names "
                f"{create[0].action}` shows the same",
            )
        )
    if delete:
        results.append(
            CheckResult(
                name=NAME,
                verdict=Verdict.WARNING,
                found=f"{principal} may not {_listed(delete)}: a destroy would stop there",
                remedy="have them allowed before the stack is destroyed",
            )
        )
    if unsure:
        results.append(
            CheckResult(
                name=NAME,
                verdict=Verdict.UNKNOWN,
                found=f"whether {principal} may {_listed(unsure)} depends on what cannot be simulated",
            )
        )
    return results


def _listed(denied: Sequence[Denied]) -> str:
    more = f" and {len(denied) - SHOWN} more" if len(denied) > SHOWN else ""
    return ", ".join(map(str, denied[:SHOWN])) + more


def _unknown(error: ClientError | BotoCoreError) -> CheckResult:
    return CheckResult(
        name=NAME,
        verdict=Verdict.UNKNOWN,
        found=f"what the caller may do could not be simulated ({error_words(error)})",
    )


def principal_of(reader: Reader, arn: str) -> str:
    """The ARN that the simulator takes: for a session that of its role, with its path.

    Raises `ClientError` where the role cannot be read.
    """
    match = _SESSION.match(arn)
    if match is None:
        return arn
    role = get_role(reader, match[1])
    # A role that cannot be found is the simulator's to refuse.
    return str(role["Arn"]) if role else arn


def simulate(reader: Reader, principal: str, needs: Sequence[Need]) -> list[Denied]:
    """What a user or role may not do of these needs. Raises IAM's errors.

    IAM evaluates every action of a call on every resource of it, so one call a service and context is enough,
    and of its answers those count that were asked about: the simulator is throttled early.
    """
    joined: dict[tuple[str, Context], dict[tuple[str, str], None]] = {}
    for need in needs:
        for action in (*need.create, *need.delete):
            pairs = joined.setdefault((action.partition(":")[0], need.context), {})
            pairs.update(dict.fromkeys((action, resource) for resource in need.resources))

    def one(asked: tuple[tuple[str, Context], Mapping[tuple[str, str], None]]) -> list[Denied]:
        (_, context), pairs = asked
        found = reader.pages(
            "iam",
            "simulate_principal_policy",
            "EvaluationResults",
            PolicySourceArn=principal,
            ActionNames=list(dict.fromkeys(action for action, _ in pairs)),
            ResourceArns=list(dict.fromkeys(resource for _, resource in pairs)),
            ContextEntries=_entries(context),
        )
        return [denied for denied in _denied(found) if (denied.action, denied.resource) in pairs]

    with ThreadPoolExecutor(WORKERS, thread_name_prefix="permissions") as pool:
        return [denied for found in pool.map(one, joined.items()) for denied in found]


def _entries(context: Context) -> list[dict[str, Any]]:
    return [
        {
            "ContextKeyName": key,
            "ContextKeyValues": list(values),
            "ContextKeyType": "stringList" if len(values) != 1 else "string",
        }
        for key, values in context
    ]


def _denied(results: Iterable[Mapping[str, Any]]) -> list[Denied]:
    found: list[Denied] = []
    for result in results:
        # What holds for one resource may stand in a list of its own (IAM API reference, EvaluationResult).
        for each in result.get("ResourceSpecificResults") or [result]:
            decision = each.get("EvalResourceDecision") or result["EvalDecision"]
            if decision == ALLOWED:
                continue
            boundary = each.get("PermissionsBoundaryDecisionDetail") or {}
            explicit = decision == EXPLICIT_DENY
            found.append(
                Denied(
                    action=result["EvalActionName"],
                    resource=each.get("EvalResourceName", "*"),
                    explicit=explicit,
                    boundary=boundary.get("AllowedByPermissionsBoundary") is False,
                    unsure=not explicit and bool(each.get("MissingContextValues")),
                )
            )
    return found


@dataclass(frozen=True, kw_only=True)
class RoleNeed:
    """A role of ours and the permission documents that it gets."""

    name: str
    documents: Sequence[Mapping[str, Any]]


def check_roles(reader: Reader, roles: Sequence[RoleNeed], boundary: str | None) -> list[CheckResult]:
    """Whether our roles may use what they are given: a boundary, or a policy of somebody else, can deny it.

    A role that exists is simulated as it is, with our documents besides (it keeps its boundary); one that is
    to be made, with the profile's boundary. Without either there is nothing that could deny. Raises IAM's
    errors; what the simulator does not know is left out.
    """
    results: list[CheckResult] = []
    document = _policy_document(reader, boundary) if boundary else None
    for role in roles:
        live = get_role(reader, role.name)
        denied = [
            found
            for need in _granted(role.documents)
            for found in _simulated_role(reader, live, role, need, document)
            if (found.explicit or found.boundary) and not found.unsure
        ]
        if denied:
            results.append(
                CheckResult(
                    name=NAME,
                    verdict=Verdict.REFUSED,
                    found=f"role {role.name} could not {_listed(denied)}",
                    needed="what its policies grant: without it AWS's own parts fail later",
                    remedy="widen mlcc:permissionsBoundary, or take the denying policy off the role",
                )
            )
    return results


def _simulated_role(
    reader: Reader,
    live: Mapping[str, Any] | None,
    role: RoleNeed,
    need: Need,
    boundary: Mapping[str, Any] | None,
) -> list[Denied]:
    if live is None and boundary is None:
        return []
    asked: dict[str, Any] = {
        "ActionNames": list(need.create),
        "ResourceArns": list(need.resources),
        "PolicyInputList": [json.dumps(document) for document in role.documents],
    }
    if live is not None:
        operation, besides = "simulate_principal_policy", {"PolicySourceArn": live["Arn"]}
    else:
        operation, besides = "simulate_custom_policy", {}
        asked["PermissionsBoundaryPolicyInputList"] = [json.dumps(boundary)]
    return _denied(reader.pages("iam", operation, "EvaluationResults", **asked, **besides))


def _granted(documents: Iterable[Mapping[str, Any]]) -> list[Need]:
    """The single actions that documents allow, with their resources; patterns of actions are left out."""
    found: list[Need] = []
    for document in documents:
        for statement in document["Statement"]:
            actions = statement.get("Action", ())
            actions = [actions] if isinstance(actions, str) else actions
            resources = statement.get("Resource", "*")
            resources = [resources] if isinstance(resources, str) else resources
            plain = tuple(action for action in actions if "*" not in action)
            known = tuple(resource for resource in resources if "${" not in resource)
            if statement.get("Effect") == "Allow" and plain and known and not statement.get("Condition"):
                found.append(Need(resources=known, create=plain))
    return found


def _policy_document(reader: Reader, arn: str) -> Mapping[str, Any]:
    client = reader.session.client("iam")
    version = client.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"]
    document = client.get_policy_version(PolicyArn=arn, VersionId=version)["PolicyVersion"]["Document"]
    return json.loads(document) if isinstance(document, str) else document
