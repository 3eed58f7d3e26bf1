"""Log groups that services write beside the graph, deleted when everything else is gone.

The provider class below is stored in the state by reference (`mlcc_infra.components.log_group_sweep`): its
module path is part of the state's format. Never move it without keeping this name importable.
"""

from __future__ import annotations

from typing import Any

import pulumi
from pulumi import dynamic

from mlcc_infra.account.log_group_sweep import sweep_log_groups
from mlcc_infra.components.dynamic_provider import guarded_session, one_message, progress
from mlcc_infra.components.sweep import SweepArgs, SweepProvider


class LogGroupSweepProvider(SweepProvider):
    """Does nothing until destroyed."""

    what = "log-groups"

    @one_message
    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """Delete the log groups (`…*` stands for all that begin so), and what comes back within a minute."""
        sweep_log_groups(guarded_session(_props), _props["names"], progress)


class LogGroupSweep(dynamic.Resource, module="logs", name="LogGroupSweep"):
    """Deletes log groups on destroy. What writes them has to depend on it, so that it goes first."""

    def __init__(self, name: str, args: SweepArgs, *, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(LogGroupSweepProvider(), name, args.props, opts)
