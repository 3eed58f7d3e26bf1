"""HyperPod clusters, as SageMaker describes them."""

from __future__ import annotations

from typing import Any

from mlcc_infra.account.reader import Reader

# DescribeCluster of a cluster that is not there (SageMaker API reference).
_ABSENT = ("ResourceNotFound", "ResourceNotFoundException", "ValidationException")


def describe_hyperpod(reader: Reader, name: str) -> dict[str, Any] | None:
    """The HyperPod cluster of a name or ARN, or None."""
    client = reader.session.client("sagemaker")
    return reader.optional(
        ("hyperpod", name), lambda: dict(client.describe_cluster(ClusterName=name)), _ABSENT
    )
