"""Buckets of an adopted stack, emptied before the stack is deleted.

The provider class below is stored in the state by reference (`mlcc_infra.components.bucket_emptying`): its
module path is part of the state's format. Never move it without keeping this name importable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import pulumi
from pulumi import dynamic

from mlcc_infra.account.bucket_emptying import empty_buckets
from mlcc_infra.components.dynamic_provider import guarded_session, one_message, progress


@final
@dataclass(frozen=True, kw_only=True)
class BucketEmptyingArgs:
    """Which buckets are emptied. `account` guards every call."""

    names: Sequence[str]
    account: str
    region: str
    aws_profile: str | None = None


class BucketEmptyingProvider(dynamic.ResourceProvider):
    """Does nothing until destroyed."""

    serialize_as_secret_always = False

    def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
        """Remember the names."""
        return dynamic.CreateResult(id_=f"{props['account']}/{props['region']}/buckets", outs=dict(props))

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.UpdateResult:
        """Remember the new names."""
        return dynamic.UpdateResult(outs=dict(_news))

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.DiffResult:
        """Other names, or another profile."""
        return dynamic.DiffResult(changes=any(_olds.get(key) != _news.get(key) for key in _news))

    @one_message
    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """Empty the buckets; their stack deletes them."""
        empty_buckets(guarded_session(_props), _props["names"], progress)


class BucketEmptying(dynamic.Resource, module="s3", name="BucketEmptying"):
    """Empties buckets on destroy. It has to depend on their stack, so that it goes first."""

    def __init__(
        self, name: str, args: BucketEmptyingArgs, *, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        props: dict[str, Any] = {
            "names": list(args.names),
            "account": args.account,
            "region": args.region,
            "aws_profile": args.aws_profile,
        }
        super().__init__(BucketEmptyingProvider(), name, props, opts)
