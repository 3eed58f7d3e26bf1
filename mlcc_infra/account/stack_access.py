"""Who may administer the clusters that a stack's state holds, and letting them in again.

What is in a cluster is read at the start of every refresh, before an update could repair who may read it.
So when the caller's access entry is gone, somebody has to bring it back first; this is done with what the
state says of the stack's access, without a program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mlcc_infra import clock
from mlcc_infra.account import cluster_access, cluster_client
from mlcc_infra.account.session import AccountSession, guarded_session
from mlcc_infra.account.stored_identity import resources

ACCESS_TYPE: Final = "pulumi-python:dynamic/eks:Access"
# An entry that was just made is honoured within seconds (EKS user guide, "Create access entries").
SETTLE_SECONDS: Final = 60.0
SETTLE_INTERVAL_SECONDS: Final = 5.0
LOOK_SECONDS: Final = 10.0


@dataclass(frozen=True, kw_only=True)
class ClusterAccess:
    """Access to one cluster as it is: which of the stack's admins have it, and what became of the caller.

    `caller` is the identity that asks, `reason` why the cluster does not treat it as an admin, empty when it
    does; `refused` tells that from a cluster which could not be asked.
    """

    cluster: str
    admins: tuple[str, ...]
    missing: tuple[str, ...]
    caller: str
    reason: str
    refused: bool

    @property
    def whole(self) -> bool:
        """Nobody who should be in is out; a cluster that cannot be asked from here counts as fine."""
        return not self.missing and not self.refused


def stored_access(export: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the state has of the stack's access, one entry a cluster: the outputs of `Access`."""
    return [
        dict(resource.get("outputs") or {})
        for resource in resources(export)
        if resource["type"] == ACCESS_TYPE and not resource.get("delete")
    ]


def look(entry: Mapping[str, Any]) -> ClusterAccess:
    """Ask EKS and the cluster. Raises `UserError` without credentials or for another account,
    `ClusterGoneError` when there is no such cluster."""
    return _look(_session(entry), entry)


def repair(entry: Mapping[str, Any]) -> tuple[list[str], ClusterAccess]:
    """Ensure the stack's admins, and the caller when the cluster still turns it away.

    Answers who was let in, and access as it is then. Raises as `look`, and `UserError` when the cluster knows
    no access entries or the caller can have none.
    """
    session = _session(entry)
    described = cluster_client.describe(session, entry["cluster_name"])
    cluster_access.require_entries(described)
    let_in = [arn for arn in _look(session, entry).missing if _ensure(session, entry, arn)]
    found = _settled(session, entry) if let_in else _look(session, entry)
    if found.refused:
        principal = cluster_access.caller_principal(session, session.identity())
        if _ensure(session, entry, principal):
            let_in.append(principal)
        found = _settled(session, entry)
    return let_in, found


def _session(entry: Mapping[str, Any]) -> AccountSession:
    return guarded_session(
        region=entry["region"], aws_profile=entry.get("aws_profile"), account=entry["account"]
    )


def _ensure(session: AccountSession, entry: Mapping[str, Any], principal: str) -> bool:
    policy = cluster_access.admin_policy_arn(entry["partition"])
    made = cluster_access.ensure_admin(session, entry["cluster_name"], policy, principal, entry["tags"])
    return made.made_entry or made.made_association


def _look(session: AccountSession, entry: Mapping[str, Any]) -> ClusterAccess:
    name, admins = entry["cluster_name"], tuple(entry.get("admins") or ())
    described = cluster_client.describe(session, name)
    policy = cluster_access.admin_policy_arn(entry["partition"])
    present = cluster_access.present_admins(session, name, policy, admins)
    caller = cluster_access.caller_access(session, described, seconds=LOOK_SECONDS)
    return ClusterAccess(
        cluster=name,
        admins=admins,
        missing=tuple(arn for arn in admins if arn not in present),
        caller=session.identity().arn,
        reason=caller.reason,
        refused=caller.refused,
    )


def _settled(session: AccountSession, entry: Mapping[str, Any]) -> ClusterAccess:
    deadline = clock.Deadline(SETTLE_SECONDS)
    while (found := _look(session, entry)).refused and not deadline.expired():
        clock.sleep(SETTLE_INTERVAL_SECONDS)
    return found
