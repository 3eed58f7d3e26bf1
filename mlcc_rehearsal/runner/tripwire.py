"""A proxy that lets nothing through: what tries to leave the loopback is refused and written down.

It is a guard, not a wall: it catches programs that honour the proxy settings of their environment, which
AWS's, Pulumi's, Helm's and Kubernetes' own do. That our own code opens no other connection is shown by a test
in a network namespace.
"""

from __future__ import annotations

import json
import socketserver
import threading
import time
from pathlib import Path

_BODY = b"this is a rehearsal: nothing leaves the loopback\n"
_ANSWER = (
    b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    b"Content-Length: " + str(len(_BODY)).encode() + b"\r\n\r\n" + _BODY
)


class _Handler(socketserver.StreamRequestHandler):
    timeout = 5.0

    def handle(self) -> None:
        try:
            request = self.rfile.readline(8192).decode("latin-1").strip()
            while self.rfile.readline(8192).strip():
                pass
            self.server.tripwire.record(request)  # type: ignore[attr-defined]
            self.wfile.write(_ANSWER)
        except OSError:
            return  # the program gave up first; what it asked for is recorded


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    tripwire: Tripwire


class Tripwire:
    """Listens on a free port of the loopback and appends each attempt to `log`, one JSON object a line."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._lock = threading.Lock()
        self.attempts: list[str] = []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.tripwire = self
        threading.Thread(target=self._server.serve_forever, name="tripwire", daemon=True).start()

    @property
    def address(self) -> str:
        """The address for proxy settings."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def record(self, request: str) -> None:
        """Note an attempt: the request line as it came."""
        words = request.split()
        target = words[1] if len(words) > 1 else request
        with self._lock:
            self.attempts.append(target)
            with self._log.open("a") as log:
                log.write(json.dumps({"target": target, "request": request, "time": time.time()}) + "\n")

    def stop(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
