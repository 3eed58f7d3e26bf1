"""What HyperPod checks before it makes a cluster, and what keeps an instance from coming up."""

from __future__ import annotations

from typing import Any

from moto.eks.models import eks_backends
from moto.s3.models import s3_backends

from mlcc_rehearsal.cloud import laws, laws_hyperpod
from mlcc_rehearsal.cloud.ec2.network import ec2_of, find_subnet, has_way_out
from mlcc_rehearsal.cloud.iam.roles import lacking, trusts
from mlcc_rehearsal.cloud.iam_evaluation import Principal, Request
from mlcc_rehearsal.cloud.laws import Law
from mlcc_rehearsal.cloud.s3.policies import bucket_policy_denies
from mlcc_rehearsal.cloud.sagemaker.errors import ResourceLimitExceeded, ValidationException
from mlcc_rehearsal.cloud.sagemaker.instance_types import is_accelerated
from mlcc_rehearsal.cloud.sagemaker.models import HyperPodCluster, RehearsedSageMakerBackend

# Groups of a cluster. Source: facts/limits.json: the model allows 100, the guide says 20.
MOST_GROUPS = 20
_PRINCIPAL = Principal.service("sagemaker.amazonaws.com")
# What instances do with their role, on which kinds of things.
# Source: facts/service_roles.json, hyperpod-instance-role, inline_policy_documented_for_eks.
_DESCRIBING = (
    "ec2:DescribeInstances",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeTags",
    "ec2:DescribeVpcs",
    "ec2:DescribeDhcpOptions",
    "ec2:DescribeSubnets",
    "ec2:DescribeSecurityGroups",
)
_INTERFACES = (
    "ec2:AssignPrivateIpAddresses",
    "ec2:AttachNetworkInterface",
    "ec2:CreateNetworkInterface",
    "ec2:CreateNetworkInterfacePermission",
    "ec2:DeleteNetworkInterface",
    "ec2:ModifyNetworkInterfaceAttribute",
    "ec2:UnassignPrivateIpAddresses",
)
_IMAGES = ("ecr:GetAuthorizationToken", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer")
SCRIPTS_FAILED = (
    "Lifecycle scripts did not run successfully. Ensure the scripts exist in provided S3 path, are "
    "accessible, "
    "and run without errors. Please see CloudWatch logs for lifecycle script execution details."
)
NO_CAPACITY = (
    "We currently do not have sufficient capacity for the requested instance type(s). Please try again "
    "later, "
    "or use a different instance type or Availability Zone."
)


def eks_of(backend: RehearsedSageMakerBackend) -> Any:
    """EKS of the region."""
    return eks_backends[backend.account_id][backend.region_name]


def eks_cluster_of(backend: RehearsedSageMakerBackend, cluster: HyperPodCluster) -> Any | None:
    """The EKS cluster that a cluster runs on, or None when it is gone."""
    arn = cluster.eks_arn
    return eks_of(backend).clusters.get(arn.rsplit("/", 1)[-1]) if arn else None


def check_orchestrator(backend: RehearsedSageMakerBackend, settings: dict[str, Any]) -> None:
    """Refuse an EKS cluster that is not there, not ACTIVE or without access entries, and foreign subnets.

    :raises ValidationException: the first thing that is wrong (wording unverified).
    """
    arn = ((settings.get("Orchestrator") or {}).get("Eks") or {}).get("ClusterArn")
    if not arn:
        message = "The rehearsal cloud only makes HyperPod clusters that Amazon EKS orchestrates."
        raise ValidationException(message)
    name = arn.rsplit("/", 1)[-1]
    eks = eks_of(backend).clusters.get(name)
    if eks is None or eks.description["arn"] != arn:
        raise laws_hyperpod.HYPERPOD_EKS.broken(ValidationException(f"EKS cluster {arn} does not exist."))
    if eks.status not in ("ACTIVE", "UPDATING"):
        message = f"EKS cluster {arn} is in status {eks.status}; it must be ACTIVE."
        raise laws_hyperpod.HYPERPOD_EKS.broken(ValidationException(message))
    if eks.authentication_mode == "CONFIG_MAP":
        message = (
            f"EKS cluster {arn} has authentication mode CONFIG_MAP; API or API_AND_CONFIG_MAP is required."
        )
        raise laws_hyperpod.HYPERPOD_EKS.broken(ValidationException(message))
    vpc_config = settings.get("VpcConfig")
    if not vpc_config:
        raise laws_hyperpod.HYPERPOD_EKS.broken(
            ValidationException("VpcConfig is required for EKS orchestrated clusters.")
        )
    check_network(backend, vpc_config, eks)


def check_network(backend: RehearsedSageMakerBackend, vpc_config: dict[str, Any], eks: Any) -> None:
    """Refuse subnets and groups that do not exist or lie in another VPC than the EKS cluster's.

    :raises ValidationException: naming the first one.
    """
    vpc = eks.description["resourcesVpcConfig"]["vpcId"]
    for subnet_id in vpc_config["Subnets"]:
        subnet = find_subnet(backend.account, backend.region_name, subnet_id)
        if subnet is None:
            message = f"The subnet ID '{subnet_id}' does not exist"
            raise laws_hyperpod.HYPERPOD_EKS.broken(ValidationException(message))
        if subnet.vpc_id != vpc:
            message = f"Subnet {subnet_id} is not in the VPC {vpc} of the EKS cluster."
            raise laws_hyperpod.HYPERPOD_EKS.broken(ValidationException(message))
    for group_id in vpc_config["SecurityGroupIds"]:
        if ec2_of(backend.account, backend.region_name).get_security_group_from_id(group_id) is None:
            message = f"The security group '{group_id}' does not exist"
            raise laws_hyperpod.HYPERPOD_EKS.broken(ValidationException(message))


def check_groups(groups: list[dict[str, Any]], *, continuous: bool) -> None:
    """Refuse groups that contradict themselves or each other.

    :raises ValidationException: the first one (wording unverified).
    """
    names = [group["InstanceGroupName"] for group in groups]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        message = f"Instance group names must be unique; repeated: {', '.join(repeated)}"
        raise laws_hyperpod.HYPERPOD_GROUPS.broken(ValidationException(message))
    if len(groups) > MOST_GROUPS:
        message = f"A cluster has at most {MOST_GROUPS} instance groups."
        raise laws_hyperpod.HYPERPOD_GROUPS.broken(ValidationException(message))
    for group in groups:
        wrong = _contradiction(group, continuous=continuous)
        if wrong:
            message = f"Instance group {group['InstanceGroupName']}: {wrong}"
            raise laws_hyperpod.HYPERPOD_GROUPS.broken(ValidationException(message))


def _contradiction(group: dict[str, Any], *, continuous: bool) -> str | None:
    requirements = group.get("InstanceRequirements")
    types = (requirements or {}).get("InstanceTypes") or (
        [group["InstanceType"]] if group.get("InstanceType") else []
    )
    script = group.get("LifeCycleConfig") or {}
    rules = (
        (bool(group.get("InstanceType")) == bool(requirements), "give InstanceType or InstanceRequirements."),
        (bool(requirements) and not continuous, "InstanceRequirements need NodeProvisioningMode Continuous."),
        (len(set(types)) != len(types), "instance types are repeated."),
        (
            group.get("MinInstanceCount", 0) > group["InstanceCount"],
            "MinInstanceCount is above InstanceCount.",
        ),
        (
            bool(group.get("OnStartDeepHealthChecks")) and not all(is_accelerated(each) for each in types),
            "deep health checks are only for GPU and Trainium instances.",
        ),
        (
            bool(script.get("OnCreate")) and bool(script.get("OnInitComplete")),
            "give OnCreate or OnInitComplete.",
        ),
        (
            bool(group.get("OnStartDeepHealthChecks"))
            and bool((group.get("KubernetesConfig") or {}).get("Taints")),
            "custom taints cannot be combined with deep health checks.",
        ),
    )
    return next((text for broken, text in rules if broken), None)


def check_quotas(
    backend: RehearsedSageMakerBackend, groups: list[dict[str, Any]], without: str | None = None
) -> None:
    """Refuse groups that the account's quotas for their types do not allow.

    :param without: a cluster whose instances do not count, because the groups replace its.
    :raises ResourceLimitExceeded: in the words of service quotas.
    """
    wanted: dict[str, int] = {}
    for group in groups:
        types = (group.get("InstanceRequirements") or {}).get("InstanceTypes") or [group["InstanceType"]]
        wanted[types[0]] = wanted.get(types[0], 0) + group["InstanceCount"]
    for instance_type, count in wanted.items():
        faults = backend.account.faults
        limit = faults.quota(instance_type, backend.account.clock.now()) if faults else None
        used = sum(
            group.target
            for cluster in backend.hyperpod.values()
            if cluster.name != without
            for group in cluster.groups.values()
            if group.types[0] == instance_type
        )
        if limit is not None and used + count > limit:
            message = (
                f"The account-level service limit '{instance_type} for cluster usage' is {limit} "
                f"Instances, with "
                f"current utilization of {used} Instances and a request delta of {count} Instances. "
                f"Please use AWS "
                "Service Quotas to request an increase for this quota. If AWS Service Quotas is not "
                "available, "
                "contact AWS support to request an increase for this quota."
            )
            raise laws_hyperpod.HYPERPOD_QUOTA.broken(ResourceLimitExceeded(message))


def obstacle(
    backend: RehearsedSageMakerBackend, cluster: HyperPodCluster, spec: dict[str, Any], subnet_id: str
) -> tuple[Law, str] | None:
    """What keeps an instance of a group from coming up: the law, and what HyperPod says."""
    role = spec["ExecutionRole"]
    if not trusts(backend.account, role, _PRINCIPAL):
        return laws_hyperpod.HYPERPOD_ROLE_TRUST, _invalid(
            role, "it cannot be assumed by sagemaker.amazonaws.com"
        )
    missing = _missing(backend, cluster, spec, subnet_id)
    if missing:
        return laws_hyperpod.HYPERPOD_ROLE_GRANTS, _invalid(role, f"it lacks {', '.join(missing)}")
    script = spec.get("LifeCycleConfig")
    refused = _script(backend, role, script) if script and script.get("SourceS3Uri") else None
    if refused is not None:
        return refused
    subnet = find_subnet(backend.account, backend.region_name, subnet_id)
    if subnet is None or not has_way_out(backend.account, backend.region_name, subnet):
        return laws.NODES_WAY_OUT, SCRIPTS_FAILED
    return None


def _invalid(role: str, why: str) -> str:
    # The sentence is the predecessor's experience; what AWS adds to it is unverified.
    return f"Execution role permissions are invalid. Role {role}: {why}."


def _missing(
    backend: RehearsedSageMakerBackend, cluster: HyperPodCluster, spec: dict[str, Any], subnet_id: str
) -> list[str]:
    here = f"arn:{backend.partition}:ec2:{backend.region_name}:{backend.account_id}"
    network = spec.get("OverrideVpcConfig") or cluster.settings.get("VpcConfig") or {}
    wanted = [(action, "*") for action in (*_DESCRIBING, *_IMAGES)]
    wanted += [(action, f"{here}:network-interface/eni-0123456789abcdef0") for action in _INTERFACES]
    wanted.append(("ec2:CreateNetworkInterface", f"{here}:subnet/{subnet_id}"))
    for group_id in network.get("SecurityGroupIds") or []:
        wanted.append(("ec2:CreateNetworkInterface", f"{here}:security-group/{group_id}"))
    wanted.append(("ec2:CreateTags", f"{here}:network-interface/eni-0123456789abcdef0"))
    return sorted(set(lacking(backend.account, spec["ExecutionRole"], wanted)))


def _script(backend: RehearsedSageMakerBackend, role: str, script: dict[str, Any]) -> tuple[Law, str] | None:
    """What is wrong with a lifecycle script: the role may not read it, or it is not there."""
    uri = str(script["SourceS3Uri"])
    bucket, _, prefix = uri.split("://", 1)[-1].partition("/")
    name = script.get("OnCreate") or script.get("OnInitComplete") or ""
    key = f"{prefix.strip('/')}/{name}".lstrip("/")
    arn = f"arn:{backend.partition}:s3:::{bucket}"
    cannot_read = (
        f"Execution role provided does not have permissions to access the bucket {uri}. Please ensure "
        f"that the "
        "role has minimum permissions to read the bucket (s3:ListBucket, s3:GetObject)."
    )
    owner = (
        f"Unable to access the S3 path {uri}. Ensure that the S3 bucket exists and is owned by account "
        f"{backend.account_id}."
    )
    buckets = s3_backends[backend.account_id][backend.partition].buckets
    if bucket not in buckets:
        return laws_hyperpod.HYPERPOD_SCRIPT_READABLE, owner
    actions = [("s3:ListBucket", arn), ("s3:GetObject", f"{arn}/{key}")]
    denied = lacking(backend.account, role, actions)
    if denied == ["s3:GetObject"]:
        # Misleading: the bucket is the account's own, only the object's grant is missing.
        return laws_hyperpod.HYPERPOD_SCRIPT_READABLE, owner
    if denied or _bucket_denies(backend, role, bucket, actions):
        return laws_hyperpod.HYPERPOD_SCRIPT_READABLE, cannot_read
    if name and key not in buckets[bucket].keys:
        return laws_hyperpod.HYPERPOD_SCRIPT_EXISTS, SCRIPTS_FAILED
    return None


def _bucket_denies(
    backend: RehearsedSageMakerBackend, role: str, bucket: str, actions: list[tuple[str, str]]
) -> bool:
    return any(
        bucket_policy_denies(backend.account, bucket, Request(action, resource, {}, Principal.aws(role)))
        for action, resource in actions
    )
