"""Log groups that services write beside the graph, deleted when everything else is gone.

The provider class below is stored in the state by reference (`mlcc_infra.components.log_group_sweep`): its
module path is part of the state's format. Never move it without keeping this name importable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import pulumi
from pulumi import dynamic

from mlcc_infra.account.log_group_sweep import sweep_log_groups
from mlcc_infra.components.dynamic_provider import guarded_session, one_message, progress


@final
@dataclass(frozen=True, kw_only=True)
class LogGroupSweepArgs:
    """Which log groups go (`…*` stands for all that begin so). `account` guards every call."""

    names: Sequence[str]
    account: str
    region: str
    aws_profile: str | None = None


class LogGroupSweepProvider(dynamic.ResourceProvider):
    """Does nothing until destroyed."""

    serialize_as_secret_always = False

    def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
        """Remember the names."""
        return dynamic.CreateResult(id_=f"{props['account']}/{props['region']}/log-groups", outs=dict(props))

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.UpdateResult:
        """Remember the new names."""
        return dynamic.UpdateResult(outs=dict(_news))

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.DiffResult:
        """Other names, or another profile."""
        compared = ("names", "account", "region", "aws_profile")  # one that is unset is in neither
        return dynamic.DiffResult(changes=any(_olds.get(key) != _news.get(key) for key in compared))

    @one_message
    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """Delete the log groups, and what comes back within a minute."""
        sweep_log_groups(guarded_session(_props), _props["names"], progress)


class LogGroupSweep(dynamic.Resource, module="logs", name="LogGroupSweep"):
    """Deletes log groups on destroy. What writes them has to depend on it, so that it goes first."""

    def __init__(
        self, name: str, args: LogGroupSweepArgs, *, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        props: dict[str, Any] = {
            "names": list(args.names),
            "account": args.account,
            "region": args.region,
            "aws_profile": args.aws_profile,
        }
        super().__init__(LogGroupSweepProvider(), name, props, opts)
