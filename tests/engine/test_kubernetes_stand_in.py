"""The kubernetes stand-in under the real engine, against the rehearsal's own Kubernetes API."""

import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mlcc_rehearsal.kubernetes_api import Caller, KubernetesApi

SPEED = 120.0
OPERATOR = "AKIAOPERATOR00000001"
STRANGER = "AKIASTRANGER00000001"

PROGRAM = """
import os
import pulumi
import pulumi_kubernetes as k8s

provider = k8s.Provider("cluster", kubeconfig=os.environ["CLUSTER_KUBECONFIG"])
opts = pulumi.ResourceOptions(provider=provider)
team = k8s.core.v1.Namespace("team", metadata={"name": "team"}, opts=opts)
settings = k8s.core.v1.ConfigMap(
    "settings",
    metadata={"namespace": team.metadata.name},
    data={"colour": os.environ.get("COLOUR", "blue")},
    opts=opts,
)
key = k8s.core.v1.Secret(
    "key",
    metadata={"namespace": team.metadata.name, "name": "key"},
    string_data={"token": pulumi.Output.secret("hidden-word")},
    opts=opts,
)
web = k8s.apps.v1.Deployment(
    "web",
    metadata={"namespace": team.metadata.name, "name": "web", "labels": {"tier": "front"}},
    spec={
        "replicas": int(os.environ.get("REPLICAS", "2")),
        "selector": {"match_labels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "nginx:1"}]},
        },
    },
    opts=opts,
)
controller = k8s.helm.v3.Release(
    "controller",
    name="aws-load-balancer-controller",
    namespace="kube-system",
    chart="aws-load-balancer-controller",
    version=os.environ.get("CHART", "1.14.0"),
    repository_opts={"repo": "https://aws.github.io/eks-charts"},
    values={
        "clusterName": "demo",
        "enableServiceMutatorWebhook": False,
        "serviceAccount": {
            "annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/alb"}
        },
    },
    opts=opts,
)
pulumi.export("settings", settings.metadata.name)
pulumi.export("status", controller.status)
"""


SMALL = PROGRAM[: PROGRAM.index("controller = ")] + 'pulumi.export("settings", settings.metadata.name)\n'


@dataclass
class Rehearsed:
    """A project whose kubernetes provider is the stand-in, and the cluster it talks to."""

    api: KubernetesApi
    folder: Path
    environment: dict[str, str]

    def pulumi(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run one command to its end."""
        return subprocess.run(
            ["pulumi", *arguments, "--non-interactive", "--color=never"],
            cwd=self.folder,
            env={**self.environment, **variables},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    def run(self, command: str, *arguments: str, **variables: str) -> str:
        """Run a command that must succeed; answers what it printed."""
        done = self.pulumi(command, "--stack=dev", "--yes", "--skip-preview", *arguments, **variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def fail(self, command: str, *arguments: str, **variables: str) -> str:
        """Run a command that must fail; answers what it printed, on one line."""
        done = self.pulumi(command, "--stack=dev", "--yes", "--skip-preview", *arguments, **variables)
        assert done.returncode != 0, done.stdout
        return " ".join((done.stdout + done.stderr).split())

    def write(self, program: str) -> None:
        """Set the program."""
        (self.folder / "__main__.py").write_text(textwrap.dedent(program))


def ready_node(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "spec": {},
        "status": {"allocatable": {"pods": "29"}, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def kubeconfig(api: KubernetesApi) -> dict[str, Any]:
    command = ["--region", "us-west-2", "eks", "get-token", "--cluster-name", "demo", "--output", "json"]
    cluster = {"server": api.endpoint, "certificate-authority-data": api.certificate_authority_data}
    execute = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "aws",
        "args": command,
        "interactiveMode": "Never",
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "demo", "cluster": cluster}],
        "users": [{"name": "demo", "user": {"exec": execute}}],
        "contexts": [{"name": "demo", "context": {"cluster": "demo", "user": "demo"}}],
        "current-context": "demo",
    }


@pytest.fixture
def api() -> Iterator[KubernetesApi]:
    callers = {
        OPERATOR: Caller("arn:aws:iam::123456789012:user/operator", (), ("AmazonEKSClusterAdminPolicy",)),
        STRANGER: Caller("arn:aws:iam::123456789012:user/stranger"),
    }
    api = KubernetesApi("demo", callers.get, clock_now=lambda: time.monotonic() * SPEED)
    api.start()
    api.objects.put(ready_node("one"))
    yield api
    api.stop()


@pytest.fixture
def rehearsed(
    api: KubernetesApi, tmp_path: Path, engine_environment: Callable[..., dict[str, str]]
) -> Iterator[Rehearsed]:
    commands = tmp_path / "bin"
    commands.mkdir()
    aws = commands / "aws"
    aws.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mlcc_rehearsal.aws_cli "$@"\n')
    aws.chmod(0o755)
    environment = engine_environment()
    root = str(Path(__file__).parents[2])
    environment |= {
        "PATH": f"{commands}{os.pathsep}{environment['PATH']}",
        "PYTHONPATH": root,
        "PYTHONDONTWRITEBYTECODE": "1",
        "MLCC_CLOCK_SPEED": str(SPEED),
        "AWS_ACCESS_KEY_ID": OPERATOR,
        "AWS_SECRET_ACCESS_KEY": "secret",
        "CLUSTER_KUBECONFIG": json.dumps(kubeconfig(api)),
    }
    plugin = subprocess.Popen(
        [sys.executable, "-m", "mlcc_rehearsal.plugins", "kubernetes"],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert plugin.stdout is not None
        port = json.loads(plugin.stdout.readline())["kubernetes"]
        environment["PULUMI_DEBUG_PROVIDERS"] = f"kubernetes:{port}"
        folder = tmp_path / "project"
        folder.mkdir()
        (folder / "Pulumi.yaml").write_text(
            f"name: probe\nruntime:\n  name: python\n  options:\n    virtualenv: {sys.prefix}\n"
        )
        project = Rehearsed(api, folder, environment)
        project.write(PROGRAM)
        made = project.pulumi("stack", "init", "dev")
        assert made.returncode == 0, made.stderr
        yield project
    finally:
        plugin.terminate()
        plugin.communicate(timeout=10)


def test_a_program_lives_its_whole_life_in_the_cluster(rehearsed: Rehearsed) -> None:
    objects = rehearsed.api.objects
    rehearsed.run("up")
    outputs = json.loads(rehearsed.pulumi("stack", "output", "--json", "--stack=dev").stdout)
    assert outputs["settings"].startswith("settings-")
    assert outputs["status"]["status"] == "deployed"
    made = objects.get("v1", "ConfigMap", "team", outputs["settings"])
    assert made is not None
    assert made["data"] == {"colour": "blue"}
    deployment = objects.get("apps/v1", "Deployment", "kube-system", "aws-load-balancer-controller")
    assert deployment is not None
    assert deployment["status"]["readyReplicas"] == 2, "the release is done once its pods are ready"
    account = objects.get("v1", "ServiceAccount", "kube-system", "aws-load-balancer-controller")
    assert account is not None
    assert account["metadata"]["annotations"]["eks.amazonaws.com/role-arn"].endswith("role/alb")
    (record,) = objects.list("v1", "Secret", "kube-system", "owner=helm")
    assert record["metadata"]["name"] == "sh.helm.release.v1.aws-load-balancer-controller.v1"
    state = rehearsed.pulumi("stack", "export", "--stack=dev").stdout
    assert "hidden-word" not in state, "the state keeps the secret's text encrypted"
    assert "aGlkZGVuLXdvcmQ=" not in state, "and its base64 form too"

    again = rehearsed.run("up", "--expect-no-changes")
    assert "7 unchanged" in again

    changed = rehearsed.run("up", REPLICAS="3", CHART="1.14.1", COLOUR="green")
    assert "2 updated" in changed
    assert "1 replaced" in changed, "a ConfigMap's data is never changed in place"
    assert objects.get("v1", "ConfigMap", "team", outputs["settings"]) is None
    assert [item["data"] for item in objects.list("v1", "ConfigMap", "team") if "colour" in item["data"]] == [
        {"colour": "green"}
    ]
    web = objects.get("apps/v1", "Deployment", "team", "web")
    assert web is not None
    assert web["status"]["readyReplicas"] == 3
    assert {entry["manager"].rpartition("-")[0] for entry in web["metadata"]["managedFields"]} >= {
        "pulumi-kubernetes"
    }
    revisions = {
        item["metadata"]["labels"]["version"]: item["metadata"]["labels"]["status"]
        for item in objects.list("v1", "Secret", "kube-system", "owner=helm")
    }
    assert revisions == {"1": "superseded", "2": "deployed"}

    rehearsed.run("destroy")
    assert objects.get("v1", "Namespace", None, "team") is None
    assert objects.get("apps/v1", "Deployment", "kube-system", "aws-load-balancer-controller") is None
    assert objects.list("v1", "Secret", "kube-system", "owner=helm") == []


def test_drift_is_found_by_refresh_and_repaired_by_up(rehearsed: Rehearsed) -> None:
    objects = rehearsed.api.objects
    rehearsed.write(SMALL)
    rehearsed.run("up")
    name = json.loads(rehearsed.pulumi("stack", "output", "--json", "--stack=dev").stdout)["settings"]
    objects.delete("v1", "ConfigMap", "team", name)
    web = objects.get("apps/v1", "Deployment", "team", "web")
    assert web is not None
    web["metadata"]["labels"]["tier"] = "changed by hand"[:7]
    objects.put(web)
    refreshed = rehearsed.run("refresh")
    assert "1 deleted" in refreshed
    assert "1 updated" in refreshed

    conflict = rehearsed.fail("up")
    assert 'conflict with "mlcc-rehearsal" using apps/v1: .metadata.labels.tier' in conflict

    forced = SMALL.replace(
        '"labels": {"tier": "front"}',
        '"labels": {"tier": "front"}, "annotations": {"pulumi.com/patchForce": "true"}',
    )
    rehearsed.write(forced)
    rehearsed.run("up")
    web = objects.get("apps/v1", "Deployment", "team", "web")
    assert web is not None
    assert web["metadata"]["labels"]["tier"] == "front"
    rehearsed.run("up", "--expect-no-changes")


def test_pods_without_room_fail_the_deployment_in_the_providers_words(rehearsed: Rehearsed) -> None:
    rehearsed.write(
        """
        import os
        import pulumi
        import pulumi_kubernetes as k8s

        provider = k8s.Provider("cluster", kubeconfig=os.environ["CLUSTER_KUBECONFIG"])
        k8s.apps.v1.Deployment(
            "web",
            metadata={"name": "web", "annotations": {"pulumi.com/timeoutSeconds": "60"}},
            spec={
                "replicas": 40,
                "selector": {"match_labels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "web", "image": "nginx:1"}]},
                },
            },
            opts=pulumi.ResourceOptions(provider=provider),
        )
        """
    )
    said = rehearsed.fail("up")
    assert "failed to fully initialize or become live: 'web' timed out waiting to be Ready" in said
    assert "Minimum number of live Pods was not attained" in said
    assert "0/1 nodes are available: 1 Too many pods." in said


def test_an_unknown_property_and_a_caller_without_rights_are_refused(rehearsed: Rehearsed) -> None:
    head = """
        import os
        import pulumi
        import pulumi_kubernetes as k8s

        provider = k8s.Provider("cluster", kubeconfig=os.environ["CLUSTER_KUBECONFIG"])
        """
    rehearsed.write(
        head
        + """
        k8s.core.v1.ConfigMap(
            "settings",
            metadata={"name": "settings", "owner": "me"},
            opts=pulumi.ResourceOptions(provider=provider),
        )
        """
    )
    assert 'unknown field "metadata.owner"' in rehearsed.fail("up")
    rehearsed.write(
        head
        + """
        k8s.core.v1.ConfigMap(
            "settings", metadata={"name": "settings"}, opts=pulumi.ResourceOptions(provider=provider)
        )
        """
    )
    config = kubeconfig(rehearsed.api)
    config["users"][0]["user"]["exec"]["env"] = [{"name": "AWS_ACCESS_KEY_ID", "value": STRANGER}]
    said = rehearsed.fail("up", CLUSTER_KUBECONFIG=json.dumps(config))
    assert (
        'configmaps is forbidden: User "arn:aws:iam::123456789012:user/stranger" cannot create resource'
        in said
    )


def test_an_existing_object_is_imported_updated_and_kept(rehearsed: Rehearsed) -> None:
    objects = rehearsed.api.objects
    metadata = {"name": "settings", "namespace": "default", "labels": {"old": "yes"}}
    data = {"colour": "blue"}
    objects.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    rehearsed.write(
        """
        import os
        import pulumi
        import pulumi_kubernetes as k8s

        provider = k8s.Provider("cluster", kubeconfig=os.environ["CLUSTER_KUBECONFIG"])
        k8s.core.v1.ConfigMap(
            "settings",
            metadata={"name": "settings", "labels": {"old": "yes", "new": "yes"}},
            data={"colour": "blue"},
            opts=pulumi.ResourceOptions(provider=provider, import_="default/settings"),
        )
        """
    )
    said = rehearsed.run("up")
    assert "1 imported" in said
    live = objects.get("v1", "ConfigMap", "default", "settings")
    assert live is not None
    assert live["metadata"]["labels"] == {"old": "yes", "new": "yes"}
    rehearsed.run("up", "--expect-no-changes")


def test_a_cluster_that_is_gone_is_unreachable_in_the_providers_words(
    rehearsed: Rehearsed,
) -> None:
    rehearsed.write("\n".join(PROGRAM.split("settings = ")[:1]))
    rehearsed.run("up")
    rehearsed.api.stop()
    said = rehearsed.fail("destroy")
    assert "configured Kubernetes cluster is unreachable. If the cluster was deleted, you can remove" in said
    assert 'the PULUMI_K8S_DELETE_UNREACHABLE environment variable set to "true"' in said
