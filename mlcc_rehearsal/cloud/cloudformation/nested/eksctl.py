"""What eksctl makes when a function of AWS's templates runs it.

Sources: facts/templates.md sections 3 and 5 (the IAM OIDC provider comes only from eksctl, in functions, and
stays when they are told to delete); eksctl documentation, 'IAM Roles for Service Accounts' (a stack a service
account, ``eksctl-<cluster>-addon-iamserviceaccount-<namespace>-<name>``).  That eksctl marks the provider
with the cluster's name is unverified.
"""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.cloud import durations
from mlcc_rehearsal.cloud.cloudformation import separate
from mlcc_rehearsal.cloud.cloudformation.nested.roles import iam_of, role
from mlcc_rehearsal.cloud.cloudformation.parts import Run, Template
from mlcc_rehearsal.cloud.cloudformation.tasks import Work
from mlcc_rehearsal.cloud.eks.models import Cluster

CLUSTER_TAG = "alpha.eksctl.io/cluster-name"
# The root of the certificate of EKS's issuers; IAM has not looked at it since 2023.
_THUMBPRINT = "9e99a48a9960b14926bb7f3b02e22da2b0ab7280"


def issuer_of(cluster: Cluster) -> str:
    """The cluster's OIDC issuer, with its protocol."""
    return str(cluster.description["identity"]["oidc"]["issuer"])


def provider_arn(run: Run, issuer: str) -> str:
    """ARN of the IAM OIDC provider of an issuer."""
    host = issuer.removeprefix("https://")
    return f"arn:{run.account.partition}:iam::{run.account.account_id}:oidc-provider/{host}"


def associate_oidc_provider(run: Run, cluster: Cluster) -> Work:
    """``eksctl utils associate-iam-oidc-provider --approve``: nothing where there is one already."""
    iam, issuer = iam_of(run), issuer_of(cluster)
    arn = provider_arn(run, issuer)
    yield durations.seconds("cloudformation.custom_resource")
    if all(each.arn != arn for each in iam.open_id_providers.values()):
        tags = [{"Key": CLUSTER_TAG, "Value": cluster.name}]
        iam.create_open_id_connect_provider(issuer, [_THUMBPRINT], ["sts.amazonaws.com"], tags)


def create_service_account(
    run: Run, cluster: Cluster, *, namespace: str, name: str, policy: str, role_name: str
) -> Work:
    """``eksctl create iamserviceaccount``: a stack with the role, and the annotated service account."""
    issuer = issuer_of(cluster)
    host = issuer.removeprefix("https://")
    trust: dict[str, Any] = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Federated": provider_arn(run, issuer)},
                "Action": "sts:AssumeRoleWithWebIdentity",
                "Condition": {
                    "StringEquals": {
                        f"{host}:sub": f"system:serviceaccount:{namespace}:{name}",
                        f"{host}:aud": "sts.amazonaws.com",
                    }
                },
            }
        ],
    }
    tags = {CLUSTER_TAG: cluster.name}
    template = Template(
        "",
        f'IAM role for serviceaccount "{namespace}/{name}" [created and managed by eksctl]',
        lambda _: [role("Role1", trust, name=role_name, managed=[policy], tags=tags)],
        lambda stack: {"Role1": str(stack.resources["Role1"].attributes["Arn"])},
    )
    stack_name = _stack(cluster, namespace, name)
    if separate.find(run, stack_name) is None:
        yield from separate.create(run, stack_name, template, {}, tags=tags)
    made = separate.find(run, stack_name)
    if cluster.kubernetes is not None and made is not None and made.status == "CREATE_COMPLETE":
        cluster.kubernetes.put(_account(namespace, name, made.outputs["Role1"]))


def delete_service_account(run: Run, cluster: Cluster, *, namespace: str, name: str) -> Work:
    """``eksctl delete iamserviceaccount``: the account and the stack."""
    if cluster.kubernetes is not None:
        cluster.kubernetes.delete(_account(namespace, name, ""))
    yield from separate.delete(run, _stack(cluster, namespace, name))


def _stack(cluster: Cluster, namespace: str, name: str) -> str:
    return f"eksctl-{cluster.name}-addon-iamserviceaccount-{namespace}-{name}"


def _account(namespace: str, name: str, arn: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"app.kubernetes.io/managed-by": "eksctl"},
            "annotations": {"eks.amazonaws.com/role-arn": arn},
        },
    }
