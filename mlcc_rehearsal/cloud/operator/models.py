"""Models: a custom resource becomes a deployment that serves, an Ingress, a certificate, an endpoint.

Kinds and status: the operator's chart (``config/crd``).  That pods serve and that SageMaker has the endpoint
are two things: the second needs watcher and certificate and is only told of.  How the objects are called, and
that the Ingress is internet-facing (the setup wants public subnets tagged), is unverified.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from mlcc_rehearsal.cloud import durations
from mlcc_rehearsal.cloud.iam.service_accounts import Refusal
from mlcc_rehearsal.cloud.operator import certificates
from mlcc_rehearsal.cloud.operator.definitions import GROUP, MODEL_KINDS

if TYPE_CHECKING:
    from mlcc_rehearsal.cloud.operator.controller import Controller
    from mlcc_rehearsal.kubernetes_api.objects import ObjectStore

Object = dict[str, Any]

FINALIZER = f"{GROUP}/finalizer"
_VERSION = f"{GROUP}/v1"
_PORT = 8080
# Modelled seconds after which a certificate that AWS refused is tried again.
_RETRY = 60.0


def reconcile(controller: Controller, store: ObjectStore) -> bool:
    """One look at every model; whether to look again although nothing is written."""
    waiting = False
    for kind in MODEL_KINDS:
        for resource in store.list(_VERSION, kind):
            waiting = _Model(controller, store, resource).attend() or waiting
    return waiting


class _Model:
    """One custom resource, attended to once."""

    def __init__(self, controller: Controller, store: ObjectStore, resource: Object) -> None:
        self._controller = controller
        self._store = store
        self._resource = resource
        self._metadata: Object = resource["metadata"]
        self._status: Object = copy.deepcopy(resource.get("status") or {})

    def attend(self) -> bool:
        """Make what is missing and tell how it stands, or take it away; whether to come back."""
        if self._metadata.get("deletionTimestamp"):
            return FINALIZER in (self._metadata.get("finalizers") or []) and not self._take_away()
        finalizers = self._metadata.get("finalizers") or []
        if FINALIZER not in finalizers:
            self._metadata["finalizers"] = [*finalizers, FINALIZER]
        if self._get("apps/v1", "Deployment") is None:
            for each in self._objects():
                self._store.put(each)
        again = self._certify()
        self._tell()
        return again

    def _objects(self) -> list[Object]:
        name = self._metadata["name"]
        labels = {"app": name, f"{GROUP}/model": name}
        return [
            self._owned(
                "apps/v1",
                "Deployment",
                {
                    "replicas": self._resource["spec"].get("replicas", 1),
                    "selector": {"matchLabels": {"app": name}},
                    "template": {"metadata": {"labels": labels}, "spec": self._pod()},
                },
            ),
            self._owned(
                "v1",
                "Service",
                {
                    "selector": {"app": name},
                    "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": _PORT}],
                },
            ),
            self._owned(
                "networking.k8s.io/v1",
                "Ingress",
                {
                    "ingressClassName": "alb",
                    "defaultBackend": {"service": {"name": name, "port": {"number": 80}}},
                },
                annotations={
                    "alb.ingress.kubernetes.io/scheme": "internet-facing",
                    "alb.ingress.kubernetes.io/target-type": "ip",
                },
            ),
        ]

    def _owned(
        self, version: str, kind: str, spec: Object, annotations: dict[str, str] | None = None
    ) -> Object:
        owner = {
            "apiVersion": self._resource["apiVersion"],
            "kind": self._resource["kind"],
            "name": self._metadata["name"],
            "uid": self._metadata["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        metadata: Object = {
            "name": self._metadata["name"],
            "namespace": self._metadata["namespace"],
            "ownerReferences": [owner],
        }
        if annotations:
            metadata["annotations"] = annotations
        return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}

    def _pod(self) -> Object:
        spec = self._resource["spec"]
        worker = spec.get("worker") or {}
        container: Object = {
            "name": "model",
            "image": worker.get("image") or "model-server",
            "resources": worker.get("resources") or {},
            "ports": [{"containerPort": _PORT, "name": "http", "protocol": "TCP"}],
            "startupProbe": {
                "httpGet": {"path": "/ping", "port": _PORT},
                "initialDelaySeconds": int(durations.seconds("operator.model.start")),
                "periodSeconds": 10,
                "failureThreshold": 60,
            },
        }
        one = spec.get("instanceType") or (spec.get("server") or {}).get("instanceType")
        types = spec.get("instanceTypes") or ([one] if one else [])
        return {"containers": [container], **({"affinity": _only(types)} if types else {})}

    def _certify(self) -> bool:
        """Have a certificate once; whether to try again because AWS refused."""
        if self._status.get("tlsCertificate"):
            return False
        eks, settings = self._controller.eks, self._controller.settings
        now = eks.account.clock.now()
        tried = self._controller.refused_at.get(self._metadata["uid"])
        if tried is not None and now - tried < _RETRY:
            return True
        namespace, name = self._metadata["namespace"], self._metadata["name"]
        found = certificates.issue(eks.account, eks.region_name, settings, namespace, name)
        if isinstance(found, Refusal):
            self._controller.refused_at[self._metadata["uid"]] = now
            self._controller.say(
                f"failed to store the TLS certificate of {namespace}/{name}: {found}", "ERROR", "controller"
            )
            self._status["conditions"] = [self._condition("TLSCertificateReady", "False", str(found))]
            return True
        self._controller.refused_at.pop(self._metadata["uid"], None)
        self._status["tlsCertificate"] = found.status
        self._status["conditions"] = [self._condition("TLSCertificateReady", "True", found.arn)]
        return False

    def _condition(self, kind: str, status: str, message: str) -> Object:
        moment = self._controller.eks.account.clock.timestamp().strftime("%Y-%m-%dT%H:%M:%SZ")
        return {
            "type": kind,
            "status": status,
            "reason": "Succeeded" if status == "True" else "Failed",
            "message": message,
            "lastTransitionTime": moment,
        }

    def _tell(self) -> None:
        deployment = self._get("apps/v1", "Deployment") or {}
        pods = deployment.get("status", {})
        wanted = deployment.get("spec", {}).get("replicas", 1)
        ready = pods.get("readyReplicas", 0)
        state = "DeploymentComplete" if ready >= wanted else "DeploymentInProgress"
        known = ("replicas", "readyReplicas", "availableReplicas", "unavailableReplicas", "updatedReplicas")
        self._status["observedGeneration"] = self._metadata.get("generation", 1)
        self._status["replicas"] = pods.get("replicas", 0)
        self._status["state"] = state
        self._status["deploymentStatus"] = {
            "name": self._metadata["name"],
            "deploymentObjectOverallState": state,
            "status": {key: pods[key] for key in known if key in pods},
        }
        registered = state == "DeploymentComplete" and self._controller.verified
        registered = registered and "tlsCertificate" in self._status
        self._status["endpoints"] = {
            "sagemaker": {"state": "CreationCompleted" if registered else "CreationInProgress"}
        }
        self._write()

    def _take_away(self) -> bool:
        """Take away what was made, the Ingress first: its load balancer has to go while it can."""
        self._status["state"] = "DeletionInProgress"
        self._write()
        for version, kind in (
            ("networking.k8s.io/v1", "Ingress"),
            ("v1", "Service"),
            ("apps/v1", "Deployment"),
        ):
            found = self._get(version, kind)
            if found is None:
                continue
            if not found["metadata"].get("deletionTimestamp"):
                self._store.delete(version, kind, self._metadata["namespace"], self._metadata["name"])
            if self._get(version, kind) is not None:
                return False
        eks, settings = self._controller.eks, self._controller.settings
        certificates.withdraw(
            eks.account, eks.region_name, settings, self._status.get("tlsCertificate") or {}
        )
        self._metadata["finalizers"] = [f for f in self._metadata["finalizers"] if f != FINALIZER]
        self._write()
        return True

    def _get(self, version: str, kind: str) -> Object | None:
        return self._store.get(version, kind, self._metadata["namespace"], self._metadata["name"])

    def _write(self) -> None:
        stored = self._store.put({**self._resource, "metadata": self._metadata, "status": self._status})
        self._metadata = stored["metadata"]


def _only(types: list[str]) -> Object:
    expression = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": types}
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [expression]}]
            }
        }
    }
