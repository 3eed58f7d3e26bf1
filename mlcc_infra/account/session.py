"""The one identity that every AWS call of a run uses.

With `mlcc:awsProfile` set, that profile is the truth for boto3, the aws provider, kubeconfigs and
subprocesses alike; unset, credentials are ambient and nothing about them is stored (design, section 6).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import boto3
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
            raise UserError(
                f"mlcc:awsProfile is {aws_profile!r}, and there is no such profile in the AWS configuration.",
                remedy=(
                    f"Add it (`aws configure sso --profile {aws_profile}`); correct mlcc:awsProfile; or "
                    "remove the key to use the credentials of the environment."
                ),
            ) from error
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
            source = (
                f"the AWS profile {self.aws_profile}" if self.aws_profile else "the environment's credentials"
            )
            login = f"aws sso login --profile {self.aws_profile}" if self.aws_profile else "aws sso login"
            raise UserError(
                f"AWS does not accept {source}: {error}",
                remedy=f"Log in again (`{login}`) or check with `aws sts get-caller-identity`.",
            ) from error
        return Identity(account=answer["Account"], arn=answer["Arn"])
