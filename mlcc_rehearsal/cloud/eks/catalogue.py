"""All operations of the service: importing this fills the table."""

from mlcc_rehearsal.cloud.eks import (  # noqa: F401
    clusters,
    tags,
    updates,
    versions,
)
from mlcc_rehearsal.cloud.eks.operations import OPERATIONS

__all__ = ["OPERATIONS"]
