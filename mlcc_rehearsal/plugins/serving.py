"""What the stand-in plugins share: a server the engine attaches to, peers, cancellation, errors.

The engine opens one connection for each provider instance, so two aws providers of one program
are two *peers* of one process (``context.peer()``): configuration, and Cancel, belong to a peer.
Source: pulumi/sdk ``go/common/resource/plugin/provider_plugin.go`` at v3.276.0 (attaching calls
Handshake, then Attach; ErrorResourceInitFailed in the status details is a partial failure).
"""

from __future__ import annotations

import functools
import importlib.metadata
import logging
import threading
from collections.abc import Callable, Mapping
from concurrent import futures
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc, status_pb2

from mlcc_infra import clock
from mlcc_rehearsal.plugins.values import to_struct

log = logging.getLogger(__name__)

#: Calls served at once by one plugin: more than the resources that wait in any graph of ours.
MAX_WORKERS = 64
_NO_MESSAGE_LIMIT = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]

ConfigurationT = TypeVar("ConfigurationT")


class ProviderError(Exception):
    """A call failed; the engine shows `message` as the provider's words."""

    def __init__(self, message: str, code: grpc.StatusCode = grpc.StatusCode.UNKNOWN) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class InitializationError(ProviderError):
    """A resource exists but did not become what was asked: the engine keeps it in the state with its id.

    `properties` is the state to keep, `inputs` the inputs (read only), `reasons` what went wrong.
    """

    def __init__(
        self,
        message: str,
        *,
        id: str,
        properties: Mapping[str, Any],
        inputs: Mapping[str, Any] | None = None,
        reasons: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.id = id
        self.properties = properties
        self.inputs = inputs or {}
        self.reasons = reasons or (message,)


class CancelledError(ProviderError):
    """The engine cancelled this peer's calls."""

    def __init__(self) -> None:
        super().__init__("the operation was cancelled", grpc.StatusCode.CANCELLED)


class Cancellation:
    """Whether a peer was cancelled, and pauses that end when it is."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        """End every pause of this peer, now and later."""
        self._event.set()

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._event.is_set()

    def check(self) -> None:
        """Raise CancelledError when cancelled."""
        if self.cancelled:
            raise CancelledError

    def pause(self, seconds: float) -> None:
        """Let modelled `seconds` pass; CancelledError as soon as the peer is cancelled."""
        if self._event.wait(max(0.0, seconds) / clock.speed()):
            raise CancelledError


@dataclass
class Peer(Generic[ConfigurationT]):
    """One provider instance of one engine: its cancellation and, once configured, its configuration."""

    cancellation: Cancellation
    configuration: ConfigurationT | None = None


class Peers(Generic[ConfigurationT]):
    """The peers of a server, made when first heard of."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._peers: dict[str, Peer[ConfigurationT]] = {}

    def get(self, context: grpc.ServicerContext) -> Peer[ConfigurationT]:
        """The peer that makes this call."""
        with self._lock:
            return self._peers.setdefault(context.peer(), Peer(Cancellation()))

    def restart(self, context: grpc.ServicerContext) -> Peer[ConfigurationT]:
        """A fresh peer: port numbers come round again, and a new engine must not inherit a cancellation."""
        with self._lock:
            peer: Peer[ConfigurationT] = Peer(Cancellation())
            self._peers[context.peer()] = peer
            return peer


def installed_version(distribution: str) -> str:
    """The version of an installed package. Plugins report the SDK's: the engine warns of any other."""
    return importlib.metadata.version(distribution)


def _abort(context: grpc.ServicerContext, error: ProviderError) -> None:
    if not isinstance(error, InitializationError):
        context.abort(error.code, error.message)
        return
    detail = provider_pb2.ErrorResourceInitFailed(
        id=error.id,
        properties=to_struct(error.properties),
        inputs=to_struct(error.inputs),
        reasons=error.reasons,
    )
    status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=error.message)
    status.details.add().Pack(detail)
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(grpc.StatusCode.UNKNOWN, error.message)


MethodT = TypeVar("MethodT", bound=Callable[..., Any])


def answers_errors(method: MethodT) -> MethodT:
    """Decorate a servicer method: ProviderError becomes the call's status, anything else is logged too."""

    @functools.wraps(method)
    def wrapper(self: Any, request: Any, context: grpc.ServicerContext) -> Any:
        answered = threading.Event()
        peer = self.peers.get(context)

        def ended() -> None:
            # A call that ends before it is answered: its engine was killed, and the call's context with it
            # (gRPC for Go cancels a handler's context when the connection breaks).
            if not answered.is_set():
                peer.cancellation.cancel()

        if not context.add_callback(ended):
            peer.cancellation.cancel()
        try:
            return method(self, request, context)
        except ProviderError as error:
            failure = error
        except Exception as error:  # the border of the process: told to the engine, and logged
            log.exception("%s failed", method.__name__)
            told = f"stand-in plugin: {type(error).__name__}: {error}"
            failure = ProviderError(told, grpc.StatusCode.INTERNAL)
        finally:
            answered.set()
        return _abort(context, failure)

    return wrapper  # type: ignore[return-value]


class BaseServicer(provider_pb2_grpc.ResourceProviderServicer, Generic[ConfigurationT]):
    """The protocol's small calls. A plugin adds Configure, Check, Diff, Create, Read, Update, Delete, Invoke.

    Secrets, resources and outputs are not accepted: the engine then sends plain values and keeps the
    secret mark on outputs whose input was one, and an answer may still carry marks of its own.
    """

    def __init__(self, version: str) -> None:
        self.version = version
        self.peers: Peers[ConfigurationT] = Peers()

    def Handshake(self, request: Any, context: grpc.ServicerContext) -> Any:
        self.peers.restart(context)
        return provider_pb2.ProviderHandshakeResponse(supports_autonaming_configuration=True)

    def Attach(self, request: Any, context: grpc.ServicerContext) -> Any:
        self.peers.get(context)
        return empty_pb2.Empty()

    def GetPluginInfo(self, request: Any, context: grpc.ServicerContext) -> Any:
        return plugin_pb2.PluginInfo(version=self.version)

    def GetSchema(self, request: Any, context: grpc.ServicerContext) -> Any:
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "a stand-in plugin has no schema")

    def GetMapping(self, request: Any, context: grpc.ServicerContext) -> Any:
        return provider_pb2.GetMappingResponse()

    def GetMappings(self, request: Any, context: grpc.ServicerContext) -> Any:
        return provider_pb2.GetMappingsResponse()

    def CheckConfig(self, request: Any, context: grpc.ServicerContext) -> Any:
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: grpc.ServicerContext) -> Any:
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)

    def Cancel(self, request: Any, context: grpc.ServicerContext) -> Any:
        self.peers.get(context).cancellation.cancel()
        return empty_pb2.Empty()

    def configure_response(self) -> Any:
        """The answer to Configure that says the same as the handshake."""
        return provider_pb2.ConfigureResponse(
            acceptSecrets=False,
            acceptResources=False,
            acceptOutputs=False,
            supportsPreview=True,
            supports_autonaming_configuration=True,
        )

    def configuration(self, context: grpc.ServicerContext) -> ConfigurationT:
        """The calling peer's configuration. ProviderError before Configure."""
        found = self.peers.get(context).configuration
        if found is None:
            raise ProviderError("the provider was called before it was configured")
        return found


@dataclass
class Server:
    """A plugin being served on the loopback."""

    port: int
    grpc_server: Any

    def stop(self) -> None:
        """End the server at once; calls under way are cancelled."""
        self.grpc_server.stop(grace=None)


def serve_servicer(servicer: Any, *, port: int = 0, max_workers: int = MAX_WORKERS) -> Server:
    """Serve a resource provider on 127.0.0.1 (`port` 0: a free one). RuntimeError when it cannot be bound."""
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers, thread_name_prefix="plugin"), options=_NO_MESSAGE_LIMIT
    )
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
    bound = server.add_insecure_port(f"127.0.0.1:{port}")
    if bound == 0:
        raise RuntimeError(f"port {port} cannot be bound")
    server.start()
    return Server(bound, server)
