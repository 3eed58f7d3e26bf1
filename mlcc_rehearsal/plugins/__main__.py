"""Serve stand-in plugins: ``python -m mlcc_rehearsal.plugins NAME [NAME…]``.

Prints one JSON line ``{"aws": 41234, …}`` with the ports once all of them are served, then serves
until SIGTERM, SIGINT or the end of the process that started it. ``--port NAME=PORT`` fixes a port,
to start an ended plugin again where engines look for it.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import logging
import os
import re
import signal
import sys
import threading
from typing import Any

#: Real seconds between two looks at the parent process.
PARENT_POLL_SECONDS = 0.5


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m mlcc_rehearsal.plugins", description=__doc__)
    parser.add_argument("names", nargs="+", metavar="NAME", help="plugin to serve: aws, kubernetes, eks")
    parser.add_argument("--port", action="append", default=[], metavar="NAME=PORT", help="serve NAME on PORT")
    arguments = parser.parse_args(argv)
    for name in arguments.names:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            parser.error(f"{name!r} is no plugin name")
    ports: dict[str, int] = {}
    for assignment in arguments.port:
        name, _, port = assignment.partition("=")
        if name not in arguments.names or not port.isdigit():
            parser.error(f"--port {assignment}: NAME=PORT with one of the names given")
        ports[name] = int(port)
    arguments.ports = ports
    return arguments


def _serve(name: str, port: int) -> Any:
    serve = importlib.import_module(f"mlcc_rehearsal.plugins.{name}.plugin").serve
    if port and "port" not in inspect.signature(serve).parameters:
        raise SystemExit(f"plugin {name} cannot be served on a given port")
    return serve(port=port) if port else serve()


def main(argv: list[str] | None = None) -> None:
    """Serve the named plugins until told to end. Never returns: worker threads must not hold the process."""
    parent = os.getppid()
    arguments = _arguments(argv)
    logging.basicConfig(level=os.environ.get("MLCC_PLUGIN_LOG", "WARNING"), stream=sys.stderr)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    servers = {name: _serve(name, arguments.ports.get(name, 0)) for name in arguments.names}
    print(json.dumps({name: server.port for name, server in servers.items()}), flush=True)
    while not ended.wait(PARENT_POLL_SECONDS):
        if os.getppid() != parent:
            break
    for server in servers.values():
        server.stop()
    logging.shutdown()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
