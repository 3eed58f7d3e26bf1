"""What a fresh EKS cluster holds before anybody has made anything in it."""

from __future__ import annotations

from mlcc_rehearsal.kubernetes_api import roles
from mlcc_rehearsal.kubernetes_api.lifecycle import Lifecycle
from mlcc_rehearsal.kubernetes_api.status import Object

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_MANAGER = "kube-apiserver"


def populate(lifecycle: Lifecycle) -> None:
    """Namespaces, default roles, priority classes, the API's own service, EKS' gp2 storage class."""
    for obj in _objects():
        resource = lifecycle.registry.by_kind(obj["apiVersion"], obj["kind"])
        if resource is None:
            raise LookupError(f"no resource serves {obj['apiVersion']} {obj['kind']}")
        lifecycle.put(resource, obj, _MANAGER)


def _objects() -> list[Object]:
    rbac = "rbac.authorization.k8s.io"
    found: list[Object] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in NAMESPACES
    ]
    for name, rules in roles.DEFAULT_CLUSTER_ROLES.items():
        found.append(
            {
                "apiVersion": f"{rbac}/v1",
                "kind": "ClusterRole",
                "metadata": {"name": name, "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}},
                "rules": rules,
            }
        )
    found.append(
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "cluster-admin", "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"apiGroup": rbac, "kind": "Group", "name": "system:masters"}],
        }
    )
    for name, value in (("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)):
        found.append(
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name},
                "value": value,
            }
        )
    found.append(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                "name": "kubernetes",
                "namespace": "default",
                "labels": {"component": "apiserver", "provider": "kubernetes"},
            },
            "spec": {
                "type": "ClusterIP",
                "clusterIP": "172.20.0.1",
                "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 443}],
            },
        }
    )
    found.append(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "gp2"},
            "provisioner": "kubernetes.io/aws-ebs",
            "parameters": {"fsType": "ext4", "type": "gp2"},
            "reclaimPolicy": "Delete",
            "volumeBindingMode": "WaitForFirstConsumer",
        }
    )
    return found
