"""IAM policy documents: canonical text, equivalence, what is wrong with one, and their limits.

Grammar: IAM user guide, "IAM JSON policy elements". Limits: IAM user guide, quotas (copy of 2023) for trust
policies; the sizes of managed and inline policies are general knowledge, not checked against a source.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

Document: TypeAlias = dict[str, Any]
Statement: TypeAlias = dict[str, Any]

VERSION: Final = "2012-10-17"
MAX_TRUST_CHARACTERS: Final = 2048
MAX_MANAGED_CHARACTERS: Final = 6144
MAX_INLINE_CHARACTERS: Final = 10240
"""All inline policies of one role together."""
MAX_MANAGED_POLICIES: Final = 10
"""Managed policies attached to one role, by default."""

_LISTS: Final = ("Action", "NotAction", "Resource", "NotResource")
_BUCKET_ACTIONS: Final = frozenset({"s3:listbucket", "s3:getbucketlocation", "s3:listbucketmultipartuploads"})


def document(*statements: Statement) -> Document:
    """A policy document of these statements."""
    return {"Version": VERSION, "Statement": list(statements)}


def allow(
    actions: str | Sequence[str],
    resources: str | Sequence[str],
    *,
    sid: str | None = None,
    condition: Mapping[str, Mapping[str, str | Sequence[str]]] | None = None,
) -> Statement:
    """An Allow statement of a permission policy; lists are sorted so that plans do not wobble."""
    statement: Statement = {"Effect": "Allow", "Action": _sorted(actions), "Resource": _sorted(resources)}
    if sid:
        statement["Sid"] = sid
    if condition:
        statement["Condition"] = {key: dict(value) for key, value in condition.items()}
    return statement


def _sorted(values: str | Sequence[str]) -> str | list[str]:
    if isinstance(values, str):
        return values
    unique = sorted(set(values))
    return unique[0] if len(unique) == 1 else unique


def policy_text(policy: Mapping[str, Any]) -> str:
    """The canonical text of a document: keys sorted, no white space, the same on every run."""
    return json.dumps(policy, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def characters(policy: Mapping[str, Any] | str) -> int:
    """Characters as IAM counts them: white space not counted."""
    text = policy if isinstance(policy, str) else policy_text(policy)
    return len(re.sub(r"\s", "", text))


def parse(policy: str | Mapping[str, Any]) -> Document:
    """A document from its text (or a mapping, taken as it is).

    Raises:
        ValueError: when the text is no JSON object.
    """
    if isinstance(policy, Mapping):
        return dict(policy)
    parsed = json.loads(policy)
    if not isinstance(parsed, dict):
        raise ValueError("a policy document is a JSON object")
    return parsed


def statements(policy: str | Mapping[str, Any]) -> list[Statement]:
    """The statements of a document; IAM lets a single one stand without a list."""
    found = parse(policy).get("Statement", [])
    return [dict(found)] if isinstance(found, Mapping) else list(found)


def normal_statement(statement: Mapping[str, Any]) -> str:
    """One text for all spellings of a statement that mean the same.

    Single values and lists, the order of lists, the case of actions, an account id and its root ARN as
    principal, and the statement's id make no difference to IAM.
    """
    normal: dict[str, Any] = {"Effect": statement.get("Effect")}
    for key in _LISTS:
        if key in statement:
            values = _as_set(statement[key])
            normal[key] = sorted({value.lower() for value in values} if key.endswith("Action") else values)
    for key in ("Principal", "NotPrincipal"):
        if key in statement:
            normal[key] = _normal_principal(statement[key])
    conditions = {
        operator: {name.lower(): sorted(_as_set(values)) for name, values in keys.items()}
        for operator, keys in (statement.get("Condition") or {}).items()
    }
    if conditions:
        normal["Condition"] = conditions
    return policy_text(normal)


def _as_set(values: Any) -> set[str]:
    if isinstance(values, (list, tuple, set)):
        return {_text(value) for value in values}
    return {_text(values)}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _normal_principal(principal: Any) -> Any:
    if principal == "*":
        return {"AWS": ["*"]}
    normal: dict[str, list[str]] = {}
    for kind, values in principal.items():
        normal[kind] = sorted(
            re.sub(r"^arn:aws[a-z-]*:iam::(\d{12}):root$", r"\1", value) for value in _as_set(values)
        )
    return normal


def equivalent(first: str | Mapping[str, Any], second: str | Mapping[str, Any]) -> bool:
    """Whether two documents mean the same to IAM, however they are spelt."""
    one, other = parse(first), parse(second)
    default = "2008-10-17"
    return one.get("Version", default) == other.get("Version", default) and {
        normal_statement(statement) for statement in statements(one)
    } == {normal_statement(statement) for statement in statements(other)}


def differences(wanted: str | Mapping[str, Any], found: str | Mapping[str, Any]) -> tuple[str, ...]:
    """What a person should know of how a found document differs: the statements missing and those besides."""
    want = {normal_statement(statement): statement for statement in statements(wanted)}
    have = {normal_statement(statement): statement for statement in statements(found)}
    missing = [f"missing: {describe(want[key])}" for key in want if key not in have]
    besides = [f"besides: {describe(have[key])}" for key in have if key not in want]
    version = parse(found).get("Version", "2008-10-17")
    changed = [f"version: {version}, wanted {VERSION}"] if version != VERSION else []
    return (*missing, *besides, *changed)


def describe(statement: Mapping[str, Any]) -> str:
    """A statement in a line, for reports."""
    actions = ", ".join(sorted(_as_set(statement.get("Action", statement.get("NotAction", "")))))
    if "Principal" in statement:
        normal = _normal_principal(statement["Principal"])
        who = ", ".join(value for values in normal.values() for value in values)
        text = f"{statement.get('Effect')} {who} to {actions}"
    else:
        resources = ", ".join(sorted(_as_set(statement.get("Resource", statement.get("NotResource", "")))))
        text = f"{statement.get('Effect')} {actions} on {resources}"
    condition = statement.get("Condition")
    return f"{text} when {policy_text(condition)}" if condition else text


def document_problems(
    policy: str | Mapping[str, Any], *, limit: int = MAX_MANAGED_CHARACTERS
) -> tuple[str, ...]:
    """What must not be in a permission policy of this product, and what IAM would refuse.

    Object actions on the bucket itself are denied without a word (awsome-distributed-ai PR #1045); bucket
    actions on objects do nothing.
    """
    problems: list[str] = []
    size = characters(policy if isinstance(policy, str) else dict(policy))
    if size > limit:
        problems.append(f"{size} characters, IAM allows {limit}")
    for statement in statements(policy):
        actions = {action.lower() for action in _as_set(statement.get("Action", []))}
        resources = _as_set(statement.get("Resource", []))
        if "*" in actions:
            problems.append("a statement that allows every action")
        problems.extend(f"{action}: every action of a service" for action in actions if action.endswith(":*"))
        for action in sorted(entry for entry in actions if entry.startswith("s3:")):
            problems.extend(_bucket_problem(action, resource) for resource in resources)
    return tuple(problem for problem in problems if problem)


def _bucket_problem(action: str, resource: str) -> str:
    name = resource.split(":::", 1)[-1]
    is_object = "/" in name
    if action in _BUCKET_ACTIONS and is_object:
        return f"{action} on {resource}: an action on buckets, not on objects"
    if action not in _BUCKET_ACTIONS and not is_object:
        return f"{action} on {resource}: an action on objects needs {resource}/*"
    return ""


def inline_problems(policies: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """What IAM would refuse in the inline policies of one role: together they share one limit."""
    total = sum(characters(policy) for policy in policies.values())
    problems = [
        f"{name}: {problem}"
        for name, policy in policies.items()
        for problem in document_problems(policy, limit=MAX_INLINE_CHARACTERS)
    ]
    if total > MAX_INLINE_CHARACTERS:
        problems.append(f"{total} characters of inline policies, IAM allows {MAX_INLINE_CHARACTERS} a role")
    return tuple(problems)


def bucket_read(
    buckets: Iterable[str], *, partition: str, account: str, sid: str = "Read"
) -> list[Statement]:
    """Statements that allow listing some buckets and reading their objects; none without buckets."""
    return bucket_access(buckets, ("s3:GetObject",), partition=partition, account=account, sid=sid)


def bucket_access(
    buckets: Iterable[str], object_actions: Sequence[str], *, partition: str, account: str, sid: str
) -> list[Statement]:
    """Statements that allow listing some buckets of the account and these actions on their objects.

    The buckets must belong to the account: a name that somebody else took after a bucket was deleted grants
    nothing.
    """
    names = sorted(set(buckets))
    if not names:
        return []
    condition = {"StringEquals": {"aws:ResourceAccount": account}}
    arns = [f"arn:{partition}:s3:::{name}" for name in names]
    return [
        allow("s3:ListBucket", arns, sid=f"{sid}Buckets", condition=condition),
        allow(object_actions, [f"{arn}/*" for arn in arns], sid=f"{sid}Objects", condition=condition),
    ]
