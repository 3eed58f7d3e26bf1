"""Which resources of a profile outlive its stack."""

from __future__ import annotations

from dataclasses import dataclass

from mlcc_infra.account.reader import Reader
from mlcc_infra.account.recorded_state import RecordedState
from mlcc_infra.account.retained import (
    RetainedBucket,
    RetainedRole,
    RoleToKeep,
    retained_buckets,
    retained_roles,
)
from mlcc_infra.account.session import AccountSession, Identity
from mlcc_infra.naming import Names
from mlcc_infra.policies import SERVICE_ROLES, RoleContext, needed
from mlcc_infra.profile import Profile
from mlcc_infra.targets.survey import guard_account


@dataclass(frozen=True, kw_only=True)
class Retained:
    """What the account still holds of a profile on purpose; `reader` is for what follows."""

    reader: Reader
    identity: Identity
    roles: list[RetainedRole]
    buckets: list[RetainedBucket]

    def lines(self) -> list[tuple[str, str]]:
        """(kind, name) of every resource."""
        return [line for item in (*self.roles, *self.buckets) for line in item.lines()]

    @property
    def place(self) -> str:
        """Where was looked, in words: an empty answer means nothing without it."""
        return f"account {self.identity.account}, {self.reader.session.region}"

    def foreign(self) -> frozenset[str]:
        """Names, as in `lines`, of policies that somebody else put on the roles."""
        return frozenset(name for role in self.roles for _, name in role.foreign())


def read_retained(profile: Profile, recorded: RecordedState) -> Retained:
    """Look into the account for what the profile's targets retain.

    `recorded` is what the state says, or said before the stack was destroyed: another account than its own is
    not looked into. Raises `UserError` without credentials, `PreflightRefusedError` for another account.
    """
    session = AccountSession(region=profile.region, aws_profile=recorded.identity(profile.aws_profile))
    identity = session.identity()
    guard_account(profile, identity, recorded)
    names = profile.names(identity.account)
    context = RoleContext(names=names, partition=identity.partition)
    reader = Reader(session, profile=profile.name)
    roles = [
        RoleToKeep(
            name=entry.role_name(context),
            managed_policy_arns=entry.managed_policy_arns(context),
            inline=tuple(entry.inline(context)),
        )
        for entry in needed(SERVICE_ROLES, profile.targets).values()
        if entry.retained
    ]
    return Retained(
        reader=reader,
        identity=identity,
        roles=retained_roles(reader, roles),
        buckets=retained_buckets(reader, _tls_buckets(profile, names)),
    )


def _tls_buckets(profile: Profile, names: Names) -> list[str]:
    if not (profile.has("hyperpod-eks") or profile.has("operator-only")):
        return []
    given = [profile.operator.tls_bucket] if profile.operator.tls_bucket else []
    return list(dict.fromkeys([*given, names.tls_bucket, names.predecessor_tls_bucket]))
