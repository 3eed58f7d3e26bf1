"""Credentials of pods: which role a service account leads to, and whether AWS would hand it out.

Source: Amazon EKS user guide, "IAM roles for service accounts" and "EKS Pod Identity": the annotation
``eks.amazonaws.com/role-arn`` on the account, or an association; AWS STS API reference,
AssumeRoleWithWebIdentity.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from moto.iam.models import iam_backends

from mlcc_rehearsal.cloud.iam.roles import decide, find_role, trusts
from mlcc_rehearsal.cloud.iam_evaluation import ContextValue, Decision, Principal, Request

if TYPE_CHECKING:
    from mlcc_rehearsal.cloud.account import RehearsedAccount
    from mlcc_rehearsal.cloud.eks.models import Cluster, EksBackend

ROLE_ANNOTATION = "eks.amazonaws.com/role-arn"
_AUDIENCE = "sts.amazonaws.com"


@dataclass(frozen=True)
class Refusal:
    """An AWS call that a pod made and that was refused, in the words of the Go SDK.

    :ivar service: as the SDK names it, for example ``SageMaker``.
    """

    service: str
    operation: str
    code: str
    message: str
    status: int = 400

    def __str__(self) -> str:
        return (
            f"operation error {self.service}: {self.operation}, https response error StatusCode: "
            f"{self.status}, RequestID: {uuid.uuid4()}, api error {self.code}: {self.message}"
        )


def web_identity_refusal(
    eks: EksBackend, cluster: Cluster, role_arn: str, namespace: str, account: str
) -> Refusal | None:
    """Why STS refuses the role to pods of a service account; None when it does not.

    The laws "web-identity-provider" and "assume-role-trust".
    """
    issuer = cluster.description["identity"]["oidc"]["issuer"].removeprefix("https://")
    provider = f"arn:{eks.partition}:iam::{eks.account_id}:oidc-provider/{issuer}"
    action = "AssumeRoleWithWebIdentity"
    if provider not in iam_backends[eks.account_id][eks.partition].open_id_providers:
        message = f"No OpenIDConnect provider found in your account for https://{issuer}"
        return Refusal("STS", action, "InvalidIdentityToken", message)
    context: dict[str, ContextValue] = {
        f"{issuer}:sub": f"system:serviceaccount:{namespace}:{account}",
        f"{issuer}:aud": _AUDIENCE,
    }
    principal = Principal.federated(provider)
    if trusts(eks.account, role_arn, principal, action=f"sts:{action}", context=context):
        return None
    return Refusal("STS", action, "AccessDenied", f"Not authorized to perform sts:{action}", 403)


def role_of_account(cluster: Cluster, namespace: str, account: str) -> tuple[str, bool]:
    """The role that a service account's pods ask for, and whether by pod identity; "" for none."""
    for association in cluster.pod_identities.values():
        if (association["namespace"], association["serviceAccount"]) == (namespace, account):
            return str(association["roleArn"]), True
    store = cluster.kubernetes.objects if cluster.kubernetes is not None else None
    found = store.get("v1", "ServiceAccount", namespace, account) if store is not None else None
    annotations = ((found or {}).get("metadata") or {}).get("annotations") or {}
    return str(annotations.get(ROLE_ANNOTATION, "")), False


def action_refusal(
    account: RehearsedAccount,
    role_arn: str,
    action: str,
    resource: str,
    context: Mapping[str, ContextValue] | None = None,
    *,
    service: str,
    code: str = "AccessDeniedException",
    session: str = "1",
) -> Refusal | None:
    """Why a role's session may not do something, in the words of the service; None when it may."""
    role = find_role(account, role_arn)
    decision = Decision.IMPLICIT_DENY
    if role is not None:
        decision = decide(account, role, Request(action, resource, context or {}))[0]
    if decision is Decision.ALLOWED:
        return None
    name = role_arn.rsplit("/", 1)[-1]
    who = f"arn:{account.partition}:sts::{account.account_id}:assumed-role/{name}/{session}"
    why = f"because no identity-based policy allows the {action} action"
    if decision is Decision.EXPLICIT_DENY:
        why = "with an explicit deny in an identity-based policy"
    message = f"User: {who} is not authorized to perform: {action} on resource: {resource} {why}"
    return Refusal(service, action.split(":", 1)[1], code, message, 403)
