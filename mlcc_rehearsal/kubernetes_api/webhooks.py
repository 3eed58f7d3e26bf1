"""Admission webhooks: nobody runs them here, but a webhook whose service has no pod fails the request.

That is the trap a real cluster sets: aws-load-balancer-controller registers a webhook for Services with
``failurePolicy: Fail`` before its pods are ready, and every Service made meanwhile is refused
(kubernetes-sigs/aws-load-balancer-controller#4140). A webhook with an endpoint is taken to allow.
"""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.kubernetes_api.catalogue import Resource
from mlcc_rehearsal.kubernetes_api.selectors import label_matcher, selector_of
from mlcc_rehearsal.kubernetes_api.status import Object, internal
from mlcc_rehearsal.kubernetes_api.store import Store

_GROUP = "admissionregistration.k8s.io"
CERTIFICATE_ANNOTATION = "rehearsal.mlcc/certificate-of"
"""On a webhook configuration: the service (``name.namespace``) that its certificate authority vouches for."""


def call_webhooks(store: Store, resource: Resource, obj: Object, operation: str) -> None:
    """Refuse a request whose webhook cannot be reached.

    Raises:
        ApiError: 500 InternalError ``failed calling webhook``, as the API server words it.
    """
    if resource.group == _GROUP:
        return
    for plural in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
        for configuration in store.scan(_GROUP, plural):
            for webhook in configuration.get("webhooks") or []:
                if _concerns(store, webhook, resource, obj, operation):
                    _require_endpoint(store, webhook)
                    _require_certificate(configuration, webhook)


def _concerns(store: Store, webhook: Object, resource: Resource, obj: Object, operation: str) -> bool:
    if webhook.get("failurePolicy") == "Ignore":
        return False
    if not any(_rule_matches(rule, resource, operation) for rule in webhook.get("rules") or []):
        return False
    if not label_matcher(selector_of(webhook.get("objectSelector")))(obj):
        return False
    if not resource.namespaced:
        return True
    namespace = store.read("", "namespaces", "", obj["metadata"].get("namespace", "")) or {"metadata": {}}
    return label_matcher(selector_of(webhook.get("namespaceSelector")))(namespace)


def _rule_matches(rule: Object, resource: Resource, operation: str) -> bool:
    def among(key: str, value: str) -> bool:
        return bool({"*", value} & set(rule.get(key) or []))

    scope = rule.get("scope", "*")
    scoped = scope == "*" or (scope == "Namespaced") == resource.namespaced
    named = among("resources", resource.plural) or "*/*" in (rule.get("resources") or [])
    groups = rule.get("apiGroups")
    grouped = groups is None or among("apiGroups", resource.group)
    return (
        scoped
        and named
        and grouped
        and among("operations", operation)
        and among("apiVersions", resource.version)
    )


def _require_endpoint(store: Store, webhook: Object) -> None:
    service: Any = webhook.get("clientConfig", {}).get("service")
    if service is None:
        return
    name, namespace = service.get("name", ""), service.get("namespace", "")
    path = service.get("path", "")
    address = f"https://{name}.{namespace}.svc:{service.get('port', 443)}{path}"
    call = f"{address}?timeout={webhook.get('timeoutSeconds', 10)}s"
    if store.read("", "services", namespace, name) is None:
        trouble = f'service "{name}" not found'
    else:
        endpoints = store.read("", "endpoints", namespace, name) or {}
        if any(subset.get("addresses") for subset in endpoints.get("subsets") or []):
            return
        trouble = f'no endpoints available for service "{name}"'
    raise internal(
        f'failed calling webhook "{webhook["name"]}": failed to call webhook: Post "{call}": {trouble}'
    )


def _require_certificate(configuration: Object, webhook: Object) -> None:
    """Refuse a call to a service whose certificate is another's.

    So it is with two load balancer controllers in a cluster (kubernetes-sigs/aws-load-balancer-controller
    #2185, #2847): they share the webhooks' names, and each has an authority of its own.
    """
    vouched = (configuration["metadata"].get("annotations") or {}).get(CERTIFICATE_ANNOTATION)
    service: Any = webhook.get("clientConfig", {}).get("service")
    if vouched is None or service is None or vouched == f"{service['name']}.{service['namespace']}":
        return
    name = f"{service['name']}.{service['namespace']}.svc"
    address = f"https://{name}:{service.get('port', 443)}{service.get('path', '')}"
    trouble = f"x509: certificate is valid for {vouched}, {vouched}.svc, not {name}"
    raise internal(
        f'failed calling webhook "{webhook["name"]}": failed to call webhook: '
        f'Post "{address}?timeout={webhook.get("timeoutSeconds", 10)}s": {trouble}'
    )
