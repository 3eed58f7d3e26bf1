"""What a run finds out before it decides anything: who calls, which account, what the state records."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from mlcc_infra.account.live_roles import read_live_roles
from mlcc_infra.account.preflight import CheckResult, PreflightRefusedError, Verdict
from mlcc_infra.account.reader import Reader
from mlcc_infra.account.recorded_state import RecordedState, read_recorded_state
from mlcc_infra.account.session import AccountSession, Identity
from mlcc_infra.naming import Names
from mlcc_infra.policies import LiveRole
from mlcc_infra.profile import Profile
from mlcc_infra.tagging import Origin

ROLE = "aws:iam/role:Role"


@dataclass(frozen=True, kw_only=True)
class Survey:
    """The identity, the recorded state and a reader of the account, shared by plans and checks."""

    profile: Profile
    identity: Identity
    recorded: RecordedState
    reader: Reader

    @property
    def names(self) -> Names:
        """Physical names in the caller's account."""
        return self.profile.names(self.identity.account)

    def live_roles(self, names: Iterable[str]) -> dict[str, LiveRole]:
        """Those of the roles that exist, by name."""
        created = {
            found.id
            for (token, _), found in self.recorded.resources.items()
            if token == ROLE and found.origin is Origin.CREATED
        }
        return read_live_roles(self.reader, names, created=created)


def take_survey(profile: Profile, *, recorded: RecordedState | None = None) -> Survey:
    """Ask STS who calls and read the state, side by side; refuse a wrong account before anything else.

    `recorded` is given by callers that know the state already. Raises `UserError` when the caller has
    no working credentials or the state cannot be read, `PreflightRefusedError` for a wrong account.
    """
    session = AccountSession(region=profile.region, aws_profile=profile.aws_profile)
    with ThreadPoolExecutor(2, thread_name_prefix="survey") as pool:
        identity_answer = pool.submit(session.identity)
        recorded_answer = pool.submit(read_recorded_state, profile.stack) if recorded is None else None
        identity = identity_answer.result()
        state = recorded_answer.result() if recorded_answer else recorded
    assert state is not None  # one of the two branches above gave it
    guard_account(profile, identity, state)
    _guard_profile(profile, state)
    return Survey(
        profile=profile,
        identity=identity,
        recorded=state,
        reader=Reader(session, profile=profile.name),
    )


def _guard_profile(profile: Profile, recorded: RecordedState) -> None:
    """A profile is in every physical name: under another one everything would be replaced."""
    if recorded.profile in (None, profile.name):
        return
    result = CheckResult(
        name="profile",
        verdict=Verdict.REFUSED,
        found=f"the stack was made as profile {recorded.profile}, mlcc:profile is now {profile.name}",
        needed="the same profile: its name is in every physical name, so all of it would be made anew",
        remedy=f"set mlcc:profile to {recorded.profile}; for another profile make another stack, or destroy "
        "this one first",
    )
    raise PreflightRefusedError([result], stack=profile.stack)


def guard_account(profile: Profile, identity: Identity, recorded: RecordedState) -> None:
    """Refuse credentials for another account than the profile's, or than that of the first `up`.

    Raises `PreflightRefusedError`, with where the account is from.
    """
    sources = {"mlcc:accountId": profile.account_id, "the stack's state": recorded.account}
    wrong = {
        source: account for source, account in sources.items() if account not in (None, identity.account)
    }
    if not wrong:
        return
    found = f"the credentials are for {identity.account} ({identity.arn})"
    results = [
        CheckResult(
            name="account",
            verdict=Verdict.REFUSED,
            found=found,
            needed=f"account {account}, as {source} says",
            remedy="set mlcc:awsProfile or log in to that account; for another account make another stack",
        )
        for source, account in wrong.items()
    ]
    raise PreflightRefusedError(results, stack=profile.stack)
