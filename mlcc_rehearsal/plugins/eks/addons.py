"""EKS add-ons as the published component declares them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_aws as aws


def is_given(value: Any) -> bool:
    """Whether a value counts as given for the component, for which an output always does."""
    return isinstance(value, pulumi.Output) or bool(value)


def configuration_json(values: Any) -> pulumi.Output[str] | None:
    """Configuration values as text with sorted keys, so that order is no difference; None for none."""
    if values is None:
        return None
    return pulumi.Output.from_input(values).apply(
        lambda known: json.dumps(known, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    )


def addon_version(addon: str, kubernetes_version: Any, *, parent: pulumi.Resource) -> pulumi.Output[str]:
    """The most recent version of an add-on for a Kubernetes version, by a call of the aws provider."""
    answer = aws.eks.get_addon_version_output(
        addon_name=addon,
        kubernetes_version=kubernetes_version,
        most_recent=True,
        opts=pulumi.InvokeOutputOptions(parent=parent),
    )
    return answer.version


def conflicts(options: Mapping[str, Any], name: str) -> Any:
    """How conflicts are resolved: as the caller says, else the component's OVERWRITE."""
    value = options.get(name)
    return "OVERWRITE" if value is None else value


def default_addon(
    name: str,
    addon: str,
    *,
    options: Mapping[str, Any],
    cluster: aws.eks.Cluster,
    tags: Any,
    parent: pulumi.Resource,
) -> aws.eks.Addon:
    """kube-proxy or coredns, with what the caller's options say."""
    return aws.eks.Addon(
        name,
        cluster_name=cluster.name,
        addon_name=addon,
        preserve=True,
        tags=tags,
        addon_version=options["version"]
        if is_given(options.get("version"))
        else addon_version(addon, cluster.version, parent=parent),
        resolve_conflicts_on_create=conflicts(options, "resolveConflictsOnCreate"),
        resolve_conflicts_on_update=conflicts(options, "resolveConflictsOnUpdate"),
        configuration_values=configuration_json(
            options["configurationValues"] if is_given(options.get("configurationValues")) else None
        ),
        opts=pulumi.ResourceOptions(parent=parent),
    )
