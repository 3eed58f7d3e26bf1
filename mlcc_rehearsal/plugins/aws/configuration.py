"""The provider's own settings: which account, region and credentials, and the guards.

Sources: pulumi-aws ``provider/config.go`` (credentials are tried when configured; texts in
``provider/errors/``) and hashicorp/aws-sdk-go-base ``AWS account ID not allowed``. The SDK sends
nested and non-string settings as JSON texts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import boto3
import botocore.exceptions

from mlcc_rehearsal.plugins.aws import schema
from mlcc_rehearsal.plugins.aws.calling import Clients
from mlcc_rehearsal.plugins.aws.checking import INVALID_KEY, Failure, TagSettings, closest
from mlcc_rehearsal.plugins.serving import Cancellation, ProviderError
from mlcc_rehearsal.plugins.values import unmarked

#: Settings whose change makes other resources: pulumi-aws lets a change of region replace.
REPLACING = frozenset({"region"})
_NOT_VALID = "could not validate provider configuration"
_NO_CREDENTIALS = "unable to validate AWS credentials.\nDetails"
_IDENTITY = "validating provider credentials: retrieving caller identity from STS"
_NOT_MODELLED = ("assumeRoles", "assumeRoleWithWebIdentity", "httpProxy", "httpsProxy")

NO_REGION = (
    'missing required configuration key "aws:region": The region where AWS operations will take place. '
    "Examples are us-east-1, us-west-2, etc. Set a value using the command "
    "`pulumi config set aws:region <value>`."
)


@dataclass(frozen=True)
class Configuration:
    """A configured provider."""

    clients: Clients
    region: str
    account_id: str
    partition: str
    tags: TagSettings


def decode(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with their JSON texts read. ValueError naming a setting that is not what it should be."""
    shape = schema.provider()
    decoded: dict[str, Any] = {}
    for key, value in unmarked(settings).items():
        kind = shape.fields[key].kind if key in shape.fields else "any"
        plain = _read_json(key, value, kind) if kind not in ("string", "any") else value
        if plain is not None:
            decoded[key] = plain
    return decoded


def _read_json(key: str, value: Any, kind: str) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        raise ValueError(f"could not read provider setting {key}: {value!r} is no {kind}") from None


def check(settings: Mapping[str, Any]) -> list[Failure]:
    """What is wrong with the settings, before anything is asked of AWS."""
    shape = schema.provider()
    failures = [
        Failure(f"{_NOT_VALID}: {INVALID_KEY} '{key}'. {closest(key, shape.fields)}")
        for key in settings
        if key not in shape.fields and key not in schema.PROVIDER_KEYS
    ]
    try:
        decoded = decode(settings)
    except ValueError as error:
        return [*failures, Failure(str(error))]
    if decoded.get("allowedAccountIds") and decoded.get("forbiddenAccountIds"):
        failures.append(Failure(f'{_NOT_VALID}: "allowed_account_ids": conflicts with forbidden_account_ids'))
    failures += [
        Failure(f"the stand-in for pulumi-aws does not model the setting {key}; it is no part of a rehearsal")
        for key in _NOT_MODELLED
        if decoded.get(key)
    ]
    return failures


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The settings that differ, and those of them that replace everything made with this provider."""
    before, after = decode(old), decode(new)
    changed = sorted(
        key
        for key in {*before, *after}
        if before.get(key) != after.get(key) and key not in schema.PROVIDER_KEYS
    )
    return changed, [key for key in changed if key in REPLACING]


def _session(settings: Mapping[str, Any], region: str) -> boto3.Session:
    try:
        return boto3.Session(
            aws_access_key_id=settings.get("accessKey"),
            aws_secret_access_key=settings.get("secretKey"),
            aws_session_token=settings.get("token"),
            profile_name=settings.get("profile"),
            region_name=region,
        )
    except botocore.exceptions.ProfileNotFound:
        profile = settings.get("profile") or os.environ.get("AWS_PROFILE")
        raise ProviderError(
            f"{_NO_CREDENTIALS}: loading configuration: failed to get shared config profile, {profile}"
        ) from None


def configure(settings: Mapping[str, Any], cancellation: Cancellation) -> Configuration:
    """Make clients, and ask AWS who this is. ProviderError, in the provider's words, when refused."""
    failures = check(settings)
    if failures:
        raise ProviderError("; ".join(failure.reason for failure in failures))
    decoded = decode(settings)
    region = decoded.get("region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not region:
        raise ProviderError(NO_REGION)
    session = _session(decoded, region)
    _check_region(session, decoded, region)
    clients = Clients(
        session,
        {
            service: url
            for block in decoded.get("endpoints") or []
            for service, url in block.items()
            if isinstance(url, str) and url
        },
        max_retries=int(decoded.get("maxRetries", 25)),
        path_style=bool(decoded.get("s3UsePathStyle")),
    )
    account, partition = _identity(clients, decoded, region, cancellation)
    return Configuration(clients, region, account, partition, _tag_settings(decoded))


def _check_region(session: boto3.Session, settings: Mapping[str, Any], region: str) -> None:
    if settings.get("skipRegionValidation"):
        return
    partitions = session.get_available_partitions()
    if not any(region in session.get_available_regions("ec2", partition) for partition in partitions):
        raise ProviderError(f"invalid AWS Region: {region}")


def _identity(
    clients: Clients, settings: Mapping[str, Any], region: str, cancellation: Cancellation
) -> tuple[str, str]:
    allowed, forbidden = settings.get("allowedAccountIds"), settings.get("forbiddenAccountIds")
    if settings.get("skipCredentialsValidation") and settings.get("skipRequestingAccountId"):
        return "", "aws"
    try:
        answer = clients.call("sts", region, "get_caller_identity", {}, cancellation)
    except ProviderError as error:
        raise ProviderError(f"{_NO_CREDENTIALS}: {_IDENTITY}: {error.message}") from None
    account = str(answer["Account"])
    if allowed and account not in [str(item) for item in allowed]:
        raise ProviderError(f"AWS account ID not allowed: {account}")
    if forbidden and account in [str(item) for item in forbidden]:
        raise ProviderError(f"AWS account ID not allowed: {account}")
    return account, str(answer["Arn"]).split(":")[1]


def _tag_settings(settings: Mapping[str, Any]) -> TagSettings:
    ignored = settings.get("ignoreTags") or {}
    return TagSettings(
        default={
            key: str(value) for key, value in ((settings.get("defaultTags") or {}).get("tags") or {}).items()
        },
        ignored_keys=frozenset(ignored.get("keys") or ()),
        ignored_prefixes=tuple(ignored.get("keyPrefixes") or ()),
    )
