"""Watchers: what SageMaker runs for a HyperPod cluster once the operator has asked for it.

There is one a cluster name.  It takes minutes to come, shows in no public API (DescribeCluster says nothing
of it) and only the controller's log tells its state.  When the cluster is deleted it drains, and until it
has gone none can be enabled for a cluster of that name: the laws "watcher-time" and "watcher-drains".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from mlcc_rehearsal.cloud import durations
from mlcc_rehearsal.cloud.account import RehearsedAccount
from mlcc_rehearsal.cloud.operator import hyperpod

ENABLING, ENABLED, DELETING = "Enabling", "Enabled", "Deleting"
# Modelled seconds between two looks at whether a watcher's cluster is still there.
_LOOK = 15.0
_PART = "inference watchers"


@dataclass
class Watcher:
    """One watcher.

    :ivar due: modelled moment at which an Enabling one becomes Enabled.
    """

    arn: str
    name: str
    state: str
    due: float


@dataclass
class Watchers:
    """The watchers of one region of the account, by name of their cluster."""

    account: RehearsedAccount
    region: str
    by_name: dict[str, Watcher] = field(default_factory=dict)

    def find(self, name: str) -> Watcher | None:
        """The watcher of the cluster name, brought up to date."""
        watcher = self.by_name.get(name)
        if watcher is not None:
            self._age(watcher)
        return self.by_name.get(name)

    def enable(self, arn: str, name: str, *, further: float) -> Watcher:
        """Begin to run one for a cluster that has none.

        :param further: seconds that it takes beyond its usual time.
        """
        due = self.account.clock.now() + durations.seconds("operator.watcher.enable") + further
        watcher = Watcher(arn, name, ENABLING, due)
        self.by_name[name] = watcher
        self.account.clock.after(due - self.account.clock.now(), lambda: self._age(watcher))
        self.account.clock.after(_LOOK, lambda: self._look(watcher), background=True)
        return watcher

    def _age(self, watcher: Watcher) -> None:
        if hyperpod.find(self.account, self.region, watcher.arn) is None:
            self._drain(watcher)
        elif watcher.state == ENABLING and self.account.clock.now() >= watcher.due:
            watcher.state = ENABLED

    def _look(self, watcher: Watcher) -> None:
        if self.by_name.get(watcher.name) is not watcher or watcher.state == DELETING:
            return
        self._age(watcher)
        self.account.clock.after(_LOOK, lambda: self._look(watcher), background=True)

    def _drain(self, watcher: Watcher) -> None:
        if watcher.state == DELETING:
            return
        watcher.state = DELETING

        def gone() -> None:
            if self.by_name.get(watcher.name) is watcher:
                del self.by_name[watcher.name]

        _, further = hyperpod.strike(
            self.account, self.region, "DeleteClusterInference", watcher.arn, watcher.name
        )
        wait = durations.seconds("operator.watcher.drain") + further
        self.account.clock.after(wait, gone, background=True)


def watchers_of(account: RehearsedAccount, region: str) -> Watchers:
    """The region's watchers."""
    parts = cast("dict[str, Watchers]", account.parts.setdefault(_PART, {}))
    return parts.setdefault(region, Watchers(account, region))


def summary(account: RehearsedAccount) -> dict[str, dict[str, str]]:
    """State by cluster name and region, for the control address."""
    parts = cast("dict[str, Watchers]", account.parts.get(_PART, {}))
    return {
        region: {name: watcher.state for name, watcher in each.by_name.items()}
        for region, each in parts.items()
        if each.by_name
    }
