"""Why nodes of a HyperPod cluster do not come: its events, the first real cause before its consequences.

Source: SageMaker API reference, ListClusterEvents and DescribeClusterEvent (clusters with continuous
provisioning have events; others may refuse the call).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from mlcc_infra.account.reader import error_code
from mlcc_infra.account.session import AccountSession

MAX_EVENTS = 500
_TROUBLE = re.compile(
    r"fail|error|insufficient|not have sufficient|unable|denied|invalid|exceed|limit|could not|cannot",
    re.IGNORECASE,
)
# "Instance creation in Cluster … and InstanceGroup … succeeded" (SageMaker developer guide, cluster events).
_SUCCESS = re.compile(r"\bsucceeded\b|\bsuccessful", re.IGNORECASE)


def events(
    session: AccountSession,
    cluster: str,
    *,
    group: str | None = None,
    after: datetime | None = None,
    newest_first: bool = False,
) -> Iterator[dict[str, Any]]:
    """Events in order of time, or against it, `MAX_EVENTS` at most, read page by page as they are taken.

    None where the cluster has no events to ask for.
    """
    order = "Descending" if newest_first else "Ascending"
    arguments: dict[str, Any] = {"ClusterName": cluster, "SortBy": "EventTime", "SortOrder": order}
    if group is not None:
        arguments["InstanceGroupName"] = group
    if after is not None:
        arguments["EventTimeAfter"] = after
    pages = session.client("sagemaker").get_paginator("list_cluster_events").paginate(**arguments)
    try:
        found = itertools.chain.from_iterable(page.get("Events") or [] for page in pages)
        yield from itertools.islice(found, MAX_EVENTS)
    except ClientError as error:
        if error_code(error) in ("ValidationException", "ResourceNotFound"):
            return
        raise


def newest_time(session: AccountSession, cluster: str) -> datetime | None:
    """When the newest event was, by AWS's own clock; None without events."""
    try:
        answer = session.client("sagemaker").list_cluster_events(
            ClusterName=cluster, SortBy="EventTime", SortOrder="Descending", MaxResults=1
        )
    except ClientError as error:
        if error_code(error) in ("ValidationException", "ResourceNotFound"):
            return None
        raise
    found = answer.get("Events") or []
    moment: datetime | None = found[0]["EventTime"] if found else None
    return moment


def is_trouble(event: Mapping[str, Any]) -> bool:
    """Whether an event tells of something that went wrong; older events have no level."""
    level = event.get("EventLevel")
    if level is not None:
        return level in ("Error", "Warn")
    return bool(_TROUBLE.search(event.get("Description") or ""))


def failure_text(session: AccountSession, cluster: str, event: Mapping[str, Any]) -> str:
    """What an event says: the failure message in its details, else its description."""
    description = str(event.get("Description") or "").strip()
    try:
        answer = session.client("sagemaker").describe_cluster_event(
            ClusterName=cluster, EventId=event["EventId"]
        )
    except ClientError as error:
        if error_code(error) in ("ValidationException", "ResourceNotFound", "AccessDeniedException"):
            return description
        raise
    metadata = ((answer.get("EventDetails") or {}).get("EventDetails") or {}).get("EventMetadata") or {}
    messages = [part.get("FailureMessage") for part in metadata.values() if isinstance(part, Mapping)]
    said = next((message for message in messages if message), "")
    return said.strip() or description


def causes(
    session: AccountSession, cluster: str, groups: Sequence[str], *, after: datetime | None = None
) -> list[str]:
    """The first thing that went wrong and, where it differs, the latest.

    Of these groups, else of the cluster; empty when no event tells of trouble.
    """
    found = [event for event in events(session, cluster, after=after) if is_trouble(event)]
    ours = [event for event in found if event.get("InstanceGroupName") in groups]
    others = [event for event in found if not event.get("InstanceGroupName")]
    chosen = ours or others
    # An error outranks a warning that came before it.
    chosen = [event for event in chosen if event.get("EventLevel") != "Warn"] or chosen
    if not chosen:
        return []
    texts = [failure_text(session, cluster, event) for event in (chosen[0], chosen[-1])]
    return list(dict.fromkeys(text for text in texts if text))


def latest(session: AccountSession, cluster: str, group: str) -> str:
    """What the newest event of a group that tells of trouble says; empty when there is none.

    Trouble before the newest success is over: capacity that came, a script that was mended.
    """
    for event in events(session, cluster, group=group, newest_first=True):
        if is_trouble(event):
            return failure_text(session, cluster, event)
        if _SUCCESS.search(event.get("Description") or ""):
            return ""
    return ""
