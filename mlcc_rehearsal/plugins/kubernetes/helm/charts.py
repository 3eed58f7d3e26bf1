"""The charts this rehearsal knows: what they put into a cluster, from their values.

Modelled from the charts' templates: aws/eks-charts ``stable/aws-load-balancer-controller`` and
NVIDIA/k8s-device-plugin ``deployments/helm/nvidia-device-plugin``. Objects nobody looks at here (leader
election roles, metrics) are left out. Of any other chart only the release's record is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mlcc_rehearsal.plugins.kubernetes.helm import load_balancer
from mlcc_rehearsal.plugins.kubernetes.helm.common import ChartError, fullname, standard_labels
from mlcc_rehearsal.plugins.kubernetes.states import Object

Render = Callable[[str, str, str, Mapping[str, Any]], list[Object]]


@dataclass(frozen=True)
class Chart:
    """A modelled chart: (release, namespace, version, values) -> objects, and objects of ``crds/``."""

    name: str
    app_version: str
    render: Render
    definitions: tuple[Object, ...] = ()


def _device_plugin(release: str, namespace: str, version: str, values: Mapping[str, Any]) -> list[Object]:
    name = fullname(release, "nvidia-device-plugin", values)
    labels = standard_labels("nvidia-device-plugin", release, version)
    selector = {key: labels[key] for key in ("app.kubernetes.io/name", "app.kubernetes.io/instance")}
    image = values.get("image") or {}
    if not isinstance(image, Mapping):
        raise ChartError("nvidia-device-plugin: values.image must be a map")
    repository = image.get("repository", "nvcr.io/nvidia/k8s-device-plugin")
    tolerations = [
        {"key": "CriticalAddonsOnly", "operator": "Exists"},
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
    ]
    spec: Object = {
        "priorityClassName": values.get("priorityClassName", "system-node-critical"),
        "tolerations": values.get("tolerations", tolerations),
        "affinity": values.get("affinity", _GPU_NODES),
        "containers": [
            {
                "name": "nvidia-device-plugin-ctr",
                "image": f"{repository}:{image.get('tag') or f'v{version}'}",
                "command": ["nvidia-device-plugin"],
            }
        ],
    }
    if values.get("nodeSelector"):
        spec["nodeSelector"] = values["nodeSelector"]
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": name, "namespace": namespace, "labels": labels},
            "spec": {
                "selector": {"matchLabels": selector},
                "updateStrategy": {"type": "RollingUpdate"},
                "template": {"metadata": {"labels": selector}, "spec": spec},
            },
        }
    ]


_GPU_NODES = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
                for key, value in (
                    ("feature.node.kubernetes.io/pci-10de.present", "true"),
                    ("feature.node.kubernetes.io/cpu-model.vendor_id", "NVIDIA"),
                    ("nvidia.com/gpu.present", "true"),
                )
            ]
        }
    }
}

CHARTS: dict[str, Chart] = {
    "aws-load-balancer-controller": Chart(
        "aws-load-balancer-controller",
        load_balancer.APP_VERSION,
        load_balancer.render,
        load_balancer.definitions(),
    ),
    "nvidia-device-plugin": Chart("nvidia-device-plugin", "", _device_plugin),
}


def chart_name(reference: str) -> str:
    """The chart's own name in ``repo/name``, an OCI address, a folder or a bare name."""
    return reference.rstrip("/").rpartition("/")[2]
