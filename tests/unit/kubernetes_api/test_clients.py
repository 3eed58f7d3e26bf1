"""The programs people use: kubectl and the official Python client."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import config, dynamic
from kubernetes.client import ApiClient

from mlcc_rehearsal.kubernetes_api import KubernetesApi
from tests.unit.kubernetes_api.support import Client, config_map, definition, deployment, eventually, node

KUBECTL = shutil.which("kubectl")
needs_kubectl = pytest.mark.skipif(KUBECTL is None, reason="kubectl is not installed")


class Kubectl:
    """kubectl with a kubeconfig and a cache of its own."""

    def __init__(self, kubeconfig: Path) -> None:
        self._environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "HOME": str(kubeconfig.parent)}
        self._folder = kubeconfig.parent

    def __call__(self, *arguments: str, stdin: Any = None, ok: bool = True) -> str:
        text = None
        if stdin is not None:
            text = yaml.safe_dump_all(stdin if isinstance(stdin, list) else [stdin])
        done = subprocess.run(
            [str(KUBECTL), *arguments],
            env=self._environment,
            cwd=self._folder,
            input=text,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert (done.returncode == 0) is ok, done.stdout + done.stderr
        return done.stdout if ok else done.stderr


@pytest.fixture
def kubectl(kubeconfig: Path) -> Kubectl:
    return Kubectl(kubeconfig)


@needs_kubectl
def test_kubectl_applies_waits_scales_describes_and_deletes(api: KubernetesApi, kubectl: Kubectl) -> None:
    api.objects.put(node("one"))
    team = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    web = deployment("web", 2, "team")
    assert "deployment.apps/web created" in kubectl("apply", "-f", "-", stdin=[team, web])
    assert "successfully rolled out" in kubectl(
        "-n", "team", "rollout", "status", "deploy/web", "--timeout=20s"
    )
    assert "2/2" in kubectl("-n", "team", "get", "deploy", "web")
    web["spec"]["template"]["spec"]["containers"][0]["image"] = "busybox:2"
    assert "deployment.apps/web configured" in kubectl("apply", "-f", "-", stdin=[web])
    assert "unchanged" in kubectl("apply", "-f", "-", stdin=[web])
    kubectl("-n", "team", "scale", "deploy/web", "--replicas=3")
    assert "Replicas:" in kubectl("-n", "team", "describe", "deploy", "web")
    assert 'namespace "team" deleted' in kubectl("delete", "namespace", "team", "--timeout=20s")


@needs_kubectl
def test_what_kubectl_sends_in_protobuf_arrives(api: KubernetesApi, kubectl: Kubectl) -> None:
    api.objects.put(node("one"))
    kubectl("create", "namespace", "team")
    kubectl("-n", "team", "create", "configmap", "settings", "--from-literal=colour=blue")
    kubectl("-n", "team", "create", "deployment", "web", "--image=nginx:1", "--replicas=2", "--port=80")
    kubectl("-n", "team", "create", "ingress", "web", "--rule=example.com/path=web:80")
    kubectl("-n", "team", "create", "quota", "few", "--hard=cpu=1,pods=3")
    settings = api.objects.get("v1", "ConfigMap", "team", "settings")
    web = api.objects.get("apps/v1", "Deployment", "team", "web")
    ingress = api.objects.get("networking.k8s.io/v1", "Ingress", "team", "web")
    quota = api.objects.get("v1", "ResourceQuota", "team", "few")
    assert settings is not None
    assert settings["data"] == {"colour": "blue"}
    assert web is not None
    assert web["spec"]["template"]["spec"]["containers"][0]["ports"] == [
        {"containerPort": 80, "protocol": "TCP"}
    ]
    assert ingress is not None
    (path,) = ingress["spec"]["rules"][0]["http"]["paths"]
    assert path["backend"] == {"service": {"name": "web", "port": {"number": 80}}}
    assert quota is not None
    assert quota["spec"]["hard"] == {"cpu": "1", "pods": "3"}
    assert "evicted" in kubectl("drain", "one", "--ignore-daemonsets", "--timeout=20s")
    assert kubectl("auth", "can-i", "delete", "nodes").strip() == "yes"
    assert "admin" in kubectl("auth", "whoami")
    refused = kubectl("get", "pods", "--as=somebody", ok=False)
    assert 'User "somebody" cannot list resource "pods"' in refused


@needs_kubectl
def test_kubectl_shows_mistakes_and_conflicts(kubectl: Kubectl) -> None:
    wrong = config_map("one")
    wrong["date"] = {}
    assert 'unknown field "date"' in kubectl("apply", "-f", "-", stdin=wrong, ok=False)
    kubectl("apply", "--server-side", "--field-manager=first", "-f", "-", stdin=config_map("one", a="1"))
    said = kubectl(
        "apply",
        "--server-side",
        "--field-manager=second",
        "-f",
        "-",
        stdin=config_map("one", a="2"),
        ok=False,
    )
    assert 'Apply failed with 1 conflict: conflict with "first" using v1: .data.a' in said


@needs_kubectl
def test_kubectl_knows_custom_resources_and_explains_fields(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=definition())
    kubectl("wait", "crd/models.inference.example.com", "--for=condition=Established", "--timeout=10s")
    model = {"apiVersion": "inference.example.com/v1", "kind": "Model", "metadata": {"name": "m"}}
    kubectl("apply", "-f", "-", stdin=model)
    assert "STATE" in kubectl("get", "mdl")
    assert "models.inference.example.com" in kubectl("api-resources", "-o", "name")
    assert "replicas" in kubectl("explain", "deployment.spec")


def test_the_python_clients_dynamic_interface_works(
    api: KubernetesApi, kubeconfig: Path, tmp_path: Path
) -> None:
    api.objects.put(node("one"))
    client: ApiClient = config.new_client_from_config(config_file=str(kubeconfig))
    with client:
        dynamic_client = dynamic.DynamicClient(client, cache_file=str(tmp_path / "discovery.json"))
        maps = dynamic_client.resources.get(api_version="v1", kind="ConfigMap")
        maps.create(body=config_map("one", a="1"), namespace="default")
        maps.patch(
            body={"data": {"b": "2"}},
            name="one",
            namespace="default",
            content_type="application/merge-patch+json",
        )
        assert dict(maps.get(name="one", namespace="default").data) == {"a": "1", "b": "2"}
        applied = maps.server_side_apply(
            body=config_map("two", c="3"), name="two", namespace="default", field_manager="tester"
        )
        assert applied.metadata.managedFields[0].manager == "tester"
        names = {item.metadata.name for item in maps.get(namespace="default").items}
        assert {"one", "two"} <= names
        maps.delete(name="one", namespace="default")
        deployments = dynamic_client.resources.get(api_version="apps/v1", kind="Deployment")
        deployments.create(body=deployment("web", 1), namespace="default")
        events = deployments.watch(namespace="default", timeout=10)
        # The first event may come before the deployment has a status.
        statuses = (event["object"].status for event in events)
        assert any(status is not None and status.readyReplicas == 1 for status in statuses)


def test_go_clients_get_the_openapi_document_they_insist_on(admin: Client) -> None:
    wanted = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    with admin.open("GET", "/openapi/v2", Accept=wanted) as response:
        document = response.read()
        assert response.headers["Content-Type"] == wanted
    assert document.startswith(b"\x0a\x032.0"), "field 1, swagger"
    assert b"io.k8s.api.V1Deployment" in document
    index = admin.ok("GET", "/openapi/v3")
    assert "apis/apps/v1" in index["paths"]
    apps = admin.ok("GET", "/openapi/v3/apis/apps/v1")
    containers = apps["components"]["schemas"]["io.k8s.api.V1PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"


def test_aggregated_discovery_follows_definitions(admin: Client) -> None:
    wanted = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    admin.ok("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())

    def groups() -> dict[str, Any]:
        answer = admin.call("GET", "/apis", Accept=wanted)
        assert answer.headers["Content-Type"] == wanted
        return {item["metadata"]["name"]: item for item in answer.body["items"]}

    found = groups()["inference.example.com"]
    assert [version["version"] for version in found["versions"]] == ["v1", "v1alpha1"]
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/models.inference.example.com"
    admin.ok("DELETE", path)
    eventually(lambda: "inference.example.com" not in groups())
