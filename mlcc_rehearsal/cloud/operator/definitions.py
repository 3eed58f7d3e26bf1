"""Custom resource definitions of the operator, of KEDA and of the load balancer controller.

Kinds, versions, scopes and required keys: the operator's chart (``config/crd``), the documentation of the
gateway, KEDA 2.17 and aws-load-balancer-controller 2.13.  Further keys of their schemas are not checked.
"""

from __future__ import annotations

from typing import Any

GROUP = "inference.sagemaker.aws.amazon.com"
MODEL_KINDS = ("InferenceEndpointConfig", "JumpStartModel")

_REQUIRED: dict[str, dict[str, list[str]]] = {
    "InferenceEndpointConfig": {
        "v1": ["modelName", "modelSourceConfig", "worker"],
        "v1alpha1": ["instanceType", "modelName", "modelSourceConfig", "worker"],
    },
    "JumpStartModel": {"v1": ["model", "server"], "v1alpha1": ["model", "server"]},
    "SageMakerEndpointRegistration": {
        version: [
            "eksClusterDetails",
            "executionRole",
            "imageUri",
            "instanceType",
            "loadBalancerHostName",
            "name",
            "restApiId",
            "tlsConfig",
        ]
        for version in ("v1", "v1alpha1")
    },
}
_PLURALS = {
    "InferenceEndpointConfig": "inferenceendpointconfigs",
    "JumpStartModel": "jumpstartmodels",
    "SageMakerEndpointRegistration": "sagemakerendpointregistrations",
}


def of_operator(*, gateway: bool) -> list[dict[str, Any]]:
    """The operator's own definitions; the gateway's since the version that knows it."""
    found = []
    for kind, plural in _PLURALS.items():
        scale = {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        }
        subresources: dict[str, Any] = {"status": {}}
        if kind in MODEL_KINDS:
            subresources["scale"] = scale
        versions = [
            _version(version, required, storage=version == "v1", subresources=subresources)
            for version, required in _REQUIRED[kind].items()
        ]
        definition = _definition(GROUP, kind, plural, "Namespaced", versions)
        definition["spec"]["conversion"] = {
            "strategy": "Webhook",
            "webhook": {
                "clientConfig": {
                    "service": {
                        "name": "hyperpod-inference-conversion-webhook",
                        "namespace": "hyperpod-inference-system",
                        "path": "/convert",
                        "port": 443,
                    }
                },
                "conversionReviewVersions": ["v1"],
            },
        }
        found.append(definition)
    if gateway:
        version = _version("v1alpha1", [], storage=True, subresources={"status": {}})
        kind = "InferenceGatewayConfig"
        found.append(_definition(GROUP, kind, "inferencegatewayconfigs", "Namespaced", [version]))
    return found


def of_keda() -> list[dict[str, Any]]:
    """KEDA's definitions."""
    kinds = (
        ("ScaledObject", "scaledobjects", "Namespaced"),
        ("ScaledJob", "scaledjobs", "Namespaced"),
        ("TriggerAuthentication", "triggerauthentications", "Namespaced"),
        ("ClusterTriggerAuthentication", "clustertriggerauthentications", "Cluster"),
    )
    version = _version("v1alpha1", [], storage=True, subresources={"status": {}})
    return [_definition("keda.sh", kind, plural, scope, [version]) for kind, plural, scope in kinds]


def of_load_balancer_controller() -> list[dict[str, Any]]:
    """The load balancer controller's definitions."""
    kinds = (
        ("IngressClassParams", "ingressclassparams", "Cluster"),
        ("TargetGroupBinding", "targetgroupbindings", "Namespaced"),
    )
    version = _version("v1beta1", [], storage=True, subresources={"status": {}})
    return [_definition("elbv2.k8s.aws", kind, plural, scope, [version]) for kind, plural, scope in kinds]


def of_cert_manager() -> list[dict[str, Any]]:
    """cert-manager's definitions."""
    kinds = (
        ("cert-manager.io", "Certificate", "certificates", "Namespaced"),
        ("cert-manager.io", "CertificateRequest", "certificaterequests", "Namespaced"),
        ("cert-manager.io", "Issuer", "issuers", "Namespaced"),
        ("cert-manager.io", "ClusterIssuer", "clusterissuers", "Cluster"),
        ("acme.cert-manager.io", "Order", "orders", "Namespaced"),
        ("acme.cert-manager.io", "Challenge", "challenges", "Namespaced"),
    )
    version = _version("v1", [], storage=True, subresources={"status": {}})
    return [_definition(group, kind, plural, scope, [version]) for group, kind, plural, scope in kinds]


def _definition(
    group: str, kind: str, plural: str, scope: str, versions: list[dict[str, Any]]
) -> dict[str, Any]:
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "names": names, "scope": scope, "versions": versions},
    }


def _version(
    name: str, required: list[str], *, storage: bool, subresources: dict[str, Any]
) -> dict[str, Any]:
    spec: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    if required:
        spec["required"] = required
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "spec": spec,
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
        **({"required": ["spec"]} if required else {"x-kubernetes-preserve-unknown-fields": True}),
    }
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": schema},
        "subresources": subresources,
    }
