"""EKS access entries, access policies and pod identities.

Sources: terraform-provider-aws ``internal/service/eks/{access_entry,access_policy_association,
pod_identity_association}.go``.
"""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.plugins.aws.calling import Call
from mlcc_rehearsal.plugins.aws.definition import MINUTE, Definition, Import, Timeouts
from mlcc_rehearsal.plugins.aws.resources._common import compound, matches, pruned, rfc3339
from mlcc_rehearsal.plugins.aws.resources._eks import GONE, existing, pair, said, tagging

_PRINCIPAL = matches("principalArn", r"arn:.+", '"principal_arn" ({value}) is an invalid ARN')


def _create_entry(call: Call) -> str:
    given = call.inputs
    said(
        call,
        ("The specified principalArn is invalid: invalid principal",),
        lambda: call.aws(
            "eks",
            "create_access_entry",
            clusterName=given["clusterName"],
            principalArn=given["principalArn"],
            kubernetesGroups=given.get("kubernetesGroups") or None,
            type=given.get("type"),
            username=given.get("userName") or None,
            tags=call.tags or None,
        ),
    )
    return f"{given['clusterName']}:{given['principalArn']}"


def _read_entry(call: Call) -> dict[str, Any] | None:
    cluster, principal = pair(call.id)
    entry = existing(
        call, "describe_access_entry", "accessEntry", clusterName=cluster, principalArn=principal
    )
    if entry is None:
        return None
    return {
        "accessEntryArn": entry["accessEntryArn"],
        "clusterName": entry["clusterName"],
        "createdAt": rfc3339(entry.get("createdAt")),
        "kubernetesGroups": list(entry.get("kubernetesGroups") or []),
        "modifiedAt": rfc3339(entry.get("modifiedAt")),
        "principalArn": entry["principalArn"],
        "tags": dict(entry.get("tags") or {}),
        "type": entry.get("type") or "STANDARD",
        "userName": entry.get("username"),
    }


def _update_entry(call: Call) -> None:
    cluster, principal = pair(call.id)
    call.aws(
        "eks",
        "update_access_entry",
        clusterName=cluster,
        principalArn=principal,
        kubernetesGroups=call.inputs.get("kubernetesGroups") or [],
        username=call.inputs.get("userName") or call.state.get("userName"),
    )


def _delete_entry(call: Call) -> None:
    cluster, principal = pair(call.id)
    call.find("eks", "delete_access_entry", GONE, clusterName=cluster, principalArn=principal)


ENTRY = Definition(
    token="aws:eks/accessEntry:AccessEntry",
    label="EKS Access Entry",
    create=_create_entry,
    read=_read_entry,
    update=_update_entry,
    delete=_delete_entry,
    imports=compound(
        "cluster-name:principal-arn",
        "my-cluster:arn:aws:iam::123456789012:role/admin",
        ":",
        "clusterName",
        "principalArn",
    ),
    tagging=tagging("accessEntryArn"),
    replace=frozenset({"clusterName", "principalArn", "type"}),
    computed=frozenset({"kubernetesGroups", "userName"}),
    defaults={"type": "STANDARD"},
    timeouts=Timeouts(create=10 * MINUTE, delete=10 * MINUTE),
    title=lambda properties: f"{properties.get('clusterName')}:{properties.get('principalArn')}",
    validate=_PRINCIPAL,
)

# Policies of an entry


def _associate(call: Call) -> str:
    given, scope = call.inputs, call.inputs["accessScope"]
    call.retry(
        lambda: call.aws(
            "eks",
            "associate_access_policy",
            clusterName=given["clusterName"],
            principalArn=given["principalArn"],
            policyArn=given["policyArn"],
            accessScope=pruned({"type": scope["type"], "namespaces": scope.get("namespaces") or None}),
        ),
        lambda error: (
            error.aws_code == GONE and "The specified principalArn could not be found" in error.aws_message
        ),
    )
    return f"{given['clusterName']}#{given['principalArn']}#{given['policyArn']}"


def _read_association(call: Call) -> dict[str, Any] | None:
    cluster, principal, policy = call.id.split("#", 2)
    found = call.find(
        "eks", "list_associated_access_policies", GONE, clusterName=cluster, principalArn=principal
    )
    for item in (found or {}).get("associatedAccessPolicies") or []:
        if item["policyArn"] == policy:
            scope = item.get("accessScope") or {}
            return {
                "accessScope": {"type": scope.get("type"), "namespaces": list(scope.get("namespaces") or [])},
                "associatedAt": rfc3339(item.get("associatedAt")),
                "clusterName": cluster,
                "modifiedAt": rfc3339(item.get("modifiedAt")),
                "policyArn": policy,
                "principalArn": principal,
            }
    return None


def _disassociate(call: Call) -> None:
    cluster, principal, policy = call.id.split("#", 2)
    call.find(
        "eks",
        "disassociate_access_policy",
        GONE,
        clusterName=cluster,
        principalArn=principal,
        policyArn=policy,
    )


ASSOCIATION = Definition(
    token="aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
    label="EKS Access Policy Association",
    create=_associate,
    read=_read_association,
    delete=_disassociate,
    imports=compound(
        "cluster-name#principal-arn#policy-arn",
        "my-cluster#arn:aws:iam::123456789012:role/admin#"
        "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy",
        "#",
        "clusterName",
        "principalArn",
        "policyArn",
    ),
    replace=frozenset({"accessScope", "clusterName", "policyArn", "principalArn"}),
    timeouts=Timeouts(create=10 * MINUTE, delete=10 * MINUTE),
    title=lambda properties: "#".join(
        str(properties.get(name)) for name in ("clusterName", "principalArn", "policyArn")
    ),
    validate=_PRINCIPAL,
)

# Pod identities


def _create_identity(call: Call) -> str:
    given = call.inputs
    answer = said(
        call,
        ("Role provided in the request does not exist",),
        lambda: call.aws(
            "eks",
            "create_pod_identity_association",
            clusterName=given["clusterName"],
            namespace=given["namespace"],
            serviceAccount=given["serviceAccount"],
            roleArn=given["roleArn"],
            targetRoleArn=given.get("targetRoleArn"),
            disableSessionTags=given.get("disableSessionTags"),
            tags=call.tags or None,
        ),
    )
    return str(answer["association"]["associationId"])


def _read_identity(call: Call) -> dict[str, Any] | None:
    cluster = call.state.get("clusterName") or call.inputs["clusterName"]
    found = existing(
        call,
        "describe_pod_identity_association",
        "association",
        clusterName=cluster,
        associationId=call.id,
    )
    if found is None:
        return None
    return {
        "associationArn": found["associationArn"],
        "associationId": found["associationId"],
        "clusterName": found["clusterName"],
        "disableSessionTags": bool(found.get("disableSessionTags")),
        "externalId": found.get("externalId"),
        "namespace": found["namespace"],
        "roleArn": found["roleArn"],
        "serviceAccount": found["serviceAccount"],
        "tags": dict(found.get("tags") or {}),
        "targetRoleArn": found.get("targetRoleArn"),
    }


def _update_identity(call: Call) -> None:
    said(
        call,
        ("Role provided in the request does not exist",),
        lambda: call.aws(
            "eks",
            "update_pod_identity_association",
            clusterName=call.inputs["clusterName"],
            associationId=call.id,
            roleArn=call.inputs["roleArn"],
            targetRoleArn=call.inputs.get("targetRoleArn"),
            disableSessionTags=call.inputs.get("disableSessionTags"),
        ),
    )


def _parse_identity(text: str) -> tuple[str, dict[str, Any]]:
    cluster, _, association = text.partition(",")
    if not cluster or not association:
        raise ValueError(f"wrong format of import ID ({text}), use: 'cluster-name,association-id'")
    return association, {"clusterName": cluster}


POD_IDENTITY = Definition(
    token="aws:eks/podIdentityAssociation:PodIdentityAssociation",
    label="EKS Pod Identity Association",
    create=_create_identity,
    read=_read_identity,
    update=_update_identity,
    delete=lambda call: call.find(
        "eks",
        "delete_pod_identity_association",
        GONE,
        clusterName=call.state["clusterName"],
        associationId=call.id,
    ),
    imports=Import("cluster-name,association-id", "my-cluster,a-0abc", _parse_identity),
    tagging=tagging("associationArn"),
    replace=frozenset({"clusterName", "namespace", "serviceAccount"}),
    defaults={"disableSessionTags": False},
)

DEFINITIONS = (ENTRY, ASSOCIATION, POD_IDENTITY)
