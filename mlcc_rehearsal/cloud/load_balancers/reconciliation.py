"""Ingresses and Services of type LoadBalancer become load balancers, and go with them.

Who attends to an object: Ingresses of the class ``alb``, and Services of the class ``service.k8s.aws/nlb`` or
with the annotation, are the load balancer controller's; it also takes every new Service, by its webhook,
while it is there (v2.5 and later).  Other Services are the control plane's own controller's, which is always
there.  The object carries a finalizer from the start and loses it when all is deleted: the law
"load-balancer-finalizer".
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from mlcc_rehearsal.cloud.eks.models import Cluster, EksBackend
from mlcc_rehearsal.cloud.iam.roles import lacking
from mlcc_rehearsal.cloud.load_balancers import subnets
from mlcc_rehearsal.cloud.load_balancers.controllers import (
    LoadBalancerController,
    crash_without_metadata,
    running,
)
from mlcc_rehearsal.cloud.load_balancers.stacks import ClassicStack, DeployError, Stack

if TYPE_CHECKING:
    from mlcc_rehearsal.kubernetes_api.objects import ObjectStore

Object = dict[str, Any]

INGRESS_FINALIZER = "ingress.k8s.aws/resources"
SERVICE_FINALIZER = "service.k8s.aws/resources"
CLASSIC_FINALIZER = "service.kubernetes.io/load-balancer-cleanup"
_CLASS = "service.k8s.aws/nlb"
_TYPE = "service.beta.kubernetes.io/aws-load-balancer-type"
_SCHEME = "service.beta.kubernetes.io/aws-load-balancer-scheme"
_INTERNAL = "service.beta.kubernetes.io/aws-load-balancer-internal"
_MUTATING = ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration")
_CLASSIC_ACTIONS = ("elasticloadbalancing:CreateLoadBalancer", "ec2:CreateSecurityGroup")


def reconcile(eks: EksBackend, cluster: Cluster, store: ObjectStore) -> bool:
    """One look at a cluster's objects; whether to look again although nothing is written."""
    crash_without_metadata(store)
    services = [each for each in store.list("v1", "Service") if _concerns(each)]
    ingresses = store.list("networking.k8s.io/v1", "Ingress")
    if not services and not ingresses:
        return False
    controllers = running(eks, cluster, store)
    waiting = False
    for ingress in ingresses:
        if _is_alb(store, ingress):
            waiting = _Attendance(eks, cluster, store, ingress, controllers).ingress() or waiting
    for service in services:
        waiting = _Attendance(eks, cluster, store, service, controllers).service() or waiting
    return waiting


class _Attendance:
    """One object, attended to once."""

    def __init__(
        self,
        eks: EksBackend,
        cluster: Cluster,
        store: ObjectStore,
        obj: Object,
        controllers: list[LoadBalancerController],
    ) -> None:
        self._eks = eks
        self._cluster = cluster
        self._store = store
        self._object = obj
        self._metadata: Object = obj["metadata"]
        self._annotations: dict[str, str] = obj["metadata"].get("annotations") or {}
        self._controller = controllers[0] if controllers else None

    def ingress(self) -> bool:
        """An Ingress of the load balancer controller."""
        scheme = self._annotations.get("alb.ingress.kubernetes.io/scheme", "internal")
        named = self._annotations.get("alb.ingress.kubernetes.io/subnets", "")
        stack = self._stack("ingress")
        return self._by_controller(
            stack, INGRESS_FINALIZER, "application", internal=scheme != "internet-facing", named=named
        )

    def service(self) -> bool:
        """A Service of type LoadBalancer, or one that was."""
        finalizers = self._metadata.get("finalizers") or []
        if CLASSIC_FINALIZER in finalizers:
            return self._classic()
        if SERVICE_FINALIZER in finalizers or self._is_nlb():
            scheme = self._annotations.get(_SCHEME, "internal")
            named = self._annotations.get("service.beta.kubernetes.io/aws-load-balancer-subnets", "")
            return self._by_controller(
                self._stack("service"),
                SERVICE_FINALIZER,
                "network",
                internal=scheme != "internet-facing",
                named=named,
            )
        if self._object["spec"].get("loadBalancerClass"):
            return False  # somebody else's
        return self._classic()

    def _is_nlb(self) -> bool:
        spec = self._object["spec"]
        if spec.get("loadBalancerClass") == _CLASS:
            return True
        if self._annotations.get(_TYPE) in ("external", "nlb-ip"):
            return True
        if self._controller is None or spec.get("loadBalancerClass") or not self._webhook():
            return False
        # The mutating webhook gives every new Service of this type the controller's class.
        spec["loadBalancerClass"] = _CLASS
        self._write()
        return True

    def _webhook(self) -> bool:
        configuration = self._store.get(*_MUTATING, None, "aws-load-balancer-webhook") or {}
        hooks = configuration.get("webhooks") or []
        return any(hook.get("name") == "mservice.elbv2.k8s.aws" for hook in hooks)

    def _stack(self, source: str) -> Stack:
        namespace, name = self._metadata["namespace"], self._metadata["name"]
        return Stack(self._eks, self._cluster, source, namespace, name)

    def _by_controller(self, stack: Stack, finalizer: str, kind: str, *, internal: bool, named: str) -> bool:
        controller = self._controller
        if controller is None:
            return False
        going = self._going()
        if going and finalizer not in (self._metadata.get("finalizers") or []):
            return False
        try:
            if going:
                gone = stack.clean_up(controller)
                if gone:
                    self._let_go(finalizer)
                return not gone
            self._hold(finalizer)
            wanted = [part.strip() for part in named.split(",") if part.strip()]
            zones = 2 if kind == "application" else 1
            found = wanted or subnets.by_tags(self._eks, self._cluster, internal=internal, zones=zones)
            balancer = stack.deploy(controller, found, kind=kind, internal=internal)
        except subnets.NoSubnetsError as none:
            self._event("FailedBuildModel", f"Failed build model due to {none}")
            return True
        except DeployError as refused:
            self._event("FailedDeployModel", f"Failed deploy model due to {refused}")
            return True
        self._publish(balancer.dns_name)
        return False

    def _classic(self) -> bool:
        """By the control plane's own controller, with the cluster's role."""
        stack = ClassicStack(
            self._eks,
            self._cluster,
            self._metadata["uid"],
            self._metadata["namespace"],
            self._metadata["name"],
        )
        if self._going():
            if CLASSIC_FINALIZER not in (self._metadata.get("finalizers") or []):
                return False
            gone = stack.clean_up()
            if gone:
                self._let_go(CLASSIC_FINALIZER)
            return not gone
        self._hold(CLASSIC_FINALIZER)
        role = self._cluster.description["roleArn"]
        absent = lacking(self._eks.account, role, [(action, "*") for action in _CLASSIC_ACTIONS])
        if absent:
            self._event("SyncLoadBalancerFailed", _failed(f"{role} is not authorized to perform {absent[0]}"))
            return True
        internal = self._annotations.get(_INTERNAL, "") not in ("", "false")
        try:
            found = subnets.by_routes(self._eks, self._cluster, internal=internal)
        except subnets.NoSubnetsError as none:
            self._event("SyncLoadBalancerFailed", _failed(str(none)))
            return True
        balancer = stack.deploy(found, self._object["spec"].get("ports") or [], internal=internal)
        self._publish(balancer.dns_name)
        return False

    def _going(self) -> bool:
        """Whether the object is being deleted, or is no longer one that wants a load balancer."""
        if self._metadata.get("deletionTimestamp"):
            return True
        return self._object["kind"] == "Service" and self._object["spec"].get("type") != "LoadBalancer"

    def _hold(self, finalizer: str) -> None:
        finalizers = self._metadata.get("finalizers") or []
        if finalizer not in finalizers:
            self._metadata["finalizers"] = [*finalizers, finalizer]
            self._write()

    def _let_go(self, finalizer: str) -> None:
        self._metadata["finalizers"] = [f for f in self._metadata.get("finalizers") or [] if f != finalizer]
        self._write()

    def _publish(self, hostname: str) -> None:
        status = {"loadBalancer": {"ingress": [{"hostname": hostname}]}}
        if self._object.get("status") != status:
            self._object["status"] = status
            self._write()

    def _write(self) -> None:
        stored = self._store.put(self._object)
        self._object["metadata"] = self._metadata = stored["metadata"]

    def _event(self, reason: str, message: str) -> None:
        plain = message.split("RequestID", 1)[0]
        digest = hashlib.sha256(f"{self._metadata['uid']} {reason} {plain}".encode()).hexdigest()[:16]
        namespace, name = self._metadata["namespace"], f"{self._metadata['name']}.{digest}"
        if self._store.get("v1", "Event", namespace, name) is not None:
            return
        now = self._eks.account.clock.timestamp().strftime("%Y-%m-%dT%H:%M:%SZ")
        self._store.put(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": name, "namespace": namespace},
                "involvedObject": {
                    "apiVersion": self._object["apiVersion"],
                    "kind": self._object["kind"],
                    "name": self._metadata["name"],
                    "namespace": namespace,
                    "uid": self._metadata["uid"],
                },
                "type": "Warning",
                "reason": reason,
                "message": message,
                "source": {"component": "service" if self._object["kind"] == "Service" else "ingress"},
                "firstTimestamp": now,
                "lastTimestamp": now,
                "count": 1,
            }
        )


def _concerns(service: Object) -> bool:
    held = {SERVICE_FINALIZER, CLASSIC_FINALIZER} & set(service["metadata"].get("finalizers") or [])
    return service["spec"].get("type") == "LoadBalancer" or bool(held)


def _is_alb(store: ObjectStore, ingress: Object) -> bool:
    if INGRESS_FINALIZER in (ingress["metadata"].get("finalizers") or []):
        return True
    annotations = ingress["metadata"].get("annotations") or {}
    name = ingress["spec"].get("ingressClassName") or annotations.get("kubernetes.io/ingress.class")
    if not name:
        return False
    found = store.get("networking.k8s.io/v1", "IngressClass", None, name)
    return found is not None and found["spec"].get("controller") == "ingress.k8s.aws/alb"


def _failed(why: str) -> str:
    return f"Error syncing load balancer: failed to ensure load balancer: {why}"
