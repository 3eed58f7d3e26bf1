"""The checks across the keys of a profile: what is bound to fail, said before the first AWS write."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from mlcc_infra.profile.problems import Problem

if TYPE_CHECKING:
    from mlcc_infra.profile.model import Profile


@dataclass
class Findings:
    """Where the checks put what they find."""

    profile: Profile
    today: date
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    @property
    def stack(self) -> str:
        """The stack, for the commands in remedies."""
        return self.profile.stack

    def refuse(self, key: str, value: object, found: str, remedy: str) -> None:
        """Record something that cannot work."""
        self.problems.append(Problem(key=key, value=value, found=found, remedy=remedy))

    def warn(self, key: str, value: object, found: str, remedy: str) -> None:
        """Record something that is allowed but worth saying."""
        self.warnings.append(Problem(key=key, value=value, found=found, remedy=remedy))


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """All refusals and all warnings."""

    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


def check_profile(profile: Profile, *, today: date | None = None) -> Outcome:
    """Check a profile whose shape is right."""
    from mlcc_infra.profile import (
        check_account,
        check_eks,
        check_hyperpod,
        check_network,
        check_node_groups,
        check_operator,
    )

    findings = Findings(profile, today or datetime.now(tz=UTC).date())
    for check in (
        *check_account.CHECKS,
        *check_network.CHECKS,
        *check_eks.CHECKS,
        *check_node_groups.CHECKS,
        *check_hyperpod.CHECKS,
        *check_operator.CHECKS,
    ):
        check(findings)
    return Outcome(problems=tuple(findings.problems), warnings=tuple(findings.warnings))
