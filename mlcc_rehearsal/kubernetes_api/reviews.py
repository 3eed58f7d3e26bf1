"""Reviews that a caller asks about itself (``kubectl auth can-i``, ``kubectl auth whoami``)."""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.kubernetes_api.authentication import Caller
from mlcc_rehearsal.kubernetes_api.authorization import Attributes, allowed, rules_of
from mlcc_rehearsal.kubernetes_api.catalogue import Resource
from mlcc_rehearsal.kubernetes_api.status import Object
from mlcc_rehearsal.kubernetes_api.store import Store


def review(store: Store, caller: Caller, resource: Resource, body: Any) -> Object:
    """The review with its status filled in."""
    spec = body.get("spec") or {}
    answer: Object = {**body, "apiVersion": resource.api_version, "kind": resource.kind}
    answer.setdefault("metadata", {})
    if resource.kind == "SelfSubjectAccessReview":
        answer["status"] = {"allowed": allowed(store, caller, _attributes(spec))}
    elif resource.kind == "SelfSubjectRulesReview":
        rules = list(rules_of(store, caller, spec.get("namespace", "")))
        answer["status"] = {
            "resourceRules": [rule for rule in rules if "resources" in rule],
            "nonResourceRules": [rule for rule in rules if "nonResourceURLs" in rule],
            "incomplete": False,
        }
    else:
        groups = [*caller.groups, "system:authenticated"]
        answer["status"] = {"userInfo": {"username": caller.username, "groups": groups}}
    return answer


def _attributes(spec: Object) -> Attributes:
    if "nonResourceAttributes" in spec:
        asked = spec["nonResourceAttributes"]
        return Attributes(verb=asked.get("verb", ""), path=asked.get("path", ""))
    asked = spec.get("resourceAttributes") or {}
    return Attributes(
        verb=asked.get("verb", ""),
        group=asked.get("group", ""),
        plural=asked.get("resource", ""),
        subresource=asked.get("subresource", ""),
        namespace=asked.get("namespace", ""),
        name=asked.get("name", ""),
    )
