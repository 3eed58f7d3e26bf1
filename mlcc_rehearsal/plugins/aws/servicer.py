"""The resource provider protocol over the table. Nothing here knows a single resource type."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import provider_pb2

from mlcc_rehearsal.plugins.aws import catalogue, checking, configuration, difference, schema, state
from mlcc_rehearsal.plugins.aws.calling import Call
from mlcc_rehearsal.plugins.aws.definition import FUNCTIONS_FOLDER, RESOURCES_FOLDER, Definition
from mlcc_rehearsal.plugins.serving import (
    BaseServicer,
    CancelledError,
    InitializationError,
    ProviderError,
    answers_errors,
    installed_version,
)
from mlcc_rehearsal.plugins.values import contains_unknown, from_struct, to_struct, type_of

_KINDS = {
    (kind, replace): getattr(provider_pb2.PropertyDiff, f"{kind}_REPLACE" if replace else kind)
    for kind in (difference.ADD, difference.UPDATE, difference.DELETE)
    for replace in (False, True)
}
_NAMING = {0: "propose", 1: "enforce", 2: "disable"}


def _failures(failures: list[checking.Failure]) -> list[Any]:
    return [provider_pb2.CheckFailure(property=item.property, reason=item.reason) for item in failures]


def definition_of(urn: str) -> Definition:
    """The table's entry for a URN's type. ProviderError that says what to do about a missing one."""
    token = type_of(urn)
    found = catalogue.resources().get(token)
    if found is not None:
        return found
    try:
        schema.resource(token)
    except schema.UnknownTypeError as error:
        hint = checking.closest(token, catalogue.resources())
        raise ProviderError(f"unrecognized resource type (Check): {token}: {error}. {hint}") from None
    raise ProviderError(
        f"the stand-in for pulumi-aws does not model {token} yet; pulumi_aws "
        f"{installed_version('pulumi_aws')} has it: add its definition in {RESOURCES_FOLDER} (one entry in a "
        "module's DEFINITIONS)."
    )


def _one_error(text: str) -> str:
    # What Terraform's SDK makes of a single diagnostic, as `pulumi up` shows it.
    return f"1 error occurred:\n\t* {text}\n\n"


class AwsServicer(BaseServicer[configuration.Configuration]):
    """The aws provider."""

    def __init__(self) -> None:
        super().__init__(installed_version("pulumi_aws"))

    # The provider itself

    @answers_errors
    def CheckConfig(self, request: Any, context: grpc.ServicerContext) -> Any:
        failures = configuration.check(from_struct(request.news))
        if failures:
            return provider_pb2.CheckResponse(failures=_failures(failures))
        return provider_pb2.CheckResponse(inputs=request.news)

    @answers_errors
    def DiffConfig(self, request: Any, context: grpc.ServicerContext) -> Any:
        old = from_struct(request.old_inputs if request.HasField("old_inputs") else request.olds)
        changed, replaces = configuration.differences(old, from_struct(request.news))
        return provider_pb2.DiffResponse(
            changes=provider_pb2.DiffResponse.DIFF_SOME if changed else provider_pb2.DiffResponse.DIFF_NONE,
            diffs=changed,
            replaces=replaces,
        )

    @answers_errors
    def Configure(self, request: Any, context: grpc.ServicerContext) -> Any:
        peer = self.peers.get(context)
        peer.configuration = configuration.configure(from_struct(request.args), peer.cancellation)
        return self.configure_response()

    # Resources

    def _call(self, context: grpc.ServicerContext, properties: Mapping[str, Any], **more: Any) -> Call:
        config = self.configuration(context)
        return Call(
            config.clients,
            region=str(properties.get("region") or config.region),
            account_id=config.account_id,
            partition=config.partition,
            cancellation=self.peers.get(context).cancellation,
            **more,
        )

    @answers_errors
    def Check(self, request: Any, context: grpc.ServicerContext) -> Any:
        definition = definition_of(request.urn)
        config = self.configuration(context)
        naming = request.autonaming if request.HasField("autonaming") else None
        asked = checking.Request(
            name=request.urn.split("::")[-1],
            news=from_struct(request.news),
            olds=from_struct(request.olds),
            seed=request.randomSeed,
            proposed_name=naming.proposed_name if naming else "",
            naming=_NAMING[naming.mode] if naming else "propose",
        )
        inputs, failures = checking.check(definition, asked, config.tags, config.region)
        if failures:
            return provider_pb2.CheckResponse(failures=_failures(failures))
        return provider_pb2.CheckResponse(inputs=to_struct(inputs))

    @answers_errors
    def Diff(self, request: Any, context: grpc.ServicerContext) -> Any:
        definition = definition_of(request.urn)
        found = difference.compare(
            definition, from_struct(request.olds), from_struct(request.news), request.ignoreChanges
        )
        response = provider_pb2.DiffResponse
        return response(
            changes=response.DIFF_SOME if found.changes else response.DIFF_NONE,
            replaces=found.replaces,
            diffs=sorted({change.path.split(".")[0].split("[")[0] for change in found.changes}),
            deleteBeforeReplace=found.delete_before_replace,
            stables=sorted(
                path for path in definition.replace if "." not in path and path not in found.replaces
            ),
            hasDetailedDiff=True,
            detailedDiff={
                change.path: provider_pb2.PropertyDiff(kind=_KINDS[change.kind, change.replace])
                for change in found.changes
            },
        )

    @answers_errors
    def Create(self, request: Any, context: grpc.ServicerContext) -> Any:
        definition = definition_of(request.urn)
        inputs = from_struct(request.properties)
        if request.preview:
            return provider_pb2.CreateResponse(
                properties=to_struct(state.preview_created(definition, inputs))
            )
        call = self._call(
            context, inputs, inputs=inputs, timeout=request.timeout or definition.timeouts.create
        )
        try:
            call.id = definition.create(call)
            found = self._settled(definition, call)
        except ProviderError as error:
            doing = f"creating {definition.label} ({definition.titled(inputs, call.id)})"
            raise self._failed(call, error, doing, f"creating {request.urn}", definition, {}) from error
        properties = state.outputs(definition, found, inputs, self.configuration(context).tags, call.region)
        return provider_pb2.CreateResponse(
            id=call.id, properties=to_struct(state.secret(definition, properties))
        )

    def _settled(self, definition: Definition, call: Call) -> dict[str, Any]:
        """What was just made, waiting for it to show."""

        def refresh() -> tuple[Any, str]:
            found = definition.read(call)
            return found, "found"

        found: dict[str, Any] = call.wait(refresh, target=("found",), timeout=120.0)
        return found

    def _failed(
        self,
        call: Call,
        error: ProviderError,
        doing: str,
        step: str,
        definition: Definition,
        old: Mapping[str, Any],
    ) -> ProviderError:
        """The error to answer: with the state to keep when the resource exists."""
        message = error.message if error.message.startswith("waiting for ") else f"{doing}: {error.message}"
        if not call.id:
            return error if isinstance(error, CancelledError) else ProviderError(_one_error(message))
        # What Terraform keeps: the planned values and the id. A refresh puts that right.
        kept = {key: value for key, value in {**old, **call.inputs}.items() if key != checking.DEFAULTS}
        return InitializationError(
            message,
            id=call.id,
            properties=state.secret(definition, kept),
            reasons=(f"{step}: {_one_error(message)}",),
        )

    @answers_errors
    def Read(self, request: Any, context: grpc.ServicerContext) -> Any:
        definition = definition_of(request.urn)
        old_state, old_inputs = from_struct(request.properties), from_struct(request.inputs)
        config = self.configuration(context)
        importing = not old_state
        identity, known = request.id, old_state
        if importing:
            try:
                identity, known = definition.imports.parse(request.id)
            except ValueError as error:
                raise ProviderError(f"{error}") from None
        call = self._call(context, old_inputs or known, state=known, id=identity)
        try:
            found = definition.read(call)
        except ProviderError as error:
            raise ProviderError(
                f"refreshing {request.urn}: "
                + _one_error(
                    f"reading {definition.label} ({definition.titled(known, call.id)}): {error.message}"
                )
            ) from error
        if found is None:
            return provider_pb2.ReadResponse()
        properties = state.outputs(definition, found, known, config.tags, call.region)
        if importing:
            inputs = state.imported_inputs(definition, properties)
        else:
            inputs = state.refreshed_inputs(definition, old_inputs, properties)
        return provider_pb2.ReadResponse(
            id=call.id,
            properties=to_struct(state.secret(definition, properties)),
            inputs=to_struct(state.secret(definition, inputs)),
        )

    @answers_errors
    def Update(self, request: Any, context: grpc.ServicerContext) -> Any:
        definition = definition_of(request.urn)
        old, inputs = from_struct(request.olds), from_struct(request.news)
        if request.preview:
            return provider_pb2.UpdateResponse(
                properties=to_struct(state.secret(definition, state.preview_updated(definition, old, inputs)))
            )
        changes = difference.compare(definition, old, inputs, request.ignoreChanges)
        call = self._call(
            context,
            inputs,
            inputs=inputs,
            state=old,
            id=request.id,
            timeout=request.timeout or definition.timeouts.update,
            changes=changes.paths,
        )
        try:
            beside_tags = any(path.split(".")[0] not in ("tags", "tagsAll") for path in changes.paths)
            if beside_tags and definition.update is not None:
                definition.update(call)
            self._update_tags(definition, call)
            found = self._settled(definition, call)
        except ProviderError as error:
            doing = f"updating {definition.label} ({definition.titled(inputs, call.id)})"
            raise self._failed(call, error, doing, f"updating {request.urn}", definition, old) from error
        properties = state.outputs(definition, found, inputs, self.configuration(context).tags, call.region)
        return provider_pb2.UpdateResponse(properties=to_struct(state.secret(definition, properties)))

    def _update_tags(self, definition: Definition, call: Call) -> None:
        if definition.tagging is None:
            return
        have, want = dict(call.state.get("tagsAll") or {}), call.tags
        gone = sorted(have.keys() - want.keys())
        new = {key: value for key, value in want.items() if have.get(key) != value}
        if gone:
            definition.tagging.untag(call, gone)
        if new:
            definition.tagging.tag(call, new)

    @answers_errors
    def Delete(self, request: Any, context: grpc.ServicerContext) -> Any:
        definition = definition_of(request.urn)
        old = from_struct(request.properties)
        call = self._call(
            context, old, state=old, id=request.id, timeout=request.timeout or definition.timeouts.delete
        )
        try:
            definition.delete(call)
        except CancelledError:
            raise
        except ProviderError as error:
            message = error.message
            if not message.startswith("waiting for "):
                message = f"deleting {definition.label} ({definition.titled(old, call.id)}): {message}"
            raise ProviderError(f"deleting {request.urn}: {_one_error(message)}") from error
        return empty_pb2.Empty()

    # Functions

    @answers_errors
    def Invoke(self, request: Any, context: grpc.ServicerContext) -> Any:
        function = catalogue.functions().get(request.tok)
        if function is None:
            try:
                schema.function(request.tok)
            except (schema.UnknownTypeError, ImportError) as error:
                raise ProviderError(f"unrecognized data function (Invoke): {request.tok}: {error}") from None
            raise ProviderError(
                f"the stand-in for pulumi-aws does not model the function {request.tok} yet: add it in "
                f"{FUNCTIONS_FOLDER} (one entry in a module's FUNCTIONS)."
            )
        arguments = {key: value for key, value in from_struct(request.args).items() if value is not None}
        if contains_unknown(arguments):
            raise ProviderError(f"{request.tok} was called with a value that is not known yet")
        shape = schema.function(request.tok)
        unknown = sorted(set(arguments) - set(shape.inputs.fields) - schema.INTERNAL_KEYS)
        if unknown:
            hint = checking.closest(unknown[0], shape.inputs.fields)
            failure = checking.Failure(
                f"Invalid or unknown key '{unknown[0]}' for {request.tok}. {hint}", unknown[0]
            )
            return provider_pb2.InvokeResponse(failures=_failures([failure]))
        call = self._call(context, arguments, inputs=arguments)
        result = function(call)
        if "region" in shape.outputs.fields:
            result.setdefault("region", call.region)
        response: Any = provider_pb2.InvokeResponse()
        getattr(response, "return").CopyFrom(to_struct(result))  # a Python keyword
        return response


def warm_up() -> None:
    """Import what the first call would: the SDK and the table."""
    importlib.import_module("pulumi_aws")
    catalogue.resources()
    catalogue.functions()
