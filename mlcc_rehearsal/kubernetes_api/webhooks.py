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
