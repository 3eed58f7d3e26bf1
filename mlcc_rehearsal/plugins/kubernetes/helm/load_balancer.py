"""The chart aws-load-balancer-controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlcc_rehearsal.plugins.kubernetes.helm.common import ChartError, fullname, standard_labels
from mlcc_rehearsal.plugins.kubernetes.states import Object

CHART = "aws-load-balancer-controller"
APP_VERSION = ""
WEBHOOK_SERVICE = "aws-load-balancer-webhook-service"
_GROUP = "elbv2.k8s.aws"


def render(release: str, namespace: str, version: str, values: Mapping[str, Any]) -> list[Object]:
    """Objects of a release.

    Raises:
        ChartError: ``clusterName`` is missing, as the chart's template says.
    """
    if not values.get("clusterName"):
        raise ChartError(
            "execution error at (aws-load-balancer-controller/templates/deployment.yaml): Chart cannot be "
            "installed without a valid clusterName!"
        )
    name = fullname(release, CHART, values)
    labels = standard_labels(CHART, release, version)
    selector = {key: labels[key] for key in ("app.kubernetes.io/name", "app.kubernetes.io/instance")}
    account = values.get("serviceAccount") or {}
    account_name = account.get("name") or (name if account.get("create", True) else "default")
    objects: list[Object] = []
    if account.get("create", True):
        metadata: Object = {"name": account_name, "namespace": namespace, "labels": labels}
        if account.get("annotations"):
            metadata["annotations"] = dict(account["annotations"])
        objects.append({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    objects += _access(name, namespace, account_name, labels)
    objects.append(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": WEBHOOK_SERVICE, "namespace": namespace, "labels": labels},
            "spec": {
                "ports": [{"port": 443, "name": "webhook-server", "targetPort": "webhook-server"}],
                "selector": selector,
            },
        }
    )
    objects.append(_deployment(name, namespace, account_name, labels, selector, values, version))
    if values.get("createIngressClassResource", True):
        objects += _ingress_class(str(values.get("ingressClass", "alb")), labels, values)
    return [*objects, *_webhooks(namespace, labels, values)]


def definitions() -> tuple[Object, ...]:
    """What the chart ships under ``crds/``."""
    return tuple(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{_GROUP}"},
            "spec": {
                "group": _GROUP,
                "names": {
                    "kind": kind,
                    "listKind": f"{kind}List",
                    "plural": plural,
                    "singular": kind.lower(),
                },
                "scope": scope,
                "versions": [
                    {
                        "name": "v1beta1",
                        "served": True,
                        "storage": True,
                        "schema": {
                            "openAPIV3Schema": {
                                "type": "object",
                                "x-kubernetes-preserve-unknown-fields": True,
                            }
                        },
                        "subresources": {"status": {}},
                    }
                ],
            },
        }
        for kind, plural, scope in (
            ("IngressClassParams", "ingressclassparams", "Cluster"),
            ("TargetGroupBinding", "targetgroupbindings", "Namespaced"),
        )
    )


def _access(name: str, namespace: str, account: str, labels: dict[str, str]) -> list[Object]:
    read, write = ["get", "list", "watch"], ["update", "patch"]
    rules = [
        {"apiGroups": [_GROUP], "resources": ["targetgroupbindings", "ingressclassparams"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["nodes", "namespaces", "endpoints", "secrets"], "verbs": read},
        {"apiGroups": [""], "resources": ["pods", "services"], "verbs": read + write},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
        {
            "apiGroups": ["networking.k8s.io", "discovery.k8s.io"],
            "resources": ["ingresses", "ingressclasses", "endpointslices"],
            "verbs": read + write,
        },
        {
            "apiGroups": ["", "networking.k8s.io", _GROUP],
            "resources": ["pods/status", "services/status", "ingresses/status", "targetgroupbindings/status"],
            "verbs": write,
        },
    ]
    rbac = "rbac.authorization.k8s.io"
    return [
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": f"{name}-role", "labels": labels},
            "rules": rules,
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"{name}-rolebinding", "labels": labels},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": f"{name}-role"},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
        },
    ]


def _deployment(
    name: str,
    namespace: str,
    account: str,
    labels: dict[str, str],
    selector: dict[str, str],
    values: Mapping[str, Any],
    version: str,
) -> Object:
    arguments = [
        f"--cluster-name={values['clusterName']}",
        f"--ingress-class={values.get('ingressClass', 'alb')}",
    ]
    for key, flag in (("region", "--aws-region"), ("vpcId", "--aws-vpc-id")):
        if values.get(key):
            arguments.append(f"{flag}={values[key]}")
    image = values.get("image") or {}
    repository = image.get("repository", "public.ecr.aws/eks/aws-load-balancer-controller")
    container: Object = {
        "name": CHART,
        "image": f"{repository}:{image.get('tag') or f'chart-{version}'}",
        "args": arguments,
        "ports": [
            {"name": "webhook-server", "containerPort": 9443, "protocol": "TCP"},
            {"name": "metrics-server", "containerPort": 8080, "protocol": "TCP"},
        ],
    }
    if values.get("resources"):
        container["resources"] = values["resources"]
    spec: Object = {
        "serviceAccountName": account,
        "priorityClassName": "system-cluster-critical",
        "terminationGracePeriodSeconds": 10,
        "containers": [container],
    }
    for key in ("nodeSelector", "tolerations", "affinity", "hostNetwork"):
        if values.get(key):
            spec[key] = values[key]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "replicas": values.get("replicaCount", 2),
            "selector": {"matchLabels": selector},
            "template": {"metadata": {"labels": selector}, "spec": spec},
        },
    }


def _ingress_class(name: str, labels: dict[str, str], values: Mapping[str, Any]) -> list[Object]:
    parameters = values.get("ingressClassParams") or {}
    objects: list[Object] = []
    if parameters.get("create", True):
        objects.append(
            {
                "apiVersion": f"{_GROUP}/v1beta1",
                "kind": "IngressClassParams",
                "metadata": {"name": parameters.get("name") or name, "labels": labels},
                **({"spec": parameters["spec"]} if parameters.get("spec") else {}),
            }
        )
    objects.append(
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "IngressClass",
            "metadata": {"name": name, "labels": labels},
            "spec": {
                "controller": "ingress.k8s.aws/alb",
                "parameters": {
                    "apiGroup": _GROUP,
                    "kind": "IngressClassParams",
                    "name": parameters.get("name") or name,
                },
            },
        }
    )
    return objects


def _webhooks(namespace: str, labels: dict[str, str], values: Mapping[str, Any]) -> list[Object]:
    def hook(name: str, path: str, rule: Object, **more: Any) -> Object:
        return {
            "name": name,
            "admissionReviewVersions": ["v1beta1"],
            "clientConfig": {"service": {"name": WEBHOOK_SERVICE, "namespace": namespace, "path": path}},
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "rules": [rule],
            **more,
        }

    def rule(group: str, version: str, resources: list[str], operations: list[str]) -> Object:
        return {
            "apiGroups": [group],
            "apiVersions": [version],
            "operations": operations,
            "resources": resources,
        }

    binding = rule(_GROUP, "v1beta1", ["targetgroupbindings"], ["CREATE", "UPDATE"])
    inject = {
        "matchExpressions": [
            {"key": "elbv2.k8s.aws/pod-readiness-gate-inject", "operator": "In", "values": ["enabled"]}
        ]
    }
    own = {"key": "app.kubernetes.io/name", "operator": "NotIn", "values": [CHART]}
    mutating = [
        hook(
            "mpod.elbv2.k8s.aws",
            "/mutate-v1-pod",
            rule("", "v1", ["pods"], ["CREATE"]),
            namespaceSelector=inject,
            objectSelector={"matchExpressions": [own]},
        ),
        hook("mtargetgroupbinding.elbv2.k8s.aws", f"/mutate-{_GROUP}-v1beta1-targetgroupbinding", binding),
    ]
    if values.get("enableServiceMutatorWebhook", True):
        mutating.append(
            hook(
                "mservice.elbv2.k8s.aws",
                "/mutate-v1-service",
                rule("", "v1", ["services"], ["CREATE"]),
                objectSelector={"matchExpressions": [own]},
            )
        )
    ingress = rule("networking.k8s.io", "v1", ["ingresses"], ["CREATE", "UPDATE"])
    parameters = rule(_GROUP, "v1beta1", ["ingressclassparams"], ["CREATE", "UPDATE"])
    validating = [
        hook(
            "vingressclassparams.elbv2.k8s.aws",
            f"/validate-{_GROUP}-v1beta1-ingressclassparams",
            parameters,
            objectSelector={"matchExpressions": [own]},
        ),
        hook("vtargetgroupbinding.elbv2.k8s.aws", f"/validate-{_GROUP}-v1beta1-targetgroupbinding", binding),
        hook("vingress.elbv2.k8s.aws", "/validate-networking-v1-ingress", ingress),
    ]
    group = "admissionregistration.k8s.io/v1"
    return [
        {
            "apiVersion": group,
            "kind": kind,
            "metadata": {"name": "aws-load-balancer-webhook", "labels": labels},
            "webhooks": hooks,
        }
        for kind, hooks in (
            ("MutatingWebhookConfiguration", mutating),
            ("ValidatingWebhookConfiguration", validating),
        )
    ]
