"""One cluster's Kubernetes API."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable

from mlcc_rehearsal.kubernetes_api.authentication import Authenticate
from mlcc_rehearsal.kubernetes_api.bootstrap import populate
from mlcc_rehearsal.kubernetes_api.certificates import make_server_identity
from mlcc_rehearsal.kubernetes_api.controllers import Controllers
from mlcc_rehearsal.kubernetes_api.lifecycle import Lifecycle
from mlcc_rehearsal.kubernetes_api.objects import ObjectStore
from mlcc_rehearsal.kubernetes_api.pods import PodLogs
from mlcc_rehearsal.kubernetes_api.registry import Registry
from mlcc_rehearsal.kubernetes_api.router import Router
from mlcc_rehearsal.kubernetes_api.server import HttpsServer
from mlcc_rehearsal.kubernetes_api.status import Object
from mlcc_rehearsal.kubernetes_api.store import Store


class KubernetesApi:
    """A Kubernetes API server for one EKS cluster, on 127.0.0.1 with an authority of its own.

    ``authenticate`` answers, for the access key id that signed a token, the Caller its access entry
    makes, or None. ``clock_now`` is the modelled time in seconds; creation times and the start of pods
    follow it. What has been put into ``objects`` outlives ``stop``; a stopped API does not start again.
    """

    def __init__(
        self,
        cluster_name: str,
        authenticate: Authenticate,
        version: str = "1.35",
        clock_now: Callable[[], float] | None = None,
    ) -> None:
        self.cluster_name = cluster_name
        self._authenticate = authenticate
        self._version = version
        self._clock_now = clock_now or _wall_clock
        self._origin = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=self._clock_now())
        self._identity = make_server_identity(f"kube-apiserver {cluster_name}")
        self._server = HttpsServer(self._identity)
        self._stopping = threading.Event()
        self._logs = PodLogs()
        lifecycle = Lifecycle(Registry(), Store(), self.timestamp)
        populate(lifecycle)
        self._lifecycle = lifecycle
        self._controllers = Controllers(lifecycle, self._clock_now)
        self.objects = ObjectStore(lifecycle, self._logs)

    @property
    def endpoint(self) -> str:
        """``https://127.0.0.1:PORT``."""
        return f"https://127.0.0.1:{self._server.port}"

    @property
    def certificate_authority_data(self) -> str:
        """The authority's certificate, base64 of PEM."""
        return self._identity.authority_data

    def start(self) -> None:
        """Serve, and let controllers run."""
        router = Router(
            self._lifecycle,
            self._logs,
            self._authenticate,
            version_info(self._version),
            lambda: self.endpoint.removeprefix("https://"),
            self._stopping.is_set,
        )
        self._server.start(router)
        self._controllers.start()

    def stop(self) -> None:
        """End at once: watches and connections are closed."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        self._controllers.stop()
        self._server.stop()

    def reconcile(self) -> bool:
        """Let the control loops look at once; whether something waits for time to pass."""
        with self._lifecycle.store.lock:
            return self._controllers.reconcile()

    @property
    def revision(self) -> int:
        """Number of the newest write."""
        return self._lifecycle.store.revision

    def timestamp(self) -> str:
        """Modelled time as RFC 3339 with seconds, as objects carry it."""
        moment = self._origin + datetime.timedelta(seconds=self._clock_now())
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def version_info(version: str) -> Object:
    """``/version`` of an EKS control plane of a minor version such as ``1.35``."""
    major, _, minor = version.partition(".")
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"v{major}.{minor}.0-eks-rehearsal",
        "gitCommit": "0" * 40,
        "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z",
        "goVersion": "go1.25",
        "compiler": "gc",
        "platform": "linux/amd64",
    }


def _wall_clock() -> float:
    return datetime.datetime.now(datetime.UTC).timestamp()
