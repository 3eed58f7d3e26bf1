"""Tables for ``kubectl get``: the columns a server chooses.

Source: ``pkg/printers/internalversion/printers.go`` of Kubernetes for the kinds listed, and
``additionalPrinterColumns`` of a CRD; every other kind has NAME and AGE.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mlcc_rehearsal.kubernetes_api.catalogue import Resource
from mlcc_rehearsal.kubernetes_api.status import Object

Cell = Callable[[Object], Any]


def wanted(accept: str) -> bool:
    """Whether a client prefers a table."""
    return "as=Table" in accept.partition(",")[0]


def table(items: list[Object], metadata: Object, resource: Resource, version: Object, now: str) -> Object:
    """A ``meta.k8s.io/v1`` Table of objects."""
    columns = _columns(resource, version, now)
    definitions = [
        {
            "name": name,
            "type": "string",
            "format": "name" if name == "Name" else "",
            "description": "",
            "priority": 0,
        }
        for name, _ in columns
    ]
    rows = []
    for item in items:
        partial = {
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": item["metadata"],
        }
        rows.append({"cells": [cell(item) for _, cell in columns], "object": partial})
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": rows,
    }


def watch_rows(events: Iterable[Object], resource: Resource, version: Object, now: str) -> Iterator[Object]:
    """Watch events with one-row tables in place of objects."""
    for event in events:
        if event["type"] in ("ERROR", "BOOKMARK"):
            yield event
            continue
        metadata = {"resourceVersion": event["object"]["metadata"]["resourceVersion"]}
        yield {**event, "object": table([event["object"]], metadata, resource, version, now)}


def _columns(resource: Resource, version: Object, now: str) -> list[tuple[str, Cell]]:
    name: tuple[str, Cell] = ("Name", lambda obj: obj["metadata"]["name"])
    age: tuple[str, Cell] = ("Age", lambda obj: _age(obj["metadata"].get("creationTimestamp"), now))
    if resource.custom:
        own: list[tuple[str, Cell]] = [
            (column["name"], _json_path(column["jsonPath"]))
            for column in version.get("additionalPrinterColumns", [])
            if not column.get("priority") and column["name"] != "Age"
        ]
        return [name, *own, age]
    return [name, *_BUILTIN.get(resource.kind, []), age]


def _age(created: str | None, now: str) -> str:
    if not created:
        return "<unknown>"
    seconds = int((_time(now) - _time(created)).total_seconds())
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{max(seconds, 0)}s"


def _time(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


def _json_path(path: str) -> Cell:
    def look(obj: Object) -> Any:
        value: Any = obj
        for step in path.strip(".").split("."):
            value = value.get(step) if isinstance(value, dict) else None
        return value

    return look


def _at(path: str, default: Any = 0) -> Cell:
    look = _json_path(path)
    return lambda obj: default if look(obj) is None else look(obj)


def _pod_ready(obj: Object) -> str:
    statuses = obj.get("status", {}).get("containerStatuses") or []
    return f"{sum(1 for item in statuses if item.get('ready'))}/{len(obj['spec'].get('containers') or [])}"


def _pod_status(obj: Object) -> str:
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    status = obj.get("status", {})
    for item in status.get("containerStatuses") or []:
        waiting = item.get("state", {}).get("waiting", {}).get("reason")
        if waiting:
            return str(waiting)
    phase = str(status.get("reason") or status.get("phase", "Unknown"))
    return "Completed" if phase == "Succeeded" else phase


def _restarts(obj: Object) -> int:
    return sum(item.get("restartCount", 0) for item in obj.get("status", {}).get("containerStatuses") or [])


def _node_status(obj: Object) -> str:
    ready = any(
        item.get("type") == "Ready" and item.get("status") == "True"
        for item in obj.get("status", {}).get("conditions") or []
    )
    text = "Ready" if ready else "NotReady"
    return f"{text},SchedulingDisabled" if obj.get("spec", {}).get("unschedulable") else text


def _ports(obj: Object) -> str:
    texts = []
    for port in obj.get("spec", {}).get("ports") or []:
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        texts.append(f"{port['port']}{node}/{port.get('protocol', 'TCP')}")
    return ",".join(texts) or "<none>"


def _external(obj: Object) -> str:
    found = obj.get("status", {}).get("loadBalancer", {}).get("ingress") or []
    if found:
        return ",".join(item.get("hostname") or item.get("ip", "") for item in found)
    return "<pending>" if obj.get("spec", {}).get("type") == "LoadBalancer" else "<none>"


def _completions(obj: Object) -> str:
    return f"{obj.get('status', {}).get('succeeded', 0)}/{obj['spec'].get('completions', 1)}"


def _length(*keys: str) -> Cell:
    return lambda obj: sum(len(obj.get(key) or ()) for key in keys)


_BUILTIN: dict[str, list[tuple[str, Cell]]] = {
    "ConfigMap": [("Data", _length("data", "binaryData"))],
    "DaemonSet": [
        ("Desired", _at("status.desiredNumberScheduled")),
        ("Current", _at("status.currentNumberScheduled")),
        ("Ready", _at("status.numberReady")),
        ("Up-to-date", _at("status.updatedNumberScheduled")),
        ("Available", _at("status.numberAvailable")),
    ],
    "Deployment": [
        ("Ready", lambda o: f"{_at('status.readyReplicas')(o)}/{_at('spec.replicas')(o)}"),
        ("Up-to-date", _at("status.updatedReplicas")),
        ("Available", _at("status.availableReplicas")),
    ],
    "Job": [("Completions", _completions)],
    "Namespace": [("Status", _at("status.phase", "Active"))],
    "Node": [("Status", _node_status), ("Version", _at("status.nodeInfo.kubeletVersion", ""))],
    "Pod": [("Ready", _pod_ready), ("Status", _pod_status), ("Restarts", _restarts)],
    "ReplicaSet": [
        ("Desired", _at("spec.replicas")),
        ("Current", _at("status.replicas")),
        ("Ready", _at("status.readyReplicas")),
    ],
    "Secret": [("Type", _at("type", "Opaque")), ("Data", _length("data"))],
    "Service": [
        ("Type", _at("spec.type", "ClusterIP")),
        ("Cluster-IP", _at("spec.clusterIP", "<none>")),
        ("External-IP", _external),
        ("Port(s)", _ports),
    ],
    "StatefulSet": [
        ("Ready", lambda o: f"{_at('status.readyReplicas')(o)}/{_at('spec.replicas')(o)}"),
    ],
}
