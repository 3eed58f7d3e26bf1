"""What a destroyed stack leaves in the account on purpose, and its deletion when that is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from botocore.exceptions import ClientError

from mlcc_infra.account.bucket_emptying import empty_bucket
from mlcc_infra.account.lookups.iam import attached_policies, get_role, inline_policies
from mlcc_infra.account.lookups.s3 import BUCKET_SETTINGS, account_buckets, bucket_setting, bucket_tags
from mlcc_infra.account.reader import Reader, error_code
from mlcc_infra.tagging import OwnerKind, owner_of, tag_list


@dataclass(frozen=True, kw_only=True)
class RetainedRole:
    """One role of ours that is still there, with everything that hangs on it.

    `foreign_policies` are the attached ones that the profile's table does not name, `foreign_inline` the
    inline ones: somebody else's.
    """

    name: str
    arn: str
    managed_policy_arns: tuple[str, ...]
    inline_policies: tuple[str, ...]
    foreign_policies: tuple[str, ...] = ()
    foreign_inline: tuple[str, ...] = ()

    def foreign(self) -> list[tuple[str, str]]:
        """(kind, name), as in `lines`, of what somebody else put on it."""
        return [
            *(("attachment", f"{self.name}/{arn}") for arn in self.foreign_policies),
            *(("inline policy", f"{self.name}:{name}") for name in self.foreign_inline),
        ]

    def lines(self) -> list[tuple[str, str]]:
        """(kind, name) of the role and of each policy on it, as lists show them."""
        return [
            ("role", self.name),
            *(("attachment", f"{self.name}/{arn}") for arn in self.managed_policy_arns),
            *(("inline policy", f"{self.name}:{name}") for name in self.inline_policies),
        ]


@dataclass(frozen=True, kw_only=True)
class RetainedBucket:
    """One bucket of ours that is still there, with what is set on it."""

    name: str
    settings: tuple[str, ...]

    def lines(self) -> list[tuple[str, str]]:
        """(kind, name) of the bucket and of each of its settings, as lists show them."""
        return [("bucket", self.name), *((setting, self.name) for setting in self.settings)]


@dataclass(frozen=True, kw_only=True)
class RoleToKeep:
    """A role that destroy retains: its name and the policies that the profile puts on it."""

    name: str
    managed_policy_arns: Sequence[str]
    inline: Sequence[str] = ()


def retained_roles(reader: Reader, roles: Iterable[RoleToKeep]) -> list[RetainedRole]:
    """Those of the profile's retained roles that exist and carry its tags.

    A role of that name that is not ours (no tags, or another profile's) is not listed: it is nothing that
    the stack left behind.
    """
    found: list[RetainedRole] = []
    for role in roles:
        live = get_role(reader, role.name)
        if live is None:
            continue
        tags = tag_list(live.get("Tags", []))
        owner = owner_of(tags, profile=reader.profile, region=reader.session.region)
        if owner.kind is not OwnerKind.OURS:
            continue
        attached, inline = attached_policies(reader, role.name), inline_policies(reader, role.name)
        found.append(
            RetainedRole(
                name=role.name,
                arn=live["Arn"],
                managed_policy_arns=attached,
                inline_policies=inline,
                foreign_policies=tuple(arn for arn in attached if arn not in role.managed_policy_arns),
                foreign_inline=tuple(name for name in inline if name not in role.inline),
            )
        )
    return found


def retained_buckets(reader: Reader, names: Iterable[str]) -> list[RetainedBucket]:
    """Those of the buckets that exist and carry the profile's tags. Somebody else's bucket is not listed."""
    found: list[RetainedBucket] = []
    for name in names:
        try:
            tags = bucket_tags(reader, name)
        except ClientError as error:
            # Refused for a name that another account has taken, which is nothing that this stack left
            # behind; but refused for a bucket of this account where the caller may not read it.
            if error_code(error) in ("403", "AccessDenied") and name not in account_buckets(reader):
                continue
            raise
        if tags is None:
            continue
        owner = owner_of(tags, profile=reader.profile, region=reader.session.region)
        if owner.kind is OwnerKind.OURS:
            found.append(RetainedBucket(name=name, settings=_bucket_settings(reader, name)))
    return found


def _bucket_settings(reader: Reader, name: str) -> tuple[str, ...]:
    return tuple(
        f"bucket {shown}"
        for shown, setting in BUCKET_SETTINGS.items()
        if bucket_setting(reader, name, setting) is not None
    )


def delete_bucket(reader: Reader, bucket: RetainedBucket) -> None:
    """Empty a bucket, versions and delete markers included, and delete it.

    Raises `UserError` naming an object that S3 does not delete.
    """
    client = reader.session.client("s3")
    empty_bucket(client, bucket.name)
    client.delete_bucket(Bucket=bucket.name)


def delete_role(reader: Reader, role: RetainedRole) -> None:
    """Detach everything and delete the role. IAM refuses to delete a role that still carries policies.

    What is gone already is fine; other answers of IAM are raised.
    """
    iam = reader.session.client("iam")
    calls = [
        *((iam.detach_role_policy, {"PolicyArn": arn}) for arn in role.managed_policy_arns),
        *((iam.delete_role_policy, {"PolicyName": name}) for name in role.inline_policies),
        (iam.delete_role, {}),
    ]
    for call, arguments in calls:
        try:
            call(RoleName=role.name, **arguments)
        except ClientError as error:
            if error_code(error) != "NoSuchEntity":
                raise
