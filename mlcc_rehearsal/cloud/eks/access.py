"""Who may speak to a cluster: what EKS enters by itself, and the answer to "who is this caller?"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from mlcc_rehearsal.cloud.eks.models import AccessEntry, Cluster, EksBackend
from mlcc_rehearsal.cloud.iam.roles import name_in_arn, role_of_session
from mlcc_rehearsal.cloud.identities import principal_of, unique_id

if TYPE_CHECKING:
    from mlcc_rehearsal.kubernetes_api import Caller

ADMIN_POLICY = "AmazonEKSClusterAdminPolicy"

# Groups of the entries that EKS makes for nodes. Source: Amazon EKS user guide, "Create access entries".
_NODE_GROUPS = ["system:nodes"]


def policy_arn(eks: EksBackend, name: str) -> str:
    """ARN of an access policy."""
    return f"arn:{eks.partition}:eks::aws:cluster-access-policy/{name}"


def make_entry(
    eks: EksBackend,
    cluster: Cluster,
    principal: str,
    *,
    kind: str = "STANDARD",
    username: str | None = None,
    groups: list[str] | None = None,
    tags: dict[str, str] | None = None,
) -> AccessEntry:
    """Enter a principal; what may be entered is checked by the operation, not here."""
    now = eks.account.clock.timestamp()
    user_or_role = "user" if ":user/" in principal else "role"
    arn = eks.arn(
        "access-entry", cluster.name, user_or_role, eks.account_id, name_in_arn(principal).split("/")[-1]
    )
    entry = AccessEntry(
        {
            "clusterName": cluster.name,
            "principalArn": principal,
            "kubernetesGroups": list(groups or []),
            "accessEntryArn": f"{arn}/{eks.new_id()}",
            "createdAt": now,
            "modifiedAt": now,
            "tags": dict(tags or {}),
            "username": username or default_username(principal, kind),
            "type": kind,
        },
        principal_id=unique_id(eks.account, principal),
    )
    cluster.access_entries[principal] = entry
    return entry


def _is_for(eks: EksBackend, entry: AccessEntry) -> bool:
    """Whether its principal is still the one it was made for: "eks-access-entry-of-a-remade-principal"."""
    return entry.principal_id in (None, unique_id(eks.account, entry.description["principalArn"]))


def default_username(principal: str, kind: str) -> str:
    """The Kubernetes user name that EKS gives a principal when none is asked for."""
    if kind in ("EC2_LINUX", "EC2_WINDOWS", "HYPERPOD_LINUX", "EC2"):
        return "system:node:{{EC2PrivateDNSName}}"
    if kind in ("FARGATE_LINUX", "HYBRID_LINUX"):
        return "system:node:{{SessionName}}"
    match = re.fullmatch(r"arn:([^:]+):iam::(\d+):role/(?:.*/)?([^/]+)", principal)
    if match:
        return f"arn:{match[1]}:sts::{match[2]}:assumed-role/{match[3]}/{{{{SessionName}}}}"
    return principal


def associate(eks: EksBackend, entry: AccessEntry, arn: str, scope: dict[str, Any]) -> dict[str, Any]:
    """Associate an access policy with an entry, or change the scope of one that is associated."""
    now = eks.account.clock.timestamp()
    known = entry.policies.get(arn)
    entry.policies[arn] = {
        "policyArn": arn,
        "accessScope": {"type": scope["type"], "namespaces": list(scope.get("namespaces") or [])},
        "associatedAt": known["associatedAt"] if known else now,
        "modifiedAt": now,
    }
    return entry.policies[arn]


def bootstrap(eks: EksBackend, cluster: Cluster) -> None:
    """The creator's entry, when the creator was not told to do without: the law "eks-creators-entry".

    In mode CONFIG_MAP there are no entries; the one is made when the mode changes (source: Amazon EKS user
    guide, "Change authentication mode to use access entries").
    """
    config = cluster.description["accessConfig"]
    if config["authenticationMode"] == "CONFIG_MAP" or not config["bootstrapClusterCreatorAdminPermissions"]:
        return
    if cluster.creator is None or cluster.creator in cluster.access_entries:
        return
    entry = make_entry(eks, cluster, cluster.creator)
    associate(eks, entry, policy_arn(eks, ADMIN_POLICY), {"type": "cluster"})


def enter_nodes(eks: EksBackend, cluster: Cluster, role_arn: str, kind: str) -> None:
    """The entry that EKS makes for the role of a node group or Fargate profile, when there is none yet."""
    if cluster.authentication_mode == "CONFIG_MAP" or role_arn in cluster.access_entries:
        return
    make_entry(eks, cluster, role_arn, kind=kind, groups=_NODE_GROUPS)


def authenticate(eks: EksBackend, cluster: Cluster, access_key_id: str) -> Caller | None:
    """Who the holder of the access key is in the cluster, or None for nobody.

    Policies that are associated for some namespaces only are left out: a caller has at most the rights here
    that it has at AWS.
    """
    from mlcc_rehearsal.kubernetes_api import Caller

    with eks.account.lock:
        principal = principal_of(eks.account, access_key_id)
        if principal is None:
            return None
        role = role_of_session(eks.account, principal)
        entry = cluster.access_entries.get(role) or cluster.access_entries.get(principal)
        if entry is not None and not _is_for(eks, entry):
            entry = None
        if entry is not None and cluster.authentication_mode != "CONFIG_MAP":
            username = entry.description["username"].replace("{{SessionName}}", principal.rsplit("/", 1)[-1])
            policies = [
                arn.rsplit("/", 1)[-1]
                for arn, policy in entry.policies.items()
                if policy["accessScope"]["type"] == "cluster"
            ]
            return Caller(username, tuple(entry.description["kubernetesGroups"]), tuple(policies))
        if cluster.authentication_mode == "API":
            return None
        return _by_config_map(cluster, role, principal, Caller)


def _by_config_map(cluster: Cluster, role: str, principal: str, caller_type: type[Caller]) -> Caller | None:
    """Who the principal is by the ConfigMap aws-auth; the creator is an administrator without being in it."""
    config = cluster.description["accessConfig"]
    bootstrapped = config["bootstrapClusterCreatorAdminPermissions"]
    if cluster.authentication_mode == "CONFIG_MAP" and bootstrapped and role == cluster.creator:
        return caller_type("kubernetes-admin", ("system:masters",), ())
    if cluster.kubernetes is None:
        return None
    data = (cluster.kubernetes.config_map("kube-system", "aws-auth") or {}).get("data") or {}
    for key, name in (("mapRoles", "rolearn"), ("mapUsers", "userarn")):
        for item in yaml.safe_load(data.get(key) or "[]") or []:
            if item.get(name) in (role, principal):
                return caller_type(str(item.get("username", principal)), tuple(item.get("groups") or ()), ())
    return None
