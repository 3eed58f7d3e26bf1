"""What looks at a cluster again and again for the controllers that the cloud plays.

One loop a cluster, on the modelled clock and under the account's lock: Kubernetes' own loops, load balancer
controllers, the operator.  It does nothing while nothing has been written and nobody waits for time to pass.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from mlcc_rehearsal.cloud.eks import addon_health
from mlcc_rehearsal.cloud.eks.models import Cluster, EksBackend
from mlcc_rehearsal.cloud.load_balancers import reconciliation as load_balancers
from mlcc_rehearsal.cloud.operator.addon import InferenceOperator, controller_of
from mlcc_rehearsal.cloud.operator.settings import ADDON
from mlcc_rehearsal.kubernetes_api.scheduling import node_is_ready

if TYPE_CHECKING:
    from mlcc_rehearsal.cloud.eks.kubernetes import ClusterKubernetes
    from mlcc_rehearsal.kubernetes_api.objects import ObjectStore

log = logging.getLogger(__name__)

# Modelled seconds between two looks.
INTERVAL = 10.0
# A look may take a quarter of the time, not more; the part of a leap of time that may pass between two looks.
LEISURE = 3.0
LEAP_SHARE = 0.01

OPERATOR = InferenceOperator()
addon_health.OTHERS[ADDON] = OPERATOR


class ClusterLoop:
    """The loop of one cluster; it ends with the cluster's Kubernetes API."""

    def __init__(self, eks: EksBackend, cluster: Cluster, kubernetes: ClusterKubernetes) -> None:
        self._eks = eks
        self._cluster = cluster
        self._kubernetes = kubernetes
        self._seen = -1
        self._nodes: frozenset[str] = frozenset()
        self._pods_under_way = True
        self._waiting = True

    def start(self) -> None:
        """Begin to look."""
        self._eks.account.clock.after(INTERVAL, self._tick, background=True)

    def _tick(self) -> None:
        store = self._kubernetes.objects
        if store is None or self._cluster.kubernetes is not self._kubernetes:
            return
        began = time.monotonic()
        try:
            self._look_once(store)
        finally:
            self._eks.account.clock.after(self._pause(time.monotonic() - began), self._tick, background=True)

    def _pause(self, took: float) -> float:
        """Modelled seconds to the next look.

        Looks take real time, which the speed multiplies. On a machine so busy that one takes longer than the
        interval, looks would pile up and the account's lock would never be free: so a look is followed by a
        pause of some times its own length. After a leap of time the first looks are further apart.
        """
        clock = self._eks.account.clock
        return max(INTERVAL, took * clock.speed * LEISURE, clock.behind() * LEAP_SHARE)

    def _look_once(self, store: ObjectStore) -> None:
        changed = self._kubernetes.revision != self._seen
        if changed or self._pods_under_way:
            self._seen = self._kubernetes.revision
            self._pods_under_way = self._kubernetes.reconcile()
            self._notice_nodes(store)
        if changed or self._pods_under_way or self._waiting or self._due():
            self._waiting = self._look(store)

    def _due(self) -> bool:
        """Whether the operator's controller wanted to look again by now."""
        controller = controller_of(self._eks, self._cluster)
        return controller is not None and controller.due <= self._eks.account.clock.now()

    def _look(self, store: ObjectStore) -> bool:
        """One look of the controllers; whether somebody has to look again although nothing is written."""
        waiting = False
        controller = controller_of(self._eks, self._cluster)
        if controller is not None:
            waiting = controller.look(store)
        waiting = load_balancers.reconcile(self._eks, self._cluster, store) or waiting
        addon = self._cluster.addons.get(ADDON)
        if addon is not None:
            waiting = OPERATOR.judge(self._eks, self._cluster, addon) or waiting
        return waiting

    def _notice_nodes(self, store: ObjectStore) -> None:
        """Add-ons look at their pods again when nodes came or went, whoever made them."""
        nodes = frozenset(
            node["metadata"]["name"]
            for node in store.list("v1", "Node")
            if node_is_ready(node) and not node.get("spec", {}).get("unschedulable")
        )
        if nodes != self._nodes:
            self._nodes = nodes
            addon_health.reconsider(self._eks, self._cluster)


def watch(eks: EksBackend, cluster: Cluster) -> None:
    """Look after a cluster whose Kubernetes API has just been started; nothing to do without one."""
    if cluster.kubernetes is not None and cluster.kubernetes.objects is not None:
        ClusterLoop(eks, cluster, cluster.kubernetes).start()
