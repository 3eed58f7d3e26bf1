"""`recover`: free a stack whose run was killed, and settle the operations it had begun.

Three steps, each said: the lock's holder is looked at and the lock cancelled when that process is dead; what
each begun creation made is looked up in the account by its fixed name or tag; then the state is written
without pending operations, which `pulumi stack import` does (pulumi/pkg cmd/pulumi/stack/io.go at v3.276.0).
What exists is imported by the next `up`, which waits for what AWS is still at work on. Nothing is cleared
unless all of it could be looked up.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from mlcc_infra import clock
from mlcc_infra.account.decisions import Action
from mlcc_infra.account.lookups.helm import RELEASE
from mlcc_infra.account.reader import Reader, error_code
from mlcc_infra.account.recorded_state import Pending, RecordedState, index_export
from mlcc_infra.account.state_transfer import export_state, import_state
from mlcc_infra.errors import UserError
from mlcc_infra.profile import Profile
from mlcc_infra.recovery.in_cluster import UNREADABLE, delete_record, interrupted_record
from mlcc_infra.recovery.locks import Holder, Lock, StackLockedError, judge_here, mend_files, read_locks
from mlcc_infra.recovery.pending import Finding, Outcome, judge
from mlcc_infra.tagging import OwnerKind
from mlcc_infra.targets.deployment import DeploymentPlan, plan_deployment

BUCKET = "aws:s3/bucket:Bucket"
# EC2 shows what was just made within seconds (EC2 API reference, eventual consistency). What is found by its
# tags alone would be made twice if it were overlooked, so it is looked for again.
SECOND_LOOK_SECONDS = 20.0
# What the CLI says when another run holds the stack: a lock of its own backends, an update of Pulumi Cloud.
_LOCKED_WORDS = ("currently locked by", "[409] Conflict", "update is currently in progress")


@dataclass(frozen=True, kw_only=True)
class HeldLock:
    """A lock that was found, and whether its holder lives."""

    lock: Lock
    holder: Holder


@dataclass(frozen=True, kw_only=True)
class Recovery:
    """What `recover` found and did. `settled` is false when something could not be looked up."""

    locks: tuple[HeldLock, ...]
    findings: tuple[Finding, ...]
    settled: bool


Run = Callable[..., "subprocess.CompletedProcess[str]"]


def recover(profile: Profile, project: str, pulumi: Run, say: Callable[[str], None]) -> Recovery:
    """Free the stack and settle what was begun, saying each step.

    `project` is Pulumi's name of the project; `pulumi` runs the CLI with arguments. Raises `StackLockedError`
    when somebody may still be at work, `UserError` when account or state cannot be read.
    """
    stack = profile.stack
    locks = _free(stack, project, pulumi, say)
    exported = export_state(stack)
    recorded = index_export(exported)
    if not recorded.pending:
        say("No operation is pending: the state knows of everything that was begun.")
        return Recovery(locks=locks, findings=(), settled=True)
    plan = _look_up(profile, recorded)
    findings, records = _judge_all(plan, recorded)
    for finding in findings:
        say(f"{finding.pending.operation} {finding.pending.key[1]}: {finding.words}.")
    if any(finding.outcome is Outcome.UNKNOWN for finding in findings):
        return Recovery(locks=locks, findings=findings, settled=False)
    _act(plan, findings, records)
    _write(stack, exported)
    count = len(findings)
    say(f"{count} pending operation{'s' if count > 1 else ''} cleared from the state of {stack}.")
    return Recovery(locks=locks, findings=findings, settled=True)


# --- the lock


def _free(stack: str, project: str, pulumi: Run, say: Callable[[str], None]) -> tuple[HeldLock, ...]:
    backend = _backend(pulumi)
    locks = _locks(backend, project, stack)
    for held in locks:
        say(f"{stack} is locked by {describe(held)}.")
    if any(held.holder is not Holder.DEAD for held in locks):
        raise locked(stack, locks)
    for name in mend_files(backend, project, stack):
        say(f"{name} was being written when the run was killed, and is not needed: it is removed.")
    if locks:
        done = pulumi("cancel", "--yes", "--stack", stack)
        if done.returncode != 0:
            raise UserError(f"pulumi cancel failed: {_words(done)}", remedy=f"pulumi cancel --stack {stack}")
        say("That run is dead: its lock is cancelled.")
    return locks


def _backend(pulumi: Run) -> str:
    done = pulumi("whoami", "--json")
    if done.returncode != 0:
        raise UserError(f"The state backend does not answer: {_words(done)}", remedy="pulumi whoami -v")
    return str(json.loads(done.stdout)["url"])


def _locks(backend: str, project: str, stack: str) -> tuple[HeldLock, ...]:
    """The locks of a backend that shows them; of another one the CLI itself refuses, when we write."""
    try:
        found = read_locks(backend, project, stack) or []
        return tuple(HeldLock(lock=lock, holder=judge_here(lock)) for lock in found)
    except (OSError, ValueError, ClientError, BotoCoreError) as error:
        raise StackLockedError(
            f"who holds {stack} could not be read from {backend}: {error}",
            remedy=f"when you know that no run is at work: pulumi cancel --stack {stack}, then again "
            f"mlcc-infra recover {stack}",
        ) from error


def describe(held: HeldLock) -> str:
    """A lock's holder in words, with its age."""
    lock = held.lock
    where = {
        Holder.DEAD: "which does not run any more",
        Holder.ALIVE: "which runs here",
        Holder.ELSEWHERE: "which cannot be seen from this host",
    }[held.holder]
    age = _age(lock.age(datetime.now(UTC)))
    return f"process {lock.pid} of {lock.user} on {lock.host} for {age}, {where}"


def _age(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def locked(stack: str, locks: Sequence[HeldLock]) -> StackLockedError:
    """The refusal when somebody may still be at work."""
    held = [found for found in locks if found.holder is not Holder.DEAD]
    names = "; ".join(describe(found) for found in held)
    alive = any(found.holder is Holder.ALIVE for found in held)
    remedy = (
        "wait for that run, or end it with ^C in its terminal"
        if alive
        else f"look on that host; when the process is gone there: pulumi cancel --stack {stack}, then again "
        f"mlcc-infra recover {stack}"
    )
    return StackLockedError(f"{stack} is held by {names}", remedy=remedy)


# --- what was begun


@dataclass(frozen=True, kw_only=True)
class _Record:
    """Helm's record of an interrupted operation, which has to go."""

    lookup: Mapping[str, str]
    secret: str


def _look_up(profile: Profile, recorded: RecordedState) -> DeploymentPlan:
    plan = plan_deployment(profile, recorded=recorded)
    if _overlooked(plan, recorded):
        clock.sleep(SECOND_LOOK_SECONDS)
        plan = plan_deployment(profile, recorded=recorded)
    return plan


def _overlooked(plan: DeploymentPlan, recorded: RecordedState) -> bool:
    """Whether something that is found by its tags alone was begun and not found."""
    decisions = [plan.decisions.get(key) for key in recorded.begun if key not in recorded.resources]
    return any(
        found.action is Action.CREATE and not found.wanted.identified_by_name for found in decisions if found
    )


def _judge_all(
    plan: DeploymentPlan, recorded: RecordedState
) -> tuple[tuple[Finding, ...], tuple[_Record, ...]]:
    """What became of each operation, and the records of Helm that are in the way of the next one."""
    findings: list[Finding] = []
    records: list[_Record] = []
    for pending in recorded.pending:
        decision = plan.decisions.get(pending.key)
        finding = judge(pending, recorded=recorded.resources.keys(), decision=decision)
        if pending.key[0] == RELEASE and decision is not None and finding.outcome is not Outcome.UNKNOWN:
            lookup = decision.wanted.lookup
            try:
                secret = interrupted_record(plan.survey.reader, lookup)
            except UNREADABLE as error:
                finding = replace(
                    finding, outcome=Outcome.UNKNOWN, words=f"its cluster does not tell: {error}"
                )
            else:
                if secret is not None:
                    records.append(_Record(lookup=lookup, secret=secret))
                    words = (
                        f"Helm's record {secret} of it is removed; the next `up` goes on from what is there"
                    )
                    finding = replace(finding, words=words)
        findings.append(finding)
    return tuple(findings), tuple(records)


def _act(plan: DeploymentPlan, findings: Sequence[Finding], records: Sequence[_Record]) -> None:
    """Put right what an import alone would not: a bucket's tags, Helm's record of a dead operation."""
    for record in records:
        delete_record(plan.survey.reader, record.lookup, record.secret)
    for finding in findings:
        if finding.outcome is Outcome.EXISTS and finding.pending.key[0] == BUCKET:
            _tag_bucket(plan.survey.reader, finding.pending)


def _tag_bucket(reader: Reader, pending: Pending) -> None:
    """A bucket gets its tags after it is made; without them it would count as somebody else's."""
    from mlcc_infra.account.lookups.s3 import bucket_tags
    from mlcc_infra.tagging import owner_of

    name = pending.inputs["bucket"]
    owner = owner_of(bucket_tags(reader, name) or {}, profile=reader.profile, region=reader.session.region)
    wanted = pending.inputs.get("tags")
    if owner.kind is not OwnerKind.UNTAGGED or not isinstance(wanted, dict):
        return
    tags = [{"Key": key, "Value": value} for key, value in wanted.items()]
    try:
        reader.session.client("s3").put_bucket_tagging(Bucket=name, Tagging={"TagSet": tags})
    except ClientError as error:
        raise UserError(
            f"The bucket {name}, which the killed run made, could not be tagged: {error_code(error)}",
            remedy="Give the caller s3:PutBucketTagging, and run this again.",
        ) from error


# --- the state


def _write(stack: str, exported: dict[str, Any]) -> None:
    """Write the state without pending operations, unless somebody has written it since it was read."""
    if export_state(stack) != exported:
        raise StackLockedError(
            f"another run has changed the state of {stack} meanwhile",
            remedy=f"when it has ended: mlcc-infra recover {stack}",
        )
    try:
        import_state(stack, exported)
    except UserError as error:
        if any(sign in error.message for sign in _LOCKED_WORDS):
            raise StackLockedError(
                f"another run holds {stack}: {error.message}",
                remedy=f"wait for it; when it is dead: pulumi cancel --stack {stack}, then again "
                f"mlcc-infra recover {stack}",
            ) from error
        raise


def _words(done: subprocess.CompletedProcess[str]) -> str:
    return " ".join((done.stderr or done.stdout).split())
