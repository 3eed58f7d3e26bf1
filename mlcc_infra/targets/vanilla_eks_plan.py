"""The plan of target `vanilla-eks`: every decision that needs no engine, from the profile and the account."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from mlcc_infra.account import eks_checks
from mlcc_infra.account.addon_checks import AddonSettings, check_configurations
from mlcc_infra.account.admins import resolve_admins
from mlcc_infra.account.decisions import Wanted
from mlcc_infra.account.lookups.ec2_network import live_subnets
from mlcc_infra.account.lookups.helm import check_release
from mlcc_infra.account.network_checks import check_existing_network
from mlcc_infra.account.preflight import Check, CheckResult
from mlcc_infra.account.zones import choose_zones, in_place, recorded_zones, settle_zones
from mlcc_infra.addon_configuration import without_empty
from mlcc_infra.components.cluster_charts import wanted_cluster_charts
from mlcc_infra.components.eks_base import ADDON, PUBLISHED_ADDONS, wanted_eks_base
from mlcc_infra.components.network import ExistingNetworkArgs, NatMode, NetworkArgs, ZoneSubnets
from mlcc_infra.components.published_outputs import wanted_outputs
from mlcc_infra.components.service_account_role import wanted_service_account_role
from mlcc_infra.components.service_roles import ServiceRolesArgs, wanted_service_roles
from mlcc_infra.instance_types import instance_type
from mlcc_infra.policies import SERVICE_ROLES, LiveRole, RoleContext, needed
from mlcc_infra.profile import NodeGroup, Profile
from mlcc_infra.targets.service_account_role_plan import (
    ServiceAccountRolePlan,
    plan_service_account_role,
    role_names,
    service_account_role_checked,
)
from mlcc_infra.targets.service_role_checks import role_checks, service_roles_checked
from mlcc_infra.targets.survey import Survey

TARGET = "vanilla-eks"
MODULE = "eks"
# Names of the components in the program: stable, the state finds everything by them.
ROLES = "service-roles"
BASE = "eks"
NETWORK = f"{BASE}-network"
CHARTS = "eks-charts"
OUTPUTS = "eks-outputs"
INFERENCE_ROLE = "eks-inference-role"
ALB_ROLE = "eks-alb-controller-role"

PUBLISHED_ADDON_KEYS = frozenset((ADDON, f"{BASE}-{child}") for child in PUBLISHED_ADDONS.values())
"""Add-ons that Pulumi's own EKS component makes, by type and logical name."""
ALWAYS_PUBLISHED = (
    "EksClusterArn",
    "EksClusterName",
    "ClusterSecurityGroupId",
    "VpcId",
    "PrivateSubnetIds",
    "OidcProviderArn",
    "EksClusterRoleArn",
    "EksNodeRoleArn",
    "FargatePodExecRoleArn",
)


@dataclass(frozen=True, kw_only=True)
class VanillaEksPlan:
    """Everything the target's components need, in plain values, and what the inventory looks up."""

    roles: ServiceRolesArgs
    network: NetworkArgs | ExistingNetworkArgs
    ami_types: Mapping[str, str]
    admins: tuple[str, ...]
    service_account_roles: tuple[ServiceAccountRolePlan, ...]
    published: tuple[str, ...]
    wanted: tuple[Wanted, ...]
    checks: tuple[Check, ...]
    results: tuple[CheckResult, ...]


def plan_vanilla_eks(survey: Survey) -> VanillaEksPlan:
    """Plan the target. Reads zones, offers and admins from the account; changes nothing."""
    profile, names = survey.profile, survey.names
    context = RoleContext(
        names=names,
        partition=survey.identity.partition,
        model_buckets=profile.eks.inference.model_buckets,
        service_accounts=profile.eks.inference.service_accounts,
    )
    network, zone_check = _plan_network(survey)
    admins, admin_results = resolve_admins(survey.reader, profile.admins, survey.identity.account)
    entries = tuple(needed(SERVICE_ROLES, (TARGET,)).values())
    live = survey.live_roles(
        (*(entry.role_name(context) for entry in entries), *role_names(context, (INFERENCE_ROLE, ALB_ROLE)))
    )
    roles = ServiceRolesArgs(
        module=MODULE,
        roles=entries,
        role_context=context,
        role_path=profile.role_path,
        permissions_boundary=profile.permissions_boundary,
        live=live,
    )
    service_account_roles = _plan_service_account_roles(profile, context, live)
    checked = [
        *service_roles_checked(roles),
        *(
            service_account_role_checked(context, plan.name, plan.spec, plan.policy)
            for plan in service_account_roles
        ),
    ]
    published = _published(service_account_roles)
    charts = wanted_cluster_charts(CHARTS, profile.eks, names.eks_cluster, survey.recorded.resources.keys())
    wanted = [
        *wanted_service_roles(ROLES, roles),
        *wanted_eks_base(BASE, profile.eks, network, names, context.partition),
        *(
            item
            for plan in service_account_roles
            for item in wanted_service_account_role(
                plan.name, plan.spec, plan.policy, account=names.account, partition=context.partition
            )
        ),
        *charts,
        *wanted_outputs(OUTPUTS, names, MODULE, published),
    ]
    return VanillaEksPlan(
        roles=roles,
        network=network,
        ami_types={group.name: ami_type(group) for group in profile.eks.node_groups},
        admins=admins,
        service_account_roles=service_account_roles,
        published=published,
        wanted=tuple(wanted),
        checks=(
            zone_check,
            *_checks(survey, network),
            *(
                Check(name=f"chart {chart.physical}", run=partial(check_release, survey.reader, chart))
                for chart in charts
            ),
            *role_checks(survey.reader, checked, profile),
        ),
        results=tuple(admin_results),
    )


def ami_type(group: NodeGroup) -> str:
    """The group's AMI type: what the profile says, else Amazon Linux 2023 for its instance types.

    Names are EKS's (API reference, Nodegroup.amiType); there is no NVIDIA variant for Arm and x86 alike.
    """
    if group.ami_type:
        return group.ami_type
    first = instance_type(group.instance_types[0])
    architecture = "ARM_64" if first.is_arm else "x86_64"
    if not first.is_accelerated:
        return f"AL2023_{architecture}_STANDARD"
    neuron = first.family.startswith(("trn", "inf"))
    return f"AL2023_{architecture}_{'NEURON' if neuron else 'NVIDIA'}"


def _instance_types(profile: Profile) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            instance_type(name).ec2_name for group in profile.eks.node_groups for name in group.instance_types
        )
    )


def _plan_network(survey: Survey) -> tuple[NetworkArgs | ExistingNetworkArgs, Check]:
    profile = survey.profile
    if profile.network.vpc_id is not None:
        existing = ExistingNetworkArgs(
            vpc_id=profile.network.vpc_id,
            private_subnet_ids=profile.network.private_subnet_ids,
            public_subnet_ids=profile.network.public_subnet_ids,
        )
        nodes = sum(group.desired_size for group in profile.eks.node_groups)
        return existing, Check(
            name="network",
            run=lambda: check_existing_network(
                survey.reader,
                existing.vpc_id,
                existing.private_subnet_ids,
                existing.public_subnet_ids,
                nodes,
                profile.region_facts.excluded_zones,
                profile.eks.service_cidr,
            ),
        )
    zones = _zones(survey)
    check = Check(
        name="zones",
        run=lambda: eks_checks.check_zones(
            survey.reader, zones, _instance_types(profile), profile.region_facts.excluded_zones
        ),
    )
    if len(zones) < eks_checks.MINIMUM_ZONES:
        # The check refuses; a plan without subnets is enough until then.
        return NetworkArgs(cidr=profile.network.vpc_cidr or "", zones=()), check
    plan = profile.network.plan(zones)
    return (
        NetworkArgs(
            cidr=plan.cidr,
            zones=tuple(
                ZoneSubnets(zone_id=zone, public_cidr=public.cidr, private_cidr=private.cidr)
                for zone, public, private in zip(zones, plan.public, plan.private, strict=True)
            ),
            nat=NatMode(profile.network.nat_mode),
        ),
        check,
    )


def _zones(survey: Survey) -> tuple[str, ...]:
    """The profile's zones; else those the stack is in; else the first that offer what is asked for.

    The account tells where the stack is when the state is lost: offers change, a network stays where it is.
    In an order in which nothing that exists would move.
    """
    profile = survey.profile
    if profile.network.zones:
        return profile.network.zones
    live = live_subnets(survey.reader, NETWORK)
    known = recorded_zones(survey.recorded.resources.keys(), NETWORK) | {zone for zone, _ in live}
    suitable = choose_zones(
        eks_checks.available_zones(survey.reader),
        eks_checks.instance_type_offers(survey.reader, _instance_types(profile)),
        profile.region_facts.excluded_zones,
    )
    zones = settle_zones(known, suitable)
    if len(zones) < eks_checks.MINIMUM_ZONES:
        return zones
    plan = profile.network.plan(zones)
    slots = [{private.cidr, public.cidr} for private, public in zip(plan.private, plan.public, strict=True)]
    return in_place(zones, slots, live)


def _plan_service_account_roles(
    profile: Profile, context: RoleContext, live: Mapping[str, LiveRole]
) -> tuple[ServiceAccountRolePlan, ...]:
    wanted = {
        INFERENCE_ROLE: profile.eks.inference.enabled,
        ALB_ROLE: profile.eks.load_balancer_controller.enabled,
    }
    return tuple(
        plan_service_account_role(profile, context, key, live) for key, needed in wanted.items() if needed
    )


def _vpc_check(survey: Survey, network: NetworkArgs | ExistingNetworkArgs) -> tuple[Check, ...]:
    if isinstance(network, ExistingNetworkArgs):
        return ()
    cluster = survey.names.eks_cluster
    run = partial(eks_checks.check_vpc_unchanged, survey.reader, cluster, network.cidr)
    return (Check(name="VPC", run=run),)


def _published(roles: tuple[ServiceAccountRolePlan, ...]) -> tuple[str, ...]:
    made = {plan.name for plan in roles}
    optional = {INFERENCE_ROLE: "EksInferenceRoleArn", ALB_ROLE: "AlbControllerRoleArn"}
    return (*ALWAYS_PUBLISHED, *(key for role, key in optional.items() if role in made))


def _addon_settings(profile: Profile, addons: Mapping[str, str]) -> list[AddonSettings]:
    return [
        AddonSettings(
            name=name,
            version=version,
            values=without_empty(profile.eks.addon_configuration(name)),
            key=f'mlcc:eks.addons["{name}"].configuration',
        )
        for name, version in addons.items()
    ]


def _checks(survey: Survey, network: NetworkArgs | ExistingNetworkArgs) -> tuple[Check, ...]:
    profile, reader = survey.profile, survey.reader
    cluster = survey.names.eks_cluster
    addons = profile.eks.addon_versions()
    return (
        Check(
            name="add-on versions",
            run=lambda: eks_checks.check_addon_versions(reader, profile.eks.version, addons, {}),
        ),
        Check(
            name="add-on settings",
            run=lambda: check_configurations(reader, _addon_settings(profile, addons)),
        ),
        Check(
            name="Kubernetes version",
            run=lambda: eks_checks.check_kubernetes_version(reader, cluster, profile.eks.version),
        ),
        Check(name="cluster state", run=lambda: eks_checks.check_cluster_state(reader, cluster)),
        Check(name="authentication mode", run=lambda: eks_checks.check_authentication_mode(reader, cluster)),
        Check(name="aws command", run=eks_checks.check_aws_command),
        *_vpc_check(survey, network),
    )
