"""Callers, objects and a small HTTP client for the tests of the Kubernetes API."""

import base64
import json
import ssl
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any

import botocore.session

from mlcc_rehearsal import aws_cli
from mlcc_rehearsal.kubernetes_api import Caller, KubernetesApi

SPEED = 300.0
ADMIN, VIEWER, EDITOR, GROUPED, NOBODY = (
    f"AKIA{word}00000000" for word in ("ADMN", "VIEW", "EDIT", "GRUP", "NONE")
)
CALLERS = {
    ADMIN: Caller("admin", (), ("AmazonEKSClusterAdminPolicy",)),
    VIEWER: Caller("viewer", (), ("AmazonEKSViewPolicy",)),
    EDITOR: Caller("editor", (), ("AmazonEKSEditPolicy",), {"AmazonEKSEditPolicy": ("team",)}),
    GROUPED: Caller("grouped", ("readers",)),
    NOBODY: Caller("nobody"),
}


def token_of(access_key_id: str, cluster: str = "demo") -> str:
    """What ``aws eks get-token`` makes for an access key."""
    session = botocore.session.Session()
    session.set_credentials(access_key_id, "secret")
    return aws_cli.make_token(session, session.get_credentials(), "us-west-2", cluster)


@dataclass
class Answer:
    """Status and decoded body of a call."""

    code: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Client:
    """Plain HTTP with one caller's token."""

    api: KubernetesApi
    token: str | None

    def __post_init__(self) -> None:
        authority = base64.b64decode(self.api.certificate_authority_data).decode()
        self.context = ssl.create_default_context(cadata=authority)

    def open(
        self, method: str, path: str, body: Any = None, kind: str = "application/json", **headers: str
    ) -> Any:
        """The open response."""
        data = None if body is None else (body if isinstance(body, bytes) else json.dumps(body).encode())
        request = urllib.request.Request(self.api.endpoint + path, data, method=method)
        request.add_header("Content-Type", kind)
        for name, value in headers.items():
            request.add_header(name, value)
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        return urllib.request.urlopen(request, context=self.context, timeout=20)

    def call(
        self, method: str, path: str, body: Any = None, kind: str = "application/json", **headers: str
    ) -> Answer:
        """Status and body, refusals included."""
        try:
            with self.open(method, path, body, kind, **headers) as response:
                text, code, sent = response.read(), response.status, dict(response.headers)
        except urllib.error.HTTPError as error:
            with error:
                text, code, sent = error.read(), error.code, dict(error.headers)
        try:
            return Answer(code, json.loads(text), sent)
        except ValueError:
            return Answer(code, text.decode(errors="replace"), sent)

    def ok(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """The body of a call that must succeed."""
        answer = self.call(method, path, body, kind)
        assert answer.code < 300, answer.body
        return answer.body

    def apply(self, path: str, obj: Any, manager: str, *, force: bool = False, query: str = "") -> Answer:
        """Server-side apply."""
        forced = "true" if force else "false"
        address = f"{path}?fieldManager={manager}&force={forced}{query}"
        return self.call("PATCH", address, obj, "application/apply-patch+yaml")


def node(name: str, pods: int = 10, *, ready: bool = True, **spec: Any) -> dict[str, Any]:
    """A Node object as EKS would register it."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": spec,
        "status": {
            "allocatable": {"pods": str(pods), "cpu": "4", "memory": "16Gi"},
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        },
    }


def deployment(name: str, replicas: int, namespace: str = "default", **pod: Any) -> dict[str, Any]:
    """A Deployment of a small image."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "busybox:1"}], **pod},
            },
        },
    }


def config_map(name: str, namespace: str = "default", labels: Any = None, **data: str) -> dict[str, Any]:
    """A ConfigMap."""
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    if labels:
        metadata["labels"] = labels
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def definition(*, schema: Any = None, scope: str = "Namespaced") -> dict[str, Any]:
    """A CustomResourceDefinition ``jumpstartmodels.inference.example.com`` with two versions."""
    open_schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    versions = [
        {
            "name": name,
            "served": True,
            "storage": name == "v1",
            "schema": {"openAPIV3Schema": schema or open_schema},
            "subresources": {"status": {}},
            "additionalPrinterColumns": [{"name": "State", "type": "string", "jsonPath": ".status.state"}],
        }
        for name in ("v1alpha1", "v1")
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "models.inference.example.com"},
        "spec": {
            "group": "inference.example.com",
            "scope": scope,
            "names": {"kind": "Model", "plural": "models", "singular": "model", "shortNames": ["mdl"]},
            "versions": versions,
        },
    }


def eventually(check: Any, seconds: float = 5.0) -> Any:
    """What ``check`` answers once that is true; fails the test when it never is."""
    deadline = time.monotonic() + seconds
    while True:
        found = check()
        if found:
            return found
        assert time.monotonic() < deadline, "it did not become true in time"
        time.sleep(0.02)
