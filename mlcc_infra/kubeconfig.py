"""Kubeconfigs for EKS clusters. Pure: the same inputs give the same bytes, and no token is ever inside."""

from __future__ import annotations

import json
from typing import Any

# What `aws eks get-token` answers in (EKS user guide, "Create kubeconfig file").
EXEC_API_VERSION = "client.authentication.k8s.io/v1beta1"


def kubeconfig(
    *,
    cluster_name: str,
    endpoint: str,
    certificate_authority: str,
    region: str,
    aws_profile: str | None,
) -> dict[str, Any]:
    """A kubeconfig whose credentials come from `aws eks get-token` when they are needed.

    `certificate_authority` is base64 PEM as EKS gives it. `aws_profile` goes into the arguments, so
    that an ambient AWS_PROFILE cannot lead to another account.
    """
    arguments = ["--region", region, "eks", "get-token", "--cluster-name", cluster_name, "--output", "json"]
    if aws_profile:
        arguments = ["--profile", aws_profile, *arguments]
    user = {
        "exec": {
            "apiVersion": EXEC_API_VERSION,
            "command": "aws",
            "args": arguments,
            "interactiveMode": "Never",
        }
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": cluster_name,
                "cluster": {"server": endpoint, "certificate-authority-data": certificate_authority},
            }
        ],
        "contexts": [{"name": cluster_name, "context": {"cluster": cluster_name, "user": cluster_name}}],
        "current-context": cluster_name,
        "users": [{"name": cluster_name, "user": user}],
    }


def kubeconfig_text(config: dict[str, Any]) -> str:
    """The kubeconfig as JSON with sorted keys, so that equal content is equal text and gives no diff."""
    return json.dumps(config, sort_keys=True, separators=(",", ":"))
