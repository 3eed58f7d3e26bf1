"""Which resources of a profile outlive its stack."""

from __future__ import annotations

from mlcc_infra.account.reader import Reader
from mlcc_infra.account.retained import RetainedRole, RoleToKeep, retained_roles
from mlcc_infra.account.session import AccountSession
from mlcc_infra.policies import SERVICE_ROLES, RoleContext, needed
from mlcc_infra.profile import Profile


def read_retained(profile: Profile) -> tuple[Reader, list[RetainedRole]]:
    """Look into the account for what the profile's targets retain; the reader is for what follows."""
    session = AccountSession(region=profile.region, aws_profile=profile.aws_profile)
    identity = session.identity()
    context = RoleContext(names=profile.names(identity.account), partition=identity.partition)
    reader = Reader(session, profile=profile.name)
    roles = [
        RoleToKeep(name=entry.role_name(context), managed_policy_arns=entry.managed_policy_arns(context))
        for entry in needed(SERVICE_ROLES, profile.targets).values()
        if entry.retained
    ]
    return reader, retained_roles(reader, roles)
