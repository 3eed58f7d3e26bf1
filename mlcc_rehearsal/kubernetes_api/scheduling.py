"""Which node a pod goes to, or why to none.

Sentences: kube-scheduler's ``framework.FitError`` and the plugins NodeResourcesFit, TaintToleration,
NodeAffinity, NodeUnschedulable (``pkg/scheduler/framework``).
"""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal
from typing import Any

from mlcc_rehearsal.kubernetes_api.status import Object

_SUFFIXES = {
    "": Decimal(1), "m": Decimal("0.001"), "k": Decimal(10**3), "M": Decimal(10**6), "G": Decimal(10**9),
    "T": Decimal(10**12), "P": Decimal(10**15), "Ki": Decimal(2**10), "Mi": Decimal(2**20),
    "Gi": Decimal(2**30), "Ti": Decimal(2**40), "Pi": Decimal(2**50),
}  # fmt: skip
_QUANTITY = re.compile(r"^([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([A-Za-z]*)$")
_DEFAULT_PODS = 110


def quantity(value: Any) -> Decimal:
    """The number behind a Kubernetes quantity (``500m``, ``16Gi``, ``4``)."""
    found = _QUANTITY.match(str(value))
    if found is None or found[2] not in _SUFFIXES:
        raise ValueError(f"not a quantity: {value!r}")
    return Decimal(found[1]) * _SUFFIXES[found[2]]


def node_is_ready(node: Object) -> bool:
    """Whether the node's Ready condition is True."""
    return any(
        condition.get("type") == "Ready" and condition.get("status") == "True"
        for condition in node.get("status", {}).get("conditions") or []
    )


def place(pod: Object, nodes: list[Object], pods: list[Object]) -> tuple[str | None, str]:
    """(node's name, "") or (None, the scheduler's message).

    ``pods`` are all pods of the cluster; those that have ended take no room.
    """
    if not nodes:
        return None, "no nodes available to schedule pods"
    used: dict[str, list[Object]] = {}
    for other in pods:
        if other.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
            used.setdefault(other["spec"].get("nodeName", ""), []).append(other)
    reasons: Counter[str] = Counter()
    final = 0
    best: tuple[int, str] | None = None
    for node in nodes:
        name = node["metadata"]["name"]
        here = used.get(name, [])
        why = obstacle(pod, node)
        if why:
            final += 1
            reasons[why] += 1
            continue
        lacking = _lacking(pod, node, here)
        reasons.update(lacking)
        if not lacking and (best is None or len(here) < best[0]):
            best = (len(here), name)
    if best is not None:
        return best[1], ""
    total = len(nodes)
    listed = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    help_ = []
    if total - final:
        help_.append(f"{total - final} No preemption victims found for incoming pod")
    if final:
        help_.append(f"{final} Preemption is not helpful for scheduling")
    message = (
        f"0/{total} nodes are available: {listed}. preemption: 0/{total} nodes are available: "
        f"{', '.join(help_)}."
    )
    return None, message


def obstacle(pod: Object, node: Object) -> str:
    """Why a node can never take a pod as things are; "" when only room could be missing."""
    spec = pod["spec"]
    taints = [taint for taint in _taints(node) if taint.get("effect") in ("NoSchedule", "NoExecute")]
    if node["spec"].get("unschedulable") and not _tolerates(spec, _UNSCHEDULABLE):
        return "node(s) were unschedulable"
    for taint in taints:
        if not _tolerates(spec, taint):
            return f"node(s) had untolerated taint {{{taint.get('key')}: {taint.get('value', '')}}}"
    labels = node["metadata"].get("labels") or {}
    selector = spec.get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in selector.items()) or not _affine(spec, node, labels):
        return "node(s) didn't match Pod's node affinity/selector"
    return ""


_UNSCHEDULABLE = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule", "value": ""}


def _taints(node: Object) -> list[Object]:
    taints = list(node["spec"].get("taints") or [])
    if not node_is_ready(node) and not any(taint.get("key") == _NOT_READY["key"] for taint in taints):
        taints.append(_NOT_READY)  # the node lifecycle controller puts it there
    return taints


def _tolerates(spec: Object, taint: Object) -> bool:
    for toleration in spec.get("tolerations") or []:
        if toleration.get("effect") not in (None, "", taint.get("effect")):
            continue
        if toleration.get("operator") == "Exists":
            if toleration.get("key") in (None, "", taint.get("key")):
                return True
        elif (toleration.get("key"), toleration.get("value", "")) == (
            taint.get("key"),
            taint.get("value", ""),
        ):
            return True
    return False


def _affine(spec: Object, node: Object, labels: dict[str, str]) -> bool:
    required = (
        ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
            "requiredDuringSchedulingIgnoredDuringExecution"
        )
        or {}
    ).get("nodeSelectorTerms")
    if required is None:
        return True
    fields = {"metadata.name": node["metadata"]["name"]}
    return any(
        bool(term.get("matchExpressions") or term.get("matchFields"))
        and all(_expression(item, labels) for item in term.get("matchExpressions") or [])
        and all(_expression(item, fields) for item in term.get("matchFields") or [])
        for term in required
    )


def _expression(expression: Object, labels: dict[str, str]) -> bool:
    value, values = labels.get(expression["key"]), expression.get("values") or []
    operator = expression["operator"]
    if operator == "In":
        return value in values
    if operator == "NotIn":
        return value not in values
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    if value is None or not value.lstrip("-").isdigit():
        return False
    return int(value) > int(values[0]) if operator == "Gt" else int(value) < int(values[0])


def _lacking(pod: Object, node: Object, here: list[Object]) -> list[str]:
    status = node.get("status", {})
    room = status.get("allocatable") or status.get("capacity") or {}
    lacking = []
    if len(here) + 1 > quantity(room.get("pods", _DEFAULT_PODS)):
        lacking.append("Too many pods")
    wanted = _requests(pod)
    taken: dict[str, Decimal] = {}
    for other in here:
        for name, amount in _requests(other).items():
            taken[name] = taken.get(name, Decimal(0)) + amount
    for name, amount in sorted(wanted.items()):
        if name in ("cpu", "memory") and name not in room:
            continue  # a node that was put without saying how big it is
        if amount > quantity(room.get(name, 0)) - taken.get(name, Decimal(0)):
            lacking.append(f"Insufficient {name}")
    return lacking


def _requests(pod: Object) -> dict[str, Decimal]:
    total: dict[str, Decimal] = {}
    for container in pod["spec"].get("containers") or []:
        resources = container.get("resources") or {}
        requests = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
        for name, amount in requests.items():
            total[name] = total.get(name, Decimal(0)) + quantity(amount)
    return {name: amount for name, amount in total.items() if amount > 0}
