"""Updates: what UpdateClusterConfig, UpdateAddon and the like answer, and what becomes of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from mlcc_rehearsal.cloud import durations
from mlcc_rehearsal.cloud.eks.errors import ResourceNotFoundException
from mlcc_rehearsal.cloud.eks.models import Cluster, EksBackend
from mlcc_rehearsal.cloud.eks.operations import operation, page


def begin_update(
    eks: EksBackend,
    cluster: Cluster,
    kind: str,
    parameters: dict[str, Any],
    duration: str,
    finish: Callable[[], None],
    *,
    owner: tuple[str, str] = ("cluster", ""),
) -> dict[str, Any]:
    """Start an update; after ``duration`` it is Successful and ``finish`` runs.

    :param kind: the update's type, for example ``VersionUpdate``.
    :param parameters: its parameters by name; values that are not text are shown as JSON.
    :param owner: what is updated: ``("cluster", "")``, ``("nodegroup", name)`` or ``("addon", name)``.
    """
    update: dict[str, Any] = {
        "id": eks.new_id(),
        "status": "InProgress",
        "type": kind,
        "params": [
            {"type": name, "value": value if isinstance(value, str) else json.dumps(value)}
            for name, value in parameters.items()
        ],
        "createdAt": eks.account.clock.timestamp(),
        "errors": [],
    }
    cluster.updates[update["id"]] = update
    cluster.update_owners[update["id"]] = owner

    def done() -> None:
        update["status"] = "Successful"
        finish()

    eks.account.clock.after(durations.seconds(duration), done)
    return update


def update_in_progress(cluster: Cluster, owner: tuple[str, str] = ("cluster", "")) -> str | None:
    """Id of an update of ``owner`` that is in progress, or None."""
    for update_id, update in cluster.updates.items():
        if update["status"] == "InProgress" and cluster.update_owners[update_id] == owner:
            return update_id
    return None


def _owner(parameters: dict[str, Any]) -> tuple[str, str] | None:
    if parameters.get("nodegroupName"):
        return "nodegroup", str(parameters["nodegroupName"])
    if parameters.get("addonName"):
        return "addon", str(parameters["addonName"])
    return None


@operation("DescribeUpdate")
def describe_update(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """One update of a cluster, a node group or an add-on."""
    cluster = eks.cluster(parameters["name"])
    update = cluster.updates.get(parameters["updateId"])
    owner = _owner(parameters)
    if update is None or (owner is not None and cluster.update_owners[parameters["updateId"]] != owner):
        raise ResourceNotFoundException(f"No update found for ID: {parameters['updateId']}")
    return {"update": update}


@operation("ListUpdates")
def list_updates(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Ids of the updates of a cluster, a node group or an add-on, newest first."""
    cluster = eks.cluster(parameters["name"])
    owner = _owner(parameters) or ("cluster", "")
    ids = [update_id for update_id, of in cluster.update_owners.items() if of == owner]
    return page(list(reversed(ids)), parameters, "updateIds")
