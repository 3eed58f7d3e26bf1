"""What an EKS add-on that somebody else installs has come to, by EKS's own word.

The stack of AWS's template that installs the inference operator is green whatever happens
(facts/templates.md, section 6), so the add-on is described.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from mlcc_infra import clock
from mlcc_infra.account.reader import error_code
from mlcc_infra.account.session import AccountSession

ACTIVE, PENDING = "active", "pending"
LIMIT_SECONDS = 15 * 60.0
INTERVAL_SECONDS = 15.0
# States that nothing but somebody's hand ends (EKS API reference, Addon).
_ENDED = ("ACTIVE", "CREATE_FAILED", "UPDATE_FAILED", "DELETE_FAILED")

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class AddonHealth:
    """An add-on as EKS describes it; `status` is empty where there is none, or no such cluster."""

    status: str = ""
    version: str = ""
    issues: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """`active`, or `pending` for anything else."""
        return ACTIVE if self.status == "ACTIVE" else PENDING

    def reason(self, addon: str) -> str:
        """Why it is pending; empty when it is active."""
        if self.state == ACTIVE:
            return ""
        if not self.status:
            return f"there is no add-on {addon}: whatever was to install it reported success and did not"
        return "; ".join((f"add-on {addon} {self.version} is {self.status}", *self.issues))


def issues(addon: Mapping[str, Any]) -> tuple[str, ...]:
    """What EKS has against an add-on, by its DescribeAddon answer."""
    found = (addon.get("health") or {}).get("issues") or []
    return tuple(f"{issue.get('code')}: {issue.get('message')}" for issue in found)


def describe(session: AccountSession, cluster: str, addon: str) -> AddonHealth:
    """The add-on now. Raises `ClientError` when EKS does not tell."""
    try:
        answer = session.client("eks").describe_addon(clusterName=cluster, addonName=addon)
    except ClientError as error:
        if error_code(error) == "ResourceNotFoundException":
            return AddonHealth()
        raise
    found: dict[str, Any] = answer["addon"]
    return AddonHealth(
        status=str(found["status"]),
        version=str(found.get("addonVersion") or ""),
        issues=issues(found),
    )


def watch(
    session: AccountSession, cluster: str, addon: str, say: Say, limit: float = LIMIT_SECONDS
) -> AddonHealth:
    """Describe it until it is active, has failed or is missing, for `limit` modelled seconds at most."""
    deadline = clock.Deadline(limit)
    said = ""
    while True:
        found = describe(session, cluster, addon)
        if not found.status or found.status in _ENDED or deadline.expired():
            return found
        if found.status != said:
            said = found.status
            say(f"Waiting for {found.reason(addon)}")
        clock.sleep(min(INTERVAL_SECONDS, deadline.remaining()))
