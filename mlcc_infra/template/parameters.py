"""The parameters that a stack of AWS's template is made with for a profile.

Sent are all switches and all parameters that something uses, also at their default (AWS changes defaults
without notice), and none that nothing uses (AWS removes parameters without notice, and CloudFormation refuses
a stack that is given one it does not have).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from mlcc_infra.template.conditions import flags
from mlcc_infra.template.contract import Contract, load_contract
from mlcc_infra.template.groups import GROUP_SLOTS, RIG_SLOTS, group_settings, stack_groups
from mlcc_infra.template.lifecycle import SCRIPT_KEY
from mlcc_infra.template.liveness import live_parameters

if TYPE_CHECKING:
    from mlcc_infra.naming import Names
    from mlcc_infra.profile.hyperpod import HyperPod
    from mlcc_infra.profile.model import Profile

STAGE: Final = "prod"
EKS_NAME: Final = "eks"
"""EKSClusterName: the cluster is called `<ResourceNamePrefix>-eks`."""

_LEFT_EMPTY: Final = frozenset(
    (
        *GROUP_SLOTS[1:],
        *RIG_SLOTS,
        "TieredKVCacheConfig",
        *(f"DataScientistRole{number}" for number in range(1, 11)),
    )
)
"""Not sent: empty is what keeps their conditions false, and there are seventy of them."""


def text(value: bool) -> str:
    """The template's spelling of a switch."""
    return "true" if value else "false"


def short_prefix(names: Names) -> str:
    """ResourceNameShortPrefix: eight lower-case characters in names of roles and of the TLS bucket that the
    template makes; the same on every run, different for each profile, account and region."""
    place = f"{names.account}/{names.region}/{names.profile}"
    return "m" + hashlib.sha256(place.encode()).hexdigest()[:7]


def template_parameters(
    profile: Profile,
    names: Names,
    *,
    zones: Sequence[str],
    tls_bucket: str = "",
    eks_route_table_ids: Sequence[str] = (),
    contract: Contract | None = None,
) -> dict[str, str]:
    """The parameters of the stack, all text, in the template's order.

    Args:
        profile: a profile with target `hyperpod-eks`.
        names: its physical names.
        zones: zone ids, resolved: those of the profile, else some that offer the floor's type. With an
            existing VPC those of its private subnets.
        tls_bucket: the bucket for TLS certificates, where the template installs the operator. Default: that
            of the profile, else the one this product makes.
        eks_route_table_ids: route tables of an existing VPC's subnets for EKS, which the template wants to
            know when it installs the operator there.
        contract: the template's contract.

    Raises:
        ValueError: for an adopted stack, which keeps its own parameters.
    """
    hyperpod = profile.hyperpod
    if hyperpod.existing_stack:
        raise ValueError(f"stack {hyperpod.existing_stack} is adopted and keeps its own parameters")
    contract = contract or load_contract()
    values = {
        **_switches(profile),
        **_names(hyperpod, names),
        **_network(hyperpod, zones),
        **_features(hyperpod, names, zones),
        "TlsCertificateBucketName": tls_bucket or profile.operator.tls_bucket or names.tls_bucket,
        "EksPrivateRouteTableIds": ",".join(eks_route_table_ids),
    }
    wanted = (flags(contract) | live_parameters(contract, values, region=profile.region)) - _LEFT_EMPTY
    return {
        name: values.get(name, parameter.default)
        for name, parameter in contract.parameters.items()
        if name in wanted
    }


def _switches(profile: Profile) -> dict[str, str]:
    hyperpod = profile.hyperpod
    vpc = hyperpod.existing_vpc
    by_template = profile.operator.install == "template"
    return {
        "CreateVPCStack": text(vpc is None),
        "CreateSecurityGroupStack": text(vpc is None or not vpc.security_group_ids),
        "CreateEKSClusterStack": text(True),
        # The endpoint is a route in every private route table, and those of an existing VPC are not ours.
        "CreateS3EndpointStack": text(vpc is None),
        "CreateHelmChartStack": text(True),
        "CreateHyperPodClusterStack": text(True),
        # Bucket, script and role are ours: the template's upload takes a moving branch, and its deletion
        # empties the bucket.
        "CreateS3BucketStack": text(False),
        "CreateLifeCycleScriptStack": text(False),
        "CreateSageMakerIAMRoleStack": text(False),
        "CreateFsxStack": text(hyperpod.fsx.enabled),
        "CreateTaskGovernanceClusterPolicyStack": text(hyperpod.task_governance.enabled),
        "EnableObservabilityFeature": text(hyperpod.observability.enabled),
        "EnableHPTrainingOperatorFeature": text(hyperpod.training_operator.enabled),
        # The first alone would take the Helm chart, which needs the template's own bucket of logs.
        "EnableHPInferenceFeature": text(by_template),
        "EnableHPInferenceAddonFeature": text(by_template),
    }


def _names(hyperpod: HyperPod, names: Names) -> dict[str, str]:
    return {
        "Stage": STAGE,
        "CustomBucketName": hyperpod.template.mirror_bucket or "",
        "ResourceNamePrefix": names.hyperpod_stack,
        "ResourceNameShortPrefix": short_prefix(names),
        "EKSClusterName": EKS_NAME,
        "HyperPodClusterName": names.hyperpod_cluster,
        "S3BucketName": names.lifecycle_bucket,
        "SageMakerIAMRoleName": names.hyperpod_instance_role,
        "OnCreatePath": SCRIPT_KEY,
    }


def _network(hyperpod: HyperPod, zones: Sequence[str]) -> dict[str, str]:
    vpc = hyperpod.existing_vpc
    if vpc is None:
        return {
            "VpcCIDR": hyperpod.template_vpc_cidr or "",
            "AvailabilityZoneIds": ",".join(zones),
            "SecurityGroupId": "",
        }
    return {
        "VpcId": vpc.vpc_id,
        "PrivateSubnetIds": ",".join(vpc.private_subnet_ids),
        "EksPrivateSubnetIds": ",".join(vpc.eks_subnet_ids or vpc.private_subnet_ids),
        "SecurityGroupIds": ",".join(vpc.security_group_ids),
        # Empty means a new group; the template would add its rules to one that is named.
        "SecurityGroupId": "",
    }


def _features(hyperpod: HyperPod, names: Names, zones: Sequence[str]) -> dict[str, str]:
    return {
        "KubernetesVersion": hyperpod.kubernetes_version,
        "NodeRecovery": hyperpod.node_recovery,
        "NodeProvisioningMode": hyperpod.node_provisioning_mode,
        "AutoScalerType": "None",
        "InstanceGroupSettings1": group_settings(stack_groups(hyperpod)),
        "FsxAvailabilityZoneId": zones[0] if zones else "",
        "StorageCapacity": str(hyperpod.fsx.storage_capacity),
        "PerUnitStorageThroughput": str(hyperpod.fsx.per_unit_storage_throughput),
        **_observability(names),
    }


def _observability(names: Names) -> Mapping[str, str]:
    # Unset, the template makes none of them, and what it then installs has nowhere to write to. That the
    # nested template makes all four together is unverified on AWS.
    return {
        "CreateHyperPodObservabilityRole": text(True),
        "CreatePrometheusWorkspace": text(True),
        "CreateGrafanaWorkspace": text(True),
        "CreateGrafanaRole": text(True),
        "GrafanaWorkspaceName": f"{names.hyperpod_stack}-grafana",
    }
