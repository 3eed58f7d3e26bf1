"""What the add-on puts into the cluster.

Names of deployments and service accounts: AWS's migration script and the documentation of the setup; labels,
probes, environment and requests of the manager: the operator's chart; the load balancer controller's and
KEDA's objects: their charts.  Thirteen pods in all without the gateway, as the troubleshooting page counts
them; how they are spread over the deployments is unverified.
"""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.cloud.operator import definitions
from mlcc_rehearsal.cloud.operator.prerequisites import api_service, service
from mlcc_rehearsal.cloud.operator.settings import NAMESPACE, Settings

MANAGER = "hyperpod-inference-controller-manager"
MANAGER_CONTAINER = "manager"
LOAD_BALANCER_CONTROLLER = "hyperpod-inference-alb"
LOAD_BALANCER_ACCOUNT = "aws-load-balancer-controller"
WEBHOOK_SERVICE = "aws-load-balancer-webhook-service"
WEBHOOKS = "aws-load-balancer-webhook"
GATEWAY = "inference-gateway-controller"
KEDA = ("keda-operator", "keda-operator-metrics-apiserver", "keda-admission-webhooks")
CHECK_CONTAINER = "check-csi-drivers"
LABEL = "app.kubernetes.io/managed-by"
OWNER = "EKS"

Object = dict[str, Any]

# Only these nodes, unless the configuration says otherwise. Source: the chart's values.
_AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [
                        {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
                        {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
                    ]
                }
            ]
        }
    }
}


def of(settings: Settings, *, cluster: str, region: str, vpc: str) -> list[Object]:
    """Everything, in the order in which it is laid down."""
    objects: list[Object] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}]
    objects += definitions.of_operator(gateway=settings.number >= (2, 0, 0))
    if settings.keda:
        objects += definitions.of_keda() + _keda(settings)
    if settings.alb:
        objects += definitions.of_load_balancer_controller()
        objects += _load_balancer_controller(settings, cluster, region, vpc)
    objects += _manager(settings, cluster, region)
    if settings.gateway:
        objects += [
            _account(GATEWAY, settings.gateway_role),
            _deployment(GATEWAY, 1, settings, account=GATEWAY),
        ]
    return objects


def deployments(settings: Settings) -> list[str]:
    """Names of the deployments that must be ready."""
    names = [MANAGER]
    names += [LOAD_BALANCER_CONTROLLER] if settings.alb else []
    names += KEDA if settings.keda else []
    return [*names, GATEWAY] if settings.gateway else names


def _account(name: str, role: str) -> Object:
    metadata: Object = {"name": name, "namespace": NAMESPACE, "labels": {LABEL: OWNER}}
    if role:
        metadata["annotations"] = {"eks.amazonaws.com/role-arn": role}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def _deployment(
    name: str,
    replicas: int,
    settings: Settings,
    *,
    account: str,
    labels: dict[str, str] | None = None,
    container: Object | None = None,
    pod: Object | None = None,
) -> Object:
    selector = labels or {"app": name}
    main: Object = {
        "name": name,
        "image": f"{name}:{settings.version}",
        "resources": {"requests": {"cpu": "100m", "memory": "100Mi"}},
        **(container or {}),
    }
    spec: Object = {
        "serviceAccountName": account,
        "affinity": _AFFINITY,
        "containers": [main],
        **(pod or {}),
        **settings.scheduling,
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {**selector, LABEL: OWNER}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": selector},
            "template": {"metadata": {"labels": selector}, "spec": spec},
        },
    }


def _manager(settings: Settings, cluster: str, region: str) -> list[Object]:
    environment = {
        "AWS_REGION": region,
        "EXECUTION_ROLE_ARN": settings.execution_role,
        "JUMPSTART_GATED_MODEL_DOWNLOAD_ARN": settings.gated_model_role,
        "EKS_CLUSTER_NAME": cluster,
        "TLS_CERTIFICATE_OUTPUT_S3URI": f"s3://{settings.bucket}",
        "OPERATOR_SERVICE_ACCOUNT_NAME": MANAGER,
        "OPERATOR_NAMESPACE": NAMESPACE,
        "HYPERPOD_CLUSTER_ARN": settings.cluster_arn,
    }
    container = {
        "name": MANAGER_CONTAINER,
        "image": f"hyperpod-inference-operator:{settings.version}",
        "env": [{"name": key, "value": value} for key, value in environment.items()],
        "ports": [{"containerPort": 9443, "name": "webhook-server", "protocol": "TCP"}],
        "startupProbe": {
            "httpGet": {"path": "/healthz", "port": 8081},
            "initialDelaySeconds": 180,
            "periodSeconds": 60,
            "failureThreshold": 120,
            "timeoutSeconds": 5,
        },
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": 8081}},
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}},
    }
    pod = {
        "initContainers": [{"name": CHECK_CONTAINER, "image": f"{CHECK_CONTAINER}:{settings.version}"}],
        "terminationGracePeriodSeconds": 10,
    }
    label = ("control-plane", MANAGER)
    role = f"{MANAGER}-role"
    return [
        _account(MANAGER, settings.execution_role),
        *_access(role, MANAGER),
        service("hyperpod-inference-conversion-webhook", NAMESPACE, label),
        _deployment(
            MANAGER,
            1,
            settings,
            account=MANAGER,
            labels={label[0]: label[1]},
            container=container,
            pod=pod,
        ),
    ]


def _access(role: str, account: str) -> list[Object]:
    rbac = "rbac.authorization.k8s.io"
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    return [
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": role, "labels": {LABEL: OWNER}},
            "rules": [everything],
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"{role}binding", "labels": {LABEL: OWNER}},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}],
        },
    ]


def _keda(settings: Settings) -> list[Object]:
    found = [_account(KEDA[0], settings.keda_role), *_access("keda-operator", KEDA[0])]
    found += [_deployment(name, 3, settings, account=KEDA[0]) for name in KEDA]
    found += [service(name, NAMESPACE, ("app", name)) for name in KEDA]
    # The law "api-service-without-service" is about this one.
    return [*found, api_service("external.metrics.k8s.io", "v1beta1", KEDA[1], NAMESPACE)]


def _load_balancer_controller(settings: Settings, cluster: str, region: str, vpc: str) -> list[Object]:
    labels = {
        "app.kubernetes.io/name": "aws-load-balancer-controller",
        "app.kubernetes.io/instance": LOAD_BALANCER_CONTROLLER,
    }
    container = {
        "name": "aws-load-balancer-controller",
        "args": [
            f"--cluster-name={cluster}",
            "--ingress-class=alb",
            f"--aws-region={region}",
            f"--aws-vpc-id={vpc}",
        ],
        "ports": [{"name": "webhook-server", "containerPort": 9443, "protocol": "TCP"}],
    }
    parameters = {"apiGroup": "elbv2.k8s.aws", "kind": "IngressClassParams", "name": "alb"}
    before_pods = service(
        WEBHOOK_SERVICE, NAMESPACE, ("app.kubernetes.io/instance", LOAD_BALANCER_CONTROLLER)
    )
    return [
        _account(LOAD_BALANCER_ACCOUNT, settings.alb_role),
        *_access(f"{LOAD_BALANCER_CONTROLLER}-role", LOAD_BALANCER_ACCOUNT),
        before_pods,
        _deployment(
            LOAD_BALANCER_CONTROLLER,
            3,
            settings,
            account=LOAD_BALANCER_ACCOUNT,
            labels=labels,
            container=container,
        ),
        {"apiVersion": "elbv2.k8s.aws/v1beta1", "kind": "IngressClassParams", "metadata": {"name": "alb"}},
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "IngressClass",
            "metadata": {"name": "alb"},
            "spec": {"controller": "ingress.k8s.aws/alb", "parameters": parameters},
        },
        *_webhooks(),
    ]


def _webhooks() -> list[Object]:
    """The webhooks that concern objects which users make (the chart's names, paths and rules).

    They are there before their pods are ready: the law "webhook-before-pods".
    """

    def hook(name: str, path: str, group: str, version: str, resource: str, *operations: str) -> Object:
        own = {"key": "app.kubernetes.io/name", "operator": "NotIn"}
        return {
            "name": name,
            "admissionReviewVersions": ["v1beta1"],
            "clientConfig": {
                "service": {"name": WEBHOOK_SERVICE, "namespace": NAMESPACE, "path": path, "port": 443}
            },
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "objectSelector": {"matchExpressions": [{**own, "values": ["aws-load-balancer-controller"]}]},
            "rules": [
                {
                    "apiGroups": [group],
                    "apiVersions": [version],
                    "operations": list(operations),
                    "resources": [resource],
                }
            ],
        }

    group = "elbv2.k8s.aws"
    mutating = [
        hook("mservice.elbv2.k8s.aws", "/mutate-v1-service", "", "v1", "services", "CREATE"),
        hook(
            "mtargetgroupbinding.elbv2.k8s.aws",
            f"/mutate-{group.replace('.', '-')}-v1beta1-targetgroupbinding",
            group,
            "v1beta1",
            "targetgroupbindings",
            "CREATE",
            "UPDATE",
        ),
    ]
    validating = [
        hook(
            "vingress.elbv2.k8s.aws",
            "/validate-networking-v1-ingress",
            "networking.k8s.io",
            "v1",
            "ingresses",
            "CREATE",
            "UPDATE",
        )
    ]
    return [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": WEBHOOKS, "labels": {LABEL: OWNER}},
            "webhooks": hooks,
        }
        for kind, hooks in (
            ("MutatingWebhookConfiguration", mutating),
            ("ValidatingWebhookConfiguration", validating),
        )
    ]
