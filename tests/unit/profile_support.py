"""Profiles for tests, in one line each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from typing import Any

from mlcc_infra.profile import Problem, Profile, ProfileError, load_profile

TODAY = date(2026, 11, 30)
FLOOR = {"name": "default-worker", "instanceType": "ml.c5.4xlarge", "instanceCount": 2}


def load(
    keys: Mapping[str, Any] | None = None,
    *,
    stack: str = "mlcc-demo",
    region: str | None = "us-west-2",
    environ: Mapping[str, str] | None = None,
    today: date = TODAY,
) -> Profile:
    """A profile of these keys (without `mlcc:`), given as Pulumi gives them: text, JSON where structured."""
    config = {
        f"mlcc:{name}": value if isinstance(value, str) else json.dumps(value)
        for name, value in {"targets": ["vanilla-eks"], **(keys or {})}.items()
    }
    if region:
        config["aws:region"] = region
    return load_profile(config, stack, None, environ or {}, today=today)


def problems(keys: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Problem]:
    """The refusals of a profile by key; none when it is accepted."""
    try:
        load(keys, **more)
    except ProfileError as error:
        return {problem.key: problem for problem in error.problems}
    return {}


def warnings(keys: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Problem]:
    """The warnings of an accepted profile by key."""
    return {warning.key: warning for warning in load(keys, **more).warnings}


def hyperpod(keys: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Keys of a profile with target hyperpod-eks and these settings under `mlcc:hyperpod`."""
    return {"targets": ["hyperpod-eks"], "hyperpod": dict(keys or {}), **more}


def operator_only(keys: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Keys of a profile with target operator-only on somebody's cluster."""
    cluster = {
        "eksClusterName": "theirs",
        "hyperPodClusterArn": "arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghijkl",
    }
    return {"targets": ["operator-only"], "operator": {"cluster": cluster, **(keys or {})}, **more}
