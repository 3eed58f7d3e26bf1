"""The profile's admins as IAM spells them: role ARNs with their path, or refused with the reason."""

from __future__ import annotations

from collections.abc import Sequence

from botocore.exceptions import BotoCoreError, ClientError

from mlcc_infra.account.lookups.iam import get_role
from mlcc_infra.account.preflight import CheckResult, Verdict
from mlcc_infra.account.reader import Reader, error_code


def resolve_admins(
    reader: Reader, admins: Sequence[str], account: str
) -> tuple[tuple[str, ...], list[CheckResult]]:
    """Look each role of this account up in IAM and take its real ARN.

    A session's or SSO role's ARN lacks the path, and EKS then answers `invalid principal`. Roles of
    other accounts and users are taken as they are. A role that does not exist is refused; one that
    may not be read stays as it is, with a warning.
    """
    resolved: list[str] = []
    results: list[CheckResult] = []
    for arn in admins:
        _, _, _, _, owner, principal = arn.split(":", 5)
        if owner != account or not principal.startswith("role/"):
            resolved.append(arn)
            continue
        name = principal.rsplit("/", 1)[-1]
        try:
            role = get_role(reader, name)
        except (ClientError, BotoCoreError) as error:
            reason = error_code(error) if isinstance(error, ClientError) else str(error)
            resolved.append(arn)
            results.append(
                CheckResult(
                    name="admins",
                    verdict=Verdict.UNKNOWN,
                    found=f"{arn} could not be looked up ({reason}); it is used as it is",
                )
            )
            continue
        if role is None:
            results.append(
                CheckResult(
                    name="admins",
                    verdict=Verdict.REFUSED,
                    found=f"there is no role {name} in account {account}",
                    needed="the ARN of an existing IAM role or user",
                    remedy="correct mlcc:admins; roles of IAM Identity Center show in `aws iam list-roles "
                    "--path-prefix /aws-reserved/sso.amazonaws.com/`",
                )
            )
            continue
        resolved.append(role["Arn"])
    return tuple(dict.fromkeys(resolved)), results
