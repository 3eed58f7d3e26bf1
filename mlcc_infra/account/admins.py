"""The profile's admins as IAM spells them: role ARNs with their path, or refused with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from botocore.exceptions import BotoCoreError, ClientError

from mlcc_infra.account.lookups.iam import get_role, get_user
from mlcc_infra.account.preflight import CheckResult, Verdict
from mlcc_infra.account.reader import Reader, error_code

_SSO_PREFIX = "AWSReservedSSO_"
_SSO_HELP = (
    "give the whole ARN, with its path: `aws iam list-roles --path-prefix /aws-reserved/sso.amazonaws.com/ "
    "--query 'Roles[].Arn'` in that account shows it"
)


@dataclass(frozen=True, kw_only=True)
class _Answer:
    """What became of one admin: its ARN in IAM, and what is to be said."""

    arn: str | None = None
    result: CheckResult | None = None


def resolve_admins(
    reader: Reader, admins: Sequence[str], account: str
) -> tuple[tuple[str, ...], list[CheckResult]]:
    """Look each admin of this account up in IAM and take its real ARN, each once.

    A session's or SSO role's ARN lacks the path, and EKS then answers `invalid principal`. An identity that
    does not exist is refused; one that may not be read stays as it is, with a warning, unless it is a role of
    IAM Identity Center without its path, which cannot be right. Those of other accounts cannot be looked up.
    """
    answers = [_resolve(reader, arn, account) for arn in admins]
    arns = dict.fromkeys(answer.arn for answer in answers if answer.arn)
    return tuple(arns), [answer.result for answer in answers if answer.result]


def _resolve(reader: Reader, arn: str, account: str) -> _Answer:
    owner, principal = arn.split(":", 5)[4:]
    kind, *_, name = principal.split("/")
    pathless_sso = name.startswith(_SSO_PREFIX) and "/" not in principal.removeprefix("role/")
    if owner != account:
        if pathless_sso:
            found = f"{arn} lacks its path, and roles of account {owner} cannot be looked up from {account}"
            return _refused(found, _SSO_HELP)
        return _Answer(arn=arn)
    look_up = get_role if kind == "role" else get_user
    try:
        identity = look_up(reader, name)
    except (ClientError, BotoCoreError) as error:
        reason = error_code(error) if isinstance(error, ClientError) else str(error)
        if pathless_sso:
            return _refused(f"{arn} lacks its path, and it could not be looked up ({reason})", _SSO_HELP)
        found = f"{arn} could not be looked up ({reason}); it is used as it is"
        return _Answer(arn=arn, result=CheckResult(name="admins", verdict=Verdict.UNKNOWN, found=found))
    if identity is None:
        return _refused(
            f"there is no {kind} {name} in account {account}",
            "correct mlcc:admins; roles of IAM Identity Center show in `aws iam list-roles "
            "--path-prefix /aws-reserved/sso.amazonaws.com/`",
        )
    return _Answer(arn=str(identity["Arn"]))


def _refused(found: str, remedy: str) -> _Answer:
    return _Answer(
        result=CheckResult(
            name="admins",
            verdict=Verdict.REFUSED,
            found=found,
            needed="the ARN of an existing IAM role or user, with its path",
            remedy=remedy,
        )
    )
