"""Reading the ARNs under `mlcc:admins`: what EKS takes as the principal of an access entry."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_ROLE: Final = re.compile(r"^arn:(aws[a-z-]*):iam::(\d{12}):role/((?:[!-.0-~]+/)*)([\w+=,.@-]{1,64})$")
_USER: Final = re.compile(r"^arn:(aws[a-z-]*):iam::(\d{12}):user/((?:[!-.0-~]+/)*)([\w+=,.@-]{1,64})$")
_SESSION: Final = re.compile(
    r"^arn:(aws[a-z-]*):sts::(\d{12}):assumed-role/([\w+=,.@-]{1,64})/([\w+=,.@-]{2,64})$"
)
_ROOT: Final = re.compile(r"^arn:aws[a-z-]*:iam::\d{12}:root$")
_SSO_PREFIX: Final = "AWSReservedSSO_"


@dataclass(frozen=True, kw_only=True)
class Principal:
    """One administrator.

    Attributes:
        arn: the role's or user's ARN; for a session, the role's without its path, which a session ARN lacks.
        account: the account it belongs to.
        lookup: the role's name where the path may be missing, to be completed through IAM GetRole.
        note: what is worth a warning.
        problem: why it is refused; then the rest means nothing.
        remedy: what would work.
    """

    arn: str
    account: str = ""
    lookup: str | None = None
    note: str = ""
    problem: str = ""
    remedy: str = ""


def read_principal(text: str) -> Principal:
    """Read one entry of `mlcc:admins`.

    EKS takes IAM roles and users as principals of access entries; an STS session is not one ("The
    principalArn parameter format is not valid"), and a role's path belongs to its ARN.
    """
    if not text or text != text.strip():
        return _refused(
            text, "an empty entry or one with spaces around it", "give the ARN of an IAM role or user"
        )
    if "*" in text:
        return _refused(text, "a wildcard, which an access entry cannot hold", "name each role")
    if _ROOT.match(text) or re.fullmatch(r"\d{12}", text):
        return _refused(
            text,
            "the account's root, which EKS does not take as an administrator",
            "give the ARN of an IAM role, such as arn:aws:iam::123456789012:role/Admin",
        )
    if session := _SESSION.match(text):
        partition, account, role, _ = session.groups()
        return Principal(
            arn=f"arn:{partition}:iam::{account}:role/{role}",
            account=account,
            lookup=role,
            note="a session of a role; the role itself is meant, and its path is looked up in IAM",
        )
    if role_match := _ROLE.match(text):
        _, account, path, name = role_match.groups()
        if name.startswith(_SSO_PREFIX) and not path:
            return Principal(
                arn=text,
                account=account,
                lookup=name,
                note="a role of IAM Identity Center without its path (aws-reserved/sso.amazonaws.com/…/); "
                "the full ARN is looked up in IAM",
            )
        return Principal(arn=text, account=account)
    if user := _USER.match(text):
        return Principal(arn=text, account=user[2])
    if ":federated-user/" in text or ":saml-provider/" in text or ":oidc-provider/" in text:
        return _refused(text, "a federated identity", "give the ARN of the IAM role that it assumes")
    if ":group/" in text:
        return _refused(text, "an IAM group, which EKS does not know", "give the ARN of a role")
    return _refused(
        text,
        "no ARN of an IAM role or user",
        "give an ARN such as arn:aws:iam::123456789012:role/Admin "
        "(`aws sts get-caller-identity` shows your session, `aws iam get-role` the role's ARN)",
    )


def _refused(text: str, problem: str, remedy: str) -> Principal:
    return Principal(arn=text, problem=problem, remedy=remedy)


def principal_arns(entries: Iterable[str]) -> tuple[str, ...]:
    """The ARNs of the entries that can be used, sessions turned into their roles, each once, in order."""
    read = (read_principal(entry) for entry in entries)
    return tuple(dict.fromkeys(principal.arn for principal in read if not principal.problem))
