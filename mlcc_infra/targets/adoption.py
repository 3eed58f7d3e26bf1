"""What a run takes over, and how each thing differs from the profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlcc_infra.account.adoption_facts import read_facts
from mlcc_infra.account.decisions import Decision, Decisions, Fact, ResourceKey
from mlcc_infra.account.differences import Difference, Effect, aspects, compare
from mlcc_infra.account.preflight import CheckResult, Verdict
from mlcc_infra.account.reader import Reader
from mlcc_infra.tagging import OwnerKind
from mlcc_infra.targets.expectations import Expectations

LINES_SHOWN = 12
LONGEST_LINE = 100


@dataclass(frozen=True, kw_only=True)
class Adopted:
    """One thing that is taken over: who owned it, and how it differs.

    `unread` is why it could not be compared but for its tags; empty when it was.
    """

    decision: Decision
    owner: OwnerKind
    differences: tuple[Difference, ...]
    unread: str = ""

    @property
    def name(self) -> str:
        """Kind and name, as people know it."""
        return f"{self.decision.wanted.kind} {self.decision.wanted.physical}"

    @property
    def as_wanted(self) -> bool:
        """Whether it was compared and is as the profile has it."""
        return not self.differences and not self.unread


def find_adopted(
    reader: Reader,
    decisions: Decisions,
    facts: Mapping[ResourceKey, Fact],
    wanted: Expectations,
) -> tuple[Adopted, ...]:
    """Compare everything that is imported with what the profile wants of it."""
    imported = decisions.imported
    found = read_facts(reader, [decision.wanted for decision in imported], facts)
    return tuple(
        Adopted(
            decision=decision,
            owner=facts[decision.wanted.key].owner.kind,
            differences=compare(
                decision.wanted.key[0],
                found[decision.wanted.key].properties,
                wanted.of(decision),
                exclusive=wanted.profile.exclusive,
            ),
            unread=found[decision.wanted.key].unread,
        )
        for decision in imported
    )


def replacement_refusals(adopted: Sequence[Adopted], *, stack: str) -> list[CheckResult]:
    """What could be had only by making a thing anew is no adoption: it is refused, with the property."""
    return [
        CheckResult(
            name=found.name,
            verdict=Verdict.REFUSED,
            found=f"it exists with {difference.what} {difference.found}, which nothing changes in place",
            needed=f"{difference.what} {difference.wanted}, as the profile of {stack} says",
            remedy="set the profile to what is there, or delete the thing, so that it is made anew",
        )
        for found in adopted
        for difference in found.differences
        if difference.effect is Effect.REPLACEMENT
    ]


def unread_results(adopted: Sequence[Adopted]) -> list[CheckResult]:
    """What is taken over without having been compared: said, and never taken for equal."""
    return [
        CheckResult(
            name=found.name,
            verdict=Verdict.UNKNOWN,
            found=f"it exists and is taken over; how it differs could not be read ({found.unread})",
        )
        for found in adopted
        if found.unread
    ]


def short_form(adopted: Sequence[Adopted], *, stack: str) -> str:
    """A few words for each thing that is taken over and differs, at most `LINES_SHOWN` lines of them."""
    different = [found for found in adopted if not found.as_wanted]
    unlike = sum(1 for found in different if found.differences)
    lines = [f"Taking over {len(adopted)} existing, {unlike} of them unlike the profile:"]
    if not different:
        names = ", ".join(found.name for found in adopted[:LINES_SHOWN])
        more = ", …" if len(adopted) > LINES_SHOWN else ""
        lines = [f"Taking over {len(adopted)} existing, all as the profile has them: {names}{more}"]
    for found in different[:LINES_SHOWN]:
        words = [aspect.value for aspect in aspects(found.differences)]
        if found.unread:
            words.append("not read")
        lines.append(_cut(f"  {found.name}: {', '.join(words)}"))
    if len(different) > LINES_SHOWN:
        lines.append(f"  and {len(different) - LINES_SHOWN} more")
    if different:
        lines.append(f"How each differs: mlcc-infra adopt {stack}")
    return "\n".join(lines)


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"
