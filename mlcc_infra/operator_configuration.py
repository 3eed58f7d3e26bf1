"""Configuration values of the add-on `amazon-sagemaker-hyperpod-inference`. Pure.

Sources: facts gathered from AWS's HyperPod documentation, its installer and the operator's chart
(facts/inference_addon.json). No schema is published; where the live one can be read it is the judge.
`UpdateAddon` replaces the stored values as a whole, so all of them are always sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mlcc_infra import versions

GATEWAY_SINCE: Final = "v2.0.0-eksbuild.2"
"""First version that knows `inferenceGateway`; from v2.1.0 it is on unless switched off."""
CLUSTER_ARN: Final = re.compile(r"^arn:aws[a-z\-]*:sagemaker:[a-z0-9\-]*:[0-9]{12}:cluster/[a-z0-9]{12}$")
"""A HyperPod cluster's ARN ends in an id, not in its name (botocore, ClusterArn)."""
OWN_KEYS: Final = (
    "executionRoleArn",
    "tlsCertificateS3Bucket",
    "hyperpodClusterArn",
    "jumpstartGatedModelDownloadRoleArn",
    "alb",
    "keda",
    "inferenceGateway",
)
"""Keys that this product sets; a profile's additional configuration may not."""


@dataclass(frozen=True, kw_only=True)
class OperatorConfiguration:
    """What the operator is told. Optional ARNs are left out when they have no value."""

    version: str
    execution_role_arn: str
    tls_bucket: str
    hyperpod_cluster_arn: str
    alb_role_arn: str | None
    keda_role_arn: str | None
    gated_model_role_arn: str | None = None
    gateway_enabled: bool = False
    gateway_role_arn: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    def values(self) -> dict[str, Any]:
        """The configuration values, nested as the add-on wants them.

        Raises `ValueError` for a cluster ARN that is none: from v1.2.0 the controller crash-loops without
        one, and the add-on's schema would accept an empty text.
        """
        if not CLUSTER_ARN.fullmatch(self.hyperpod_cluster_arn):
            raise ValueError(f"not the ARN of a HyperPod cluster: {self.hyperpod_cluster_arn!r}")
        values: dict[str, Any] = {
            **self.more,
            "executionRoleArn": self.execution_role_arn,
            "tlsCertificateS3Bucket": self.tls_bucket,
            "hyperpodClusterArn": self.hyperpod_cluster_arn,
            "alb": _alb(self.alb_role_arn),
            "keda": _keda(self.keda_role_arn),
        }
        if self.gated_model_role_arn:
            values["jumpstartGatedModelDownloadRoleArn"] = self.gated_model_role_arn
        if knows_gateway(self.version):
            gateway: dict[str, Any] = {"enabled": self.gateway_enabled}
            if self.gateway_enabled and self.gateway_role_arn:
                gateway["serviceAccount"] = {"roleArn": self.gateway_role_arn}
            values["inferenceGateway"] = gateway
        return values


def knows_gateway(version: str) -> bool:
    """Whether a version of the add-on knows the key `inferenceGateway`."""
    return versions.addon_version_key(version) >= versions.addon_version_key(GATEWAY_SINCE)


def _alb(role_arn: str | None) -> dict[str, Any]:
    if role_arn is None:
        return {"enabled": False}
    return {"enabled": True, "serviceAccount": {"create": True, "roleArn": role_arn}}


def _keda(role_arn: str | None) -> dict[str, Any]:
    if role_arn is None:
        return {"enabled": False}
    return {"enabled": True, "auth": {"aws": {"irsa": {"enabled": True, "roleArn": role_arn}}}}
