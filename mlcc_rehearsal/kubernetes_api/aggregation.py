"""API services that pods answer for: whether they can be reached, and what stands still while they cannot.

Sources: ``k8s.io/kube-aggregator/pkg/controllers/status/remote`` (reasons and sentences of the condition),
``k8s.io/kubernetes/pkg/controller/namespace/deletion`` (a namespace is emptied only when every group can be
listed), kedacore/keda#1448 and kedacore/charts#495 (field reports F6 and F7).
"""

from __future__ import annotations

from mlcc_rehearsal.kubernetes_api.json_copy import copied
from mlcc_rehearsal.kubernetes_api.status import Object
from mlcc_rehearsal.kubernetes_api.store import Store

_GROUP = "apiregistration.k8s.io"


def judge_api_services(store: Store, now: str) -> None:
    """Write the condition Available of every API service that a service answers for."""
    for stored in store.scan(_GROUP, "apiservices"):
        service = stored.get("spec", {}).get("service")
        if service is None:
            continue
        available, reason, message = _verdict(store, service)
        condition = {
            "type": "Available",
            "status": "True" if available else "False",
            "reason": reason,
            "message": message,
        }
        before = next(iter(stored.get("status", {}).get("conditions") or []), {})
        same = before.get("status") == condition["status"]
        condition["lastTransitionTime"] = before.get("lastTransitionTime", now) if same else now
        if before != condition:
            store.write(_GROUP, "apiservices", {**copied(stored), "status": {"conditions": [condition]}})


def undiscovered(store: Store) -> list[str]:
    """``group/version`` of the API services that cannot be reached."""
    return [
        f"{stored['spec'].get('group')}/{stored['spec'].get('version')}"
        for stored in store.scan(_GROUP, "apiservices")
        if stored.get("spec", {}).get("service") is not None
        and any(
            condition.get("type") == "Available" and condition.get("status") == "False"
            for condition in stored.get("status", {}).get("conditions") or []
        )
    ]


def discovery_failure(groups: list[str], now: str) -> Object:
    """The condition of a namespace that cannot be emptied."""
    listed = ", ".join(
        f"{group}: the server is currently unable to handle the request" for group in sorted(groups)
    )
    return {
        "type": "NamespaceDeletionDiscoveryFailure",
        "status": "True",
        "reason": "DiscoveryFailed",
        "message": (
            f"Discovery failed for some groups, {len(groups)} failing: unable to retrieve the complete list "
            f"of server APIs: {listed}"
        ),
        "lastTransitionTime": now,
    }


def _verdict(store: Store, service: Object) -> tuple[bool, str, str]:
    namespace, name = service.get("namespace", ""), service.get("name", "")
    where = f'service/{name} in "{namespace}"'
    if store.read("", "services", namespace, name) is None:
        return False, "ServiceNotFound", f"{where} is not present"
    endpoints = store.read("", "endpoints", namespace, name) or {}
    if any(subset.get("addresses") for subset in endpoints.get("subsets") or []):
        return True, "Passed", "all checks passed"
    return False, "MissingEndpoints", f'endpoints for {where} have no addresses with port name "https"'
