"""Who calls, from where, and whether what the state stores of identities can work here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from mlcc_infra.account import stack_access
from mlcc_infra.account.cluster_client import ClusterGoneError
from mlcc_infra.account.preflight import CheckResult, Verdict
from mlcc_infra.account.recorded_state import RecordedState
from mlcc_infra.account.session import Identity, credentials_source
from mlcc_infra.errors import UserError
from mlcc_infra.profile import Profile


def identity_results(
    profile: Profile, identity: Identity, environ: Mapping[str, str]
) -> tuple[CheckResult, ...]:
    """The account, region and caller of a run; and an AWS_PROFILE that it does not follow."""
    results = [
        CheckResult(
            name="identity",
            verdict=Verdict.OK,
            found=f"{identity.arn} in account {identity.account}, region {profile.region}, by "
            f"{credentials_source(profile.aws_profile, environ)}",
        )
    ]
    ambient = environ.get("AWS_PROFILE")
    if profile.aws_profile and ambient not in (None, "", profile.aws_profile):
        results.append(
            CheckResult(
                name="identity",
                verdict=Verdict.WARNING,
                found=f"AWS_PROFILE={ambient} is not followed: mlcc:awsProfile is {profile.aws_profile}",
                remedy="unset AWS_PROFILE, or "
                f"`pulumi config set mlcc:awsProfile {ambient} -s {profile.stack}` if that is the one",
            )
        )
    return tuple(results)


def stored_identity_results(
    profile: Profile, recorded: RecordedState, known: Iterable[str]
) -> tuple[CheckResult, ...]:
    """Profiles in the state that this machine lacks: refresh, the first thing `up` does, fails then."""
    missing = sorted(recorded.aws_profiles - set(known))
    wanted = profile.aws_profile or "environment"
    return tuple(
        CheckResult(
            name="stored identity",
            verdict=Verdict.REFUSED,
            found=f"the state takes credentials from the AWS profile {name}, which is not in this machine's "
            "AWS configuration",
            needed="credentials that exist here: refresh and destroy read them from the state",
            remedy=f"mlcc-infra identity {profile.stack} --use {wanted}",
        )
        for name in missing
    )


def access_results(profile: Profile, recorded: RecordedState) -> tuple[CheckResult, ...]:
    """Whether the caller and the stack's admins may administer its clusters; warns, and never refuses.

    With a time limit: one call a cluster.
    """
    return tuple(_access_result(profile.stack, entry) for entry in recorded.access)


def _access_result(stack: str, entry: Mapping[str, Any]) -> CheckResult:
    name = f"access to {entry.get('cluster_name')}"
    try:
        found = stack_access.look(entry)
    except ClusterGoneError as error:
        return CheckResult(
            name=name, verdict=Verdict.WARNING, found=str(error), remedy=f"pulumi up -s {stack}"
        )
    except UserError as error:
        return CheckResult(name=name, verdict=Verdict.UNKNOWN, found=error.message, remedy=error.remedy)
    except (ClientError, BotoCoreError) as error:
        return CheckResult(name=name, verdict=Verdict.UNKNOWN, found=f"could not be looked at: {error}")
    if not found.whole:
        out = [f"{arn} has no access" for arn in found.missing]
        refused = [f"{found.caller} is not let in: {found.reason}"] if found.refused else []
        return CheckResult(
            name=name,
            verdict=Verdict.WARNING,
            found="; ".join([*out, *refused]),
            needed="an access entry: what is in the cluster is read at the start of every `up`",
            remedy=f"mlcc-infra access {stack} --repair",
        )
    verdict = Verdict.UNKNOWN if found.reason else Verdict.OK
    return CheckResult(
        name=name, verdict=verdict, found=found.reason or f"{found.caller} is an administrator"
    )
