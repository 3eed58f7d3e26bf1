"""Kubernetes versions that EKS offers, and when their support ends.

Source: facts/limits.json, eks.kubernetes_versions (endoflife.date's table of 2026-08-22, read as of
2026-11-30).  The platform version is made up: nothing depends on it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from mlcc_rehearsal.cloud.eks.models import EksBackend
from mlcc_rehearsal.cloud.eks.operations import operation, page

# version: (end of standard support, end of extended support)
SUPPORT: dict[str, tuple[str, str]] = {
    "1.30": ("2025-07-23", "2026-07-23"),
    "1.31": ("2025-11-26", "2026-11-26"),
    "1.32": ("2026-03-23", "2027-03-23"),
    "1.33": ("2026-07-29", "2027-07-29"),
    "1.34": ("2026-12-02", "2027-12-02"),
    "1.35": ("2027-03-27", "2028-03-27"),
    "1.36": ("2027-08-02", "2028-08-02"),
}
_AS_OF = "2026-11-30"

OFFERED = tuple(version for version, (_, extended) in SUPPORT.items() if extended >= _AS_OF)
DEFAULT = "1.35"
PLATFORM = "eks.8"


def minor(version: str) -> int:
    """The minor number of a version such as ``1.35``."""
    return int(version.split(".")[1])


def _status(version: str) -> str:
    standard, extended = SUPPORT[version]
    if standard >= _AS_OF:
        return "STANDARD_SUPPORT"
    return "EXTENDED_SUPPORT" if extended >= _AS_OF else "UNSUPPORTED"


@operation("DescribeClusterVersions")
def describe_cluster_versions(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """The versions, newest first, with their support dates."""
    del eks
    wanted = parameters.get("clusterVersions") or []
    status = parameters.get("versionStatus") or parameters.get("status")
    versions = []
    for version in reversed(SUPPORT):
        state = _status(version)
        if wanted and version not in wanted:
            continue
        if status and state.lower() != str(status).lower():
            continue
        if parameters.get("defaultOnly") and version != DEFAULT:
            continue
        if state == "UNSUPPORTED" and not (parameters.get("includeAll") or wanted or status):
            continue
        standard, extended = SUPPORT[version]
        versions.append(
            {
                "clusterVersion": version,
                "clusterType": "eks",
                "defaultPlatformVersion": PLATFORM,
                "defaultVersion": version == DEFAULT,
                "endOfStandardSupportDate": datetime.fromisoformat(standard).replace(tzinfo=UTC),
                "endOfExtendedSupportDate": datetime.fromisoformat(extended).replace(tzinfo=UTC),
                "status": state.lower(),
                "versionStatus": state,
                "kubernetesPatchVersion": f"{version}.0",
            }
        )
    return page(versions, parameters, "clusterVersions")
