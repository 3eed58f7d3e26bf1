"""What the operator looks for before it starts, and which add-ons bring it.

Source: the operator's chart, ``config/manager/manager.yaml``: the init container ``check-csi-drivers`` wants
the CSIDriver objects and cert-manager's definitions and says in its termination message what is missing
(exit code 1); the documentation of the setup: "install the dependency add-ons first", the operator fails to
install without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlcc_rehearsal.cloud.operator import definitions

if TYPE_CHECKING:
    from mlcc_rehearsal.cloud.eks.models import Cluster
    from mlcc_rehearsal.kubernetes_api.objects import ObjectStore

ADDONS = ("cert-manager", "aws-mountpoint-s3-csi-driver", "aws-fsx-csi-driver", "metrics-server")

_DRIVERS = {"aws-mountpoint-s3-csi-driver": "s3.csi.aws.com", "aws-fsx-csi-driver": "fsx.csi.aws.com"}
_METRICS = "v1beta1.metrics.k8s.io"
_CERTIFICATES = ("certificaterequests.cert-manager.io", "certificates.cert-manager.io")
_DEFINITION = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


def objects(addon: str) -> list[dict[str, Any]]:
    """What a prerequisite add-on lays down beside its workloads."""
    if addon in _DRIVERS:
        return [
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSIDriver",
                "metadata": {"name": _DRIVERS[addon]},
                "spec": {"attachRequired": False, "podInfoOnMount": addon.startswith("aws-mountpoint")},
            }
        ]
    if addon == "metrics-server":
        return [
            service("metrics-server", "kube-system", ("app.kubernetes.io/name", "metrics-server")),
            api_service("metrics.k8s.io", "v1beta1", "metrics-server", "kube-system"),
        ]
    if addon == "cert-manager":
        return [
            *definitions.of_cert_manager(),
            service("cert-manager-webhook", "cert-manager", ("app", "webhook")),
            _certificate_webhook(),
        ]
    return []


def service(name: str, namespace: str, label: tuple[str, str], port: int = 443) -> dict[str, Any]:
    """A service before the pods with one label."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "selector": {label[0]: label[1]},
            "ports": [{"name": "https", "port": port, "protocol": "TCP", "targetPort": 10250}],
        },
    }


def api_service(group: str, version: str, name: str, namespace: str) -> dict[str, Any]:
    """An API group that a service answers for."""
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"{version}.{group}"},
        "spec": {
            "group": group,
            "version": version,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "service": {"name": name, "namespace": namespace, "port": 443},
        },
    }


def _certificate_webhook() -> dict[str, Any]:
    rule = {
        "apiGroups": ["cert-manager.io", "acme.cert-manager.io"],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["*/*"],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "cert-manager-webhook"},
        "webhooks": [
            {
                "name": "webhook.cert-manager.io",
                "admissionReviewVersions": ["v1"],
                "clientConfig": {
                    "service": {
                        "name": "cert-manager-webhook",
                        "namespace": "cert-manager",
                        "path": "/validate",
                    }
                },
                "failurePolicy": "Fail",
                "sideEffects": "None",
                "rules": [rule],
            }
        ],
    }


def missing(cluster: Cluster, store: ObjectStore) -> str:
    """What keeps the controller's init container from ending well, as its message says it; "" for nothing.

    An add-on that is installed must be ACTIVE; one that is not may be replaced by what another installer
    put in its place.  This is the law "operator-prerequisites".
    """
    drivers = [
        driver
        for addon, driver in sorted(_DRIVERS.items())
        if not _there(cluster, addon) or store.get("storage.k8s.io/v1", "CSIDriver", None, driver) is None
    ]
    if drivers:
        return f"Missing required CSI drivers: {', '.join(drivers)}"
    certificates = [
        name
        for name in _CERTIFICATES
        if not _there(cluster, "cert-manager") or store.get(*_DEFINITION, None, name) is None
    ]
    if certificates:
        return f"Missing required CRDs: {', '.join(certificates)}"
    metrics = store.get("apiregistration.k8s.io/v1", "APIService", None, _METRICS)
    if metrics is None or not _there(cluster, "metrics-server"):
        return f"Missing required API: {_METRICS}"
    return ""


def _there(cluster: Cluster, addon: str) -> bool:
    found = cluster.addons.get(addon)
    return found is None or found["status"] in ("ACTIVE", "UPDATING")
