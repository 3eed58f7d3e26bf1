"""From a request to an answer: authentication, authorization, and the verb."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from mlcc_rehearsal.kubernetes_api import authorization, discovery, openapi, reviews, status, tables
from mlcc_rehearsal.kubernetes_api.authentication import Authenticate, bearer, identify
from mlcc_rehearsal.kubernetes_api.catalogue import Resource
from mlcc_rehearsal.kubernetes_api.impersonation import impersonated
from mlcc_rehearsal.kubernetes_api.lifecycle import Lifecycle, WriteOptions
from mlcc_rehearsal.kubernetes_api.listing import list_page
from mlcc_rehearsal.kubernetes_api.patches import APPLY_PATCH
from mlcc_rehearsal.kubernetes_api.pods import PodLogs, evict
from mlcc_rehearsal.kubernetes_api.requests import (
    Request,
    Target,
    attributes_of,
    delete_options,
    dry_run,
    manager_of,
    parse_target,
)
from mlcc_rehearsal.kubernetes_api.scale import read_scale, write_scale
from mlcc_rehearsal.kubernetes_api.status import ApiError, Object
from mlcc_rehearsal.kubernetes_api.watching import watch

ANONYMOUS_PATHS = ("/healthz", "/livez", "/readyz")
"""All that EKS lets an anonymous caller see since Kubernetes 1.32
(https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions-standard.html)."""

_PATHS = (
    "/api",
    "/api/v1",
    "/apis",
    "/healthz",
    "/livez",
    "/openapi/v2",
    "/openapi/v3",
    "/readyz",
    "/version",
)


@dataclass
class Response:
    """An answer: a body, or a stream of chunks until the iterator ends."""

    code: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    stream: Iterator[bytes] | None = None


def json_response(code: int, body: Object, content_type: str = "application/json") -> Response:
    """An answer in JSON."""
    return Response(code, json.dumps(body, separators=(",", ":")).encode() + b"\n", content_type)


class Router:
    """Answers the requests of one cluster."""

    def __init__(
        self,
        lifecycle: Lifecycle,
        logs: PodLogs,
        authenticate: Authenticate,
        version: Object,
        address: Callable[[], str],
        stopping: Callable[[], bool],
    ) -> None:
        self._lifecycle = lifecycle
        self._logs = logs
        self._authenticate = authenticate
        self._version = version
        self._address = address
        self._stopping = stopping

    def handle(self, request: Request) -> Response:
        """Answer a request; refusals become ``Status`` bodies."""
        try:
            return self._handle(request)
        except ApiError as error:
            return json_response(error.code, error.body())

    def _handle(self, request: Request) -> Response:
        if request.path in ANONYMOUS_PATHS or request.path.startswith(("/livez/", "/readyz/")):
            return Response(body=b"ok", content_type="text/plain; charset=utf-8")
        token = bearer(request.headers)
        if token is None:
            raise status.unauthorized()
        caller = impersonated(self._lifecycle.store, identify(token, self._authenticate), request.headers)
        target = parse_target(request.path)
        authorization.check(self._lifecycle.store, caller, attributes_of(request, target))
        if target is None:
            return self._document(request)
        resource = self._lifecycle.registry.find(target.group, target.version, target.plural)
        if resource is None or (target.namespace and not resource.namespaced):
            raise status.unknown_path()
        if target.subresource:
            return self._subresource(request, target, resource)
        if resource.verbs == ("create",):
            if request.method != "POST":
                raise status.method_not_allowed()
            reviewed = reviews.review(self._lifecycle.store, caller, resource, request.object())
            return json_response(201, reviewed)
        return self._verb(request, target, resource)

    def _document(self, request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            raise status.method_not_allowed()
        registry = self._lifecycle.registry
        path = request.path.rstrip("/") or "/"
        accept = request.headers.get("Accept") or ""
        if path in ("/api", "/apis"):
            return self._groups(path, accept)
        if path == "/openapi/v2":
            body_bytes, kind = openapi.version_two(registry, accept)
            return Response(body=body_bytes, content_type=kind)
        fixed: dict[str, Callable[[], Object]] = {
            "/": lambda: {"paths": list(_PATHS)},
            "/version": lambda: self._version,
            "/openapi/v3": lambda: openapi.version_three_index(registry),
        }
        document = fixed[path]() if path in fixed else self._described(path)
        if document is None:
            raise status.unknown_path()
        return json_response(200, document)

    def _groups(self, path: str, accept: str) -> Response:
        registry = self._lifecycle.registry
        for version in ("v2", "v2beta1"):
            wanted = discovery.AGGREGATED.format(version=version)
            if wanted in accept.replace(" ", ""):
                body = discovery.aggregated(registry, core=path == "/api", version=version)
                return json_response(200, body, wanted)
        if path == "/api":
            return json_response(200, discovery.core_versions(self._address()))
        return json_response(200, discovery.group_list(registry))

    def _described(self, path: str) -> Object | None:
        """What discovery or OpenAPI say of a group or version."""
        registry = self._lifecycle.registry
        parts = path.strip("/").split("/")
        if path.startswith("/openapi/v3/"):
            return openapi.version_three(registry, "/".join(parts[2:]))
        if parts[0] == "api" and len(parts) == 2:
            return discovery.resource_list(registry, "", parts[1])
        if parts[0] == "apis" and len(parts) == 2:
            return discovery.group(registry, parts[1])
        if parts[0] == "apis" and len(parts) == 3:
            return discovery.resource_list(registry, parts[1], parts[2])
        return None

    def _verb(self, request: Request, target: Target, resource: Resource) -> Response:
        method = request.method
        if method in ("GET", "HEAD"):
            return self._read(request, target, resource)
        if resource.namespaced and not target.namespace:
            raise status.method_not_allowed()
        if method == "POST" and not target.name:
            options = self._write_options(request)
            body = request.object()
            made, warnings = self._lifecycle.create(resource, target.namespace, body, options)
            return self._answer(request, resource, 201, made, warnings)
        if method == "DELETE":
            return self._delete(request, target, resource)
        if method in ("PUT", "PATCH") and target.name:
            return self._write(request, target, resource, "")
        raise status.method_not_allowed()

    def _read(self, request: Request, target: Target, resource: Resource) -> Response:
        if target.name:
            found = self._lifecycle.get(resource, target.namespace, target.name)
            return self._answer(request, resource, 200, found, [])
        as_table = tables.wanted(request.headers.get("Accept") or "")
        version = self._lifecycle.registry.custom_version(resource) if resource.custom else {}
        if request.flag("watch"):
            lines = watch(self._lifecycle, resource, target.namespace or None, request.query, self._stopping)
            if as_table:
                lines = tables.watch_rows(lines, resource, version, self._lifecycle.timestamp())
            return Response(stream=(json.dumps(line).encode() + b"\n" for line in lines))
        page = list_page(self._lifecycle, resource, target.namespace or None, request.query)
        if as_table:
            table = tables.table(
                page["items"], page["metadata"], resource, version, self._lifecycle.timestamp()
            )
            return json_response(200, table)
        return json_response(200, page)

    def _write(self, request: Request, target: Target, resource: Resource, subresource: str) -> Response:
        options = self._write_options(request, subresource)
        if request.method == "PUT":
            body = request.object()
            changed, warnings = self._lifecycle.update(resource, target.namespace, target.name, body, options)
            return self._answer(request, resource, 200, changed, warnings)
        kind = request.content_type()
        if kind in APPLY_PATCH and "fieldManager" not in request.query:
            fault = ("fieldManager", "FieldValueRequired", "Required value: is required for apply patch")
            raise status.invalid("PatchOptions", "meta.k8s.io", "", [fault])
        patch = request.object()
        changed, created, warnings = self._lifecycle.patch(
            resource, target.namespace, target.name, kind, patch, options
        )
        return self._answer(request, resource, 201 if created else 200, changed, warnings)

    def _delete(self, request: Request, target: Target, resource: Resource) -> Response:
        options = delete_options(request)
        dry = dry_run(request, options)
        if target.name:
            answer = self._lifecycle.delete(resource, target.namespace, target.name, options, dry_run=dry)
            return json_response(200, answer)
        page = list_page(self._lifecycle, resource, target.namespace or None, request.query)
        for item in page["items"]:
            metadata = item["metadata"]
            self._lifecycle.delete(
                resource, metadata.get("namespace", ""), metadata["name"], options, dry_run=dry
            )
        return json_response(200, page)

    def _subresource(self, request: Request, target: Target, resource: Resource) -> Response:
        subresource, method = target.subresource, request.method
        if subresource not in resource.subresources:
            raise status.unknown_path()
        if subresource == "status" or subresource == "approval":
            if method == "GET":
                return json_response(200, self._lifecycle.get(resource, target.namespace, target.name))
            return self._write(request, target, resource, "status")
        if subresource == "scale":
            if method == "GET":
                return json_response(
                    200, read_scale(self._lifecycle, resource, target.namespace, target.name)
                )
            options = self._write_options(request)
            scaled = write_scale(self._lifecycle, resource, target.namespace, target.name, request, options)
            return json_response(200, scaled)
        if subresource == "log" and method == "GET":
            pod = self._lifecycle.get(resource, target.namespace, target.name)
            stream = self._logs.read(self._lifecycle, pod, request.query, self._stopping)
            return Response(content_type="text/plain", stream=stream)
        if subresource == "eviction" and method == "POST":
            return json_response(201, evict(self._lifecycle, resource, target.namespace, target.name))
        raise status.method_not_allowed()

    def _answer(
        self, request: Request, resource: Resource, code: int, obj: Object, warnings: list[str]
    ) -> Response:
        body = obj
        if tables.wanted(request.headers.get("Accept") or "") and request.method == "GET":
            version = self._lifecycle.registry.custom_version(resource) if resource.custom else {}
            metadata = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
            body = tables.table([obj], metadata, resource, version, self._lifecycle.timestamp())
        response = json_response(code, body)
        if warnings:
            texts = (warning.replace('"', '\\"') for warning in warnings)
            response.headers["Warning"] = ", ".join(f'299 - "{text}"' for text in texts)
        return response

    def _write_options(self, request: Request, subresource: str = "") -> WriteOptions:
        return WriteOptions(
            manager=manager_of(request),
            force=request.flag("force"),
            dry_run=dry_run(request),
            field_validation=request.query.get("fieldValidation") or "Warn",
            subresource=subresource,
        )
