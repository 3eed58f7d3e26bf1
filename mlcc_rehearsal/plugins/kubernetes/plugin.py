"""The kubernetes stand-in as a plugin: see `mlcc_rehearsal.plugins.__main__`."""

from __future__ import annotations

from dataclasses import dataclass

from mlcc_rehearsal.plugins.kubernetes.servicer import KubernetesServicer
from mlcc_rehearsal.plugins.serving import Server, serve_servicer


@dataclass
class _ServerWithFiles(Server):
    servicer: KubernetesServicer

    def stop(self) -> None:
        super().stop()
        self.servicer.close()


def serve(port: int = 0) -> Server:
    """Serve the stand-in on the loopback; `port` 0 takes a free one."""
    servicer = KubernetesServicer()
    served = serve_servicer(servicer, port=port)
    return _ServerWithFiles(served.port, served.grpc_server, servicer)
