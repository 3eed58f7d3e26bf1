"""Who calls: made-up operators, sessions of assumed roles, and credentials that nobody has.

Operators are IAM users that really exist in the account, so ``GetCallerIdentity`` answers their ARN and laws
that depend on the caller (the creator's access entry) have somebody to name.
"""

from __future__ import annotations

import json
from typing import Any

from moto.iam.models import iam_backends
from moto.sts.models import sts_backends

from mlcc_rehearsal.cloud import laws
from mlcc_rehearsal.cloud.account import RehearsedAccount
from mlcc_rehearsal.cloud.errors import AwsError

OPERATOR = "rehearsal-operator"
_ADMINISTRATOR = "AdministratorAccess"


def add_operator(
    account: RehearsedAccount, name: str, *, policy: dict[str, Any] | None = None
) -> tuple[str, str]:
    """Make an IAM user with an access key; answers the key id and the secret.

    :param policy: the user's only permissions, as a policy document; administrator when None.  What an
        operator may do is answered by policy simulation; calls themselves are not refused for it.
    """
    iam = iam_backends[account.account_id][account.partition]
    user = iam.create_user(account.region, name, path="/", tags=[])
    if policy is None:
        iam.attach_user_policy(f"arn:{account.partition}:iam::aws:policy/{_ADMINISTRATOR}", name)
    else:
        iam.put_user_policy(name, "rehearsal", json.dumps(policy))
    key = iam.create_access_key(user.name)
    return str(key.access_key_id), str(key.secret_access_key)


def principal_of(account: RehearsedAccount, access_key_id: str) -> str | None:
    """ARN of the user or role session that the access key belongs to, or None when nobody has it."""
    sts = sts_backends[account.account_id][account.partition]
    session = sts.get_assumed_role_from_access_key(access_key_id)
    if session is not None:
        return str(session.arn)
    iam = iam_backends[account.account_id][account.partition]
    key = iam.access_keys.get(access_key_id)
    if key is not None and key.user_name in iam.users:
        return str(iam.users[key.user_name].arn)
    return None


def unique_id(account: RehearsedAccount, arn: str) -> str | None:
    """The unique id (`AROA…`, `AIDA…`) of the role or user that has an ARN now; None when nobody has it."""
    iam = iam_backends[account.account_id][account.partition]
    entities: list[Any] = [*iam.get_roles(), *iam.users.values()]
    return next((str(entity.id) for entity in entities if entity.arn == arn), None)


def unknown_credentials(service: str) -> AwsError:
    """What a service answers to an access key that nobody has."""
    law = laws.UNKNOWN_CREDENTIALS
    if service == "ec2":
        message = "AWS was not able to validate the provided access credentials"
        return law.broken(AwsError("AuthFailure", message, status=401))
    if service == "s3":
        message = "The AWS Access Key Id you provided does not exist in our records."
        return law.broken(AwsError("InvalidAccessKeyId", message, status=403))
    message = "The security token included in the request is invalid."
    if service in ("iam", "sts", "cloudformation", "elbv2", "elb", "cloudwatch", "autoscaling"):
        return law.broken(AwsError("InvalidClientTokenId", message, status=403))
    return law.broken(AwsError("UnrecognizedClientException", message, status=400))
