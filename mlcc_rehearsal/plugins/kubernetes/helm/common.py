"""What charts made by ``helm create`` have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class ChartError(Exception):
    """A chart cannot be rendered from its values, in Helm's words."""


def fullname(release: str, chart: str, values: Mapping[str, Any]) -> str:
    """The ``fullname`` template: an override, or the release with the chart's name unless it contains it."""
    if values.get("fullnameOverride"):
        return str(values["fullnameOverride"])[:63].rstrip("-")
    name = str(values.get("nameOverride") or chart)
    return (release if name in release else f"{release}-{name}")[:63].rstrip("-")


def standard_labels(chart: str, release: str, version: str) -> dict[str, str]:
    """The recommended labels."""
    labels = {
        "app.kubernetes.io/name": chart,
        "app.kubernetes.io/instance": release,
        "app.kubernetes.io/managed-by": "Helm",
    }
    if version:
        labels["helm.sh/chart"] = f"{chart}-{version}".replace("+", "_")[:63]
    return labels
