"""What the API server fills in when an object leaves it out.

Source: ``pkg/apis/*/v1/defaults.go`` of Kubernetes; only the defaults a client of this project can see
in a difference or a wait.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from mlcc_rehearsal.kubernetes_api.status import Object


def apply_defaults(obj: Object) -> None:
    """Fill in the defaults of a built-in kind, in place."""
    filler = _FILLERS.get(obj.get("kind", ""))
    if filler is not None:
        filler(obj)


def pod_spec_defaults(spec: Object) -> None:
    """Defaults of a pod's specification, in place."""
    for key, value in (
        ("restartPolicy", "Always"),
        ("terminationGracePeriodSeconds", 30),
        ("dnsPolicy", "ClusterFirst"),
        ("securityContext", {}),
        ("schedulerName", "default-scheduler"),
    ):
        spec.setdefault(key, value)
    if "serviceAccountName" in spec:
        spec.setdefault("serviceAccount", spec["serviceAccountName"])
    for container in [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]:
        _container_defaults(container)


def _container_defaults(container: Object) -> None:
    image = str(container.get("image", ""))
    latest = image.endswith(":latest") or ":" not in image.rpartition("/")[2]
    container.setdefault("resources", {})
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    container.setdefault("imagePullPolicy", "Always" if latest and "@" not in image else "IfNotPresent")
    for port in container.get("ports") or []:
        port.setdefault("protocol", "TCP")


def _template_defaults(spec: Object) -> None:
    template = spec.get("template")
    if isinstance(template, dict) and isinstance(template.get("spec"), dict):
        template.setdefault("metadata", {}).setdefault("creationTimestamp", None)
        pod_spec_defaults(template["spec"])


def _deployment(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    _template_defaults(spec)
    spec.setdefault("replicas", 1)
    strategy = spec.setdefault("strategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)


def _replica_set(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    _template_defaults(spec)
    spec.setdefault("replicas", 1)


def _stateful_set(obj: Object) -> None:
    _replica_set(obj)
    spec = obj["spec"]
    spec.setdefault("podManagementPolicy", "OrderedReady")
    spec.setdefault("updateStrategy", {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}})
    spec.setdefault("revisionHistoryLimit", 10)


def _daemon_set(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    _template_defaults(spec)
    spec.setdefault(
        "updateStrategy",
        {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
    )
    spec.setdefault("revisionHistoryLimit", 10)


def _job(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    metadata = obj["metadata"]
    _template_defaults(spec)
    spec.setdefault("backoffLimit", 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    if "completions" not in spec:
        spec.setdefault("parallelism", 1)
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    if not spec.get("manualSelector") and "selector" not in spec and "uid" in metadata:
        labels = {"batch.kubernetes.io/controller-uid": metadata["uid"]}
        spec["selector"] = {"matchLabels": labels}
        template_metadata = spec.setdefault("template", {}).setdefault("metadata", {})
        named = {"batch.kubernetes.io/job-name": metadata["name"], "job-name": metadata["name"]}
        template_metadata.setdefault("labels", {}).update(
            {**labels, "controller-uid": metadata["uid"], **named}
        )


def _pod(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    pod_spec_defaults(spec)
    spec.setdefault("serviceAccountName", "default")
    spec.setdefault("serviceAccount", spec["serviceAccountName"])
    spec.setdefault("enableServiceLinks", True)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    spec.setdefault("priority", 0)
    tolerations = spec.setdefault("tolerations", [])
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        if not any(item.get("key") == key for item in tolerations):
            tolerations.append(
                {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            )


def _service(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")
    if spec["type"] in ("NodePort", "LoadBalancer"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    for port in spec.get("ports") or []:
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))


def _secret(obj: Object) -> None:
    obj.setdefault("type", "Opaque")
    plain = obj.pop("stringData", None) or {}
    for key, value in plain.items():
        data = obj.setdefault("data", {})
        data[key] = base64.b64encode(str(value).encode()).decode("ascii")


def _namespace(obj: Object) -> None:
    obj.setdefault("spec", {}).setdefault("finalizers", ["kubernetes"])
    obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = obj["metadata"]["name"]


def _role_binding(obj: Object) -> None:
    obj.get("roleRef", {}).setdefault("apiGroup", "rbac.authorization.k8s.io")
    for subject in obj.get("subjects") or []:
        if subject.get("kind") in ("User", "Group"):
            subject.setdefault("apiGroup", "rbac.authorization.k8s.io")


def _storage_class(obj: Object) -> None:
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


def _webhooks(obj: Object) -> None:
    for webhook in obj.get("webhooks") or []:
        for key, value in (
            ("failurePolicy", "Fail"),
            ("matchPolicy", "Equivalent"),
            ("namespaceSelector", {}),
            ("objectSelector", {}),
            ("timeoutSeconds", 10),
        ):
            webhook.setdefault(key, value)
        if obj["kind"] == "MutatingWebhookConfiguration":
            webhook.setdefault("reinvocationPolicy", "Never")
        service: Any = webhook.get("clientConfig", {}).get("service")
        if service is not None:
            service.setdefault("port", 443)
        for rule in webhook.get("rules") or []:
            rule.setdefault("scope", "*")


def _definition(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("conversion", {"strategy": "None"})
    names = spec.get("names", {})
    names.setdefault("singular", str(names.get("kind", "")).lower())
    names.setdefault("listKind", f"{names.get('kind', '')}List")


_FILLERS: dict[str, Callable[[Object], None]] = {
    "ClusterRoleBinding": _role_binding,
    "CustomResourceDefinition": _definition,
    "DaemonSet": _daemon_set,
    "Deployment": _deployment,
    "Job": _job,
    "MutatingWebhookConfiguration": _webhooks,
    "Namespace": _namespace,
    "Pod": _pod,
    "ReplicaSet": _replica_set,
    "RoleBinding": _role_binding,
    "Secret": _secret,
    "Service": _service,
    "StatefulSet": _stateful_set,
    "StorageClass": _storage_class,
    "ValidatingWebhookConfiguration": _webhooks,
}
