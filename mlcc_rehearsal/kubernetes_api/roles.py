"""The default roles of a cluster, as rules.

Source: ``plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go`` of Kubernetes, for the resources the
rehearsal serves.
"""

from __future__ import annotations

from mlcc_rehearsal.kubernetes_api.status import Object

READ = ["get", "list", "watch"]
WRITE = ["create", "delete", "deletecollection", "patch", "update"]


def _rule(group: str, resources: str, verbs: list[str]) -> Object:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs}


_WORKLOADS = {
    "": "configmaps persistentvolumeclaims pods replicationcontrollers replicationcontrollers/scale "
    "serviceaccounts services",
    "apps": "daemonsets deployments deployments/scale replicasets replicasets/scale statefulsets "
    "statefulsets/scale",
    "autoscaling": "horizontalpodautoscalers",
    "batch": "cronjobs jobs",
    "networking.k8s.io": "ingresses networkpolicies",
    "policy": "poddisruptionbudgets",
}
_READ_ONLY = {
    "": "endpoints persistentvolumeclaims/status replicationcontrollers/status services/status bindings "
    "events limitranges namespaces namespaces/status pods/log pods/status resourcequotas "
    "resourcequotas/status",
    "apps": "controllerrevisions daemonsets/status deployments/status replicasets/status statefulsets/status",
    "autoscaling": "horizontalpodautoscalers/status",
    "batch": "cronjobs/status jobs/status",
    "discovery.k8s.io": "endpointslices",
    "networking.k8s.io": "ingresses/status",
    "policy": "poddisruptionbudgets/status",
}

VIEW: list[Object] = [
    *(_rule(group, resources, READ) for group, resources in _WORKLOADS.items()),
    *(_rule(group, resources, READ) for group, resources in _READ_ONLY.items()),
]
EDIT: list[Object] = [
    *VIEW,
    *(_rule(group, resources, WRITE) for group, resources in _WORKLOADS.items()),
    _rule("", "secrets", READ + WRITE),
    _rule("", "pods/attach pods/exec pods/portforward pods/proxy services/proxy", READ + WRITE),
    _rule("", "pods/eviction serviceaccounts/token", ["create"]),
    _rule("", "events", WRITE),
    _rule("coordination.k8s.io", "leases", READ + WRITE),
]
ADMIN: list[Object] = [
    *EDIT,
    _rule("rbac.authorization.k8s.io", "roles rolebindings", READ + WRITE),
]
CLUSTER_ADMIN: list[Object] = [
    _rule("*", "*", ["*"]),
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
]
VIEW_ALL: list[Object] = [_rule("*", "*", READ)]
AUTHENTICATED: list[Object] = [
    {
        "nonResourceURLs": [
            "/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz",
            "/version", "/version/",
        ],
        "verbs": ["get"],
    },
    _rule("authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews", ["create"]),
    _rule("authentication.k8s.io", "selfsubjectreviews", ["create"]),
]  # fmt: skip

DEFAULT_CLUSTER_ROLES: dict[str, list[Object]] = {
    "admin": ADMIN,
    "cluster-admin": CLUSTER_ADMIN,
    "edit": EDIT,
    "view": VIEW,
}
