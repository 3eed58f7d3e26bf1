"""Pod identity associations: which role a service account's pods get."""

from __future__ import annotations

import secrets
from typing import Any

from mlcc_rehearsal.cloud import laws
from mlcc_rehearsal.cloud.eks.errors import (
    InvalidParameterException,
    ResourceInUseException,
    ResourceNotFoundException,
)
from mlcc_rehearsal.cloud.eks.models import Cluster, EksBackend
from mlcc_rehearsal.cloud.eks.operations import operation, page
from mlcc_rehearsal.cloud.eks.tags import checked
from mlcc_rehearsal.cloud.iam.roles import find_role, trusts
from mlcc_rehearsal.cloud.iam_evaluation import Principal


def check_role(eks: EksBackend, cluster: Cluster, arn: str) -> None:
    """Refuse a role that EKS Pod Identity cannot assume.

    :raises InvalidParameterException: as AWS words it.
    """
    if find_role(eks.account, arn) is None or not eks.account.is_visible(arn):
        message = f"Role provided in the request does not exist: {arn}"
        raise laws.IAM_PROPAGATION.broken(InvalidParameterException(message, clusterName=cluster.name))
    principal = Principal.service("pods.eks.amazonaws.com")
    if not all(trusts(eks.account, arn, principal, action=a) for a in ("sts:AssumeRole", "sts:TagSession")):
        message = (
            f"Trust policy of role {arn} is invalid: pods.eks.amazonaws.com must be allowed to assume it"
        )
        raise laws.ASSUME_ROLE_TRUST.broken(InvalidParameterException(message, clusterName=cluster.name))


def make_association(
    eks: EksBackend,
    cluster: Cluster,
    parameters: dict[str, Any],
    *,
    owner: str | None = None,
) -> dict[str, Any]:
    """Make an association; ``owner`` is the ARN of the add-on that it belongs to.

    :raises ResourceInUseException: when the service account has one already.
    """
    namespace, account = parameters["namespace"], parameters["serviceAccount"]
    for known in cluster.pod_identities.values():
        if (known["namespace"], known["serviceAccount"]) == (namespace, account):
            message = f"Association already exists: {known['associationId']}"
            raise laws.POD_IDENTITY_EXISTS.broken(ResourceInUseException(message, clusterName=cluster.name))
    check_role(eks, cluster, parameters["roleArn"])
    association_id = f"a-{secrets.token_hex(9)[:17]}"
    now = eks.account.clock.timestamp()
    association = {
        "clusterName": cluster.name,
        "namespace": namespace,
        "serviceAccount": account,
        "roleArn": parameters["roleArn"],
        "associationArn": eks.arn("podidentityassociation", cluster.name, association_id),
        "associationId": association_id,
        "tags": checked(parameters.get("tags")),
        "createdAt": now,
        "modifiedAt": now,
        "disableSessionTags": bool(parameters.get("disableSessionTags")),
    }
    if owner:
        association["ownerArn"] = owner
    if parameters.get("targetRoleArn"):
        association["targetRoleArn"] = parameters["targetRoleArn"]
    cluster.pod_identities[association_id] = association
    return association


def _association(eks: EksBackend, parameters: dict[str, Any]) -> tuple[Cluster, dict[str, Any]]:
    cluster = eks.cluster(parameters["clusterName"])
    association = cluster.pod_identities.get(parameters["associationId"])
    if association is None:
        message = f"Association: {parameters['associationId']} not found for Cluster: {cluster.name}"
        raise ResourceNotFoundException(message, clusterName=cluster.name)
    return cluster, association


@operation("CreatePodIdentityAssociation")
def create_pod_identity_association(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Make an association."""
    cluster = eks.cluster(parameters["clusterName"])
    return {"association": make_association(eks, cluster, parameters)}


@operation("DescribePodIdentityAssociation")
def describe_pod_identity_association(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """One association."""
    return {"association": _association(eks, parameters)[1]}


@operation("ListPodIdentityAssociations")
def list_pod_identity_associations(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """The associations of a cluster, all or those of a namespace or service account."""
    cluster = eks.cluster(parameters["clusterName"])
    found = [
        {key: a[key] for key in _SUMMARY if key in a}
        for a in cluster.pod_identities.values()
        if all(parameters.get(key) in (None, a[key]) for key in ("namespace", "serviceAccount"))
    ]
    return page(found, parameters, "associations")


_SUMMARY = ("clusterName", "namespace", "serviceAccount", "associationArn", "associationId", "ownerArn")


@operation("UpdatePodIdentityAssociation")
def update_pod_identity_association(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Give a service account another role."""
    cluster, association = _association(eks, parameters)
    if parameters.get("roleArn"):
        check_role(eks, cluster, parameters["roleArn"])
        association["roleArn"] = parameters["roleArn"]
    for key in ("targetRoleArn", "disableSessionTags"):
        if parameters.get(key) is not None:
            association[key] = parameters[key]
    association["modifiedAt"] = eks.account.clock.timestamp()
    return {"association": association}


@operation("DeletePodIdentityAssociation")
def delete_pod_identity_association(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Take an association away."""
    cluster, association = _association(eks, parameters)
    del cluster.pod_identities[association["associationId"]]
    return {"association": association}
