"""Helm releases, found by the Secrets in which Helm keeps them (Helm documentation, storage backends).

Each revision of a release is one Secret of type `helm.sh/release.v1`, labelled with the release's name, its
revision and its status. A release whose state was lost has to be taken over: Helm refuses to install under a
name in use. Its import id is `<namespace>/<release>` (pulumi-kubernetes, `helm.sh/v3:Release`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mlcc_infra.account.cluster_client import connect
from mlcc_infra.account.decisions import Wanted
from mlcc_infra.account.import_ids import import_id
from mlcc_infra.account.lookups.eks import describe_cluster
from mlcc_infra.account.preflight import CheckResult, Verdict
from mlcc_infra.account.reader import Found, Reader

RELEASE = "kubernetes:helm.sh/v3:Release"
RELEASE_TYPE = "helm.sh/release.v1"
# Statuses of a release that somebody works on, or died over (helm, pkg/release/status.go).
PENDING_PREFIX = "pending-"


def release_status(reader: Reader, cluster: str, namespace: str, release: str) -> tuple[int, str] | None:
    """(revision, status) of a release's newest revision in an EKS cluster, or None when there is none.

    Raises `ClusterUnreachableError` or `ClusterRefusedError` when the cluster does not tell.
    """
    described = describe_cluster(reader, cluster)
    if described is None:
        return None

    def read() -> tuple[int, str] | None:
        with connect(reader.session, described) as api:
            secrets = api.items(
                f"/api/v1/namespaces/{namespace}/secrets",
                labelSelector=f"owner=helm,name={release}",
                fieldSelector=f"type={RELEASE_TYPE}",
            )
        labels = [secret["metadata"].get("labels") or {} for secret in secrets]
        return max(((int(found["version"]), str(found["status"])) for found in labels), default=None)

    return reader.once(("helm", cluster, namespace, release), read)


def _release(reader: Reader, wanted: Wanted) -> Found | None:
    """A release has no tags: it belongs to whoever owns the cluster.

    With `recorded` the state has it, and the cluster is not asked.
    """
    lookup = wanted.lookup
    described = describe_cluster(reader, lookup["cluster"])
    if described is None:
        return None
    where = (lookup["cluster"], lookup["namespace"], lookup["release"])
    if "recorded" not in lookup and release_status(reader, *where) is None:
        return None
    identifier = import_id(RELEASE, namespace=lookup["namespace"], release=lookup["release"])
    return Found(import_id=identifier, resource_id=identifier, tags=described.get("tags") or {})


def check_release(reader: Reader, wanted: Wanted) -> list[CheckResult]:
    """A release that the state lacks must not be one that somebody began and never finished."""
    lookup = wanted.lookup
    if "recorded" in lookup:
        return []
    cluster, namespace, release = lookup["cluster"], lookup["namespace"], lookup["release"]
    found = release_status(reader, cluster, namespace, release)
    if found is None or not found[1].startswith(PENDING_PREFIX):
        return []
    revision, status = found
    return [
        CheckResult(
            name=f"chart {release}",
            verdict=Verdict.REFUSED,
            found=f"the Helm release {namespace}/{release} in {cluster} is {status}: another run works on "
            "it, or one was killed meanwhile",
            needed="a release that takes changes; Helm refuses every operation on this one",
            remedy="after a killed run of this stack: mlcc-infra recover, which removes that record; else, "
            f"when nobody works on it any more: kubectl delete secret -n {namespace} "
            f"sh.helm.release.v1.{release}.v{revision}, then run again",
        )
    ]


LOOKUPS: Mapping[str, Callable[[Reader, Wanted], Found | None]] = {
    RELEASE: _release,
}
