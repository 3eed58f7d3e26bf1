"""What the EKS tables share: ids, tags, waits for statuses and updates.

Sources: terraform-provider-aws ``internal/service/eks``: propagationTimeout 2 minutes; an update
is waited for by DescribeUpdate; health issues and update errors stand after ``last error``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mlcc_rehearsal.plugins.aws.calling import Call, UnexpectedStateError, WaitTimeoutError
from mlcc_rehearsal.plugins.aws.definition import Tagging
from mlcc_rehearsal.plugins.serving import ProviderError

GONE = "ResourceNotFoundException"


def tagging(arn: str = "arn") -> Tagging:
    """Tags of a resource whose ARN is the output `arn`."""
    return Tagging(
        tag=lambda call, tags: call.aws("eks", "tag_resource", resourceArn=call.state[arn], tags=tags),
        untag=lambda call, keys: call.aws("eks", "untag_resource", resourceArn=call.state[arn], tagKeys=keys),
    )


def pair(id: str) -> tuple[str, str]:
    """Cluster and thing from an id ``cluster:thing``."""
    cluster, _, thing = id.partition(":")
    return cluster, thing


def said(call: Call, phrases: Iterable[str], action: Callable[[], Any]) -> Any:
    """`action()`, again while EKS refuses it in words that mean IAM has not caught up."""
    known = tuple(phrases)
    return call.retry(
        action,
        lambda error: (
            error.aws_code == "InvalidParameterException"
            and any(phrase in error.aws_message for phrase in known)
        ),
    )


def issues(found: Mapping[str, Any]) -> str:
    """The health issues of a node group or add-on, one a line."""
    return "\n".join(
        f"{', '.join(issue.get('resourceIds') or [])}: {issue['code']}: {issue.get('message')}"
        for issue in (found.get("health") or {}).get("issues") or []
    )


def _errors(update: Mapping[str, Any]) -> str:
    return "\n".join(
        f"{', '.join(error.get('resourceIds') or [])}: {error['errorCode']}: {error.get('errorMessage')}"
        for error in update.get("errors") or []
    )


def waiting(what: str, action: Callable[[], Any]) -> Any:
    """`action()`, a wait; its failures say what was waited for."""
    try:
        return action()
    except (UnexpectedStateError, WaitTimeoutError) as error:
        raise ProviderError(f"waiting for {what}: {error.message}") from error


def update_done(call: Call, what: str, cluster: str, answer: Mapping[str, Any], **more: str) -> None:
    """Wait for an update EKS has begun. `more` names the node group or add-on it is of."""
    update_id = str(answer["update"]["id"])

    def refresh() -> tuple[Any, str]:
        found = call.find("eks", "describe_update", GONE, name=cluster, updateId=update_id, **more)
        update = found["update"] if found else None
        return update, str(update["status"]) if update else ""

    waiting(
        f"{what} ({update_id})",
        lambda: call.wait(refresh, pending=("InProgress",), target=("Successful",), reason=_errors),
    )


def existing(call: Call, service_operation: str, key: str, **parameters: Any) -> dict[str, Any] | None:
    """What a describe operation finds under `key`, or None."""
    found = call.find("eks", service_operation, GONE, **parameters)
    return dict(found[key]) if found else None


def gone(call: Call, what: str, find: Callable[[], dict[str, Any] | None], *pending: str) -> None:
    """Wait until `find` finds nothing."""

    def refresh() -> tuple[Any, str]:
        found = find()
        return found, str(found["status"]) if found else ""

    waiting(f"{what} delete", lambda: call.wait(refresh, pending=pending, target=(), reason=issues))
