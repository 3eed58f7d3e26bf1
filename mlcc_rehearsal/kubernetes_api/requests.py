"""Reading a request: its path, its body, what it accepts, what it asks to be allowed."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from mlcc_rehearsal.kubernetes_api import protobuf_bodies
from mlcc_rehearsal.kubernetes_api.authorization import Attributes
from mlcc_rehearsal.kubernetes_api.status import ApiError, Object, bad_request


@dataclass(frozen=True)
class Request:
    """One HTTP request as the router sees it."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    def flag(self, name: str) -> bool:
        """Whether a boolean query parameter is set."""
        return self.query.get(name, "").lower() in ("true", "1")

    def content_type(self) -> str:
        """Media type of the body, without parameters."""
        return (self.headers.get("Content-Type") or "application/json").partition(";")[0].strip().lower()

    def object(self) -> Any:
        """The decoded body.

        Raises:
            ApiError: 400 for text that is no JSON or YAML, 415 for CBOR.
        """
        kind = self.content_type()
        if kind == protobuf_bodies.MEDIA_TYPE:
            return protobuf_bodies.decode(self.body) if self.body else {}
        if "cbor" in kind:
            message = (
                "the body of the request was in an unknown format - accepted media types include: "
                "application/json, application/yaml, application/vnd.kubernetes.protobuf"
            )
            raise ApiError(415, "UnsupportedMediaType", message)
        if not self.body:
            return {}
        try:
            return yaml.safe_load(self.body) if kind.endswith("yaml") else json.loads(self.body)
        except (ValueError, yaml.YAMLError) as error:
            raise bad_request(f"error decoding the request's body: {error}") from error


@dataclass(frozen=True)
class Target:
    """What a resource path names."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def parse_target(path: str) -> Target | None:
    """The resource behind ``/api/v1/…`` or ``/apis/<group>/<version>/…``; None for other paths."""
    parts = [urllib.parse.unquote(part) for part in path.strip("/").split("/")]
    if len(parts) >= 3 and parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif len(parts) >= 4 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if (
        rest[0] == "namespaces"
        and len(rest) >= 3
        and not (group == "" and len(rest) == 3 and rest[2] in ("status", "finalize"))
    ):
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource = (*rest, "", "")[:3]
    if len(rest) > 3:
        subresource = "/".join(rest[2:])
    return Target(group, version, plural, namespace, name, subresource)


def attributes_of(request: Request, target: Target | None) -> Attributes:
    """What the request asks to be allowed."""
    verb = request.method.lower()
    if target is None:
        return Attributes(verb={"head": "get"}.get(verb, verb), path=request.path)
    watching = request.flag("watch")
    if verb in ("get", "head"):
        verb = "get" if target.name else "watch" if watching else "list"
    verb = {"post": "create", "put": "update"}.get(verb, verb)
    if verb == "delete" and not target.name:
        verb = "deletecollection"
    return Attributes(
        verb=verb,
        group=target.group,
        plural=target.plural,
        subresource=target.subresource,
        namespace=target.name if target.plural == "namespaces" and not target.group else target.namespace,
        name=target.name,
    )


def manager_of(request: Request) -> str:
    """The field manager: named in the query, else the first word of the user agent."""
    named = request.query.get("fieldManager")
    return named or (request.headers.get("User-Agent") or "unknown").partition("/")[0] or "unknown"


def delete_options(request: Request) -> Object:
    """DeleteOptions of the body, with what the query says on top."""
    body = request.object()
    options = dict(body) if isinstance(body, dict) else {}
    if "propagationPolicy" in request.query:
        options["propagationPolicy"] = request.query["propagationPolicy"]
    if request.flag("orphanDependents"):
        options["orphanDependents"] = True
    return options


def dry_run(request: Request, options: Object | None = None) -> bool:
    """Whether nothing is to be stored.

    Raises:
        ApiError: 422 for anything but ``All``.
    """
    given = request.query.get("dryRun") or ",".join((options or {}).get("dryRun") or [])
    if given not in ("", "All"):
        message = (
            f'PatchOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: "{given}": '
            'supported values: "All"'
        )
        raise ApiError(422, "Invalid", message)
    return given == "All"
