"""The Kubernetes API of a cluster, and what EKS keeps in it: nodes, and the workloads of add-ons."""

from __future__ import annotations

import base64
import secrets
import threading
from typing import TYPE_CHECKING, Any

from mlcc_rehearsal.cloud.eks import access, workloads

if TYPE_CHECKING:
    from mlcc_rehearsal.cloud.eks.models import Cluster, EksBackend
    from mlcc_rehearsal.kubernetes_api.objects import ObjectStore

# Kubernetes' own components write to everybody's objects.
_KUBERNETES = ("kube-controller-manager", "kube-scheduler", "kube-apiserver", "kubelet")


class ClusterKubernetes:
    """One cluster's Kubernetes API.  Without one (``CloudOptions.kubernetes`` false) it keeps nothing.

    :ivar endpoint: address of the API.
    :ivar certificate_authority_data: base64 of the PEM that signs it.
    """

    def __init__(self, eks: EksBackend, cluster: Cluster) -> None:
        self._api: Any = None
        self.endpoint = f"https://{secrets.token_hex(16).upper()}.gr7.{eks.region_name}.eks.amazonaws.com"
        self.certificate_authority_data = base64.b64encode(b"no Kubernetes API in this rehearsal").decode()
        if not eks.account.kubernetes:
            return
        from mlcc_rehearsal.kubernetes_api import KubernetesApi

        clock = eks.account.clock
        self._api = KubernetesApi(
            cluster.name,
            lambda access_key_id: access.authenticate(eks, cluster, access_key_id),
            version=cluster.version,
            clock_now=clock.now,
        )
        self._api.start()
        eks.account.closers.append(self.stop)
        self.endpoint = self._api.endpoint
        self.certificate_authority_data = self._api.certificate_authority_data

    def stop(self) -> None:
        """End the API; does nothing the second time.

        It ends in a thread of its own: a request to it may be waiting for the lock that the caller holds.
        """
        if self._api is not None:
            threading.Thread(target=self._api.stop, name="rehearsal-kubernetes-stop", daemon=True).start()
            self._api = None

    @property
    def objects(self) -> ObjectStore | None:
        """The objects of the cluster, for the controllers that the cloud plays; None without an API."""
        found: ObjectStore | None = self._api.objects if self._api is not None else None
        return found

    @property
    def revision(self) -> int:
        """Number of the newest write to an object; 0 without an API."""
        return int(self._api.revision) if self._api is not None else 0

    def reconcile(self) -> bool:
        """Let Kubernetes' own control loops look at once; whether something there waits for time to pass."""
        return bool(self._api.reconcile()) if self._api is not None else False

    def put(self, *objects: dict[str, Any]) -> None:
        """Create or replace objects."""
        if self._api is not None:
            for each in objects:
                self._api.objects.put(each)

    def delete(self, *objects: dict[str, Any]) -> None:
        """Delete objects that may exist."""
        if self._api is None:
            return
        for each in objects:
            metadata = each["metadata"]
            key = (each["apiVersion"], each["kind"], metadata.get("namespace"), metadata["name"])
            try:
                found = self._api.objects.get(*key)
            except LookupError:
                continue  # its definition is gone, and so is it
            if found is not None:
                self._api.objects.delete(*key)

    def is_foreign(self, wanted: dict[str, Any]) -> bool:
        """Whether an object of this name is there that somebody else applied; namespaces are everybody's."""
        if self._api is None or wanted["kind"] == "Namespace":
            return False
        from mlcc_rehearsal.kubernetes_api.objects import MANAGER

        metadata = wanted["metadata"]
        try:
            found = self._api.objects.get(
                wanted["apiVersion"], wanted["kind"], metadata.get("namespace"), metadata["name"]
            )
        except LookupError:
            return False  # its definition is not there yet
        managers = {
            entry.get("manager") for entry in (found or {}).get("metadata", {}).get("managedFields", [])
        }
        return bool(managers - {MANAGER, *_KUBERNETES})

    def has_room_for(self, tolerated: tuple[str, ...]) -> bool:
        """Whether a ready node takes pods that tolerate taints with these keys."""
        if self._api is None:
            return False
        from mlcc_rehearsal.kubernetes_api.scheduling import node_is_ready, obstacle

        pod = {"spec": {"tolerations": [{"key": key, "operator": "Exists"} for key in tolerated]}}
        nodes = self._api.objects.list("v1", "Node")
        return any(node_is_ready(node) and not obstacle(pod, node) for node in nodes)

    def config_map(self, namespace: str, name: str) -> dict[str, Any] | None:
        """A ConfigMap, or None."""
        if self._api is None:
            return None
        found: dict[str, Any] | None = self._api.objects.get("v1", "ConfigMap", namespace, name)
        return found

    def lay_down_self_managed(self, cluster: Cluster) -> None:
        """The workloads that a cluster comes with when its add-ons are not managed."""
        for name in sorted(cluster.self_managed):
            self.put(*workloads.of_addon(name, version="self-managed", on_fargate=False))
