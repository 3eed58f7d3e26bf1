"""HTTPS on the loopback: one thread a connection, keep-alive, chunked answers for streams."""

from __future__ import annotations

import http.server
import logging
import socket
import ssl
import tempfile
import threading
import urllib.parse
from pathlib import Path
from typing import Any

from mlcc_rehearsal.kubernetes_api.certificates import ServerIdentity
from mlcc_rehearsal.kubernetes_api.requests import Request
from mlcc_rehearsal.kubernetes_api.router import Response, Router
from mlcc_rehearsal.kubernetes_api.status import internal

log = logging.getLogger(__name__)
_IDLE_SECONDS = 120.0


class HttpsServer:
    """Serves a router on a free port of 127.0.0.1 until stopped."""

    def __init__(self, identity: ServerIdentity) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory(prefix="mlcc-kubernetes-") as folder:
            self._context.load_cert_chain(*identity.write(Path(folder)))
        self._server = _Server(self._context)
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """The port bound."""
        return int(self._server.server_address[1])

    def start(self, router: Router) -> None:
        """Begin to answer."""
        self._server.router = router
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.05},
            daemon=True,
            name="kubernetes-api",
        )
        self._thread.start()

    def stop(self) -> None:
        """End at once; open connections are closed."""
        self._server.shutdown()
        self._server.close_connections()
        self._server.server_close()


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    router: Router

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._context = context
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()

    def finish_request(self, request: Any, client_address: Any) -> None:
        # In the connection's own thread, so that a slow handshake holds up nobody else.
        request.settimeout(_IDLE_SECONDS)
        try:
            secured = self._context.wrap_socket(request, server_side=True)
        except (ssl.SSLError, OSError) as error:
            log.debug("no TLS connection with %s: %s", client_address, error)
            return
        with self._open_lock:
            self._open.add(secured)
        try:
            _Handler(secured, client_address, self)
        finally:
            with self._open_lock:
                self._open.discard(secured)
            secured.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        log.debug("connection of %s ended", client_address)

    def close_connections(self) -> None:
        """Close what is still open: a stopped cluster answers nobody."""
        with self._open_lock:
            for connection in self._open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError as error:
                    log.debug("closing a connection: %s", error)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, format: str, *args: Any) -> None:
        log.debug(format, *args)

    @property
    def _router(self) -> Router:
        server: Any = self.server
        router: Router = server.router
        return router

    def _serve(self) -> None:
        parts = urllib.parse.urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
        headers: Any = self.headers  # looks names up without regard to case
        request = Request(self.command, parts.path, query, headers, self.rfile.read(length))
        try:
            response = self._router.handle(request)
        except Exception as error:  # the border of the server: told to the client and logged
            log.exception("%s %s failed", self.command, self.path)
            trouble = internal(f"{type(error).__name__}: {error}")
            response = Response(trouble.code, str(trouble.body()).encode())
        self._send(response)

    def _send(self, response: Response) -> None:
        self.send_response(response.code)
        self.send_header("Content-Type", response.content_type)
        self.send_header("Cache-Control", "no-cache, private")
        for name, value in response.headers.items():
            self.send_header(name, value)
        if response.stream is None:
            self.send_header("Content-Length", str(len(response.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(response.body)
            self.wfile.flush()
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        for chunk in response.stream:
            if chunk:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
                self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _serve
