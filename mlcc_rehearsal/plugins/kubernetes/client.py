"""Talks to a cluster over plain Kubernetes HTTP, through the official Python client's transport.

Any API server will do. Credentials of a kubeconfig's ``exec`` are really run, with its ``env``.
"""

from __future__ import annotations

import base64
import datetime
import json
import os
import tempfile
import threading
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlcc_rehearsal.plugins.kubernetes.configuration import Configuration, active_cluster, named

Object = dict[str, Any]

_TIMEOUT = (10, 120)
APPLY = "application/apply-patch+yaml"


class UnreachableError(Exception):
    """No answer, or none that means anything, from the configured cluster."""


class ApiFailureError(Exception):
    """The API server refused: ``code``, ``reason`` and ``message`` of its Status."""

    def __init__(self, code: int, status: Mapping[str, Any]) -> None:
        super().__init__(str(status.get("message") or status.get("reason") or code))
        self.code = code
        self.reason = str(status.get("reason", ""))
        self.details: Mapping[str, Any] = status.get("details") or {}

    @property
    def missing_namespace(self) -> bool:
        """Whether it is the object's namespace that does not exist."""
        return self.code == 404 and self.details.get("kind") == "namespaces"


class NoSuchKindError(Exception):
    """The server serves no such apiVersion and kind."""

    def __init__(self, api_version: str, kind: str) -> None:
        super().__init__(f'no matches for kind "{kind}" in version "{api_version}"')


@dataclass(frozen=True)
class Served:
    """Where objects of a kind live."""

    api_version: str
    plural: str
    namespaced: bool


class Cluster:
    """A connection to the configured cluster; thread-safe."""

    def __init__(self, configuration: Configuration) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="mlcc-kubernetes-client-")
        self._lock = threading.Lock()
        self._served: dict[str, dict[str, Served]] = {}
        self._user: Mapping[str, Any] = {}
        self._token: str | None = None
        self._token_ends: datetime.datetime | None = None
        self._pool: Any = None
        self._server = ""
        self.trouble = configuration.trouble
        if not self.trouble:
            try:
                self._connect(configuration)
                self.version = self.request("GET", "/version")
            except (UnreachableError, ApiFailureError, ValueError) as error:
                text = _client_words(error)
                self.trouble = f"unable to load schema information from the API server: {text}"

    @property
    def reachable(self) -> bool:
        """Whether the cluster answered when it was configured."""
        return not self.trouble

    def close(self) -> None:
        """Remove the files with certificates."""
        self._folder.cleanup()

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
    ) -> Any:
        """The decoded answer to a call.

        Raises:
            ApiFailureError: the server refused.
            UnreachableError: no answer, or no credentials to ask with.
        """
        import urllib3
        from kubernetes.client.exceptions import ApiException

        headers = {"Accept": "application/json", "User-Agent": "pulumi-kubernetes/rehearsal"}
        token = self._bearer()
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if body is not None:
            headers["Content-Type"] = content_type
        try:
            answer = self._pool.request(
                method,
                self._server + path,
                query_params=list((query or {}).items()),
                headers=headers,
                body=body,
                _request_timeout=_TIMEOUT,
            )
        except ApiException as error:
            if not error.status:
                raise UnreachableError(str(error.reason)) from error
            raise ApiFailureError(error.status, _status(error.body)) from error
        except urllib3.exceptions.HTTPError as error:
            raise UnreachableError(
                f'{method.capitalize()} "{self._server}{path}": {_root_cause(error)}'
            ) from error
        return json.loads(answer.data) if answer.data else {}

    def served(self, api_version: str, kind: str) -> Served:
        """Where objects of a kind live; asks the server again for a kind it did not know before.

        Raises:
            NoSuchKindError: not served.
        """
        with self._lock:
            found = self._served.get(api_version, {}).get(kind)
        if found is not None:
            return found
        path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        try:
            listed = self.request("GET", path)
        except ApiFailureError as error:
            if error.code == 404:
                raise NoSuchKindError(api_version, kind) from error
            raise
        kinds = {
            entry["kind"]: Served(api_version, entry["name"], bool(entry["namespaced"]))
            for entry in listed.get("resources", [])
            if "/" not in entry["name"]
        }
        with self._lock:
            self._served[api_version] = kinds
        if kind not in kinds:
            raise NoSuchKindError(api_version, kind)
        return kinds[kind]

    def forget_kinds(self) -> None:
        """Ask anew which kinds there are: a CustomResourceDefinition came or went."""
        with self._lock:
            self._served.clear()

    def path(self, api_version: str, kind: str, namespace: str, name: str = "") -> str:
        """The address of a kind's objects, or of one of them."""
        served = self.served(api_version, kind)
        base = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        if served.namespaced:
            base += f"/namespaces/{namespace or 'default'}"
        return f"{base}/{served.plural}" + (f"/{name}" if name else "")

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Object | None:
        """One object, or None. Raises NoSuchKindError, ApiFailureError, UnreachableError."""
        try:
            found: Object = self.request("GET", self.path(api_version, kind, namespace, name))
        except ApiFailureError as error:
            if error.code == 404:
                return None
            raise
        return found

    def list(self, api_version: str, kind: str, namespace: str, selector: str = "") -> list[Object]:
        """Objects of a namespace that a label selector matches, with apiVersion and kind."""
        query = {"labelSelector": selector} if selector else {}
        found = self.request("GET", self.path(api_version, kind, namespace), query)
        return [{**item, "apiVersion": api_version, "kind": kind} for item in found["items"]]

    def create(self, obj: Object, manager: str, *, dry_run: bool = False) -> Object:
        """Create an object."""
        query = {"fieldManager": manager, **({"dryRun": "All"} if dry_run else {})}
        path = self.path(obj["apiVersion"], obj["kind"], obj["metadata"].get("namespace", ""))
        made: Object = self.request("POST", path, query, obj)
        return made

    def apply(self, obj: Object, manager: str, *, force: bool = False, dry_run: bool = False) -> Object:
        """Server-side apply."""
        metadata = obj["metadata"]
        query = {
            "fieldManager": manager,
            "force": "true" if force else "false",
            "fieldValidation": "Warn",
            **({"dryRun": "All"} if dry_run else {}),
        }
        path = self.path(obj["apiVersion"], obj["kind"], metadata.get("namespace", ""), metadata["name"])
        applied: Object = self.request("PATCH", path, query, obj, APPLY)
        return applied

    def patch(self, obj: Object, patch: Any, kind: str, manager: str, *, dry_run: bool = False) -> Object:
        """Any other patch of an object."""
        metadata = obj["metadata"]
        query = {"fieldManager": manager, **({"dryRun": "All"} if dry_run else {})}
        path = self.path(obj["apiVersion"], obj["kind"], metadata.get("namespace", ""), metadata["name"])
        patched: Object = self.request("PATCH", path, query, patch, kind)
        return patched

    def replace(self, obj: Object, manager: str, *, dry_run: bool = False) -> Object:
        """Replace an object (PUT)."""
        metadata = obj["metadata"]
        query = {"fieldManager": manager, **({"dryRun": "All"} if dry_run else {})}
        path = self.path(obj["apiVersion"], obj["kind"], metadata.get("namespace", ""), metadata["name"])
        replaced: Object = self.request("PUT", path, query, obj)
        return replaced

    def delete(self, api_version: str, kind: str, namespace: str, name: str, propagation: str) -> bool:
        """Ask for a deletion; False when there is nothing to delete."""
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation}
        try:
            self.request("DELETE", self.path(api_version, kind, namespace, name), body=options)
        except ApiFailureError as error:
            if error.code == 404:
                return False
            raise
        return True

    def _connect(self, configuration: Configuration) -> None:
        from kubernetes.client import Configuration as Settings
        from kubernetes.client.rest import RESTClientObject

        kubeconfig = configuration.kubeconfig or {}
        chosen = {"context": configuration.context, "cluster": configuration.cluster}
        cluster = active_cluster(kubeconfig, chosen)
        if not isinstance(cluster, Mapping) or not cluster.get("server"):
            raise ValueError("invalid configuration: no configuration has been provided")
        context = named(
            kubeconfig,
            "contexts",
            "context",
            configuration.context or str(kubeconfig.get("current-context") or ""),
        )
        user = named(kubeconfig, "users", "user", str((context or {}).get("user") or ""))
        self._user = user if isinstance(user, Mapping) else {}
        self._server = str(cluster["server"]).rstrip("/")
        settings: Any = Settings()
        settings.host = self._server
        settings.verify_ssl = not cluster.get("insecure-skip-tls-verify")
        settings.ssl_ca_cert = self._file(cluster, "certificate-authority", "ca.crt")
        settings.cert_file = self._file(self._user, "client-certificate", "client.crt")
        settings.key_file = self._file(self._user, "client-key", "client.key")
        settings.retries = False
        if urllib.parse.urlsplit(self._server).hostname in ("127.0.0.1", "localhost", "::1"):
            settings.proxy = None  # as Go's clients do: the loopback is never asked through a proxy
        # The client reads the proxy from the environment and then forgets which hosts go without one.
        settings.no_proxy = os.environ.get("NO_PROXY") or os.environ.get("no_proxy")
        self._pool = RESTClientObject(settings)

    def _file(self, holder: Mapping[str, Any], key: str, name: str) -> str | None:
        data = holder.get(f"{key}-data")
        if data:
            path = Path(self._folder.name) / name
            path.touch(mode=0o600)
            path.write_bytes(base64.b64decode(str(data)))
            return str(path)
        return str(holder[key]) if holder.get(key) else None

    def _bearer(self) -> str | None:
        if self._user.get("token"):
            return str(self._user["token"])
        if self._user.get("tokenFile"):
            return Path(str(self._user["tokenFile"])).read_text().strip()
        if not self._user.get("exec"):
            return None
        with self._lock:
            now = datetime.datetime.now(datetime.UTC)
            if self._token is None or (self._token_ends is not None and self._token_ends <= now):
                self._token, self._token_ends = self._run_exec()
            return self._token

    def _run_exec(self) -> tuple[str, datetime.datetime | None]:
        from kubernetes.config.config_exception import ConfigException
        from kubernetes.config.exec_provider import ExecProvider
        from kubernetes.config.kube_config import ConfigNode

        command = self._user["exec"].get("command", "")
        try:
            status = ExecProvider(ConfigNode("exec", dict(self._user["exec"])), None).run()
        except (ConfigException, OSError) as error:
            raise UnreachableError(
                f'Get "{self._server}/openapi/v2?timeout=32s": getting credentials: exec: executable '
                f"{command} failed: {error}"
            ) from error
        ends = status.get("expirationTimestamp")
        moment = datetime.datetime.fromisoformat(str(ends)) if ends else None
        return str(status["token"]), moment


def _status(body: Any) -> Mapping[str, Any]:
    try:
        parsed = json.loads(body or b"{}")
    except ValueError:
        return {"message": str(body)}
    return parsed if isinstance(parsed, Mapping) else {"message": str(body)}


def _client_words(error: Exception) -> str:
    """A refusal as client-go words it."""
    if isinstance(error, ApiFailureError) and error.code == 401:
        return "the server has asked for the client to provide credentials"
    return str(error)


def _root_cause(error: BaseException) -> str:
    reason = getattr(error, "reason", None)
    while isinstance(getattr(reason, "reason", None), BaseException):
        reason = getattr(reason, "reason", None)
    text = str(reason or error)
    if "Connection refused" in text:
        return "dial tcp: connect: connection refused"
    return text
