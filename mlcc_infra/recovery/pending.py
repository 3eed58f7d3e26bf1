"""What became of the operations that a killed run had begun. Pure: facts are given, nothing is read."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from mlcc_infra.account.decisions import Action, Decision, ResourceKey
from mlcc_infra.account.recorded_state import Pending

_DYNAMIC = "pulumi-python:dynamic/"
_PROVIDER = "pulumi:providers:"
# Of what the state does not have: nothing was being made.
_NOT_MADE = {"deleting": "it is gone from the state", "importing": "the next `up` takes it over again"}


class Outcome(StrEnum):
    """What an interrupted operation left. Only UNKNOWN keeps it in the state."""

    RECORDED = "recorded"
    EXISTS = "exists"
    ABSENT = "absent"
    ENSURED = "ensured"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One interrupted operation, what became of it, and what follows, in words."""

    pending: Pending
    outcome: Outcome
    words: str


def judge(pending: Pending, *, recorded: Collection[ResourceKey], decision: Decision | None) -> Finding:
    """What became of one operation."""
    outcome, words = _judge(pending, recorded, decision)
    return Finding(pending=pending, outcome=outcome, words=words)


def _judge(
    pending: Pending, recorded: Collection[ResourceKey], decision: Decision | None
) -> tuple[Outcome, str]:
    kind, _ = pending.key
    if pending.key in recorded:
        return Outcome.RECORDED, "the state has it; the next `up` compares it with the account"
    if pending.operation != "creating":
        return Outcome.RECORDED, _NOT_MADE.get(pending.operation, "the next `up` looks at it again")
    if kind.startswith(_DYNAMIC):
        return Outcome.ENSURED, "it looks at what there is before it acts; the next `up` does it again"
    if kind.startswith(_PROVIDER) or not pending.custom:
        return Outcome.ENSURED, "it is no thing in AWS; the next `up` makes it again"
    if decision is None:
        return Outcome.UNKNOWN, "the profile does not ask for it any more, so it was not looked up"
    return _judge_decision(decision)


def _judge_decision(decision: Decision) -> tuple[Outcome, str]:
    thing = f"{decision.wanted.kind} {decision.wanted.physical}"
    match decision.action:
        case Action.IMPORT:
            return Outcome.EXISTS, f"{thing} exists; the next `up` takes it over"
        case Action.CREATE if not decision.warning:
            return Outcome.ABSENT, f"{thing} does not exist; the next `up` makes it"
        case Action.CREATE:
            return Outcome.UNKNOWN, f"{thing}: {decision.warning}"
        case Action.REFUSE:
            return Outcome.UNKNOWN, f"{thing}: {decision.reason}"
        case Action.KEEP:
            return Outcome.RECORDED, f"the state has {thing}"
