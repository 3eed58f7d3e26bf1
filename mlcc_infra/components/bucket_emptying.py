"""Buckets of an adopted stack, emptied before the stack is deleted.

The provider class below is stored in the state by reference (`mlcc_infra.components.bucket_emptying`): its
module path is part of the state's format. Never move it without keeping this name importable.
"""

from __future__ import annotations

from typing import Any

import pulumi
from pulumi import dynamic

from mlcc_infra.account.bucket_emptying import empty_buckets
from mlcc_infra.components.dynamic_provider import guarded_session, one_message, progress
from mlcc_infra.components.sweep import SweepArgs, SweepProvider


class BucketEmptyingProvider(SweepProvider):
    """Does nothing until destroyed."""

    what = "buckets"

    @one_message
    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """Empty the buckets; their stack deletes them."""
        empty_buckets(guarded_session(_props), _props["names"], progress)


class BucketEmptying(dynamic.Resource, module="s3", name="BucketEmptying"):
    """Empties buckets on destroy. It has to depend on their stack, so that it goes first."""

    def __init__(self, name: str, args: SweepArgs, *, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(BucketEmptyingProvider(), name, args.props, opts)
