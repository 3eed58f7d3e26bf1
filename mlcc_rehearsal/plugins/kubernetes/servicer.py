"""The provider protocol: routes calls to objects and releases, and turns their answers into messages."""

from __future__ import annotations

import threading
from typing import Any

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import provider_pb2

from mlcc_rehearsal.plugins.kubernetes import configuration
from mlcc_rehearsal.plugins.kubernetes.client import Cluster
from mlcc_rehearsal.plugins.kubernetes.decode import decode_yaml
from mlcc_rehearsal.plugins.kubernetes.helm.release import Releases
from mlcc_rehearsal.plugins.kubernetes.host import Host
from mlcc_rehearsal.plugins.kubernetes.inputs import Difference, Inputs, Naming
from mlcc_rehearsal.plugins.kubernetes.kinds import RELEASE, parse_token
from mlcc_rehearsal.plugins.kubernetes.objects import Objects
from mlcc_rehearsal.plugins.kubernetes.session import Session
from mlcc_rehearsal.plugins.serving import BaseServicer, ProviderError, answers_errors, installed_version
from mlcc_rehearsal.plugins.values import from_struct, to_struct, type_of

_KINDS = {
    (kind, replace): getattr(
        provider_pb2.PropertyDiff, f"{kind.upper()}_REPLACE" if replace else kind.upper()
    )
    for kind in ("add", "delete", "update")
    for replace in (False, True)
}


class KubernetesServicer(BaseServicer[Session]):
    """The kubernetes provider. Secrets are accepted, as the real one does, so that it can mark its
    outputs."""

    def __init__(self) -> None:
        super().__init__(installed_version("pulumi_kubernetes"))
        self._lock = threading.Lock()
        self._engines: dict[str, str] = {}
        self._clusters: list[Cluster] = []

    def close(self) -> None:
        """Remove what connections have put on the disk."""
        with self._lock:
            for cluster in self._clusters:
                cluster.close()
            self._clusters.clear()

    # The provider itself

    def Handshake(self, request: Any, context: grpc.ServicerContext) -> Any:
        super().Handshake(request, context)
        with self._lock:
            self._engines[context.peer()] = request.engine_address
        return provider_pb2.ProviderHandshakeResponse(
            accept_secrets=True, supports_autonaming_configuration=True
        )

    def Attach(self, request: Any, context: grpc.ServicerContext) -> Any:
        with self._lock:
            self._engines[context.peer()] = request.address
        return super().Attach(request, context)

    @answers_errors
    def CheckConfig(self, request: Any, context: grpc.ServicerContext) -> Any:
        configuration.check_known(from_struct(request.news))
        return provider_pb2.CheckResponse(inputs=request.news)

    @answers_errors
    def DiffConfig(self, request: Any, context: grpc.ServicerContext) -> Any:
        old = from_struct(request.old_inputs if request.HasField("old_inputs") else request.olds)
        changed, replaces = configuration.differences(old, from_struct(request.news))
        response = provider_pb2.DiffResponse
        return response(
            changes=response.DIFF_SOME if changed else response.DIFF_NONE, diffs=changed, replaces=replaces
        )

    @answers_errors
    def Configure(self, request: Any, context: grpc.ServicerContext) -> Any:
        settings = configuration.settings_of(from_struct(request.args), dict(request.variables))
        parsed = configuration.parse(settings)
        cluster = Cluster(parsed)
        peer = self.peers.get(context)
        with self._lock:
            self._clusters.append(cluster)
            address = self._engines.get(context.peer(), "")
        peer.configuration = Session(parsed, cluster, Host(address), peer.cancellation)
        return provider_pb2.ConfigureResponse(
            acceptSecrets=True, supportsPreview=True, supports_autonaming_configuration=True
        )

    # Resources

    @answers_errors
    def Check(self, request: Any, context: grpc.ServicerContext) -> Any:
        session = self.configuration(context)
        news = from_struct(request.news, keep_secrets=True)
        olds = from_struct(request.olds, keep_secrets=True)
        if type_of(request.urn) == RELEASE:
            inputs = Releases(session, request.urn).check(news, olds)
        else:
            given = request.autonaming if request.HasField("autonaming") else None
            disabled = given is not None and given.mode == provider_pb2.CheckRequest.AutonamingOptions.DISABLE
            naming = Naming(request.randomSeed, given.proposed_name if given else "", disabled)
            inputs = _inputs(session, request.urn).check(news, olds, naming)
        return provider_pb2.CheckResponse(inputs=to_struct(inputs))

    @answers_errors
    def Diff(self, request: Any, context: grpc.ServicerContext) -> Any:
        session = self.configuration(context)
        state, news = from_struct(request.olds), from_struct(request.news)
        ignore = list(request.ignoreChanges)
        if type_of(request.urn) == RELEASE:
            found = Releases(session, request.urn).diff(state, news, ignore)
        else:
            found = _inputs(session, request.urn).diff(state, news, ignore)
        return _diff_response(found)

    @answers_errors
    def Create(self, request: Any, context: grpc.ServicerContext) -> Any:
        session = self.configuration(context)
        inputs = from_struct(request.properties, keep_secrets=True)
        if type_of(request.urn) == RELEASE:
            identifier, state = Releases(session, request.urn).create(inputs, preview=request.preview)
        else:
            objects = _objects(session, request.urn)
            identifier, state = objects.create(inputs, request.timeout, preview=request.preview)
        return provider_pb2.CreateResponse(id=identifier, properties=to_struct(state))

    @answers_errors
    def Read(self, request: Any, context: grpc.ServicerContext) -> Any:
        session = self.configuration(context)
        inputs = from_struct(request.inputs, keep_secrets=True)
        state = from_struct(request.properties, keep_secrets=True)
        if type_of(request.urn) == RELEASE and session.cluster.reachable:
            found = Releases(session, request.urn).read(request.id, inputs, state)
        else:
            kind = parse_token(type_of(request.urn))
            found = Objects(session, kind, request.urn).read(request.id, inputs, state)
        if found is None:
            return provider_pb2.ReadResponse()
        identifier, properties, read_inputs = found
        return provider_pb2.ReadResponse(
            id=identifier, properties=to_struct(properties), inputs=to_struct(read_inputs)
        )

    @answers_errors
    def Update(self, request: Any, context: grpc.ServicerContext) -> Any:
        session = self.configuration(context)
        news = from_struct(request.news, keep_secrets=True)
        state = from_struct(request.olds, keep_secrets=True)
        if type_of(request.urn) == RELEASE:
            updated = Releases(session, request.urn).update(state, news, preview=request.preview)
        else:
            updated = _objects(session, request.urn).update(
                state, news, request.timeout, list(request.ignoreChanges), preview=request.preview
            )
        return provider_pb2.UpdateResponse(properties=to_struct(updated))

    @answers_errors
    def Delete(self, request: Any, context: grpc.ServicerContext) -> Any:
        session = self.configuration(context)
        state = from_struct(request.properties, keep_secrets=True)
        if type_of(request.urn) == RELEASE:
            Releases(session, request.urn).delete(request.id, state)
        else:
            _objects(session, request.urn).delete(state, request.id, request.timeout)
        return empty_pb2.Empty()

    @answers_errors
    def Invoke(self, request: Any, context: grpc.ServicerContext) -> Any:
        if request.tok != "kubernetes:yaml:decode":
            raise ProviderError(
                f"the kubernetes stand-in does not model the function {request.tok}; it would be added in "
                "mlcc_rehearsal/plugins/kubernetes/servicer.py"
            )
        session = self.configuration(context)
        arguments = from_struct(request.args)
        decoded = decode_yaml(arguments, session.namespaced)
        answer = provider_pb2.InvokeResponse()
        getattr(answer, "return").CopyFrom(to_struct({"result": decoded}))
        return answer


def _objects(session: Session, urn: str) -> Objects:
    return Objects(session, parse_token(type_of(urn)), urn)


def _inputs(session: Session, urn: str) -> Inputs:
    return Inputs(session, parse_token(type_of(urn)), urn)


def _diff_response(found: Difference) -> Any:
    response = provider_pb2.DiffResponse
    replaces = set(found.replaces)
    detailed = {
        change.text: provider_pb2.PropertyDiff(kind=_KINDS[change.kind, change.text in replaces])
        for change in found.changes
    }
    return response(
        changes=response.DIFF_SOME if found.changes else response.DIFF_NONE,
        replaces=list(found.replaces),
        deleteBeforeReplace=found.delete_before_replace,
        detailedDiff=detailed,
        hasDetailedDiff=True,
    )
