"""Deleting the log groups that nobody in a graph owns: services write them, and write them again.

What still runs for a while (a Lambda function, a control plane) makes its group anew after it was deleted,
so it is looked at once more a minute later (facts/hyperpod_native.md, rule 19).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from botocore.exceptions import ClientError

from mlcc_infra import clock
from mlcc_infra.account.reader import error_code
from mlcc_infra.account.session import AccountSession

LATE_WRITES_SECONDS = 60.0
ANY = "*"


def find_log_groups(session: AccountSession, names: Sequence[str]) -> list[str]:
    """Groups of the given names that exist; a name that ends in `*` stands for all that begin so."""
    found: list[str] = []
    paginator = session.client("logs").get_paginator("describe_log_groups")
    for name in names:
        prefix = name.removesuffix(ANY)
        for page in paginator.paginate(logGroupNamePrefix=prefix):
            groups = [group["logGroupName"] for group in page["logGroups"]]
            found += [group for group in groups if name.endswith(ANY) or group == name]
    return sorted(set(found))


def sweep_log_groups(session: AccountSession, names: Sequence[str], say: Callable[[str], None]) -> list[str]:
    """Delete the groups, wait a minute, and delete what came back; answers what was deleted."""
    deleted = _delete(session, find_log_groups(session, names), say)
    if deleted:
        clock.sleep(LATE_WRITES_SECONDS)
        deleted += _delete(session, find_log_groups(session, names), say)
    return deleted


def _delete(session: AccountSession, groups: Sequence[str], say: Callable[[str], None]) -> list[str]:
    client = session.client("logs")
    for group in groups:
        say(f"Deleting the log group {group}")
        try:
            client.delete_log_group(logGroupName=group)
        except ClientError as error:
            if error_code(error) != "ResourceNotFoundException":
                raise
    return list(groups)
