"""Checks of the HyperPod cluster."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from mlcc_infra import versions
from mlcc_infra.naming import Names
from mlcc_infra.profile.check_account import duplicates
from mlcc_infra.profile.check_eks import check_kubernetes
from mlcc_infra.profile.check_network import block, block_reason, check_zone_ids
from mlcc_infra.profile.checks import Findings
from mlcc_infra.profile.hyperpod import FLOOR_COUNT, FLOOR_GROUP, FLOOR_TYPE, InstanceGroup
from mlcc_infra.profile.problems import closest, set_command
from mlcc_infra.regions import REGIONS
from mlcc_infra.template.addresses import MINIMUM_ZONES, vpc_cidr_problem
from mlcc_infra.template.groups import group_settings, stack_groups
from mlcc_infra.template.limits import ENVIRONMENT_BYTES, FIXED_ENVIRONMENT_BYTES

OPERATOR_PODS: Final = 13
"""Pods of the inference operator and what comes with it (SageMaker developer guide, troubleshooting)."""
SYSTEM_PODS: Final = 4
"""Pods with an address of their own that HyperPod's base chart and the CSI drivers put on every node."""
_FLOOR: Final = f"{FLOOR_GROUP}: {FLOOR_COUNT} × {FLOOR_TYPE}"
_S3_URL: Final = re.compile(
    r"^https://(?:[a-z0-9.-]+\.s3[.-](?P<region>[a-z0-9-]+)\.amazonaws\.com(?P<china>\.cn)?"
    r"|s3[.-](?P<path_region>[a-z0-9-]+)\.amazonaws\.com(?P<path_china>\.cn)?/[a-z0-9.-]+)/\S+$"
)

_MIRROR: Final = re.compile(r"^mlcc-hp-templates-(?P<digest>[0-9a-f]{12})-[0-9a-f]{8}$")


def combination_problems(
    *,
    create_eks: bool,
    create_helm: bool,
    create_hyperpod: bool,
    inference: bool,
    training_operator: bool,
    task_governance: bool,
) -> tuple[str, ...]:
    """Combinations of the template's flags that break it (facts/hyperpod_native.md, rule 21)."""
    problems: list[str] = []
    if inference and not create_hyperpod:
        problems.append("inference without the HyperPod cluster stack refers to outputs that do not exist")
    if create_eks and not create_helm:
        problems.append("the EKS cluster without the Helm stack refers to outputs that do not exist")
    if task_governance and not inference and not training_operator:
        problems.append(
            "task governance while inference and the training operator are both off depends on a stack that "
            "does not exist (unverified on AWS, refused until tried)"
        )
    return tuple(problems)


def check_versions(findings: Findings) -> None:
    """A Kubernetes version that EKS supports and HyperPod documents."""
    version = findings.profile.hyperpod.kubernetes_version
    key = "mlcc:hyperpod.kubernetesVersion"
    check_kubernetes(findings, key, version)
    known = versions.KUBERNETES
    if version in known and version not in versions.HYPERPOD_KUBERNETES:
        listed = f"{versions.HYPERPOD_KUBERNETES[0]} to {versions.HYPERPOD_KUBERNETES[-1]}"
        findings.refuse(
            key,
            version,
            f"a Kubernetes version outside HyperPod's documented {listed}",
            set_command(key, versions.DEFAULT_KUBERNETES, stack=findings.stack),
        )


def check_addresses(findings: Findings) -> None:
    """VpcCIDR: a /16 within 10.0.0.0/8, apart from what the template gives to node subnets (rule 18)."""
    hyperpod = findings.profile.hyperpod
    key = "mlcc:hyperpod.vpcCidr"
    if hyperpod.existing_vpc or hyperpod.existing_stack:
        other = "existingVpc" if hyperpod.existing_vpc else "existingStack"
        if hyperpod.vpc_cidr is not None:
            found = f"a block of a VPC to make, beside mlcc:hyperpod.{other}"
            findings.refuse(key, hyperpod.vpc_cidr, found, f"remove one of them from {findings.stack}")
        return
    zones = hyperpod.zones or findings.profile.network.zones
    text = hyperpod.template_vpc_cidr or ""
    vpc = block(text)
    command = set_command(key, "10.192.0.0/16", stack=findings.stack)
    if vpc is None:
        findings.refuse(key, text, block_reason(text), command)
        return
    reason = vpc_cidr_problem(text, len(zones) if zones else MINIMUM_ZONES)
    if reason:
        findings.refuse(key, text, reason, command)


def check_hyperpod_zones(findings: Findings) -> None:
    """The zones of the HyperPod cluster and of its groups."""
    profile = findings.profile
    check_zone_ids(findings, "mlcc:hyperpod.zones", profile.hyperpod.zones)
    zones = profile.hyperpod.zones or profile.network.zones
    for position, group in enumerate(profile.hyperpod.instance_groups):
        if group.zone is not None and zones is not None and group.zone not in zones:
            findings.refuse(
                f"mlcc:hyperpod.instanceGroups[{position}].zone",
                group.zone,
                "a zone that the cluster has no subnets in",
                f"choose one of {', '.join(zones)}, or add it to mlcc:hyperpod.zones",
            )


def check_instance_groups(findings: Findings) -> None:
    """Each group by itself: names, types, counts, health checks."""
    groups = findings.profile.hyperpod.instance_groups
    for name in duplicates(group.name for group in groups):
        findings.refuse("mlcc:hyperpod.instanceGroups", name, "a group named twice", "name each group once")
    for position, group in enumerate(groups):
        _check_group(findings, f"mlcc:hyperpod.instanceGroups[{position}]", group)


def _check_group(findings: Findings, key: str, group: InstanceGroup) -> None:
    kind = versions.instance_type(group.instance_type)
    if not kind.in_hyperpod:
        known = sorted(versions.HYPERPOD_TYPES)
        findings.refuse(
            f"{key}.instanceType",
            group.instance_type,
            f"a type that HyperPod does not list{closest(group.instance_type, known)}",
            set_command(f"{key}.instanceType", FLOOR_TYPE, stack=findings.stack),
        )
    if group.min_instance_count is not None and group.min_instance_count > group.instance_count:
        findings.refuse(
            f"{key}.minInstanceCount",
            group.min_instance_count,
            f"more than instanceCount = {group.instance_count}",
            "lower it; a group that misses it for three hours is rolled back",
        )
    if group.deep_health_checks and not kind.is_accelerated:
        found = f"deep health checks on {group.instance_type}; they are for GPU and Trainium types"
        findings.refuse(f"{key}.deepHealthChecks", list(group.deep_health_checks), found, "remove them")
    if group.deep_health_checks and group.taints:
        found = "taints together with deep health checks, which HyperPod refuses"
        findings.refuse(f"{key}.taints", len(group.taints), found, "remove one of the two")


def check_floor(findings: Findings) -> None:
    """An x86 CPU group with room for the operator's pods, which GPU capacity never holds up."""
    hyperpod = findings.profile.hyperpod
    key = "mlcc:hyperpod.instanceGroups"
    groups = hyperpod.instance_groups
    floor = hyperpod.floor_groups
    if not floor:
        findings.refuse(
            key,
            [_shown(group) for group in groups],
            "no x86 CPU group: the operator's pods would wait for GPU capacity",
            f"add the floor, {_FLOOR}",
        )
        return
    good: list[InstanceGroup] = []
    for group in floor:
        place = f"{key}[{groups.index(group)}]"
        kind = versions.instance_type(group.instance_type)
        if kind.is_arm:
            found = "Arm processors; the operator's images are for amd64 only"
        elif kind.is_accelerated:
            found = "an accelerated type, whose capacity may not come; the operator needs a CPU group"
        elif any(taint.effect != "PreferNoSchedule" for taint in group.taints):
            found = "a tainted group, on which the operator's pods are not scheduled"
        else:
            good.append(group)
            if group.min_instance_count is not None:
                findings.refuse(
                    f"{place}.minInstanceCount",
                    group.min_instance_count,
                    "set on the floor group: a group that misses it for three hours is rolled back",
                    "remove it; the floor is ready when its nodes are",
                )
            continue
        findings.refuse(place, _shown(group), f"a floor group of {found}", f"the floor is {_FLOOR}")
    room = sum(_room(group) for group in good)
    if good and room < OPERATOR_PODS:
        findings.refuse(
            key,
            [_shown(group) for group in good],
            f"room for {room} pods on the floor beside the system's; the operator needs {OPERATOR_PODS}",
            f"the floor is {_FLOOR}",
        )
    _check_floor_size(findings, key)


def _check_floor_size(findings: Findings, key: str) -> None:
    # The floor goes through the environment of one of the template's functions; the other groups do not.
    size = len(group_settings(stack_groups(findings.profile.hyperpod)).encode())
    room = ENVIRONMENT_BYTES - FIXED_ENVIRONMENT_BYTES
    if size > room:
        groups = [group.name for group in findings.profile.hyperpod.floor_groups]
        found = f"{size} bytes of floor groups, of which AWS's template takes about {room}"
        remedy = "fewer labels, taints or floor groups; groups that are no floor do not count"
        findings.refuse(key, groups, found, remedy)


def _shown(group: InstanceGroup) -> str:
    return f"{group.name}: {group.instance_count} × {group.instance_type}"


def _room(group: InstanceGroup) -> int:
    kind = versions.instance_type(group.instance_type)
    return group.instance_count * max(0, kind.hyperpod_pods - SYSTEM_PODS)


_MIRROR_STEPS: Final = (
    "copy templates/ and resources/artifacts/ of AWS's bucket "
    "aws-sagemaker-hyperpod-cluster-setup-<region>-prod into a bucket of your own there (`aws s3 sync`)"
)


def check_template(findings: Findings) -> None:
    """The pin of AWS's template, and an address that CloudFormation takes."""
    template = findings.profile.hyperpod.template
    key = "mlcc:hyperpod.template"
    if template.pin == "strict" and template.mirror_bucket is None:
        findings.refuse(
            f"{key}.pin",
            "strict",
            "a strict pin without mirrorBucket: AWS's nested templates sit at unversioned addresses, so they "
            "can change under a pinned main template",
            f"{_MIRROR_STEPS}; then " + set_command(f"{key}.mirrorBucket", "<bucket>", stack=findings.stack),
        )
    elif template.mirror_bucket is None and findings.profile.hyperpod.existing_stack is None:
        findings.warn(
            f"{key}.mirrorBucket",
            None,
            "the pin is partial: AWS's nested templates sit at unversioned addresses",
            _MIRROR_STEPS,
        )
    mirrored = _MIRROR.match(template.mirror_bucket or "")
    if mirrored and template.digest and not template.digest.startswith(mirrored["digest"]):
        found = f"a mirror of template {mirrored['digest']}…, while the profile pins {template.digest}"
        command = set_command(f"{key}.mirrorBucket", "<bucket>", stack=findings.stack)
        findings.refuse(
            f"{key}.mirrorBucket",
            template.mirror_bucket,
            found,
            f"{_MIRROR_STEPS} while they are the pinned ones; then {command}",
        )
    if template.keep_failed:
        findings.warn(
            f"{key}.keepFailed",
            True,
            "a failed creation will be kept, and has to be deleted by hand before the next `up`",
            set_command(f"{key}.keepFailed", "false", stack=findings.stack),
        )
    if template.url is None:
        return
    match = _S3_URL.match(template.url)
    if match is None:
        findings.refuse(
            f"{key}.url",
            template.url,
            "no https address of an object in S3, which is all that CloudFormation takes",
            "give an address such as https://<bucket>.s3.us-west-2.amazonaws.com/templates/main.yaml",
        )
        return
    region = match["region"] or match["path_region"]
    stack_region = REGIONS.get(findings.profile.region)
    if stack_region is None:
        return
    if region != stack_region.name:
        found = f"a bucket in {region}, while the stack is in {stack_region.name}"
        findings.refuse(f"{key}.url", template.url, found, "mirror the template to the stack's region")
    elif bool(match["china"] or match["path_china"]) != (stack_region.partition == "aws-cn"):
        found = f"an address of another partition than {stack_region.partition}, which {region} belongs to"
        findings.refuse(f"{key}.url", template.url, found, "give the address as S3 shows it in that region")


def check_features(findings: Findings) -> None:
    """Combinations of features that break the template, and FSx's sizes."""
    hyperpod = findings.profile.hyperpod
    problems = combination_problems(
        create_eks=True,
        create_helm=True,
        create_hyperpod=True,
        inference=findings.profile.operator.install == "template",
        training_operator=hyperpod.training_operator.enabled,
        task_governance=hyperpod.task_governance.enabled,
    )
    for problem in problems:
        key = "mlcc:hyperpod.taskGovernance.enabled"
        findings.refuse(key, True, problem, set_command(key, "false", stack=findings.stack))
    capacity = hyperpod.fsx.storage_capacity
    if hyperpod.fsx.enabled and capacity != 1200 and capacity % 2400:
        key = "mlcc:hyperpod.fsx.storageCapacity"
        found = "neither 1200 nor a multiple of 2400 GiB"
        findings.refuse(key, capacity, found, set_command(key, "1200", stack=findings.stack))


def check_existing(findings: Findings) -> None:
    """An existing stack keeps its own parameters, an existing VPC is no longer asked for."""
    hyperpod = findings.profile.hyperpod
    if hyperpod.existing_stack and hyperpod.existing_vpc:
        findings.refuse(
            "mlcc:hyperpod.existingVpc",
            hyperpod.existing_vpc.vpc_id,
            "beside mlcc:hyperpod.existingStack, which keeps its own parameters",
            "remove one of the two",
        )


def check_apart(findings: Findings) -> None:
    """Blocks of the profile's two VPCs that overlap cannot be peered later."""
    profile = findings.profile
    if not profile.has("vanilla-eks"):
        return
    vanilla, native = block(profile.network.vpc_cidr or ""), block(profile.hyperpod.template_vpc_cidr or "")
    if vanilla is not None and native is not None and vanilla.overlaps(native):
        findings.warn(
            "mlcc:hyperpod.vpcCidr",
            str(native),
            f"a block that overlaps mlcc:network.cidr = {vanilla}: the two VPCs can never be peered",
            set_command("mlcc:hyperpod.vpcCidr", "10.192.0.0/16", stack=findings.stack),
        )
    names = Names(profile.name, "0" * 12, profile.region)
    if profile.hyperpod.existing_stack == names.eks_cluster:
        found = "the name of the vanilla cluster, which is no stack of AWS's template"
        findings.refuse("mlcc:hyperpod.existingStack", names.eks_cluster, found, "name the template's stack")


_CHECKS: Final[tuple[Callable[[Findings], None], ...]] = (
    check_versions,
    check_addresses,
    check_hyperpod_zones,
    check_instance_groups,
    check_floor,
    check_template,
    check_features,
    check_existing,
    check_apart,
)


def check_hyperpod(findings: Findings) -> None:
    """All of the above, where the target asks for HyperPod."""
    if findings.profile.has("hyperpod-eks"):
        for check in _CHECKS:
            check(findings)


CHECKS: Final[tuple[Callable[[Findings], None], ...]] = (check_hyperpod,)
