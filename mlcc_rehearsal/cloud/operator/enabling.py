"""One attempt of the controller to have its watcher enabled, with every permission really evaluated.

The first thing that is missing is the line of the log: the documentation's troubleshooting page gives the
form (``failed to enable inference watcher for HyperPod cluster …: operation error SageMaker:
UpdateClusterInference, get identity: … AssumeRoleWithWebIdentity …``).
"""

from __future__ import annotations

from collections.abc import Iterator

from mlcc_rehearsal.cloud.eks.models import Cluster, EksBackend
from mlcc_rehearsal.cloud.iam.roles import trusts
from mlcc_rehearsal.cloud.iam.service_accounts import Refusal, action_refusal, web_identity_refusal
from mlcc_rehearsal.cloud.iam_evaluation import ContextValue, Principal
from mlcc_rehearsal.cloud.operator import certificates, hyperpod
from mlcc_rehearsal.cloud.operator.objects import MANAGER
from mlcc_rehearsal.cloud.operator.settings import NAMESPACE, Settings
from mlcc_rehearsal.cloud.operator.watcher import DELETING, Watcher, watchers_of

UPDATE, DESCRIBE = "UpdateClusterInference", "DescribeClusterInference"
_POLICY = "AmazonSagemakerHyperpodInferenceMonitoringPolicy"


def refused(eks: EksBackend, cluster: Cluster, settings: Settings) -> str:
    """Why the watcher cannot be enabled now, as the log has it after "…: "; "" when nothing is in the way.

    The laws "watcher-trust", "watcher-grants" and "watcher-drains".
    """
    role = settings.execution_role
    identity = web_identity_refusal(eks, cluster, role, NAMESPACE, MANAGER)
    if identity is not None:
        # Words of the troubleshooting page, "IAM trust relationship issue" (field report B10).
        return (
            f"operation error SageMaker: {UPDATE}, get identity: get credentials: failed to refresh cached "
            f"credentials, failed to retrieve credentials, {identity}"
        )
    found = hyperpod.find(eks.account, eks.region_name, settings.cluster_arn)
    if found is None or not found.serves:
        message = f"Cluster with ARN {settings.cluster_arn} could not be found."
        return str(Refusal("SageMaker", UPDATE, "ResourceNotFound", message))
    for refusal in _denied(eks, settings):
        return str(refusal)
    if not trusts(eks.account, role, Principal.service("sagemaker.amazonaws.com")):
        message = f"The execution role ARN {role} is invalid. SageMaker could not assume it."
        return str(Refusal("SageMaker", UPDATE, "ValidationException", message))
    watcher = watchers_of(eks.account, eks.region_name).find(found.name)
    if watcher is not None and watcher.state == DELETING:
        message = "Underlying watcher service is being deleted"
        return str(Refusal("SageMaker", UPDATE, "ValidationException", message))
    return ""


def enable(eks: EksBackend, settings: Settings, *, further: float) -> tuple[Watcher, bool]:
    """The cluster's watcher, and whether it was there already.  Nothing may be in the way."""
    watchers = watchers_of(eks.account, eks.region_name)
    found = hyperpod.find(eks.account, eks.region_name, settings.cluster_arn)
    assert found is not None, "refused() was asked before"
    known = watchers.find(found.name)
    if known is not None:
        return known, True
    return watchers.enable(found.arn, found.name, further=further), False


def struck(eks: EksBackend, settings: Settings, operation: str) -> tuple[str, float]:
    """What the faults in force do to a call of the operator: its error, "" for none, and its delay."""
    arn = settings.cluster_arn
    found = hyperpod.find(eks.account, eks.region_name, arn)
    return hyperpod.strike(eks.account, eks.region_name, operation, arn, found.name if found else "")


def _denied(eks: EksBackend, settings: Settings) -> Iterator[Refusal]:
    """Every permission that is missing, in the order in which the operator would meet them."""
    account, region = eks.account, eks.region_name
    role, cluster = settings.execution_role, settings.cluster_arn

    def sagemaker(kind: str) -> str:
        return f"arn:{eks.partition}:sagemaker:{region}:{eks.account_id}:{kind}"

    policy = f"arn:{eks.partition}:eks::aws:cluster-access-policy/{_POLICY}"
    monitoring: dict[str, ContextValue] = {"eks:policyarn": policy}
    passing: dict[str, ContextValue] = {"iam:PassedToService": "sagemaker.amazonaws.com"}
    entry = f"arn:{eks.partition}:eks:{region}:{eks.account_id}:access-entry/*"
    # The laws "watcher-grants" and "watcher-grants-beside-the-policy".
    wanted: list[tuple[str, str, dict[str, ContextValue], str]] = [
        (f"sagemaker:{UPDATE}", cluster, {}, "SageMaker"),
        (f"sagemaker:{DESCRIBE}", cluster, {}, "SageMaker"),
        ("iam:PassRole", role, passing, "SageMaker"),
        ("eks:AssociateAccessPolicy", entry, monitoring, "EKS"),
        # Version 4 of the managed policy names the type "endpointconfig", which is none.
        ("sagemaker:DescribeEndpointConfig", sagemaker("endpoint-config/*"), {}, "SageMaker"),
        ("sagemaker:DescribeEndpoint", sagemaker("endpoint/*"), {}, "SageMaker"),
    ]
    for action, resource, context, service in wanted:
        refusal = action_refusal(account, role, action, resource, context, service=service)
        if refusal is not None:
            yield _worded(action, refusal)
    yield from certificates.denied(account, region, settings)


def _worded(action: str, refusal: Refusal) -> Refusal:
    """PassRole is no call of its own: SageMaker refuses the call that passes the role."""
    if action != "iam:PassRole":
        return refusal
    return Refusal("SageMaker", UPDATE, refusal.code, refusal.message, refusal.status)
