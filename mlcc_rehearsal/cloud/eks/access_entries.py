"""Access entries and the access policies associated with them."""

from __future__ import annotations

import re
from typing import Any

from moto.iam.models import iam_backends

from mlcc_rehearsal.cloud import laws
from mlcc_rehearsal.cloud.eks import access
from mlcc_rehearsal.cloud.eks.errors import (
    InvalidParameterException,
    InvalidRequestException,
    ResourceInUseException,
    ResourceNotFoundException,
)
from mlcc_rehearsal.cloud.eks.models import AccessEntry, Cluster, EksBackend
from mlcc_rehearsal.cloud.eks.operations import operation, page
from mlcc_rehearsal.cloud.eks.tags import checked

# Source: Amazon EKS user guide, "Review access policy permissions" (2026); names only.
ACCESS_POLICIES = (
    "AmazonEKSAdminPolicy",
    "AmazonEKSClusterAdminPolicy",
    "AmazonEKSAdminViewPolicy",
    "AmazonEKSEditPolicy",
    "AmazonEKSViewPolicy",
    "AmazonEKSSecretReaderPolicy",
    "AmazonEKSAutoNodePolicy",
    "AmazonEKSBlockStoragePolicy",
    "AmazonEKSLoadBalancingPolicy",
    "AmazonEKSNetworkingPolicy",
    "AmazonEKSComputePolicy",
    "AmazonEKSBlockStorageClusterPolicy",
    "AmazonEKSComputeClusterPolicy",
    "AmazonEKSLoadBalancingClusterPolicy",
    "AmazonEKSNetworkingClusterPolicy",
    "AmazonEKSClusterInsightsPolicy",
    "AWSBackupFullAccessPolicyForBackup",
    "AWSBackupFullAccessPolicyForRestore",
    "AmazonEKSHybridPolicy",
    "AmazonEKSEventPolicy",
    "AmazonSagemakerHyperpodClusterPolicy",
    "AmazonSagemakerHyperpodControllerPolicy",
    "AmazonSagemakerHyperpodSpacePolicy",
    "AmazonSagemakerHyperpodSpaceTemplatePolicy",
)

_PRINCIPAL = re.compile(r"arn:[^:]+:iam::\d{12}:(role|user)/.+")
_TYPES = frozenset(
    ["STANDARD", "FARGATE_LINUX", "EC2_LINUX", "EC2_WINDOWS", "EC2", "HYBRID_LINUX", "HYPERPOD_LINUX"]
)
# EKS maps these itself: neither groups, user name nor policies may be given.
_NODE_TYPES = _TYPES - {"STANDARD", "EC2"}


def _cluster(eks: EksBackend, name: str) -> Cluster:
    cluster = eks.cluster(name)
    if cluster.authentication_mode == "CONFIG_MAP":
        message = (
            "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP] to perform "
            "this "
            "operation."
        )
        raise laws.AUTHENTICATION_MODE.broken(InvalidRequestException(message, clusterName=name))
    return cluster


def _entry(cluster: Cluster, principal: str) -> AccessEntry:
    entry = cluster.access_entries.get(principal)
    if entry is None:
        message = (
            "The specified principalArn could not be found. You can view your available access entries with "
            "'list-access-entries'."
        )
        raise laws.ASSOCIATION_NEEDS_ENTRY.broken(
            ResourceNotFoundException(message, clusterName=cluster.name)
        )
    return entry


def _check_principal(eks: EksBackend, principal: str) -> None:
    if not _PRINCIPAL.fullmatch(principal):
        message = "The principalArn parameter format is not valid"
        raise laws.ENTRY_PRINCIPAL.broken(InvalidParameterException(message))
    if f":iam::{eks.account_id}:" not in principal:
        return  # another account's principals are not looked up here
    iam = iam_backends[eks.account_id][eks.partition]
    entities: list[Any] = [*iam.get_roles(), *iam.users.values()]
    known = any(entity.arn == principal for entity in entities)
    if not known or not eks.account.is_visible(f"principal:{principal}"):
        message = "The specified principalArn is invalid: invalid principal"
        law = laws.IAM_PROPAGATION if known else laws.ENTRY_PRINCIPAL
        raise law.broken(InvalidParameterException(message))


@operation("CreateAccessEntry")
def create_access_entry(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Enter a principal."""
    cluster = _cluster(eks, parameters["clusterName"])
    principal = parameters["principalArn"]
    kind = parameters.get("type") or "STANDARD"
    if kind not in _TYPES:
        message = f"The type {kind} is not valid"
        raise laws.EKS_PARAMETERS.broken(InvalidParameterException(message, clusterName=cluster.name))
    _check_principal(eks, principal)
    if principal in cluster.access_entries:
        message = "The specified access entry resource is already in use on this cluster."
        raise laws.ENTRY_EXISTS.broken(ResourceInUseException(message, clusterName=cluster.name))
    _check_asked(cluster, kind, parameters)
    groups = ["system:nodes"] if kind in _NODE_TYPES else parameters.get("kubernetesGroups")
    entry = access.make_entry(
        eks,
        cluster,
        principal,
        kind=kind,
        username=parameters.get("username"),
        groups=groups,
        tags=checked(parameters.get("tags")),
    )
    return {"accessEntry": entry.description}


def _check_asked(cluster: Cluster, kind: str, parameters: dict[str, Any]) -> None:
    """Refuse groups and a user name that the caller may not give to an entry of type ``kind``.

    Source: Amazon EKS user guide, "Create access entries" (2026).
    """
    groups = parameters.get("kubernetesGroups") or []
    if kind in _NODE_TYPES and (groups or parameters.get("username")):
        message = f"The kubernetesGroups and username parameters are not valid for type {kind}"
        raise laws.EKS_PARAMETERS.broken(InvalidParameterException(message, clusterName=cluster.name))
    for group in groups:
        if re.match(r"(eks|aws|amazon|iam|system):", group):
            message = (
                f"The kubernetes group name {group} is invalid, it cannot start with {group.split(':')[0]}:"
            )
            raise laws.EKS_PARAMETERS.broken(InvalidParameterException(message, clusterName=cluster.name))


@operation("DescribeAccessEntry")
def describe_access_entry(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """One access entry."""
    cluster = _cluster(eks, parameters["clusterName"])
    return {"accessEntry": _entry(cluster, parameters["principalArn"]).description}


@operation("ListAccessEntries")
def list_access_entries(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """ARNs of the principals that are entered, all or those with a policy."""
    cluster = _cluster(eks, parameters["clusterName"])
    policy = parameters.get("associatedPolicyArn")
    principals = [p for p, e in cluster.access_entries.items() if policy is None or policy in e.policies]
    return page(sorted(principals), parameters, "accessEntries")


@operation("UpdateAccessEntry")
def update_access_entry(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Change the groups or the user name of a principal."""
    cluster = _cluster(eks, parameters["clusterName"])
    entry = _entry(cluster, parameters["principalArn"])
    kind = entry.description["type"]
    _check_asked(cluster, kind, parameters)
    if parameters.get("kubernetesGroups") is not None and kind not in _NODE_TYPES:
        entry.description["kubernetesGroups"] = list(parameters["kubernetesGroups"])
    if parameters.get("username"):
        entry.description["username"] = parameters["username"]
    entry.description["modifiedAt"] = eks.account.clock.timestamp()
    return {"accessEntry": entry.description}


@operation("DeleteAccessEntry")
def delete_access_entry(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Strike a principal out, with its policies."""
    cluster = _cluster(eks, parameters["clusterName"])
    _entry(cluster, parameters["principalArn"])
    del cluster.access_entries[parameters["principalArn"]]
    return {}


@operation("AssociateAccessPolicy")
def associate_access_policy(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Associate a policy with an entered principal; doing it again changes its scope."""
    cluster = _cluster(eks, parameters["clusterName"])
    entry = _entry(cluster, parameters["principalArn"])
    arn, scope = parameters["policyArn"], parameters["accessScope"]
    if arn not in {access.policy_arn(eks, name) for name in ACCESS_POLICIES}:
        message = f"The policyArn parameter format is not valid: {arn}"
        raise laws.EKS_PARAMETERS.broken(InvalidParameterException(message, clusterName=cluster.name))
    if scope.get("type") == "namespace" and not scope.get("namespaces"):
        message = "The namespaces parameter is required when the access scope type is namespace"
        raise laws.EKS_PARAMETERS.broken(InvalidParameterException(message, clusterName=cluster.name))
    if entry.description["type"] in _NODE_TYPES:
        message = (
            f"Access policies cannot be associated with an access entry of type {entry.description['type']}"
        )
        raise laws.EKS_PARAMETERS.broken(InvalidRequestException(message, clusterName=cluster.name))
    association = access.associate(eks, entry, arn, scope)
    return {
        "clusterName": cluster.name,
        "principalArn": parameters["principalArn"],
        "associatedAccessPolicy": association,
    }


@operation("DisassociateAccessPolicy")
def disassociate_access_policy(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Take a policy from an entered principal."""
    cluster = _cluster(eks, parameters["clusterName"])
    entry = _entry(cluster, parameters["principalArn"])
    if entry.policies.pop(parameters["policyArn"], None) is None:
        message = "The specified policyArn could not be found"
        raise ResourceNotFoundException(message, clusterName=cluster.name)
    return {}


@operation("ListAssociatedAccessPolicies")
def list_associated_access_policies(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """The policies of an entered principal."""
    cluster = _cluster(eks, parameters["clusterName"])
    entry = _entry(cluster, parameters["principalArn"])
    answer = page(list(entry.policies.values()), parameters, "associatedAccessPolicies")
    return {"clusterName": cluster.name, "principalArn": parameters["principalArn"], **answer}


@operation("ListAccessPolicies")
def list_access_policies(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """The access policies that there are."""
    policies = [{"name": name, "arn": access.policy_arn(eks, name)} for name in ACCESS_POLICIES]
    return page(policies, parameters, "accessPolicies")
