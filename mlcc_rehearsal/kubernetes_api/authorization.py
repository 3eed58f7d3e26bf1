"""What a caller may do: EKS access policies and RBAC.

Sources: https://docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html (the policies
follow Kubernetes' default roles ``cluster-admin``, ``admin``, ``edit``, ``view``) and
https://kubernetes.io/docs/reference/access-authn-authz/rbac/. Not modelled: escalation checks, aggregation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mlcc_rehearsal.kubernetes_api import roles
from mlcc_rehearsal.kubernetes_api.authentication import Caller
from mlcc_rehearsal.kubernetes_api.status import ApiError, Object, qualified
from mlcc_rehearsal.kubernetes_api.store import Store

_GROUP = "rbac.authorization.k8s.io"
_POLICIES = {
    "AmazonEKSClusterAdminPolicy": roles.CLUSTER_ADMIN,
    "AmazonEKSAdminPolicy": roles.ADMIN,
    "AmazonEKSAdminViewPolicy": roles.VIEW_ALL,
    "AmazonEKSEditPolicy": roles.EDIT,
    "AmazonEKSViewPolicy": roles.VIEW,
}


@dataclass(frozen=True)
class Attributes:
    """What a request wants: a verb on a resource, or a GET of a path."""

    verb: str
    group: str = ""
    plural: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def resource(self) -> str:
        """``pods`` or ``pods/log``."""
        return f"{self.plural}/{self.subresource}" if self.subresource else self.plural


def allowed(store: Store, caller: Caller, wanted: Attributes) -> bool:
    """Whether a caller may do what a request wants."""
    return any(_rule_allows(rule, wanted) for rule in rules_of(store, caller, wanted.namespace))


def check(store: Store, caller: Caller, wanted: Attributes) -> None:
    """Refuse what a caller may not do.

    Raises:
        ApiError: 403 Forbidden in Kubernetes' words.
    """
    if allowed(store, caller, wanted):
        return
    if wanted.path:
        message = f'forbidden: User "{caller.username}" cannot {wanted.verb} path "{wanted.path}"'
        raise ApiError(403, "Forbidden", message)
    where = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
    quoted = f' "{wanted.name}"' if wanted.name else ""
    message = (
        f'{qualified(wanted.plural, wanted.group)}{quoted} is forbidden: User "{caller.username}" cannot '
        f'{wanted.verb} resource "{wanted.resource}" in API group "{wanted.group}" {where}'
    )
    raise ApiError(403, "Forbidden", message, name=wanted.name, group=wanted.group, kind=wanted.plural)


def rules_of(store: Store, caller: Caller, namespace: str) -> Iterator[Object]:
    """Every rule that holds for a caller in a namespace ("" for the cluster's scope)."""
    yield from roles.AUTHENTICATED
    for policy in caller.access_policies:
        scope = caller.policy_namespaces.get(policy)
        if scope is None or namespace in scope:
            yield from _POLICIES.get(policy, ())
    for binding in store.scan(_GROUP, "clusterrolebindings"):
        if _names(binding, caller):
            yield from _role_rules(store, binding["roleRef"], "")
    if namespace:
        for binding in store.scan(_GROUP, "rolebindings", namespace):
            if _names(binding, caller):
                yield from _role_rules(store, binding["roleRef"], namespace)


def _role_rules(store: Store, reference: Object, namespace: str) -> Iterable[Object]:
    if reference.get("kind") == "Role":
        found = store.read(_GROUP, "roles", namespace, reference["name"])
    else:
        found = store.read(_GROUP, "clusterroles", "", reference["name"])
    return (found or {}).get("rules") or []


def _names(binding: Object, caller: Caller) -> bool:
    groups = {*caller.groups, "system:authenticated"}
    for subject in binding.get("subjects") or []:
        if subject.get("kind") == "User" and subject.get("name") == caller.username:
            return True
        if subject.get("kind") == "Group" and subject.get("name") in groups:
            return True
    return False


def _rule_allows(rule: Object, wanted: Attributes) -> bool:
    def among(key: str, value: str) -> bool:
        return bool({"*", value} & set(rule.get(key) or []))

    if not among("verbs", wanted.verb):
        return False
    if wanted.path:
        return any(
            path == "*" or path == wanted.path or (path.endswith("*") and wanted.path.startswith(path[:-1]))
            for path in rule.get("nonResourceURLs") or []
        )
    resources = rule.get("resources") or []
    named = among("resources", wanted.resource) or (
        bool(wanted.subresource) and f"*/{wanted.subresource}" in resources
    )
    names = rule.get("resourceNames")
    return named and among("apiGroups", wanted.group) and (not names or wanted.name in names)
