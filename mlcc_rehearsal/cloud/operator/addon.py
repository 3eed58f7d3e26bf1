"""The add-on in the EKS add-on service: when it is refused, what it lays down, which status it earns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mlcc_rehearsal.cloud import durations
from mlcc_rehearsal.cloud.eks.models import Cluster, EksBackend
from mlcc_rehearsal.cloud.operator import objects
from mlcc_rehearsal.cloud.operator.controller import Controller
from mlcc_rehearsal.cloud.operator.settings import ADDON, NAMESPACE, Settings, read
from mlcc_rehearsal.kubernetes_api.webhooks import CERTIFICATE_ANNOTATION

if TYPE_CHECKING:
    from mlcc_rehearsal.kubernetes_api.objects import ObjectStore

_PREFIX = "SageMakerHyperPodInference"
_PART = "operator controllers"
_PENDING = (
    "The add-on is unhealthy because all deployments have all pods unscheduled no nodes available to "
    "schedule pods"
)
_SHORT = "The add-on is unhealthy because it doesn't have the desired number of replicas."
# What pods do not change: somebody has to act first.
_SETTLED = ("DELETING", "CREATE_FAILED", "UPDATE_FAILED")

Object = dict[str, Any]


class InferenceOperator:
    """How this add-on differs from others (see :mod:`mlcc_rehearsal.cloud.eks.addon_health`)."""

    name = ADDON

    def obstacle(self, addon: Mapping[str, Any]) -> dict[str, Any] | None:
        """The issue of an add-on whose chart refuses its values: the law "operator-role-prefix"."""
        settings = _settings(addon)
        if settings.execution_role_name.startswith(_PREFIX):
            return None
        message = (
            f"executionRoleArn {settings.execution_role} is not valid for the add-on: the name of the role "
            f"must start with {_PREFIX}"
        )
        return {"code": "ConfigurationConflict", "message": message, "resourceIds": []}

    def objects(self, eks: EksBackend, cluster: Cluster, addon: Mapping[str, Any]) -> list[Object]:
        """What it lays down for its version and values."""
        vpc = cluster.description["resourcesVpcConfig"]["vpcId"]
        return objects.of(_settings(addon), cluster=cluster.name, region=eks.region_name, vpc=vpc)

    def lay_down(self, eks: EksBackend, cluster: Cluster, addon: dict[str, Any]) -> None:
        """Put its objects there, and take away those of a part that has been switched off."""
        addon.pop("unhealthy_since", None)
        store = cluster.kubernetes.objects if cluster.kubernetes is not None else None
        if store is None:
            return
        wanted = self.objects(eks, cluster, addon)
        for each in _other_webhooks(store, wanted):
            store.put(each)
        settings = _settings(addon)
        names = objects.deployments(settings)
        for deployment in store.list("apps/v1", "Deployment", NAMESPACE, f"{objects.LABEL}={objects.OWNER}"):
            if deployment["metadata"]["name"] not in names:
                store.delete("apps/v1", "Deployment", NAMESPACE, deployment["metadata"]["name"])
        known = _controllers(eks).get(cluster.name)
        if known is None or known.cluster is not cluster or known.settings != settings:
            _controllers(eks)[cluster.name] = Controller(eks, cluster, settings)

    def take_away(self, eks: EksBackend, cluster: Cluster, addon: Mapping[str, Any]) -> None:
        """Take its objects out of the cluster, the controller first; definitions and namespace stay.

        That definitions stay is unverified; custom resources that are still there keep their finalizers
        either way, because nobody is left to attend to them.
        """
        _controllers(eks).pop(cluster.name, None)
        if cluster.kubernetes is not None:
            staying = ("Namespace", "CustomResourceDefinition")
            wanted = self.objects(eks, cluster, addon)
            cluster.kubernetes.delete(*(each for each in reversed(wanted) if each["kind"] not in staying))

    def judge(self, eks: EksBackend, cluster: Cluster, addon: dict[str, Any]) -> bool:
        """Give the add-on the status that its deployments earn; whether it may change with time alone.

        The laws "operator-capacity", "operator-prerequisites", "operator-cluster-arn".
        """
        store = cluster.kubernetes.objects if cluster.kubernetes is not None else None
        if store is None or not addon.get("waits") or addon["status"] in _SETTLED:
            return False
        names = objects.deployments(_settings(addon))
        found = [store.get("apps/v1", "Deployment", NAMESPACE, name) for name in names]
        if all(_complete(each) for each in found):
            addon.pop("unhealthy_since", None)
            addon["status"], addon["health"] = "ACTIVE", {"issues": []}
            return False
        trouble = _trouble(store)
        now = eks.account.clock.now()
        if not trouble:
            addon.pop("unhealthy_since", None)
            return True
        since = addon.setdefault("unhealthy_since", now)
        if now - since >= durations.seconds("eks.addon.degraded"):
            issue = {"code": "InsufficientNumberOfReplicas", "message": trouble, "resourceIds": []}
            addon["status"], addon["health"] = "DEGRADED", {"issues": [issue]}
        return str(addon["status"]) != "DEGRADED"


def controller_of(eks: EksBackend, cluster: Cluster) -> Controller | None:
    """The controller of the add-on in this cluster, or None."""
    found = _controllers(eks).get(cluster.name)
    return found if found is not None and found.cluster is cluster else None


def _controllers(eks: EksBackend) -> dict[str, Controller]:
    regions: dict[str, dict[str, Controller]] = eks.account.parts.setdefault(_PART, {})
    return regions.setdefault(eks.region_name, {})


def _settings(addon: Mapping[str, Any]) -> Settings:
    return read(addon["addonVersion"], addon.get("configurationValues"))


def _complete(deployment: Object | None) -> bool:
    if deployment is None:
        return False
    wanted = deployment["spec"].get("replicas", 1)
    status = deployment.get("status", {})
    ready, updated = status.get("readyReplicas", 0), status.get("updatedReplicas", 0)
    return bool(ready == updated == wanted)


def _trouble(store: ObjectStore) -> str:
    """What is wrong with pods that are more than on their way; "" when they are merely starting."""
    pods = store.list("v1", "Pod", NAMESPACE)
    if not pods or all(_unscheduled(pod) for pod in pods):
        return _PENDING
    starting = ("", "ContainerCreating")
    for pod in pods:
        waiting = [
            (status.get("state", {}).get("waiting") or {}).get("reason", "")
            for status in pod.get("status", {}).get("containerStatuses") or []
        ]
        if _unscheduled(pod) or any(reason not in starting for reason in waiting):
            return _SHORT
    return ""


def _unscheduled(pod: Object) -> bool:
    return any(
        condition["type"] == "PodScheduled" and condition["status"] == "False"
        for condition in pod.get("status", {}).get("conditions") or []
    )


def _other_webhooks(store: ObjectStore, wanted: list[Object]) -> list[Object]:
    """The objects as they end up beside another load balancer controller's webhooks.

    The configuration has one name for both: it goes on calling the service that it named, with the authority
    of the one who wrote last. This is the law "one-load-balancer-controller".
    """
    return [_shared(store, each) if each["metadata"]["name"] == objects.WEBHOOKS else each for each in wanted]


def _shared(store: ObjectStore, wanted: Object) -> Object:
    before = store.get(wanted["apiVersion"], wanted["kind"], None, objects.WEBHOOKS)
    service = _called(before)
    if before is None or not service or service["namespace"] == NAMESPACE:
        return wanted
    annotations = before["metadata"].get("annotations") or {}
    vouched = {CERTIFICATE_ANNOTATION: f"{objects.WEBHOOK_SERVICE}.{NAMESPACE}"}
    before["metadata"]["annotations"] = {**annotations, **vouched}
    return before


def _called(configuration: Object | None) -> Object:
    for webhook in (configuration or {}).get("webhooks") or []:
        service: Object = webhook.get("clientConfig", {}).get("service") or {}
        return service
    return {}
