"""Cluster-admin access through EKS access entries: ensured, not declared.

The creator's own entry exists already (EKS makes it at CreateCluster), so declaring it would collide
(`ResourceInUseException`). An existing entry is taken over, an association is idempotent, and only
what was made here is deleted again (facts/hyperpod_native.md, rule 4; EKS API reference,
CreateAccessEntry and AssociateAccessPolicy).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from mlcc_infra import clock
from mlcc_infra.account import cluster_client
from mlcc_infra.account.reader import error_code
from mlcc_infra.account.session import AccountSession, Identity
from mlcc_infra.errors import UserError

# A principal made seconds ago is unknown to EKS for a while (IAM user guide, eventual consistency).
NEW_PRINCIPAL_SECONDS = 60.0
RETRY_INTERVAL_SECONDS = 5.0
STANDARD = "STANDARD"
# No entry, no such principal, or the caller may not look: nothing is known to be stale.
_UNTOLD = ("ResourceNotFoundException", "NoSuchEntity", "AccessDenied", "AccessDeniedException")

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Ensured:
    """One admin's entry as it stands: what was made for it, and so may be unmade."""

    principal_arn: str
    made_entry: bool
    made_association: bool


def admin_policy_arn(partition: str) -> str:
    """The access policy that makes a principal cluster-admin."""
    return f"arn:{partition}:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"


def stale_entry(session: AccountSession, cluster: str, principal: str) -> dict[str, Any] | None:
    """The entry of a principal that was deleted and made again since: it lets nobody in any more.

    EKS keeps the principal's unique id with the entry and does not show it (EKS API reference, AccessEntry),
    but an entry that is older than its principal was made for another one. None for an entry that works, for
    none at all, and where IAM does not tell.
    """
    try:
        entry: dict[str, Any] = session.client("eks").describe_access_entry(
            clusterName=cluster, principalArn=principal
        )["accessEntry"]
        made = _made_at(session, principal)
    except ClientError as error:
        if error_code(error) in _UNTOLD:
            return None
        raise
    return entry if made is not None and made > entry["createdAt"] else None


def _made_at(session: AccountSession, principal: str) -> datetime | None:
    kind, _, path = principal.rpartition(":")[2].partition("/")
    name = path.rpartition("/")[2]
    iam = session.client("iam")
    made: datetime | None = None
    if kind == "role":
        made = iam.get_role(RoleName=name)["Role"]["CreateDate"]
    elif kind == "user":
        made = iam.get_user(UserName=name)["User"]["CreateDate"]
    return made


def renew_entry(session: AccountSession, cluster: str, entry: Mapping[str, Any], say: Say) -> None:
    """Make an entry again for the principal of now, with the groups, tags and policies that it had."""
    eks, principal = session.client("eks"), entry["principalArn"]
    pages = eks.get_paginator("list_associated_access_policies").paginate(
        clusterName=cluster, principalArn=principal
    )
    policies = [item for page in pages for item in page["associatedAccessPolicies"]]
    say(f"{principal} was deleted and made again: its access entry in {cluster} is made again for it")
    eks.delete_access_entry(clusterName=cluster, principalArn=principal)
    more: dict[str, Any] = {"type": entry["type"]}
    if entry["type"] == STANDARD:  # of the others EKS sets these itself
        more |= {"username": entry["username"], "kubernetesGroups": entry.get("kubernetesGroups") or []}
    _create_entry(session, cluster, principal, entry.get("tags") or {}, **more)
    for policy in policies:
        eks.associate_access_policy(
            clusterName=cluster,
            principalArn=principal,
            policyArn=policy["policyArn"],
            accessScope=policy["accessScope"],
        )


def renew_stale_entries(
    session: AccountSession, cluster: str, principals: Iterable[str], say: Say
) -> list[str]:
    """Renew the entries that services made for principals which were made again since; those renewed."""
    stale = {principal: stale_entry(session, cluster, principal) for principal in principals}
    for entry in stale.values():
        if entry is not None:
            renew_entry(session, cluster, entry, say)
    return [principal for principal, entry in stale.items() if entry is not None]


def present_admins(
    session: AccountSession, cluster: str, policy_arn: str, principals: Sequence[str]
) -> list[str]:
    """Those of the principals that are cluster-admin now. Empty when the cluster is gone."""
    return [
        arn
        for arn in principals
        if _is_associated(session, cluster, policy_arn, arn) and not stale_entry(session, cluster, arn)
    ]


def _is_associated(session: AccountSession, cluster: str, policy_arn: str, principal: str) -> bool:
    eks = session.client("eks")
    try:
        pages = eks.get_paginator("list_associated_access_policies").paginate(
            clusterName=cluster, principalArn=principal
        )
        found = [item for page in pages for item in page["associatedAccessPolicies"]]
    except ClientError as error:
        if error_code(error) == "ResourceNotFoundException":
            return False
        raise
    return any(item["policyArn"] == policy_arn and item["accessScope"]["type"] == "cluster" for item in found)


def ensure_admin(
    session: AccountSession,
    cluster: str,
    policy_arn: str,
    principal: str,
    tags: Mapping[str, str],
    before: Ensured | None = None,
    say: Say = print,
) -> Ensured:
    """Make a principal cluster-admin, taking over what is there.

    `before` is what an earlier run made, so that a repaired entry stays ours. Raises `ClientError`
    with EKS's words when the principal is not one.
    """
    made_entry = _create_entry(session, cluster, principal, tags, type=STANDARD)
    if not made_entry:
        renew_stale_entries(session, cluster, [principal], say)
    made_association = False
    if not _is_associated(session, cluster, policy_arn, principal):
        session.client("eks").associate_access_policy(
            clusterName=cluster,
            principalArn=principal,
            policyArn=policy_arn,
            accessScope={"type": "cluster"},
        )
        made_association = True
    return Ensured(
        principal_arn=principal,
        made_entry=made_entry or bool(before and before.made_entry),
        made_association=made_association or bool(before and before.made_association),
    )


def _create_entry(
    session: AccountSession, cluster: str, principal: str, tags: Mapping[str, str], **more: Any
) -> bool:
    if tags:  # EKS refuses an empty set
        more["tags"] = dict(tags)
    deadline = clock.Deadline(NEW_PRINCIPAL_SECONDS)
    while True:
        try:
            session.client("eks").create_access_entry(clusterName=cluster, principalArn=principal, **more)
        except ClientError as error:
            if error_code(error) == "ResourceInUseException":
                return False
            if error_code(error) != "InvalidParameterException" or deadline.expired():
                raise
            clock.sleep(RETRY_INTERVAL_SECONDS)
        else:
            return True


def remove_admin(session: AccountSession, cluster: str, policy_arn: str, ensured: Ensured) -> None:
    """Take away what `ensure_admin` made; what was there before stays. A cluster that is gone is fine."""
    eks = session.client("eks")
    try:
        if ensured.made_entry:
            eks.delete_access_entry(clusterName=cluster, principalArn=ensured.principal_arn)
        elif ensured.made_association:
            eks.disassociate_access_policy(
                clusterName=cluster, principalArn=ensured.principal_arn, policyArn=policy_arn
            )
    except ClientError as error:
        if error_code(error) != "ResourceNotFoundException":
            raise


@dataclass(frozen=True, kw_only=True)
class CallerAccess:
    """What a cluster says of the caller. `reason` is empty when the caller may do everything in it.

    `refused` tells a cluster that does not let the caller in from one that could not be asked, such as one
    with a private endpoint.
    """

    reason: str = ""
    refused: bool = False


def caller_access(
    session: AccountSession, cluster: Mapping[str, Any], *, seconds: float = cluster_client.REQUEST_SECONDS
) -> CallerAccess:
    """Ask the cluster itself whether the caller may do everything.

    `cluster` is EKS's DescribeCluster answer. One call with a time limit; never raises, because a
    private endpoint that this machine cannot reach is no reason to stop.
    """
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"group": "*", "resource": "*", "verb": "*"}},
    }
    try:
        with cluster_client.connect(session, cluster, seconds=seconds) as api:
            answer = api.create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    except cluster_client.ClusterRefusedError as error:
        return CallerAccess(reason=str(error), refused=error.status in (401, 403))
    except cluster_client.ClusterUnreachableError as error:
        return CallerAccess(reason=str(error))
    if answer["status"]["allowed"]:
        return CallerAccess()
    return CallerAccess(reason="the cluster knows the caller, but not as an admin", refused=True)


def caller_principal(session: AccountSession, identity: Identity) -> str:
    """The IAM principal behind a caller, as an access entry names it: the role of a session, with its path.

    Raises `UserError` where there is none: the account's root, or a role that IAM does not show.
    """
    _, _, service, _, _, principal = identity.arn.split(":", 5)
    if service == "iam" and principal.startswith("user/"):
        return identity.arn
    kind, _, rest = principal.partition("/")
    if kind != "assumed-role":
        raise UserError(
            f"{identity.arn} cannot have an access entry: EKS takes IAM roles and users.",
            remedy="Use an IAM role or user.",
        )
    role = rest.partition("/")[0]
    try:
        return str(session.client("iam").get_role(RoleName=role)["Role"]["Arn"])
    except ClientError as error:
        raise UserError(
            f"The ARN of role {role}, whose session calls, could not be looked up: {error_code(error)}.",
            remedy=f"Have its ARN (`aws iam get-role --role-name {role}`) put under mlcc:admins.",
        ) from error


# In this order, and never back (EKS user guide, "Change authentication mode to use access entries").
AUTHENTICATION_MODES = ("CONFIG_MAP", "API_AND_CONFIG_MAP", "API")


def next_mode(now: str, wanted: str) -> str | None:
    """The next step from one authentication mode to another, None when it is there.

    Raises `UserError` for a step back, which EKS does not do.
    """
    have, want = AUTHENTICATION_MODES.index(now), AUTHENTICATION_MODES.index(wanted)
    if want < have:
        raise UserError(
            f"The cluster's authentication mode is {now}, and EKS never moves it back to {wanted}.",
            remedy="Keep access entries: they do what the aws-auth config map did.",
        )
    return AUTHENTICATION_MODES[have + 1] if want > have else None


def move_mode_command(cluster: str, mode: str) -> str:
    """The command that moves a cluster's authentication mode."""
    return f"aws eks update-cluster-config --name {cluster} --access-config authenticationMode={mode}"


def require_entries(cluster: Mapping[str, Any]) -> None:
    """Raise `UserError` when a described cluster is in a mode in which EKS refuses access entries."""
    mode = (cluster.get("accessConfig") or {}).get("authenticationMode")
    if mode == "CONFIG_MAP":
        raise UserError(
            f"EKS cluster {cluster['name']} knows people through its aws-auth config map only (CONFIG_MAP).",
            remedy=f"{move_mode_command(cluster['name'], 'API_AND_CONFIG_MAP')}, then run again.",
        )
