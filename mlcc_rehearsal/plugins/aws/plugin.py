"""The aws stand-in as a plugin: see `mlcc_rehearsal.plugins.__main__`."""

from __future__ import annotations

from mlcc_rehearsal.plugins.aws.servicer import AwsServicer, warm_up
from mlcc_rehearsal.plugins.serving import Server, serve_servicer


def serve(port: int = 0) -> Server:
    """Serve the stand-in on the loopback; `port` 0 takes a free one."""
    warm_up()
    return serve_servicer(AwsServicer(), port=port)
