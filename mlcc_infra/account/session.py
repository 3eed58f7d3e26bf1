"""The one identity that every AWS call of a run uses.

With `mlcc:awsProfile` set, that profile is the truth for boto3, the aws provider, kubeconfigs and
subprocesses alike; unset, credentials are ambient and nothing about them is stored (design, section 6).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ProfileNotFound

from mlcc_infra.errors import UserError

# Bounded: `standard` retries throttling and transient faults with back-off (botocore, retries guide).
RETRIES = {"mode": "standard", "total_max_attempts": 5}
CONNECT_TIMEOUT_SECONDS = 5
READ_TIMEOUT_SECONDS = 30


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Who calls AWS: STS GetCallerIdentity. `account` is 12 characters, leading zeros kept."""

    account: str
    arn: str

    @property
    def partition(self) -> str:
        """The partition of the caller's ARN: `aws`, `aws-us-gov`, `aws-cn`."""
        return self.arn.split(":")[1]


class AccountSession:
    """boto3 clients of one region and one identity. Clients are made once each and are safe to share."""

    def __init__(self, *, region: str, aws_profile: str | None = None) -> None:
        try:
            self._session = boto3.Session(profile_name=aws_profile, region_name=region)
        except ProfileNotFound as error:
            raise _no_such_profile(aws_profile) from error
        self.region = region
        self.aws_profile = aws_profile
        self._clients: dict[str, Any] = {}
        self._lock = threading.Lock()

    def client(self, service: str) -> Any:
        """The boto3 client of a service in the session's region."""
        with self._lock:
            if service not in self._clients:
                self._clients[service] = self._session.client(
                    service,
                    config=Config(
                        retries=RETRIES,
                        connect_timeout=CONNECT_TIMEOUT_SECONDS,
                        read_timeout=READ_TIMEOUT_SECONDS,
                        max_pool_connections=32,
                    ),
                )
            return self._clients[service]

    def credentials(self) -> Any:
        """botocore's credentials, for signing what is no API call (a Kubernetes token)."""
        return self._session.get_credentials()

    def events(self) -> Any:
        """botocore's event system, which a signer needs."""
        return self._session.events

    def identity(self) -> Identity:
        """Ask STS who calls. Raises `UserError` when there are no credentials or they do not work."""
        try:
            answer = self.client("sts").get_caller_identity()
        except (ClientError, BotoCoreError) as error:
            login = f"aws sso login --profile {self.aws_profile}" if self.aws_profile else "aws sso login"
            raise UserError(
                f"AWS does not accept {credentials_source(self.aws_profile)}: {error}",
                remedy=f"Log in again (`{login}`) or check with `aws sts get-caller-identity`.",
            ) from error
        return Identity(account=answer["Account"], arn=answer["Arn"])


def credentials_source(aws_profile: str | None, environ: Mapping[str, str] = os.environ) -> str:
    """Where credentials come from, in words: a profile that was asked for, else what the environment has.

    Keys in the environment come before AWS_PROFILE, for boto3 as for the aws provider's SDK (AWS SDKs and
    tools reference guide, "Understand credential precedence").
    """
    if aws_profile:
        return f"the AWS profile {aws_profile}"
    if environ.get("AWS_ACCESS_KEY_ID"):
        return "the keys in the environment (AWS_ACCESS_KEY_ID)"
    if environ.get("AWS_PROFILE"):
        return f"the environment's profile (AWS_PROFILE={environ['AWS_PROFILE']})"
    return "the environment's credentials"


def known_profiles() -> frozenset[str]:
    """The AWS profiles of this machine's configuration and credentials files."""
    configured: Mapping[str, object] = botocore.session.Session().full_config.get("profiles", {})
    return frozenset(configured)


def guarded_session(*, region: str, aws_profile: str | None, account: str) -> AccountSession:
    """A session of a region and profile, in the account that a stack belongs to.

    Raises `UserError` when the profile does not exist or the credentials are for another account.
    """
    session = AccountSession(region=region, aws_profile=aws_profile)
    require_account(session, account)
    return session


def require_account(session: AccountSession, account: str) -> None:
    """Raise `UserError` when a session is for another account than a stack's."""
    found = session.identity().account
    if found != account:
        raise UserError(
            f"This stack belongs to account {account}; the credentials are for {found}, by "
            f"{credentials_source(session.aws_profile)}.",
            remedy="Set mlcc:awsProfile, or log in to the right account.",
        )


def _no_such_profile(aws_profile: str | None) -> UserError:
    if aws_profile is None:
        return UserError(
            f"AWS_PROFILE is {os.environ.get('AWS_PROFILE')!r}, and there is no such profile in the AWS "
            "configuration.",
            remedy="Unset it, or correct it: `aws configure list-profiles` shows those that exist.",
        )
    return UserError(
        f"mlcc:awsProfile is {aws_profile!r}, and there is no such profile in the AWS configuration of this "
        "machine.",
        remedy=(
            f"Add it (`aws configure sso --profile {aws_profile}`), or use other credentials: "
            "`mlcc-infra identity STACK --use environment` (or a profile's name) puts them into the state, "
            "which refresh and destroy read; `pulumi config rm mlcc:awsProfile -s STACK` the stack file."
        ),
    )
