"""Cluster-admin access through EKS access entries: ensured, not declared.

The creator's own entry exists already (EKS makes it at CreateCluster), so declaring it would collide
(`ResourceInUseException`). An existing entry is taken over, an association is idempotent, and only
what was made here is deleted again (facts/hyperpod_native.md, rule 4; EKS API reference,
CreateAccessEntry and AssociateAccessPolicy).
"""

from __future__ import annotations

import base64
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError
from botocore.signers import RequestSigner

from mlcc_infra import clock
from mlcc_infra.account.reader import error_code
from mlcc_infra.account.session import AccountSession

TOKEN_PREFIX = "k8s-aws-v1."
TOKEN_SECONDS = 60
VERIFY_SECONDS = 20.0
# A principal made seconds ago is unknown to EKS for a while (IAM user guide, eventual consistency).
NEW_PRINCIPAL_SECONDS = 60.0
RETRY_INTERVAL_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class Ensured:
    """One admin's entry as it stands: what was made for it, and so may be unmade."""

    principal_arn: str
    made_entry: bool
    made_association: bool


def admin_policy_arn(partition: str) -> str:
    """The access policy that makes a principal cluster-admin."""
    return f"arn:{partition}:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"


def present_admins(
    session: AccountSession, cluster: str, policy_arn: str, principals: Sequence[str]
) -> list[str]:
    """Those of the principals that are cluster-admin now. Empty when the cluster is gone."""
    return [arn for arn in principals if _is_associated(session, cluster, policy_arn, arn)]


def _is_associated(session: AccountSession, cluster: str, policy_arn: str, principal: str) -> bool:
    eks = session.client("eks")
    try:
        pages = eks.get_paginator("list_associated_access_policies").paginate(
            clusterName=cluster, principalArn=principal
        )
        found = [item for page in pages for item in page["associatedAccessPolicies"]]
    except ClientError as error:
        if error_code(error) == "ResourceNotFoundException":
            return False
        raise
    return any(item["policyArn"] == policy_arn and item["accessScope"]["type"] == "cluster" for item in found)


def ensure_admin(
    session: AccountSession,
    cluster: str,
    policy_arn: str,
    principal: str,
    tags: Mapping[str, str],
    before: Ensured | None = None,
) -> Ensured:
    """Make a principal cluster-admin, taking over what is there.

    `before` is what an earlier run made, so that a repaired entry stays ours. Raises `ClientError`
    with EKS's words when the principal is not one.
    """
    made_entry = _create_entry(session, cluster, principal, tags)
    made_association = False
    if not _is_associated(session, cluster, policy_arn, principal):
        session.client("eks").associate_access_policy(
            clusterName=cluster,
            principalArn=principal,
            policyArn=policy_arn,
            accessScope={"type": "cluster"},
        )
        made_association = True
    return Ensured(
        principal_arn=principal,
        made_entry=made_entry or bool(before and before.made_entry),
        made_association=made_association or bool(before and before.made_association),
    )


def _create_entry(session: AccountSession, cluster: str, principal: str, tags: Mapping[str, str]) -> bool:
    deadline = clock.Deadline(NEW_PRINCIPAL_SECONDS)
    while True:
        try:
            session.client("eks").create_access_entry(
                clusterName=cluster, principalArn=principal, type="STANDARD", tags=dict(tags)
            )
        except ClientError as error:
            if error_code(error) == "ResourceInUseException":
                return False
            if error_code(error) != "InvalidParameterException" or deadline.expired():
                raise
            clock.sleep(RETRY_INTERVAL_SECONDS)
        else:
            return True


def remove_admin(session: AccountSession, cluster: str, policy_arn: str, ensured: Ensured) -> None:
    """Take away what `ensure_admin` made; what was there before stays. A cluster that is gone is fine."""
    eks = session.client("eks")
    try:
        if ensured.made_entry:
            eks.delete_access_entry(clusterName=cluster, principalArn=ensured.principal_arn)
        elif ensured.made_association:
            eks.disassociate_access_policy(
                clusterName=cluster, principalArn=ensured.principal_arn, policyArn=policy_arn
            )
    except ClientError as error:
        if error_code(error) != "ResourceNotFoundException":
            raise


def cluster_token(session: AccountSession, cluster: str) -> str:
    """A short-lived bearer token, made as `aws eks get-token` makes it: a presigned GetCallerIdentity
    whose signature covers the cluster's name (aws-iam-authenticator, API authorization from outside)."""
    sts = session.client("sts")
    signer: Any = RequestSigner(
        sts.meta.service_model.service_id,
        session.region,
        "sts",
        "v4",
        session.credentials(),
        session.events(),
    )
    url: str = signer.generate_presigned_url(
        {
            "method": "GET",
            "url": f"{sts.meta.endpoint_url}/?Action=GetCallerIdentity&Version=2011-06-15",
            "body": {},
            "headers": {"x-k8s-aws-id": cluster},
            "context": {},
        },
        region_name=session.region,
        expires_in=TOKEN_SECONDS,
        operation_name="",
    )
    return TOKEN_PREFIX + base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")


def verify_caller_is_admin(session: AccountSession, cluster: Mapping[str, Any]) -> str | None:
    """Ask the cluster itself whether the caller may do everything: None when so, else the reason.

    `cluster` is EKS's DescribeCluster answer. One call with a time limit; never raises, because a
    private endpoint that this machine cannot reach is no reason to stop.
    """
    import kubernetes.client
    from kubernetes.client.exceptions import ApiException
    from urllib3.exceptions import HTTPError

    with tempfile.NamedTemporaryFile(suffix=".pem") as authority:
        authority.write(base64.b64decode(cluster["certificateAuthority"]["data"]))
        authority.flush()
        configuration: Any = kubernetes.client.Configuration()
        configuration.host = cluster["endpoint"]
        configuration.ssl_ca_cert = authority.name
        configuration.api_key = {"authorization": f"Bearer {cluster_token(session, cluster['name'])}"}
        configuration.retries = False
        # The client reads the proxy from the environment and then forgets which hosts go without one.
        configuration.no_proxy = os.environ.get("NO_PROXY") or os.environ.get("no_proxy")
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {"group": "*", "resource": "*", "verb": "*"}},
        }
        with kubernetes.client.ApiClient(configuration) as client:
            api: Any = kubernetes.client.AuthorizationV1Api(client)
            try:
                answer = api.create_self_subject_access_review(review, _request_timeout=VERIFY_SECONDS)
            except ApiException as error:
                return f"the cluster answered {error.status} {error.reason}"
            except HTTPError as error:
                return f"the cluster's endpoint could not be reached: {error}"
    return None if answer.status.allowed else "the cluster knows the caller, but not as an admin"
