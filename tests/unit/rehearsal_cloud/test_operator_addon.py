"""Laws of the inference operator's add-on: its values, what it needs to come up, what it conflicts with."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from mlcc_infra import versions
from mlcc_rehearsal.cloud import Cloud, CloudOptions
from mlcc_rehearsal.cloud.eks.addon_catalogue import addons
from mlcc_rehearsal.cloud.state import summarize
from mlcc_rehearsal.kubernetes_api.lifecycle import WriteOptions
from mlcc_rehearsal.kubernetes_api.status import ApiError
from mlcc_rehearsal.plugins.kubernetes.helm import load_balancer as chart
from tests.unit.rehearsal_cloud.operator_desk import (
    ADDON,
    MANAGER,
    NAMESPACE,
    PREREQUISITES,
    ROLE,
    OperatorDesk,
)

_ACCOUNTS = itertools.count(230000000001)


@pytest.fixture
def empty() -> Iterator[OperatorDesk]:
    """A cloud with nothing in it."""
    with Cloud.start(CloudOptions(account_id=str(next(_ACCOUNTS)), speed=1.0)) as cloud:
        yield OperatorDesk(cloud)


@pytest.fixture
def desk(empty: OperatorDesk) -> OperatorDesk:
    """A cluster with nodes, roles, bucket and prerequisites."""
    empty.prepare()
    return empty


def foreign(desk: OperatorDesk, obj: dict[str, Any]) -> None:
    """Make an object as another installer would, with a field manager of its own."""
    lifecycle = desk.objects._lifecycle
    resource = lifecycle.registry.by_kind(obj["apiVersion"], obj["kind"])
    assert resource is not None
    lifecycle.create(resource, obj["metadata"].get("namespace", ""), obj, WriteOptions(manager="helm"))


def make_service(desk: OperatorDesk) -> None:
    """Make a Service as a user does, through admission."""
    body = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "probe", "namespace": "default"},
        "spec": {"ports": [{"port": 80}]},
    }
    foreign(desk, body)
    desk.objects.delete("v1", "Service", "default", "probe")


def issue(desk: OperatorDesk, name: str = ADDON) -> dict[str, Any]:
    found: dict[str, Any] = desk.addon(name)["health"]["issues"][0]
    return found


def test_every_version_is_offered_and_asks_for_configuration(empty: OperatorDesk) -> None:
    found = empty.eks.describe_addon_versions(addonName=ADDON, kubernetesVersion="1.35")["addons"][0]
    offered = [each["addonVersion"] for each in found["addonVersions"]]
    assert sorted(offered) == sorted(versions.OPERATOR_ADDON_VERSIONS)
    assert all(each["requiresConfiguration"] for each in found["addonVersions"])
    assert all(each["architecture"] == ["amd64"] for each in found["addonVersions"])
    for each in addons()[ADDON]["versions"]:
        described = empty.eks.describe_addon_configuration(addonName=ADDON, addonVersion=each["version"])
        schema = json.loads(described["configurationSchema"])
        assert ("inferenceGateway" in schema["properties"]) == each["version"].startswith("v2."), each


def test_values_keep_to_the_schema_of_their_version(empty: OperatorDesk) -> None:
    empty.cluster(empty.network(nat=False))
    cases: list[tuple[str, dict[str, Any], str]] = [
        (
            "v2.1.0-eksbuild.1",
            {"executionRoleArn": None},
            "$.executionRoleArn: is missing but it is required",
        ),
        ("v2.1.0-eksbuild.1", {"alb": {"enabled": "yes"}}, "$.alb.enabled: string found, boolean expected"),
        ("v2.1.0-eksbuild.1", {"tlsCertificateS3Bucket": "mine"}, "does not match the regex pattern"),
        ("v2.1.0-eksbuild.1", {"cluster": "x"}, "$.cluster: is not defined in the schema"),
        ("v1.5.0-eksbuild.1", {}, "$.inferenceGateway: is not defined in the schema"),
    ]
    for version, changes, words in cases:
        with pytest.raises(ClientError) as refusal:
            empty.install(version, **changes)
        assert refusal.value.response["Error"]["Code"] == "InvalidParameterException"
        assert "Json schema validation failed with error: [" in str(refusal.value)
        assert words in str(refusal.value)
        assert empty.last_law() == "eks-addon-configuration"


def test_configuration_is_wanted_and_replaced_as_a_whole(desk: OperatorDesk) -> None:
    """The law operator-configuration-replaced."""
    with pytest.raises(ClientError, match="executionRoleArn: is missing"):
        desk.eks.create_addon(clusterName="demo", addonName=ADDON)
    desk.install()
    desk.until(lambda: desk.status() == "ACTIVE")
    with pytest.raises(ClientError, match="tlsCertificateS3Bucket: is missing"):
        desk.eks.update_addon(
            clusterName="demo",
            addonName=ADDON,
            configurationValues=json.dumps({"executionRoleArn": "arn:aws:iam::1:role/x"}),
        )
    # An older version's schema does not know what the stored values say.
    with pytest.raises(ClientError, match="inferenceGateway: is not defined"):
        desk.eks.update_addon(clusterName="demo", addonName=ADDON, addonVersion="v1.5.0-eksbuild.1")


def test_thirteen_pods_come_up_with_controller_keda_and_load_balancer_controller(desk: OperatorDesk) -> None:
    desk.install()
    assert desk.status() == "CREATING"
    desk.until(lambda: desk.status() == "ACTIVE")
    assert len(desk.pods()) == 13, "operator-capacity"
    names = {each["metadata"]["name"] for each in desk.objects.list("apps/v1", "Deployment", NAMESPACE)}
    assert names == {
        MANAGER,
        "hyperpod-inference-alb",
        "keda-operator",
        "keda-operator-metrics-apiserver",
        "keda-admission-webhooks",
    }
    account = desk.objects.get("v1", "ServiceAccount", NAMESPACE, MANAGER)
    assert account is not None
    assert account["metadata"]["annotations"]["eks.amazonaws.com/role-arn"].endswith(ROLE)
    assert desk.objects.get("v1", "ServiceAccount", NAMESPACE, "aws-load-balancer-controller") is not None
    served = [each["metadata"]["name"] for each in desk.objects.list(_CRD[0], _CRD[1])]
    for name in (
        "inferenceendpointconfigs.inference.sagemaker.aws.amazon.com",
        "inferencegatewayconfigs.inference.sagemaker.aws.amazon.com",
        "jumpstartmodels.inference.sagemaker.aws.amazon.com",
        "scaledobjects.keda.sh",
        "targetgroupbindings.elbv2.k8s.aws",
    ):
        assert name in served
    keda = desk.objects.get(
        "apiregistration.k8s.io/v1", "APIService", None, "v1beta1.external.metrics.k8s.io"
    )
    assert keda is not None
    assert keda["status"]["conditions"][0]["status"] == "True"
    desk.eks.delete_addon(clusterName="demo", addonName=ADDON)
    desk.pass_time(60)
    assert desk.pods() == []
    assert desk.objects.list("apps/v1", "Deployment", NAMESPACE) == []
    make_service(desk)


_CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


def test_without_a_prerequisite_the_controller_does_not_come_up(empty: OperatorDesk) -> None:
    """The law operator-prerequisites."""
    empty.prepare(prerequisites=False)
    empty.install()
    empty.until(lambda: empty.status() == "DEGRADED")
    assert issue(empty)["code"] == "InsufficientNumberOfReplicas"
    steps = {
        "Missing required CSI drivers: fsx.csi.aws.com, s3.csi.aws.com": "aws-fsx-csi-driver",
        "Missing required CSI drivers: s3.csi.aws.com": "aws-mountpoint-s3-csi-driver",
        "Missing required CRDs: certificaterequests.cert-manager.io, certificates.cert-manager.io": (
            "cert-manager"
        ),
        "Missing required API: v1beta1.metrics.k8s.io": "metrics-server",
    }
    assert set(steps.values()) == set(PREREQUISITES)
    for words, name in steps.items():
        (manager,) = empty.pods(MANAGER)
        checked = manager["status"]["initContainerStatuses"][0]
        assert checked["name"] == "check-csi-drivers"
        ended = checked["lastState"]["terminated"]
        assert (ended["exitCode"], ended["message"]) == (1, words)
        empty.prerequisites(name)
    empty.until(lambda: empty.status() == "ACTIVE")
    assert empty.pods(MANAGER)[0]["status"]["initContainerStatuses"][0]["ready"]


def test_pods_without_room_leave_the_add_on_degraded_until_there_is_some(empty: OperatorDesk) -> None:
    empty.prepare(nodes=1, pods=16)
    empty.install()
    empty.until(lambda: empty.status() == "DEGRADED")
    assert any(pod["status"]["phase"] == "Pending" for pod in empty.pods())
    empty.node("one-more")
    empty.until(lambda: empty.status() == "ACTIVE")
    assert empty.addon()["health"]["issues"] == []


def test_without_any_amd64_node_all_pods_are_unscheduled(empty: OperatorDesk) -> None:
    empty.prepare(nodes=0, prerequisites=False)
    empty.node("graviton", arch="arm64")
    empty.prerequisites()
    empty.install()
    empty.until(lambda: empty.status() == "DEGRADED")
    assert "all deployments have all pods unscheduled" in issue(empty)["message"]
    values = empty.values(affinity={"nodeAffinity": {}}, nodeSelector={"kubernetes.io/os": "linux"})
    empty.eks.update_addon(
        clusterName="demo",
        addonName=ADDON,
        configurationValues=json.dumps(values),
        resolveConflicts="OVERWRITE",
    )
    reasons = ("CrashLoopBackOff",)
    empty.until(lambda: any(waiting(pod) in reasons for pod in empty.pods(MANAGER)), 300)
    assert empty.status() != "ACTIVE", "operator-amd64"


def waiting(pod: dict[str, Any]) -> str:
    """Why a pod's first container waits."""
    statuses = pod["status"].get("containerStatuses") or [{}]
    return str(((statuses[0].get("state") or {}).get("waiting") or {}).get("reason", ""))


def test_without_the_clusters_arn_the_controller_crash_loops_since_v1_2_0(desk: OperatorDesk) -> None:
    """The law operator-cluster-arn."""
    desk.install("v1.2.0-eksbuild.1", hyperpodClusterArn="", inferenceGateway=None)
    desk.until(lambda: desk.status() == "DEGRADED")
    (manager,) = desk.pods(MANAGER)
    assert waiting(manager) == "CrashLoopBackOff"
    assert manager["status"]["containerStatuses"][0]["restartCount"] > 0
    assert "HYPERPOD_CLUSTER_ARN is empty" in desk.log()
    values = desk.values(inferenceGateway=None)
    desk.eks.update_addon(
        clusterName="demo",
        addonName=ADDON,
        configurationValues=json.dumps(values),
        resolveConflicts="OVERWRITE",
    )
    desk.until(lambda: desk.status() == "ACTIVE")
    desk.eks.delete_addon(clusterName="demo", addonName=ADDON)
    desk.pass_time(60)
    desk.install("v1.0.1-eksbuild.1", hyperpodClusterArn="", inferenceGateway=None)
    desk.until(lambda: desk.status() == "ACTIVE")


def test_the_gateway_is_on_by_default_since_v2_1_0_and_needs_its_role(desk: OperatorDesk) -> None:
    """The law operator-gateway-role."""
    desk.install(inferenceGateway=None)
    desk.until(lambda: desk.status() == "DEGRADED")
    (gateway,) = desk.pods("inference-gateway-controller")
    assert waiting(gateway) == "CrashLoopBackOff"
    trust = desk.web_trust(f"system:serviceaccount:{NAMESPACE}:inference-gateway-controller")
    role = desk.role("gateway", trust)
    values = desk.values(inferenceGateway={"enabled": True, "serviceAccount": {"roleArn": role}})
    desk.eks.update_addon(
        clusterName="demo",
        addonName=ADDON,
        configurationValues=json.dumps(values),
        resolveConflicts="OVERWRITE",
    )
    desk.until(lambda: desk.status() == "ACTIVE")
    assert len(desk.pods()) == 14


def test_the_gateway_is_off_by_default_in_v2_0_0(desk: OperatorDesk) -> None:
    desk.install("v2.0.0-eksbuild.2", inferenceGateway=None)
    desk.until(lambda: desk.status() == "ACTIVE")
    assert desk.pods("inference-gateway-controller") == []


def test_a_role_without_the_prefix_is_refused_by_the_chart(desk: OperatorDesk) -> None:
    """The law operator-role-prefix."""
    role = desk.execution_role("mlcc-demo-hyperpod-inference-role")
    desk.install(executionRoleArn=role)
    desk.pass_time(40)
    assert desk.status() == "CREATE_FAILED"
    assert "must start with SageMakerHyperPodInference" in issue(desk)["message"]
    assert desk.pods() == []


def test_rule_16_objects_of_another_installer_conflict_unless_overwritten(desk: OperatorDesk) -> None:
    """The law eks-addon-foreign-objects."""
    foreign(desk, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "keda"}})
    foreign(
        desk,
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": "v1beta1.external.metrics.k8s.io"},
            "spec": {
                "group": "external.metrics.k8s.io",
                "version": "v1beta1",
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "service": {"name": "keda-operator-metrics-apiserver", "namespace": "keda"},
            },
        },
    )
    desk.install(resolveConflicts="NONE")
    desk.pass_time(40)
    assert desk.status() == "CREATE_FAILED"
    assert issue(desk)["code"] == "ConfigurationConflict"
    named = "APIService.apiregistration.k8s.io v1beta1.external.metrics.k8s.io"
    assert named in issue(desk)["message"]
    desk.eks.delete_addon(clusterName="demo", addonName=ADDON)
    desk.pass_time(30)
    desk.install()
    desk.until(lambda: desk.status() == "ACTIVE")


def test_a_second_cert_manager_conflicts(empty: OperatorDesk) -> None:
    empty.prepare(prerequisites=False)
    foreign(
        empty,
        {
            "apiVersion": _CRD[0],
            "kind": _CRD[1],
            "metadata": {"name": "certificates.cert-manager.io"},
            "spec": {
                "group": "cert-manager.io",
                "names": {"kind": "Certificate", "plural": "certificates", "singular": "certificate"},
                "scope": "Namespaced",
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "schema": {"openAPIV3Schema": {"type": "object"}},
                    }
                ],
            },
        },
    )
    empty.eks.create_addon(clusterName="demo", addonName="cert-manager")
    empty.pass_time(40)
    assert empty.status("cert-manager") == "CREATE_FAILED"
    assert "certificates.cert-manager.io" in issue(empty, "cert-manager")["message"]


def test_two_load_balancer_controllers_answer_with_each_others_certificate(desk: OperatorDesk) -> None:
    """The law one-load-balancer-controller."""
    for each in (
        *chart.definitions(),
        *chart.render(chart.CHART, "kube-system", "3.5.0", {"clusterName": "demo"}),
    ):
        desk.objects.put(each)
    desk.until(lambda: _endpoints(desk, "kube-system"), 120, 10)
    make_service(desk)
    desk.install()
    desk.until(lambda: desk.status() == "ACTIVE")
    with pytest.raises(ApiError) as refusal:
        make_service(desk)
    assert 'failed calling webhook "mservice.elbv2.k8s.aws"' in refusal.value.message
    assert (
        "x509: certificate is valid for aws-load-balancer-webhook-service.hyperpod-inference-system, "
        "aws-load-balancer-webhook-service.hyperpod-inference-system.svc, "
        "not aws-load-balancer-webhook-service.kube-system.svc"
    ) in refusal.value.message


def _endpoints(desk: OperatorDesk, namespace: str) -> bool:
    found = desk.objects.get("v1", "Endpoints", namespace, "aws-load-balancer-webhook-service") or {}
    return any(subset.get("addresses") for subset in found.get("subsets") or [])


def test_a_webhook_without_ready_pods_refuses_services(empty: OperatorDesk) -> None:
    """The law webhook-before-pods."""
    empty.prepare(nodes=0, prerequisites=False)
    empty.install()
    empty.pass_time(60)
    with pytest.raises(ApiError, match="no endpoints available for service"):
        make_service(empty)


def test_an_api_service_without_its_pods_keeps_namespaces_from_going(desk: OperatorDesk) -> None:
    """The law api-service-without-service."""
    desk.install()
    desk.until(lambda: desk.status() == "ACTIVE")
    desk.objects.delete("v1", "Service", NAMESPACE, "keda-operator-metrics-apiserver")
    foreign(desk, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mine"}})
    desk.pass_time(30)
    desk.objects.delete("v1", "Namespace", None, "mine")
    desk.pass_time(600)
    left = desk.objects.get("v1", "Namespace", None, "mine")
    assert left is not None
    conditions = left["status"]["conditions"]
    assert conditions[0]["type"] == "NamespaceDeletionDiscoveryFailure"
    assert "external.metrics.k8s.io/v1beta1: the server is currently unable" in conditions[0]["message"]
    desk.objects.delete("apiregistration.k8s.io/v1", "APIService", None, "v1beta1.external.metrics.k8s.io")
    desk.until(lambda: desk.objects.get("v1", "Namespace", None, "mine") is None, 300)


def test_the_control_address_tells_of_watchers_and_load_balancers(desk: OperatorDesk) -> None:
    desk.install()
    desk.until(lambda: desk.pods() and "watcher enabled" in desk.log())
    with desk.cloud.account.lock:
        found = summarize(desk.cloud.account)["regions"][desk.region]
    assert found["inference_watchers"] == {"demo-hyperpod": "Enabled"}
    assert found["clusters"]["demo"]["addons"][ADDON] == "ACTIVE"
