"""The plan of target `operator-only`: the operator on a HyperPod-EKS cluster that somebody else made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from mlcc_infra.account.decisions import Wanted
from mlcc_infra.account.lookups.eks import describe_cluster
from mlcc_infra.account.lookups.sagemaker import describe_hyperpod
from mlcc_infra.account.preflight import Check, CheckResult, Verdict
from mlcc_infra.account.reader import Reader, error_code
from mlcc_infra.components.published_outputs import wanted_outputs
from mlcc_infra.errors import UserError
from mlcc_infra.profile.operator import Cluster
from mlcc_infra.targets.operator_plan import OperatorPlan, plan_operator
from mlcc_infra.targets.survey import Survey
from mlcc_infra.template.made import Prerequisites

TARGET = "operator-only"
MODULE = "hyperpod"
OUTPUTS = "hyperpod-outputs"
CLUSTER_PUBLISHED = (
    "EksClusterArn",
    "EksClusterName",
    "ClusterSecurityGroupId",
    "HyperPodClusterArn",
    "HyperPodClusterName",
)


@dataclass(frozen=True, kw_only=True)
class OperatorOnlyPlan:
    """The cluster as it is, the operator on it, and what the inventory looks up."""

    eks_cluster_name: str
    eks_cluster_arn: str
    issuer: str
    security_group_id: str
    hyperpod_cluster_arn: str
    hyperpod_cluster_name: str
    operator: OperatorPlan
    published: tuple[str, ...]
    wanted: tuple[Wanted, ...]
    checks: tuple[Check, ...]
    results: tuple[CheckResult, ...]


def plan_operator_only(survey: Survey) -> OperatorOnlyPlan:
    """Plan the target. Raises `UserError` when the cluster it is for cannot be read."""
    profile, names = survey.profile, survey.names
    chosen = profile.operator.cluster
    if chosen is None:
        raise UserError(
            "The target operator-only needs to know its cluster.",
            remedy="Set mlcc:operator.cluster.eksClusterName and .hyperPodClusterArn.",
        )
    eks = _eks_cluster(survey.reader, chosen, names.account)
    hyperpod = _hyperpod_cluster(survey.reader, chosen, names.account)
    # On the profile's own vanilla cluster the OIDC provider is that target's.
    shared = profile.has("vanilla-eks") and chosen.eks_cluster_name == names.eks_cluster
    operator = plan_operator(
        survey,
        cluster=chosen.eks_cluster_name,
        kubernetes=str(eks["version"]),
        made=Prerequisites(oidc_provider=shared, addons=frozenset(), operator=False),
        hyperpod_cluster_arn=hyperpod["ClusterArn"],
    )
    published = (*CLUSTER_PUBLISHED, *operator.published)
    return OperatorOnlyPlan(
        eks_cluster_name=chosen.eks_cluster_name,
        eks_cluster_arn=eks["arn"],
        issuer=eks["identity"]["oidc"]["issuer"],
        security_group_id=eks["resourcesVpcConfig"]["clusterSecurityGroupId"],
        hyperpod_cluster_arn=hyperpod["ClusterArn"],
        hyperpod_cluster_name=hyperpod["ClusterName"],
        operator=operator,
        published=published,
        wanted=(*operator.wanted, *wanted_outputs(OUTPUTS, names, MODULE, published)),
        checks=(
            Check(name="HyperPod cluster", run=lambda: _check_pair(eks, hyperpod)),
            Check(name="load balancer subnets", run=lambda: _check_subnets(survey.reader, eks)),
            *operator.checks,
        ),
        results=operator.results,
    )


def _eks_cluster(reader: Reader, chosen: Cluster, account: str) -> dict[str, Any]:
    try:
        found = describe_cluster(reader, chosen.eks_cluster_name)
    except ClientError as error:
        raise UserError(
            f"The EKS cluster {chosen.eks_cluster_name} in {reader.session.region} could not be read: "
            f"{error_code(error)}.",
            remedy="Give the caller eks:DescribeCluster on it.",
        ) from error
    if found is None:
        raise UserError(
            f"There is no EKS cluster {chosen.eks_cluster_name} in {reader.session.region} of {account}.",
            remedy="Correct mlcc:operator.cluster.eksClusterName or aws:region (`aws eks list-clusters`).",
        )
    return found


def _hyperpod_cluster(reader: Reader, chosen: Cluster, account: str) -> dict[str, Any]:
    arn = chosen.hyperpod_cluster_arn
    try:
        found = describe_hyperpod(reader, arn)
    except ClientError as error:
        raise UserError(
            f"The HyperPod cluster {arn} could not be read: {error_code(error)}.",
            remedy="Give the caller sagemaker:DescribeCluster on it.",
        ) from error
    if found is None:
        raise UserError(
            f"There is no HyperPod cluster {arn} in {reader.session.region} of {account}.",
            remedy="Correct mlcc:operator.cluster.hyperPodClusterArn (`aws sagemaker list-clusters`).",
        )
    return found


def _check_pair(eks: dict[str, Any], hyperpod: dict[str, Any]) -> list[CheckResult]:
    """The HyperPod cluster is orchestrated by that EKS cluster, and in service."""
    orchestrator = ((hyperpod.get("Orchestrator") or {}).get("Eks") or {}).get("ClusterArn")
    results: list[CheckResult] = []
    if orchestrator != eks["arn"]:
        results.append(
            CheckResult(
                name="HyperPod cluster",
                verdict=Verdict.REFUSED,
                found=f"{hyperpod['ClusterArn']} runs on {orchestrator or 'no EKS cluster'}",
                needed=f"the HyperPod cluster on {eks['arn']}",
                remedy="correct mlcc:operator.cluster",
            )
        )
    if hyperpod.get("ClusterStatus") not in ("InService", "Updating"):
        results.append(
            CheckResult(
                name="HyperPod cluster",
                verdict=Verdict.REFUSED,
                found=f"{hyperpod['ClusterName']} is {hyperpod.get('ClusterStatus')}",
                needed="InService",
                remedy="wait for it, or see its events: aws sagemaker list-cluster-events --cluster-name "
                f"{hyperpod['ClusterName']}",
            )
        )
    return results or [
        CheckResult(name="HyperPod cluster", verdict=Verdict.OK, found=hyperpod["ClusterName"])
    ]


def _check_subnets(reader: Reader, eks: dict[str, Any]) -> list[CheckResult]:
    """One subnet tagged for internal load balancers in each zone, no more (rule 11)."""
    client = reader.session.client("ec2")
    vpc_id = eks["resourcesVpcConfig"]["vpcId"]
    subnets = client.describe_subnets(
        Filters=[
            {"Name": "vpc-id", "Values": [vpc_id]},
            {"Name": "tag-key", "Values": ["kubernetes.io/role/internal-elb"]},
        ]
    )["Subnets"]
    zones: dict[str, list[str]] = {}
    for subnet in subnets:
        zones.setdefault(subnet["AvailabilityZoneId"], []).append(subnet["SubnetId"])
    crowded = {zone: ids for zone, ids in zones.items() if len(ids) > 1}
    return _subnet_results(vpc_id, zones, crowded)


def _subnet_results(
    vpc_id: str, zones: dict[str, list[str]], crowded: dict[str, list[str]]
) -> list[CheckResult]:
    name = "load balancer subnets"
    if not zones:
        return [
            CheckResult(
                name=name,
                verdict=Verdict.WARNING,
                found=f"no subnet of {vpc_id} carries kubernetes.io/role/internal-elb",
                needed="one such private subnet in every zone that a group uses",
                remedy="tag them: aws ec2 create-tags, Key=kubernetes.io/role/internal-elb,Value=1",
            )
        ]
    shown: Sequence[str] = [f"{zone}: {', '.join(sorted(ids))}" for zone, ids in sorted(crowded.items())]
    if crowded:
        return [
            CheckResult(
                name=name,
                verdict=Verdict.WARNING,
                found=f"several subnets of a zone carry the tag ({'; '.join(shown)})",
                needed="exactly one in a zone: two break the discovery of the load balancer controller",
                remedy="remove the tag from all but one",
            )
        ]
    return [CheckResult(name=name, verdict=Verdict.OK, found=", ".join(sorted(zones)))]
