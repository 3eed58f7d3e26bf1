"""Emptying a cluster before its add-ons and controllers go.

The provider class below is stored in the state by reference (`mlcc_infra.components.cluster_drain`): its
module path is part of the state's format. Never move it without keeping this name importable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import pulumi
from pulumi import dynamic

from mlcc_infra.account import cluster_client, cluster_drain
from mlcc_infra.components.dynamic_provider import guarded_session, one_message, progress


@final
@dataclass(frozen=True, kw_only=True)
class ClusterDrainArgs:
    """Which EKS cluster is to be emptied when it is destroyed: one `ClusterDrain` a cluster.

    `cluster_identity` changes when the cluster is made anew under the same name (its OIDC issuer does); a
    cluster of another identity is never emptied. `account` guards every call. `limit_minutes` bounds the
    wait. The resource has to depend on all that is needed while it drains: access, nodes, controllers,
    add-ons.
    """

    cluster_name: pulumi.Input[str]
    cluster_identity: pulumi.Input[str]
    account: str
    region: str
    aws_profile: str | None = None
    limit_minutes: float = cluster_drain.LIMIT_SECONDS / 60


class ClusterDrainProvider(dynamic.ResourceProvider):
    """Does nothing until destroyed."""

    # The stored class holds no secret; leaving it readable keeps the state free of encrypted values.
    serialize_as_secret_always = False

    def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
        """Remember which cluster it is."""
        return dynamic.CreateResult(id_=f"{props['cluster_name']}/drain", outs=dict(props))

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.UpdateResult:
        """Remember the new limit or profile."""
        return dynamic.UpdateResult(outs=dict(_news))

    @one_message
    def read(self, id_: str, props: dict[str, Any]) -> dynamic.ReadResult:
        """A cluster that is gone needs no drain."""
        try:
            cluster_client.describe(guarded_session(props), props["cluster_name"])
        except cluster_client.ClusterGoneError:
            return dynamic.ReadResult(id_="", outs={})
        return dynamic.ReadResult(id_=id_, outs=props)

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.DiffResult:
        """Another cluster is another drain: the old cluster is emptied before it goes.

        An identity that is not known yet counts as another: so the engine asks when it is about to replace
        the cluster itself.
        """
        changed = any(_olds.get(key) != _news.get(key) for key in ("aws_profile", "limit_minutes"))
        replaces = [
            key
            for key in ("cluster_name", "cluster_identity", "account", "region")
            if _olds.get(key) != _news.get(key)
        ]
        return dynamic.DiffResult(
            changes=bool(changed or replaces), replaces=replaces, delete_before_replace=True
        )

    @one_message
    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """Remove models, Ingresses and LoadBalancer Services, and wait for what they made to vanish."""
        cluster_drain.drain(
            guarded_session(_props),
            _props["cluster_name"],
            _props.get("cluster_identity"),
            progress,
            float(_props["limit_minutes"]) * 60,
        )


class ClusterDrain(dynamic.Resource, module="eks", name="ClusterDrain"):
    """Made last of a cluster's resources, and so destroyed first. No outputs."""

    def __init__(
        self, name: str, args: ClusterDrainArgs, *, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        props: dict[str, Any] = {
            "cluster_name": args.cluster_name,
            "cluster_identity": args.cluster_identity,
            "account": args.account,
            "region": args.region,
            "aws_profile": args.aws_profile,
            "limit_minutes": args.limit_minutes,
        }
        super().__init__(ClusterDrainProvider(), name, props, opts)
