"""Says things to the engine: warnings under a resource, progress in its line."""

from __future__ import annotations

import logging
from typing import Any

log = logging.getLogger(__name__)


class Host:
    """The engine behind one peer; without its address everything goes to the plugin's own log."""

    def __init__(self, address: str) -> None:
        self._stub: Any = None
        if address:
            import grpc
            from pulumi.runtime.proto import engine_pb2_grpc

            self._stub = engine_pb2_grpc.EngineStub(grpc.insecure_channel(address))

    def warn(self, urn: str, message: str) -> None:
        """A warning that stays on the screen."""
        self._log("WARNING", urn, message, passing=False)

    def inform(self, urn: str, message: str) -> None:
        """A line that stays on the screen."""
        self._log("INFO", urn, message, passing=False)

    def progress(self, urn: str, message: str) -> None:
        """A text in the resource's line, until the next one."""
        self._log("INFO", urn, message, passing=True)

    def _log(self, severity: str, urn: str, message: str, *, passing: bool) -> None:
        if self._stub is None:
            log.warning("%s: %s", urn, message)
            return
        import grpc
        from pulumi.runtime.proto import engine_pb2

        request = engine_pb2.LogRequest(
            severity=engine_pb2.LogSeverity.Value(severity), message=message, urn=urn, ephemeral=passing
        )
        try:
            self._stub.Log(request, timeout=10)
        except grpc.RpcError as error:
            log.warning("the engine did not take a message (%s): %s: %s", error, urn, message)
