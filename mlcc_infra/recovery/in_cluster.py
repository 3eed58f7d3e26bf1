"""Helm's record of an operation on a release that was interrupted.

Helm writes the record before it acts, and refuses every other operation while its newest one is pending. When
the one that wrote it is dead, the record is what is in the way, and not the objects: without it Helm installs
over those that carry its annotations for the same release (helm.sh/helm/v3 pkg/action/validate.go), and an
upgrade starts from the revision before.
"""

from __future__ import annotations

from collections.abc import Mapping

from botocore.exceptions import BotoCoreError, ClientError

from mlcc_infra.account.cluster_client import (
    ClusterRefusedError,
    ClusterUnreachableError,
    connect,
)
from mlcc_infra.account.lookups.eks import describe_cluster
from mlcc_infra.account.lookups.helm import PENDING_PREFIX, release_status
from mlcc_infra.account.reader import Reader
from mlcc_infra.errors import UserError

UNREADABLE = (ClusterUnreachableError, ClusterRefusedError, ClientError, BotoCoreError)


def interrupted_record(reader: Reader, lookup: Mapping[str, str]) -> str | None:
    """The name of the Secret that holds the pending record of a release, or None when nothing is pending.

    `lookup` names cluster, namespace and release, as the inventory's does. Raises one of `UNREADABLE` when
    the cluster does not tell.
    """
    found = release_status(reader, lookup["cluster"], lookup["namespace"], lookup["release"])
    if found is None or not found[1].startswith(PENDING_PREFIX):
        return None
    return f"sh.helm.release.v1.{lookup['release']}.v{found[0]}"


def delete_record(reader: Reader, lookup: Mapping[str, str], secret: str) -> None:
    """Delete a record. `UserError` when the cluster refuses."""
    namespace = lookup["namespace"]
    cluster = describe_cluster(reader, lookup["cluster"])
    if cluster is None:
        return
    try:
        with connect(reader.session, cluster) as api:
            api.delete(f"/api/v1/namespaces/{namespace}/secrets/{secret}")
    except UNREADABLE as error:
        raise UserError(
            f"Helm's record {secret} of the interrupted operation could not be deleted: {error}",
            remedy=f"kubectl delete secret --namespace {namespace} {secret}, and run this again.",
        ) from error
