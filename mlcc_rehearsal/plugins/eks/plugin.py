"""Serve the `eks` stand-in to engines that attach to it."""

from __future__ import annotations

import asyncio
import logging
import shutil
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

import grpc
import grpc.aio
import pulumi
import pulumi_eks
from google.protobuf import empty_pb2
from pulumi.provider.provider import CallResult, ConstructResult, Provider
from pulumi.provider.server import ProviderServicer
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from mlcc_rehearsal.plugins.eks.cluster import TOKEN, Cluster
from mlcc_rehearsal.plugins.eks.kubeconfig import compact_json, kubeconfig, region_of
from mlcc_rehearsal.plugins.eks.options import HERE, check
from mlcc_rehearsal.plugins.serving import installed_version

log = logging.getLogger(__name__)

_START_SECONDS = 30.0
_STOP_SECONDS = 2.0
_NO_MESSAGE_LIMIT = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
#: The published component says this, and nothing else, when it finds no `aws` command.
NO_AWS_COMMAND = (
    "Could not find aws CLI for EKS. See https://docs.aws.amazon.com/cli/latest/userguide/"
    "getting-started-install.html for installation instructions."
)


class RefusedError(Exception):
    """A call that cannot be served; its text is for the user."""


class EksComponents(Provider):
    """What the plugin constructs and answers."""

    def construct(
        self, name: str, resource_type: str, inputs: Mapping[str, Any], options: Any = None
    ) -> ConstructResult:
        if resource_type != TOKEN:
            raise RefusedError(
                f"this rehearsal's eks stand-in serves {TOKEN} only; {resource_type} would be added in {HERE}"
            )
        check(inputs)
        if shutil.which("aws") is None:
            raise RefusedError(NO_AWS_COMMAND)
        component = Cluster(name, inputs, options)
        return ConstructResult(urn=component.urn, state=component.results)

    def call(self, token: str, args: Mapping[str, Any]) -> CallResult:
        if token != f"{TOKEN}/getKubeconfig":
            raise RefusedError(f"this rehearsal's eks stand-in does not serve the method {token}")
        cluster: pulumi_eks.Cluster = args["__self__"]
        made = cluster.eks_cluster.apply(
            lambda resource: pulumi.Output.all(
                name=resource.name,
                endpoint=resource.endpoint,
                certificate_authority=resource.certificate_authority.apply(lambda known: known.data),
                region=resource.arn.apply(region_of),
                credentials={"roleArn": args.get("roleArn"), "profileName": args.get("profileName")},
            ).apply(lambda known: compact_json(kubeconfig(**known, with_profile=True)))
        )
        return CallResult(outputs={"result": made})


class Servicer(ProviderServicer):
    """The SDK's servicer, for several engines at once: each peer has the address of its engine."""

    def __init__(self, provider: Provider) -> None:
        super().__init__(provider, [], "")
        self._engines: dict[str, str] = {}

    def _serve_engine_of(self, context: Any) -> None:
        # Read at once by the SDK's methods, before they first give way to another call.
        self.engine_address = self._engines.get(context.peer(), "")

    async def Attach(self, request: Any, context: Any) -> Any:
        self._engines[context.peer()] = request.address
        return empty_pb2.Empty()

    async def Handshake(self, request: Any, context: Any) -> Any:
        self._engines[context.peer()] = request.engine_address
        return provider_pb2.ProviderHandshakeResponse(
            accept_secrets=True, accept_resources=True, accept_outputs=True
        )

    async def CheckConfig(self, request: Any, context: Any) -> Any:
        return provider_pb2.CheckResponse(inputs=request.news)

    async def DiffConfig(self, request: Any, context: Any) -> Any:
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)

    async def Cancel(self, request: Any, context: Any) -> Any:
        # What a construction waits for is the engine's answers, which end with it.
        return empty_pb2.Empty()

    async def Construct(self, request: Any, context: Any) -> Any:
        self._serve_engine_of(context)
        try:
            return await self._construct(request, context)
        except Exception as error:  # noqa: BLE001 - the border of the process: told to the engine
            await self._abort(context, error)

    async def Call(self, request: Any, context: Any) -> Any:
        self._serve_engine_of(context)
        try:
            return await self._call(request, context)
        except Exception as error:  # noqa: BLE001 - the border of the process: told to the engine
            await self._abort(context, error)

    async def _abort(self, context: Any, error: Exception) -> None:
        if isinstance(error, pulumi.InputPropertiesError):
            await context.abort_with_status(
                self.create_grpc_invalid_properties_status(error.message, error.errors)
            )
        if not isinstance(error, RefusedError | pulumi.RunError | ValueError):
            log.error("a call failed", exc_info=error)
        await context.abort(grpc.StatusCode.UNKNOWN, str(error) or type(error).__name__)


class Server:
    """The plugin being served, by an event loop in a thread of its own."""

    def __init__(self, port: int = 0) -> None:
        self._started: Future[int] = Future()
        self._loop = asyncio.new_event_loop()
        self._server: Any = None
        self._thread = threading.Thread(target=self._run, args=(port,), name="eks-plugin", daemon=True)
        self._thread.start()
        self.port = self._started.result(_START_SECONDS)

    def _run(self, port: int) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve(port))

    async def _serve(self, port: int) -> None:
        try:
            self._server = grpc.aio.server(options=_NO_MESSAGE_LIMIT)
            servicer = Servicer(EksComponents(installed_version("pulumi_eks")))
            provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, self._server)
            bound = self._server.add_insecure_port(f"127.0.0.1:{port}")
            await self._server.start()
        except BaseException as error:
            self._started.set_exception(error)
            raise
        self._started.set_result(bound)
        await self._server.wait_for_termination()

    def stop(self) -> None:
        """End the server at once; calls under way are cancelled."""
        asyncio.run_coroutine_threadsafe(self._server.stop(None), self._loop)
        self._thread.join(_STOP_SECONDS)


def serve(port: int = 0) -> Server:
    """Serve the plugin on 127.0.0.1 (`port` 0: a free one)."""
    return Server(port)
