"""Tags of ownership on the two clusters that AWS's template makes.

The provider class below is stored in the state by reference (`mlcc_infra.components.cluster_marks`): its
module path is part of the state's format. Never move it without keeping this name importable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import pulumi
from pulumi import dynamic

from mlcc_infra.account import cluster_marks
from mlcc_infra.components.dynamic_provider import guarded_session, one_message


@final
@dataclass(frozen=True, kw_only=True)
class ClusterMarksArgs:
    """The clusters' ARNs, and the tags that say whose they are."""

    eks_cluster_arn: pulumi.Input[str]
    hyperpod_cluster_arn: pulumi.Input[str]
    tags: Mapping[str, str]
    account: str
    region: str
    aws_profile: str | None = None


def _arns(props: Mapping[str, Any]) -> dict[str, str]:
    return {"eks": props["eks_cluster_arn"], "hyperpod": props["hyperpod_cluster_arn"]}


class ClusterMarksProvider(dynamic.ResourceProvider):
    """Sets tags; deleting it does nothing, because the clusters go with their stack."""

    serialize_as_secret_always = False

    @one_message
    def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
        """Mark both clusters."""
        return dynamic.CreateResult(id_=f"{props['hyperpod_cluster_arn']}/marks", outs=self._mark(props))

    @one_message
    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.UpdateResult:
        """Mark them again, with the tags of now."""
        return dynamic.UpdateResult(outs=self._mark(_news))

    @one_message
    def read(self, id_: str, props: dict[str, Any]) -> dynamic.ReadResult:
        """Look which cluster lacks a tag; that shows as a difference."""
        missing = cluster_marks.missing_marks(guarded_session(props), _arns(props), props["tags"])
        return dynamic.ReadResult(id_=id_, outs={**props, "missing": missing})

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.DiffResult:
        """A change of clusters or tags, or a tag that is gone."""
        compared = ("eks_cluster_arn", "hyperpod_cluster_arn", "tags", "aws_profile")
        changed = any(_olds.get(key) != _news.get(key) for key in compared)
        return dynamic.DiffResult(changes=changed or bool(_olds.get("missing")))

    def _mark(self, props: Mapping[str, Any]) -> dict[str, Any]:
        cluster_marks.mark(guarded_session(props), _arns(props), props["tags"])
        return {**props, "missing": []}


class ClusterMarks(dynamic.Resource, module="hyperpod", name="ClusterMarks"):
    """Ownership tags on the EKS and the HyperPod cluster of a template's stack."""

    missing: pulumi.Output[list[str]]

    def __init__(
        self, name: str, args: ClusterMarksArgs, *, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        props: dict[str, Any] = {
            "eks_cluster_arn": args.eks_cluster_arn,
            "hyperpod_cluster_arn": args.hyperpod_cluster_arn,
            "tags": dict(args.tags),
            "account": args.account,
            "region": args.region,
            "aws_profile": args.aws_profile,
            "missing": None,
        }
        super().__init__(ClusterMarksProvider(), name, props, opts)
