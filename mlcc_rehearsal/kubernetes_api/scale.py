"""The ``scale`` subresource."""

from __future__ import annotations

from mlcc_rehearsal.kubernetes_api import status
from mlcc_rehearsal.kubernetes_api.catalogue import Resource
from mlcc_rehearsal.kubernetes_api.lifecycle import Lifecycle, WriteOptions
from mlcc_rehearsal.kubernetes_api.patches import JSON_PATCH, json_patch, merge_patch
from mlcc_rehearsal.kubernetes_api.requests import Request
from mlcc_rehearsal.kubernetes_api.selectors import selector_of
from mlcc_rehearsal.kubernetes_api.status import Object


def read_scale(lifecycle: Lifecycle, resource: Resource, namespace: str, name: str) -> Object:
    """An object's ``autoscaling/v1`` Scale."""
    return _scale_of(lifecycle.get(resource, namespace, name))


def write_scale(
    lifecycle: Lifecycle,
    resource: Resource,
    namespace: str,
    name: str,
    request: Request,
    options: WriteOptions,
) -> Object:
    """Set the replicas through a Scale (PUT or PATCH).

    Raises:
        ApiError: 404, 409 on a stale resourceVersion, 422 for a number below zero.
    """
    with lifecycle.store.lock:
        live = lifecycle.get(resource, namespace, name)
        scale = _scale_of(live)
        body = request.object()
        if request.method == "PUT":
            wanted = body
        elif request.content_type() == JSON_PATCH:
            wanted = json_patch(scale, body)
        else:
            wanted = merge_patch(scale, body)
        replicas = (wanted.get("spec") or {}).get("replicas", 0)
        if replicas < 0:
            sentence = f"Invalid value: {replicas}: must be greater than or equal to 0"
            raise status.invalid(
                "Scale", "autoscaling", name, [("spec.replicas", "FieldValueInvalid", sentence)]
            )
        live["spec"]["replicas"] = replicas
        version = (wanted.get("metadata") or {}).get("resourceVersion")
        if version:
            live["metadata"]["resourceVersion"] = version
        scaled, _ = lifecycle.update(resource, namespace, name, live, options)
        return _scale_of(scaled)


def _scale_of(obj: Object) -> Object:
    metadata = obj["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: metadata[key] for key in kept if key in metadata},
        "spec": {"replicas": obj.get("spec", {}).get("replicas", 0)},
        "status": {
            "replicas": obj.get("status", {}).get("replicas", 0),
            "selector": selector_of(obj.get("spec", {}).get("selector")),
        },
    }
