"""The add-on's configuration values, read once into something typed."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

ADDON = "amazon-sagemaker-hyperpod-inference"
NAMESPACE = "hyperpod-inference-system"

# From this version on the controller does not start without the cluster's ARN.
# Source: release notes v3.1.2 ("add it before moving to add-on v1.2.0"), the predecessor's record.
ARN_NEEDED_SINCE = (1, 2, 0)
# First version that knows the gateway, and first in which it is on unless switched off.
GATEWAY_SINCE = (2, 0, 0)
GATEWAY_ON_SINCE = (2, 1, 0)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What one installation of the add-on was told; roles are ARNs, "" where none was given."""

    version: str
    execution_role: str
    bucket: str
    cluster_arn: str
    gated_model_role: str
    alb: bool
    alb_role: str
    keda: bool
    keda_role: str
    gateway: bool
    gateway_role: str
    scheduling: dict[str, Any]

    @property
    def number(self) -> tuple[int, int, int]:
        """The version as numbers."""
        return version_number(self.version)

    @property
    def lacks_cluster_arn(self) -> bool:
        """Whether the controller crash-loops for want of a cluster ARN."""
        return not self.cluster_arn and self.number >= ARN_NEEDED_SINCE

    @property
    def execution_role_name(self) -> str:
        """The role's name without its path."""
        return self.execution_role.rsplit("/", 1)[-1]


def version_number(version: str) -> tuple[int, int, int]:
    """``v2.1.0-eksbuild.1`` as ``(2, 1, 0)``."""
    found = re.match(r"v(\d+)\.(\d+)\.(\d+)", version)
    assert found is not None, f"not an add-on version: {version}"
    return int(found[1]), int(found[2]), int(found[3])


def read(version: str, configuration: str | None) -> Settings:
    """The settings in configuration values that keep to the schema."""
    values: dict[str, Any] = json.loads(configuration or "{}")
    alb, keda = values.get("alb") or {}, values.get("keda") or {}
    irsa = ((keda.get("auth") or {}).get("aws") or {}).get("irsa") or {}
    gateway = values.get("inferenceGateway") or {}
    number = version_number(version)
    scheduling = {key: values[key] for key in ("affinity", "nodeSelector", "tolerations") if values.get(key)}
    return Settings(
        version=version,
        execution_role=values.get("executionRoleArn", ""),
        bucket=str(values.get("tlsCertificateS3Bucket", "")).removeprefix("s3://").split("/", 1)[0],
        cluster_arn=values.get("hyperpodClusterArn", ""),
        gated_model_role=values.get("jumpstartGatedModelDownloadRoleArn", ""),
        alb=alb.get("enabled", True),
        alb_role=(alb.get("serviceAccount") or {}).get("roleArn", ""),
        keda=keda.get("enabled", True),
        keda_role=irsa.get("roleArn", ""),
        gateway=number >= GATEWAY_SINCE and gateway.get("enabled", number >= GATEWAY_ON_SINCE),
        gateway_role=(gateway.get("serviceAccount") or {}).get("roleArn", ""),
        scheduling=scheduling,
    )
