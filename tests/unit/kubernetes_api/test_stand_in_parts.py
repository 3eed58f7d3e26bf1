"""The parts of the kubernetes stand-in that need no engine."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mlcc_rehearsal.kubernetes_api import KubernetesApi
from mlcc_rehearsal.plugins.kubernetes import configuration, differences, kinds, states
from mlcc_rehearsal.plugins.kubernetes.client import (
    ApiFailureError,
    Cluster,
    NoSuchKindError,
    UnreachableError,
)
from mlcc_rehearsal.plugins.kubernetes.helm import installation, records
from mlcc_rehearsal.plugins.kubernetes.helm.installation import ReleaseFailedError, Wanted
from mlcc_rehearsal.plugins.kubernetes.waiting import NotReadyError, Waiter
from mlcc_rehearsal.plugins.serving import Cancellation, ProviderError
from mlcc_rehearsal.plugins.values import UNKNOWN, Secret
from tests.unit.kubernetes_api.support import SPEED, Client, config_map, deployment, eventually, node

RELEASE = Wanted(
    name="alb",
    namespace="kube-system",
    chart="aws-load-balancer-controller",
    version="1.14.0",
    values={"clusterName": "demo", "fullnameOverride": "alb"},
    wait=True,
    timeout=300.0,
)


def kubeconfig_text(server: str, user: str = "one") -> str:
    return f"""
apiVersion: v1
kind: Config
clusters: [{{name: a, cluster: {{server: "{server}"}}}}, {{name: b, cluster: {{server: "https://b"}}}}]
contexts:
- {{name: a, context: {{cluster: a, user: {user}}}}}
- {{name: b, context: {{cluster: b, user: {user}}}}}
current-context: a
users: [{{name: {user}, user: {{}}}}]
"""


def test_only_another_cluster_replaces_the_provider() -> None:
    same = {"kubeconfig": kubeconfig_text("https://a")}
    assert configuration.differences(same, dict(same)) == ([], [])
    other_user = {"kubeconfig": kubeconfig_text("https://a", "two")}
    assert configuration.differences(same, other_user) == (["kubeconfig"], [])
    other_cluster = {"kubeconfig": kubeconfig_text("https://other")}
    assert configuration.differences(same, other_cluster) == (["kubeconfig"], ["kubeconfig"])
    assert configuration.differences(same, {**same, "context": "b"}) == (["context"], ["context"])
    unknown: dict[str, Any] = {"kubeconfig": UNKNOWN}
    assert configuration.differences(same, unknown) == (["kubeconfig"], ["kubeconfig"])


def test_a_cluster_identifier_decides_alone() -> None:
    first = {"kubeconfig": kubeconfig_text("https://a"), "clusterIdentifier": "one"}
    moved = {"kubeconfig": kubeconfig_text("https://other"), "clusterIdentifier": "one"}
    assert configuration.differences(first, moved) == (["kubeconfig"], [])
    replaced = {**first, "clusterIdentifier": "two"}
    assert configuration.differences(first, replaced) == (["clusterIdentifier"], ["clusterIdentifier"])
    added = {"kubeconfig": kubeconfig_text("https://a")}
    assert configuration.differences(added, first) == (["clusterIdentifier"], [])


def test_settings_that_are_not_known_are_refused_with_the_place_to_add_them() -> None:
    with pytest.raises(ProviderError, match=r"no setting 'kubeConfig'.*configuration\.py"):
        configuration.parse({"kubeConfig": "x"})
    with pytest.raises(ProviderError, match="does not model the provider setting 'renderYamlToDirectory'"):
        configuration.parse({"renderYamlToDirectory": "out"})


def test_a_kubeconfig_can_be_a_path_or_text(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(kubeconfig_text("https://a"))
    for given in (str(path), kubeconfig_text("https://a")):
        assert configuration.parse({"kubeconfig": given}).kubeconfig is not None
    broken = configuration.parse({"kubeconfig": "{"})
    assert broken.trouble.startswith("failed to parse kubeconfig data")


def test_tokens_of_the_sdk_are_known_and_others_are_not() -> None:
    kind = kinds.parse_token("kubernetes:rbac.authorization.k8s.io/v1:ClusterRole")
    assert (kind.api_version, kind.kind) == ("rbac.authorization.k8s.io/v1", "ClusterRole")
    assert kinds.parse_token("kubernetes:core/v1:ConfigMap").api_version == "v1"
    assert kinds.parse_token("kubernetes:core/v1:ConfigMapPatch").patch
    custom = kinds.parse_token("kubernetes:inference.example.com/v1:Model")
    assert kinds.is_custom(custom)
    with pytest.raises(ProviderError, match="has no property 'datas'"):
        kinds.check_properties(kinds.parse_token("kubernetes:core/v1:ConfigMap"), {"datas": {}})
    with pytest.raises(ProviderError, match="component of the real plugin"):
        kinds.parse_token("kubernetes:helm.sh/v4:Chart")
    with pytest.raises(ProviderError, match="list resources exist for compatibility"):
        kinds.parse_token("kubernetes:core/v1:ConfigMapList")


def test_changes_name_the_deepest_place_and_what_replaces() -> None:
    old = {"metadata": {"name": "a"}, "data": {"x.y": "1", "z": "2"}, "list": [{"n": 1}, {"n": 2}]}
    new = {"metadata": {"name": "b"}, "data": {"x.y": "3"}, "list": [{"n": 1}]}
    found = {change.text: change.kind for change in differences.changes(old, new)}
    assert found == {
        "metadata.name": "update",
        'data["x.y"]': "update",
        "data.z": "delete",
        "list[1]": "delete",
    }
    fields = differences.replacing_fields("v1", "Pod", {}, mutable_maps=False, mutable_secrets=False)
    image = differences.Change(("spec", "containers", 0, "image"), "update")
    assert differences.replaces(image, fields)
    fields = differences.replacing_fields(
        "apps/v1", "Deployment", {}, mutable_maps=False, mutable_secrets=False
    )
    assert not differences.replaces(differences.Change(("spec", "replicas"), "update"), fields)
    assert differences.changes({"limits": {"cpu": "1"}}, {"limits": {"cpu": "1000m"}}) == []


def test_what_is_secret_in_the_inputs_is_secret_in_the_state() -> None:
    inputs = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "k"}, "stringData": {"a": "b"}}
    live = {**inputs, "data": {"a": "Yg=="}}
    del live["stringData"]
    marked = {**inputs, "stringData": {"a": Secret("b")}}
    state = states.make(inputs, live, marked, "v1", "me")
    assert state["data"] == Secret({"a": "Yg=="})
    assert state["__inputs"]["stringData"]["a"] == Secret("b")
    assert states.normalized(inputs)["data"] == {"a": "Yg=="}


@pytest.fixture
def cluster(api: KubernetesApi, kubeconfig: Path) -> Iterator[Cluster]:
    cluster = Cluster(configuration.parse({"kubeconfig": kubeconfig.read_text()}))
    assert cluster.reachable, cluster.trouble
    yield cluster
    cluster.close()


@pytest.fixture
def waiter(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Waiter:
    monkeypatch.setenv("MLCC_CLOCK_SPEED", str(SPEED))
    return Waiter(cluster, Cancellation(), lambda text: None)


def install(cluster: Cluster, waiter: Waiter, wanted: Wanted) -> tuple[records.Record, list[str]]:
    said: list[str] = []
    return installation.install(cluster, wanted, waiter, said.append), said


def trouble(kubeconfig: Any) -> str:
    """Why a cluster cannot be reached with a kubeconfig."""
    cluster = Cluster(configuration.parse({"kubeconfig": kubeconfig}))
    cluster.close()
    return cluster.trouble


def with_(**changes: Any) -> Wanted:
    return Wanted(**{**RELEASE.__dict__, **changes})


def test_a_release_makes_its_objects_and_takes_them_away(
    api: KubernetesApi, cluster: Cluster, waiter: Waiter
) -> None:
    api.objects.put(node("one"))
    record, said = install(cluster, waiter, RELEASE)
    assert (record.status, record.revision, said) == ("deployed", 1, [])
    live = api.objects.get("apps/v1", "Deployment", "kube-system", "alb")
    assert live is not None
    assert live["metadata"]["annotations"]["meta.helm.sh/release-name"] == "alb"
    assert "--cluster-name=demo" in live["spec"]["template"]["spec"]["containers"][0]["args"]
    assert installation.names_of(record)["Deployment.apps/apps/v1"] == ["kube-system/alb"]
    hooks = api.objects.list("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration")
    assert "mservice.elbv2.k8s.aws" in {hook["name"] for hook in hooks[0]["webhooks"]}
    installation.uninstall(cluster, "kube-system", "alb", waiter, wait=True, timeout=60.0)
    assert api.objects.get("apps/v1", "Deployment", "kube-system", "alb") is None
    assert records.find(cluster, "kube-system", "alb") == []
    kept = "ingressclassparams.elbv2.k8s.aws"
    assert api.objects.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", None, kept) is not None


def test_helm_refuses_what_is_not_its_own(api: KubernetesApi, cluster: Cluster, waiter: Waiter) -> None:
    unwatched = with_(wait=False, values={**RELEASE.values, "enableServiceMutatorWebhook": False})
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "alb", "namespace": "kube-system"},
    }
    api.objects.put(account)
    with pytest.raises(ProviderError) as refused:
        install(cluster, waiter, unwatched)
    assert str(refused.value).startswith(
        'Unable to continue with install: ServiceAccount "alb" in namespace "kube-system" exists and cannot '
        "be imported into the current release: invalid ownership metadata; label validation error: missing "
        'key "app.kubernetes.io/managed-by": must be set to "Helm"'
    )
    api.objects.delete("v1", "ServiceAccount", "kube-system", "alb")
    install(cluster, waiter, unwatched)
    with pytest.raises(ProviderError, match="cannot re-use a name that is still in use"):
        install(cluster, waiter, unwatched)
    with pytest.raises(ProviderError, match='create: failed to create: namespaces "nowhere" not found'):
        install(cluster, waiter, with_(namespace="nowhere", name="x", chart="nvidia-device-plugin"))
    with pytest.raises(ProviderError, match="without a valid clusterName"):
        install(cluster, waiter, with_(name="other", values={}))


def test_a_release_whose_pods_find_no_room_fails(cluster: Cluster, waiter: Waiter) -> None:
    with pytest.raises(ReleaseFailedError, match="context deadline exceeded") as failed:
        install(cluster, waiter, with_(timeout=20.0))
    assert failed.value.record.status == "failed"
    assert [record.status for record in records.find(cluster, "kube-system", "alb")] == ["failed"]


def test_of_an_unknown_chart_only_the_record_is_made(cluster: Cluster, waiter: Waiter) -> None:
    record, said = install(
        cluster, waiter, with_(name="keda", chart="keda", create_namespace=True, namespace="keda")
    )
    assert (record.manifest, record.status) == ((), "deployed")
    assert "the objects of the chart 'keda' are not modelled" in said[0]


def test_a_cluster_without_credentials_or_answer_is_unreachable(api: KubernetesApi, kubeconfig: Path) -> None:
    parsed = configuration.parse({"kubeconfig": kubeconfig.read_text()})
    assert parsed.kubeconfig is not None
    unknown = dict(parsed.kubeconfig)
    unknown["users"] = [{"name": "admin", "user": {"token": "nobody"}}]
    assert trouble(unknown) == (
        "unable to load schema information from the API server: the server has asked for the client to "
        "provide credentials"
    )
    failing = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "/bin/false",
        "interactiveMode": "Never",
    }
    unknown["users"] = [{"name": "admin", "user": {"exec": failing}}]
    assert "getting credentials: exec: executable /bin/false failed" in trouble(unknown)
    api.stop()
    eventually(lambda: "connection refused" in trouble(parsed.kubeconfig))


def test_waiting_for_a_deletion_names_the_finalizers(admin: Client, cluster: Cluster, waiter: Waiter) -> None:
    held = config_map("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    made = admin.ok("POST", "/api/v1/namespaces/default/configmaps", held)
    assert cluster.delete("v1", "ConfigMap", "default", "held", "Foreground")
    with pytest.raises(NotReadyError, match="timed out waiting for the condition") as late:
        waiter.until_gone(made, 10.0)
    assert late.value.reasons == ["finalizers might be preventing deletion (example.com/hold)"]


def unfinished(cluster: Cluster) -> dict[str, Any]:
    """A Deployment that never becomes ready: there is no node."""
    return cluster.create(deployment("one", 1), "me")


def test_an_object_made_is_not_lost_when_the_wait_for_it_is_cancelled(
    cluster: Cluster, waiter: Waiter
) -> None:
    made = unfinished(cluster)
    waiter.cancellation.cancel()
    with pytest.raises(NotReadyError, match='Resource operation was cancelled for "one"') as caught:
        waiter.until_ready({}, made, 600.0)
    assert caught.value.obj["metadata"]["uid"] == made["metadata"]["uid"]


@pytest.mark.parametrize(
    "failure",
    [
        ApiFailureError(403, {"message": "forbidden"}),
        UnreachableError("no route to host"),
        NoSuchKindError("apps/v1", "Deployment"),
    ],
)
def test_an_object_made_is_not_lost_when_it_cannot_be_looked_at_any_more(
    cluster: Cluster, waiter: Waiter, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    made = unfinished(cluster)

    def fail(*arguments: Any) -> None:
        raise failure

    monkeypatch.setattr(cluster, "get", fail)
    with pytest.raises(NotReadyError, match=re.escape(str(failure))) as caught:
        waiter.until_ready({}, made, 600.0)
    assert caught.value.obj["metadata"]["uid"] == made["metadata"]["uid"]
    with pytest.raises(type(failure)):
        waiter.until_live({}, made, 600.0)
