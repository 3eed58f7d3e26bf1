"""EKS add-ons.

Source: terraform-provider-aws ``internal/service/eks/addon.go``: DEGRADED is waited out until the
timeout; only CREATE_FAILED brings the issues; a service account's role is sent with every update;
``resolveConflictsOn…`` and ``preserve`` are not read back.
"""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.plugins.aws.calling import AwsError, Call
from mlcc_rehearsal.plugins.aws.definition import MINUTE, Definition, Timeouts
from mlcc_rehearsal.plugins.aws.resources._common import checks, compound, matches, one_of, rfc3339
from mlcc_rehearsal.plugins.aws.resources._eks import (
    GONE,
    existing,
    gone,
    issues,
    pair,
    said,
    tagging,
    update_done,
    waiting,
)
from mlcc_rehearsal.plugins.serving import ProviderError


def _addon(call: Call) -> dict[str, Any] | None:
    cluster, name = pair(call.id)
    return existing(call, "describe_addon", "addon", clusterName=cluster, addonName=name)


def _identities(call: Call) -> list[dict[str, str]]:
    return [
        {"roleArn": item["roleArn"], "serviceAccount": item["serviceAccount"]}
        for item in call.inputs.get("podIdentityAssociations") or []
    ]


def _create(call: Call) -> str:
    given = call.inputs
    cluster, name = str(given["clusterName"]), str(given["addonName"])
    request = {
        "clusterName": cluster,
        "addonName": name,
        "addonVersion": given.get("addonVersion"),
        "configurationValues": given.get("configurationValues") or None,
        "podIdentityAssociations": _identities(call) or None,
        "resolveConflicts": given.get("resolveConflictsOnCreate"),
        "serviceAccountRoleArn": given.get("serviceAccountRoleArn") or None,
        "tags": call.tags or None,
    }
    try:
        said(call, ("CREATE_FAILED", "does not exist"), lambda: call.aws("eks", "create_addon", **request))
    except AwsError as error:
        raise ProviderError(f"{error.message}") from error
    call.id = f"{cluster}:{name}"

    def refresh() -> tuple[Any, str]:
        found = _addon(call)
        return found, str(found["status"]) if found else ""

    def reason(found: Any) -> str:
        return issues(found) if found["status"] == "CREATE_FAILED" else ""

    waiting(
        f"EKS Add-On ({call.id}) create",
        lambda: call.wait(refresh, pending=("CREATING", "DEGRADED"), target=("ACTIVE",), reason=reason),
    )
    return call.id


def _flat_identities(call: Call, cluster: str, arns: list[str]) -> list[dict[str, str]]:
    flat = []
    for arn in arns:
        found = existing(
            call,
            "describe_pod_identity_association",
            "association",
            clusterName=cluster,
            associationId=arn.rsplit("/", maxsplit=1)[-1],
        )
        if found is not None:
            flat.append({"roleArn": found["roleArn"], "serviceAccount": found["serviceAccount"]})
    return flat


def _read(call: Call) -> dict[str, Any] | None:
    found = _addon(call)
    if found is None:
        return None
    cluster = str(found["clusterName"])
    return {
        "addonName": found["addonName"],
        "addonVersion": found.get("addonVersion"),
        "arn": found["addonArn"],
        "clusterName": cluster,
        "configurationValues": found.get("configurationValues") or "",
        "createdAt": rfc3339(found.get("createdAt")),
        "modifiedAt": rfc3339(found.get("modifiedAt")),
        "podIdentityAssociations": _flat_identities(
            call, cluster, found.get("podIdentityAssociations") or []
        ),
        "serviceAccountRoleArn": found.get("serviceAccountRoleArn") or "",
        "tags": dict(found.get("tags") or {}),
    }


def _update(call: Call) -> None:
    given = call.inputs
    if not call.changed(
        "addonVersion", "serviceAccountRoleArn", "configurationValues", "podIdentityAssociations"
    ):
        return
    cluster, name = pair(call.id)
    role = given.get("serviceAccountRoleArn") or ""
    resolution = given.get("resolveConflictsOnUpdate")
    answer = call.aws(
        "eks",
        "update_addon",
        clusterName=cluster,
        addonName=name,
        addonVersion=given.get("addonVersion") if call.changed("addonVersion") else None,
        configurationValues=(given.get("configurationValues") or "")
        if call.changed("configurationValues")
        else None,
        podIdentityAssociations=_identities(call) if call.changed("podIdentityAssociations") else None,
        resolveConflicts=resolution,
        serviceAccountRoleArn=role if role or call.changed("serviceAccountRoleArn") else None,
    )
    try:
        update_done(call, f"EKS Add-On ({call.id}) update", cluster, answer, addonName=name)
    except ProviderError as error:
        if resolution == "OVERWRITE":
            raise
        raise ProviderError(
            f'{error.message}. Consider setting resolve_conflicts_on_update to "OVERWRITE"', error.code
        ) from error


def _delete(call: Call) -> None:
    cluster, name = pair(call.id)
    answer = call.find(
        "eks",
        "delete_addon",
        GONE,
        clusterName=cluster,
        addonName=name,
        preserve=True if call.state.get("preserve") else None,
    )
    if answer is not None:
        # DEGRADED and failed states last until EKS has noticed the deletion.
        pending = ("ACTIVE", "DELETING", "DEGRADED", "CREATE_FAILED", "UPDATE_FAILED")
        gone(call, f"EKS Add-On ({call.id})", lambda: _addon(call), *pending)


ADDON = Definition(
    token="aws:eks/addon:Addon",
    label="EKS Add-On",
    create=_create,
    read=_read,
    update=_update,
    delete=_delete,
    imports=compound("cluster-name:addon-name", "my-cluster:vpc-cni", ":", "clusterName", "addonName"),
    tagging=tagging(),
    replace=frozenset({"addonName", "clusterName"}),
    computed=frozenset({"addonVersion", "configurationValues"}),
    unread=frozenset({"preserve", "resolveConflictsOnCreate", "resolveConflictsOnUpdate"}),
    timeouts=Timeouts(create=20 * MINUTE, update=20 * MINUTE, delete=40 * MINUTE),
    recomputed={"modifiedAt": ("addonVersion", "configurationValues", "serviceAccountRoleArn")},
    title=lambda properties: f"{properties.get('clusterName')}:{properties.get('addonName')}",
    validate=checks(
        matches("addonVersion", r"v\d+\.\d+\.\d+.*", "must follow semantic version format: {value}"),
        one_of("resolveConflictsOnCreate", "NONE", "OVERWRITE"),
        one_of("resolveConflictsOnUpdate", "NONE", "OVERWRITE", "PRESERVE"),
        matches(
            "serviceAccountRoleArn",
            r"(arn:[a-z-]+:iam::.*:.*)?",
            '"service_account_role_arn" ({value}) is an invalid ARN',
        ),
    ),
)

DEFINITIONS = (ADDON,)
