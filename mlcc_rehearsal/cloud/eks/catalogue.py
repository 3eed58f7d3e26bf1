"""All operations of the service: importing this fills the table."""

from mlcc_rehearsal.cloud.eks import (  # noqa: F401
    access_entries,
    addon_catalogue,
    addons,
    cluster_updates,
    clusters,
    fargate_profiles,
    node_groups,
    pod_identity,
    tags,
    updates,
    versions,
)
from mlcc_rehearsal.cloud.eks.operations import OPERATIONS

__all__ = ["OPERATIONS"]
