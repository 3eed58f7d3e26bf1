"""The kubeconfig that the published component makes: who calls gets a token from the `aws` command."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_EXEC_API = "client.authentication.k8s.io/v1beta1"


def region_of(arn: str) -> str:
    """The region in an ARN. ValueError for what is no ARN."""
    parts = arn.split(":")
    if len(parts) < 4 or parts[0] != "arn":
        raise ValueError(f"Invalid ARN: {arn!r}")
    return parts[3]


def kubeconfig(
    *,
    name: str,
    endpoint: str,
    region: str,
    certificate_authority: str | None,
    credentials: Mapping[str, Any] | None,
    with_profile: bool,
) -> dict[str, Any]:
    """The kubeconfig of cluster `name`.

    `credentials` may name a role (``roleArn``) and an AWS profile (``profileName``); the profile is left out
    unless `with_profile`, because what users share must not name a profile of one of them.
    """
    arguments = ["--region", region, "eks", "get-token", "--cluster-name", name, "--output", "json"]
    given = credentials or {}
    if given.get("roleArn"):
        arguments += ["--role", given["roleArn"]]
    if with_profile and given.get("profileName"):
        arguments += ["--profile", given["profileName"]]
    cluster = {"server": endpoint, "certificate-authority-data": certificate_authority}
    environment = [{"name": "KUBERNETES_EXEC_INFO", "value": json.dumps({"apiVersion": _EXEC_API})}]
    user = {"exec": {"apiVersion": _EXEC_API, "command": "aws", "args": arguments, "env": environment}}
    return {
        "apiVersion": "v1",
        "clusters": [
            {"cluster": {key: value for key, value in cluster.items() if value}, "name": "kubernetes"}
        ],
        "contexts": [{"context": {"cluster": "kubernetes", "user": "aws"}, "name": "aws"}],
        "current-context": "aws",
        "kind": "Config",
        "users": [{"name": "aws", "user": user}],
    }


def credential_options(
    given: Any, environment: Mapping[str, str], configured: str | None
) -> Mapping[str, Any] | None:
    """``providerCredentialOpts`` as given, also an empty one; else AWS_PROFILE's, else ``aws:profile``'s."""
    profile = environment.get("AWS_PROFILE") or configured
    if given is not None or not profile:
        return given
    return {"profileName": profile}


def compact_json(value: Any) -> str:
    """JSON as JavaScript writes it: no spaces, keys in their order."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
