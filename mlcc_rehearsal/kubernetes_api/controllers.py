"""The control loops: workloads make pods, pods find nodes and start, services find pods.

One thread looks at the cluster whenever something has changed, and in between while a pod is on its way.
What takes time takes it on the modelled clock; a step that is done in an instant here (making pods,
binding them) takes well under a second in a real cluster.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from mlcc_rehearsal.kubernetes_api.aggregation import judge_api_services
from mlcc_rehearsal.kubernetes_api.endpoints import Endpoints
from mlcc_rehearsal.kubernetes_api.lifecycle import Lifecycle
from mlcc_rehearsal.kubernetes_api.namespaces import equip_namespaces
from mlcc_rehearsal.kubernetes_api.podlife import PodLife
from mlcc_rehearsal.kubernetes_api.workloads import Workloads

log = logging.getLogger(__name__)
TICK = 0.03
"""Real seconds between two looks while something is on its way: 1.8 modelled seconds at speed 60."""
_IDLE = 1.0


class Controllers:
    """Runs the loops of one cluster."""

    def __init__(self, lifecycle: Lifecycle, clock_now: Callable[[], float]) -> None:
        self._lifecycle = lifecycle
        self._pods = PodLife(lifecycle, clock_now)
        self._workloads = Workloads(lifecycle)
        self._endpoints = Endpoints(lifecycle)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="kubernetes-controllers")

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def stop(self) -> None:
        """End; answers once the loop has ended."""
        self._stopping.set()
        self._lifecycle.store.wake()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def _run(self) -> None:
        store = self._lifecycle.store
        while not self._stopping.is_set():
            before = store.revision
            try:
                with store.lock:
                    under_way = self.reconcile()
            except Exception:  # one bad object must not end the loops of the cluster
                log.exception("a control loop failed")
                under_way = True
            if store.revision == before:
                if under_way:
                    self._stopping.wait(TICK)
                else:
                    store.wait(before, _IDLE, self._stopping.is_set)

    def reconcile(self) -> bool:
        """One look at everything; whether something waits for time to pass."""
        equip_namespaces(self._lifecycle)
        self._workloads.reconcile()
        under_way = self._pods.reconcile()
        self._workloads.report()
        self._endpoints.reconcile()
        judge_api_services(self._lifecycle.store, self._lifecycle.timestamp())
        self._lifecycle.deletion.sweep()
        return under_way
