"""The host's process: serve, print the port, live as long as the engine."""

import sys
from concurrent import futures
from pathlib import Path

import grpc
from pulumi.runtime.proto import language_pb2_grpc

from .processes import Children, Lifetime
from .servicer import LanguageHost

# Configurations travel in messages; the limit is that of Pulumi's SDKs.
MESSAGE_LIMIT = 400 * 1024 * 1024
VALUED_FLAGS = ("--tracing", "-tracing")


def engine_address(arguments: list[str]) -> str:
    """The engine's address: the last argument that is neither a flag nor a flag's value; else ""."""
    positional = [
        argument
        for before, argument in zip(["", *arguments], arguments, strict=False)
        if not argument.startswith("-") and before not in VALUED_FLAGS
    ]
    return positional[-1] if positional else ""


def main(arguments: list[str]) -> int:
    """Serve until the engine is done or gone. The first argument is the executor script."""
    lifetime = Lifetime()
    children = Children()
    executor, *rest = arguments
    host = LanguageHost(executor=Path(executor), engine=engine_address(rest), children=children)
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=64),
        options=[
            ("grpc.max_send_message_length", MESSAGE_LIMIT),
            ("grpc.max_receive_message_length", MESSAGE_LIMIT),
        ],
    )
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    lifetime.wait(children, lambda: host.engine)
    server.stop(grace=0.5).wait()
    sys.stdout.flush()
    return 0
