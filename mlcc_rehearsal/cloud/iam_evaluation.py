"""IAM policy evaluation: may a principal do an action on a resource, given the request's context?

Pure: documents and a request in, a decision out.  It covers ``Effect``, ``Action``/``NotAction``,
``Resource``/``NotResource``, ``Principal``/``NotPrincipal``, conditions with their set and ``IfExists``
forms, and policy variables.  It does not cover session policies and service control policies.

Sources: AWS IAM user guide, "Policy evaluation logic", "IAM JSON policy elements: Condition operators",
"Create a condition with multiple keys or values", "IAM policy elements: Variables and tags".
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from functools import lru_cache
from typing import Any

ContextValue = str | bool | int | Sequence[str]


class Decision(Enum):
    """Outcome of an evaluation, in the words of IAM's policy simulator."""

    ALLOWED = "allowed"
    EXPLICIT_DENY = "explicitDeny"
    IMPLICIT_DENY = "implicitDeny"


@dataclass(frozen=True)
class Principal:
    """Who asks: the kind (``AWS``, ``Service``, ``Federated``) and the identifier used in policies."""

    kind: str
    identifier: str

    @classmethod
    def service(cls, name: str) -> Principal:
        """A service, for example ``eks.amazonaws.com``."""
        return cls("Service", name)

    @classmethod
    def federated(cls, provider_arn: str) -> Principal:
        """An identity provider, by its ARN."""
        return cls("Federated", provider_arn)

    @classmethod
    def aws(cls, arn: str) -> Principal:
        """A user, a role or the session of one, by its ARN."""
        return cls("AWS", arn)


@dataclass(frozen=True)
class Request:
    """What is asked.  Context keys are compared ignoring case."""

    action: str
    resource: str = "*"
    context: Mapping[str, ContextValue] = field(default_factory=dict)
    principal: Principal | None = None


@dataclass(frozen=True)
class Match:
    """A statement that applied: the index of its policy, its own, and its ``Sid`` if any."""

    policy: int
    statement: int
    sid: str | None
    effect: str


@dataclass(frozen=True)
class Result:
    """Decision, the statements behind it, and context keys that conditions wanted and the request lacked."""

    decision: Decision
    matches: tuple[Match, ...] = ()
    missing_context: tuple[str, ...] = ()

    @property
    def allowed(self) -> bool:
        """Whether the request is allowed."""
        return self.decision is Decision.ALLOWED


Document = Mapping[str, Any] | str


def evaluate(policies: Iterable[Document], request: Request) -> Result:
    """Decide ``request`` by identity policies: an explicit deny wins, then any allow, else it is denied.

    :raises ValueError: when a policy is not JSON or has a condition operator that IAM does not know.
    """
    return _evaluate([_parsed(policy) for policy in policies], request, needs_principal=False)


def evaluate_trust(document: Document, request: Request) -> Result:
    """Decide ``request`` by a role's trust policy: the principal must be named, resources do not matter."""
    return _evaluate([_parsed(document)], request, needs_principal=True)


def evaluate_resource_policy(document: Document, request: Request) -> Result:
    """Decide ``request`` by a resource's own policy: statements that name others do not apply."""
    statements = [
        statement
        for statement in _as_list(_parsed(document).get("Statement"))
        if _principal_matches(statement, request.principal)
    ]
    return _evaluate([{"Statement": statements}], request, needs_principal=False)


def permitted_with_boundary(result: Result, boundary: Result | None) -> Decision:
    """The decision when a permissions boundary must allow the request as well."""
    if boundary is None or result.decision is not Decision.ALLOWED or boundary.allowed:
        return result.decision
    return boundary.decision


def _parsed(document: Document) -> Mapping[str, Any]:
    if not isinstance(document, str):
        return document
    try:
        value = json.loads(document)
    except ValueError as wrong:
        raise ValueError(f"a policy is not JSON: {wrong}") from wrong
    if not isinstance(value, dict):
        raise ValueError("a policy is not a JSON object")
    return value


def _evaluate(policies: list[Mapping[str, Any]], request: Request, *, needs_principal: bool) -> Result:
    allows: list[Match] = []
    denies: list[Match] = []
    missing: dict[str, None] = {}
    context = {key.lower(): value for key, value in request.context.items()}
    for policy_index, policy in enumerate(policies):
        for index, statement in enumerate(_as_list(policy.get("Statement"))):
            if not _applies(statement, request, context, needs_principal=needs_principal):
                continue
            absent = _conditions_hold(statement.get("Condition") or {}, context, missing)
            if not absent:
                continue
            match = Match(policy_index, index, statement.get("Sid"), str(statement.get("Effect")))
            (denies if match.effect == "Deny" else allows).append(match)
    if denies:
        return Result(Decision.EXPLICIT_DENY, tuple(denies), tuple(missing))
    if allows:
        return Result(Decision.ALLOWED, tuple(allows), tuple(missing))
    return Result(Decision.IMPLICIT_DENY, (), tuple(missing))


def _applies(
    statement: Mapping[str, Any],
    request: Request,
    context: Mapping[str, ContextValue],
    *,
    needs_principal: bool,
) -> bool:
    if not _actions_match(statement, request.action):
        return False
    if needs_principal:
        return _principal_matches(statement, request.principal)
    return _resources_match(statement, request.resource, context)


def _actions_match(statement: Mapping[str, Any], action: str) -> bool:
    lowered = action.lower()
    if "NotAction" in statement:
        return not any(_glob(p.lower(), lowered) for p in _as_list(statement["NotAction"]))
    return any(_glob(p.lower(), lowered) for p in _as_list(statement.get("Action")))


def _resources_match(
    statement: Mapping[str, Any], resource: str, context: Mapping[str, ContextValue]
) -> bool:
    def hit(pattern: str) -> bool:
        expanded = _substitute(pattern, context)
        return expanded is not None and _glob(expanded, resource)

    if "NotResource" in statement:
        return not any(hit(p) for p in _as_list(statement["NotResource"]))
    return any(hit(p) for p in _as_list(statement.get("Resource")))


def _principal_matches(statement: Mapping[str, Any], principal: Principal | None) -> bool:
    if principal is None:
        return False
    if "NotPrincipal" in statement:
        return not _names(statement["NotPrincipal"], principal)
    return _names(statement.get("Principal"), principal)


def _names(element: Any, principal: Principal) -> bool:
    if element == "*":
        return True
    if not isinstance(element, Mapping):
        return False
    for named in _as_list(element.get(principal.kind)):
        if named == "*" or named == principal.identifier:
            return True
        if principal.kind == "AWS" and named in _accounts_and_roles(principal.identifier):
            return True
    return False


def _accounts_and_roles(arn: str) -> set[str]:
    """What else a policy may say to name the principal ``arn``: its account, and a session's role."""
    parts = arn.split(":", 5)
    if len(parts) != 6:
        return set()
    partition, account, rest = parts[1], parts[4], parts[5]
    names = {account, f"arn:{partition}:iam::{account}:root"}
    if rest.startswith("assumed-role/"):
        names.add(f"arn:{partition}:iam::{account}:role/{rest.split('/')[1]}")
    return names


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    # \0 marks a character that a policy variable stands for literally: ${*}, ${?}, ${$}.
    out, index = [], 0
    while index < len(pattern):
        char = pattern[index]
        if char == "\0":
            index += 1
            out.append(re.escape(pattern[index]))
        else:
            out.append(".*" if char == "*" else "." if char == "?" else re.escape(char))
        index += 1
    return re.compile("".join(out), re.DOTALL)


def _glob(pattern: str, value: str) -> bool:
    return _compiled(pattern).fullmatch(value) is not None


_VARIABLE = re.compile(r"\$\{([^}]+)\}")


def _substitute(pattern: str, context: Mapping[str, ContextValue]) -> str | None:
    """``pattern`` with its policy variables filled in; None when one has no value, so nothing matches."""
    failed = False

    def fill(match: re.Match[str]) -> str:
        nonlocal failed
        name, _, default = match.group(1).partition(",")
        name = name.strip()
        if name in ("*", "?", "$"):
            return f"\0{name}"
        value = context.get(name.lower())
        if value is None and default:
            value = default.strip().strip("'")
        if value is None or (not isinstance(value, str | bool | int)):
            failed = True
            return ""
        return "".join(f"\0{c}" if c in "*?" else c for c in _text(value))

    filled = _VARIABLE.sub(fill, pattern)
    return None if failed else filled


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


# --- conditions ------------------------------------------------------------------------------------------


def _like(wanted: str, got: str) -> bool:
    return _glob(wanted, got)


def _literal(wanted: str) -> str:
    return wanted.replace("\0", "")


def _equals(wanted: str, got: str) -> bool:
    return _literal(wanted) == got


def _equals_ignoring_case(wanted: str, got: str) -> bool:
    return _literal(wanted).lower() == got.lower()


def _arn_like(wanted: str, got: str) -> bool:
    """ARNs are compared by their six colon-separated parts; a wildcard does not reach over a colon."""
    wanted_parts, got_parts = wanted.split(":", 5), got.split(":", 5)
    if len(wanted_parts) != 6 or len(got_parts) != 6:
        return wanted == "*"
    return all(_glob(w, g) for w, g in zip(wanted_parts, got_parts, strict=True))


def _number(compare: Callable[[float, float], bool]) -> Callable[[str, str], bool]:
    def compare_numbers(wanted: str, got: str) -> bool:
        try:
            return compare(float(got), float(wanted))
        except ValueError:
            return False

    return compare_numbers


def _moment(compare: Callable[[float, float], bool]) -> Callable[[str, str], bool]:
    def seconds(text: str) -> float:
        try:
            return float(text)
        except ValueError:
            return datetime.fromisoformat(text).timestamp()

    def compare_moments(wanted: str, got: str) -> bool:
        try:
            return compare(seconds(got), seconds(wanted))
        except ValueError:
            return False

    return compare_moments


def _in_network(wanted: str, got: str) -> bool:
    try:
        return ipaddress.ip_address(got) in ipaddress.ip_network(wanted, strict=False)
    except ValueError:
        return False


def _bool(wanted: str, got: str) -> bool:
    return wanted.lower() == got.lower()


_EQ = float.__eq__
_COMPARISONS: dict[str, tuple[Callable[[float, float], bool], bool]] = {
    "Equals": (_EQ, False),
    "NotEquals": (_EQ, True),
    "LessThan": (float.__lt__, False),
    "LessThanEquals": (float.__le__, False),
    "GreaterThan": (float.__gt__, False),
    "GreaterThanEquals": (float.__ge__, False),
}

# Operator -> (test of one wanted value against one request value, whether the operator negates it).
_OPERATORS: dict[str, tuple[Callable[[str, str], bool], bool]] = {
    "StringEquals": (_equals, False),
    "StringNotEquals": (_equals, True),
    "StringEqualsIgnoreCase": (_equals_ignoring_case, False),
    "StringNotEqualsIgnoreCase": (_equals_ignoring_case, True),
    "StringLike": (_like, False),
    "StringNotLike": (_like, True),
    # ArnEquals and ArnLike behave alike: both accept wildcards.
    "ArnEquals": (_arn_like, False),
    "ArnLike": (_arn_like, False),
    "ArnNotEquals": (_arn_like, True),
    "ArnNotLike": (_arn_like, True),
    "Bool": (_bool, False),
    "BinaryEquals": (_equals, False),
    "IpAddress": (_in_network, False),
    "NotIpAddress": (_in_network, True),
    **{f"Numeric{name}": (_number(test), negated) for name, (test, negated) in _COMPARISONS.items()},
    **{f"Date{name}": (_moment(test), negated) for name, (test, negated) in _COMPARISONS.items()},
}


def _conditions_hold(
    conditions: Mapping[str, Any], context: Mapping[str, ContextValue], missing: dict[str, None]
) -> bool:
    """Whether every operator and key of a condition block holds (they are combined with "and")."""
    return all(
        _key_holds(operator, key, _as_list(wanted), context, missing)
        for operator, keys in conditions.items()
        for key, wanted in keys.items()
    )


def _key_holds(
    operator: str,
    key: str,
    wanted: list[Any],
    context: Mapping[str, ContextValue],
    missing: dict[str, None],
) -> bool:
    got = context.get(key.lower())
    if operator == "Null":
        return (got is None) == (_text(wanted[0]).lower() == "true")
    quantifier, _, plain = operator.rpartition(":")
    if_exists = plain.endswith("IfExists")
    name = plain.removesuffix("IfExists")
    if name not in _OPERATORS:
        raise ValueError(f"a policy has the condition operator {operator!r}, which IAM does not know")
    test, negated = _OPERATORS[name]
    if got is None:
        missing[key] = None
        # A negated operator holds for an absent key; ForAllValues holds for an empty set.
        return if_exists or negated or quantifier == "ForAllValues"
    values = [_text(v) for v in got] if not isinstance(got, str | bool | int) else [_text(got)]
    patterns = [p for p in (_substitute(_text(w), context) for w in wanted) if p is not None]

    def holds(value: str) -> bool:
        hit = any(test(pattern, value) for pattern in patterns)
        return not hit if negated else hit

    if quantifier == "ForAllValues":
        return all(holds(value) for value in values)
    if quantifier == "ForAnyValue":
        return any(holds(value) for value in values)
    return all(holds(value) for value in values) if negated else any(holds(value) for value in values)
