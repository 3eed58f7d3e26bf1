"""Cluster-admin access for the profile's admins, kept true on every `up`.

The provider class below is stored in the state by reference (`mlcc_infra.components.access`): its
module path is part of the state's format. Never move it without keeping this name importable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, final

import pulumi
from pulumi import dynamic

from mlcc_infra.account import cluster_access, cluster_client
from mlcc_infra.account.cluster_access import Ensured
from mlcc_infra.account.session import AccountSession
from mlcc_infra.components.dynamic_provider import guarded_session, one_message, progress, replaced
from mlcc_infra.tagging import TAG_STACK

if TYPE_CHECKING:
    from pulumi_aws import iam  # costs the plugin of dynamic resources a second

# A refresh does not wait long for a cluster that may not be reachable from here at all.
LOOK_SECONDS = 5.0


@final
@dataclass(frozen=True, kw_only=True)
class AccessArgs:
    """Who is to be cluster-admin of an EKS cluster.

    `admins` are ARNs of IAM roles or users as IAM spells them (paths included). `cluster_identity`
    changes when the cluster is made anew under the same name (its OIDC issuer does): then all
    entries are ensured again. `account` guards every call. `node_roles` are the roles that nodes have:
    services make their entries, which work no more when a role was made again.
    """

    cluster_name: pulumi.Input[str]
    cluster_identity: pulumi.Input[str]
    account: str
    region: str
    admins: Sequence[str]
    tags: Mapping[str, str]
    node_roles: Sequence[iam.Role] = ()
    partition: str = "aws"
    aws_profile: str | None = None


def _before(props: Mapping[str, Any]) -> dict[str, Ensured]:
    return {entry["principal_arn"]: Ensured(**entry) for entry in props.get("entries", [])}


def _node_roles(props: Mapping[str, Any]) -> list[str]:
    return [role["arn"] for role in props.get("node_roles") or []]


class AccessProvider(dynamic.ResourceProvider):
    """Ensures access entries; deletes only those it made."""

    # The stored class holds no secret; leaving it readable keeps the state free of encrypted values.
    serialize_as_secret_always = False

    @one_message
    def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
        """Ensure every admin and ask the cluster whether the caller is one."""
        return dynamic.CreateResult(id_=f"{props['cluster_name']}/access", outs=self._ensure(props, {}))

    @one_message
    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.UpdateResult:
        """Ensure the admins of now, and take away what earlier runs made for others."""
        same_cluster = _olds.get("cluster_identity") == _news["cluster_identity"]
        before = _before(_olds) if same_cluster else {}
        outs = self._ensure(_news, before)
        session = guarded_session(_news)
        for principal, ensured in before.items():
            if principal not in _news["admins"]:
                policy = cluster_access.admin_policy_arn(_news["partition"])
                cluster_access.remove_admin(session, _news["cluster_name"], policy, ensured)
        return dynamic.UpdateResult(outs=outs)

    @one_message
    def read(self, id_: str, props: dict[str, Any]) -> dynamic.ReadResult:
        """Look who is admin now; a missing one shows as a difference.

        A cluster that is gone is said here: where charts lie in it, plain pulumi cannot go on by itself.
        A caller whom the cluster does not let in any more is told what to do: everything in the cluster
        fails to be read in the same refresh, before the program or an update here could help.
        """
        session = guarded_session(props)
        try:
            described = cluster_client.describe(session, props["cluster_name"])
        except cluster_client.ClusterGoneError as gone:
            stack = props["tags"].get(TAG_STACK, "STACK")
            progress(f"{gone} If that stops this run, drop what was in it: mlcc-infra recover {stack}")
            return dynamic.ReadResult(id_="", outs={})
        policy = cluster_access.admin_policy_arn(props["partition"])
        present = cluster_access.present_admins(session, props["cluster_name"], policy, props["admins"])
        _say_refusal(session, described, props)
        stale = [
            role
            for role in _node_roles(props)
            if cluster_access.stale_entry(session, props["cluster_name"], role)
        ]
        return dynamic.ReadResult(id_=id_, outs={**props, "present": present, "stale": stale})

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.DiffResult:
        """A change of the wanted admins or the cluster, or an admin who is gone from the cluster."""
        compared = ("cluster_identity", "admins", "tags", "node_roles", "aws_profile")
        missing = set(_news["admins"]) - set(_olds.get("present", []))
        changed = missing or _olds.get("stale") or any(_olds.get(key) != _news.get(key) for key in compared)
        replaces = replaced(_olds, _news, ("cluster_name", "account", "region"))
        return dynamic.DiffResult(
            changes=bool(changed or replaces), replaces=replaces, delete_before_replace=True
        )

    @one_message
    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """Delete the entries that were made here; the cluster may be gone already."""
        session = guarded_session(_props)
        policy = cluster_access.admin_policy_arn(_props["partition"])
        for ensured in _before(_props).values():
            cluster_access.remove_admin(session, _props["cluster_name"], policy, ensured)

    def _ensure(self, props: Mapping[str, Any], before: Mapping[str, Ensured]) -> dict[str, Any]:
        session = guarded_session(props)
        cluster = props["cluster_name"]
        policy = cluster_access.admin_policy_arn(props["partition"])
        described = session.client("eks").describe_cluster(name=cluster)["cluster"]
        if props["admins"]:
            cluster_access.require_entries(described)
        entries = [
            cluster_access.ensure_admin(
                session, cluster, policy, principal, props["tags"], before.get(principal), progress
            )
            for principal in props["admins"]
        ]
        cluster_access.renew_stale_entries(session, cluster, _node_roles(props), progress)
        return {
            **props,
            "entries": [asdict(entry) for entry in entries],
            "present": list(props["admins"]),
            "stale": [],
            "unverified_reason": cluster_access.caller_access(session, described).reason,
        }


def _say_refusal(session: AccountSession, described: Mapping[str, Any], props: Mapping[str, Any]) -> None:
    found = cluster_access.caller_access(session, described, seconds=LOOK_SECONDS)
    if found.refused:
        stack = props["tags"].get(TAG_STACK, "STACK")
        progress(
            f"Cluster {props['cluster_name']} does not let {session.identity().arn} in: {found.reason}. "
            f"What is in the cluster cannot be read until it does. Run `mlcc-infra access {stack} --repair`, "
            "then this again."
        )


class Access(dynamic.Resource, module="eks", name="Access"):
    """Cluster-admin access of the profile's admins, ensured and verified.

    Outputs: `entries` (what was made for whom), `present` (the admins found at the last look), `stale` (node
    roles whose entries work no more) and `unverified_reason`, empty when the cluster itself confirmed the
    caller's rights.
    """

    entries: pulumi.Output[list[dict[str, Any]]]
    present: pulumi.Output[list[str]]
    stale: pulumi.Output[list[str]]
    unverified_reason: pulumi.Output[str]

    def __init__(self, name: str, args: AccessArgs, *, opts: pulumi.ResourceOptions | None = None) -> None:
        props: dict[str, Any] = {
            "cluster_name": args.cluster_name,
            "cluster_identity": args.cluster_identity,
            "account": args.account,
            "region": args.region,
            "admins": list(args.admins),
            "tags": dict(args.tags),
            # With the unique ids, which change when a role is made again.
            "node_roles": [{"arn": role.arn, "unique_id": role.unique_id} for role in args.node_roles],
            "partition": args.partition,
            "aws_profile": args.aws_profile,
            "entries": None,
            "present": None,
            "stale": None,
            "unverified_reason": None,
        }
        super().__init__(AccessProvider(), name, props, opts)
        self.unverified_reason.apply(_warn)


def _warn(reason: str | None) -> None:
    if reason:
        pulumi.log.warn(f"Access to the cluster could not be verified: {reason}. Nothing was stopped for it.")
