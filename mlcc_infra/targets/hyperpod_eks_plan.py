"""The plan of target `hyperpod-eks`: AWS's template, instance groups and the operator, without the engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlcc_infra.account import eks_checks, hyperpod_checks
from mlcc_infra.account.admins import resolve_admins
from mlcc_infra.account.decisions import Wanted
from mlcc_infra.account.instance_group_plan import WantedGroup
from mlcc_infra.account.lookups.cloudformation import describe_stack
from mlcc_infra.account.lookups.eks import describe_cluster
from mlcc_infra.account.preflight import Check, CheckResult
from mlcc_infra.account.zones import choose_zones
from mlcc_infra.components.hyperpod_native import STACK, wanted_hyperpod_native
from mlcc_infra.components.instance_groups import wanted_groups
from mlcc_infra.components.published_outputs import wanted_outputs
from mlcc_infra.components.service_roles import ServiceRolesArgs, wanted_service_roles
from mlcc_infra.components.template_operator import wanted_template_operator
from mlcc_infra.instance_types import instance_type
from mlcc_infra.policies import SERVICE_ROLES, RoleContext, needed
from mlcc_infra.targets.existing_stack import ExistingStack, check_existing_stack, read_existing_stack
from mlcc_infra.targets.existing_vpc import VpcFacts, read_existing_vpc
from mlcc_infra.targets.operator_plan import OPERATOR, OperatorPlan, plan_operator
from mlcc_infra.targets.service_role_checks import role_checks, service_roles_checked
from mlcc_infra.targets.survey import Survey
from mlcc_infra.template import (
    load_contract,
    parameter_problems,
    profile_template_url,
    template_parameters,
)
from mlcc_infra.template.made import prerequisites_by_template

TARGET = "hyperpod-eks"
MODULE = "hyperpod"
ROLES = "hyperpod-service-roles"
NATIVE = "hyperpod"
OUTPUTS = "hyperpod-outputs"
INSTANCE_ROLE = "hyperpod-instance-role"

ALWAYS_PUBLISHED = (
    "PrivateSubnetIds",
    "HyperPodInstanceRoleArn",
    "EksClusterArn",
    "EksClusterName",
    "ClusterSecurityGroupId",
    "HyperPodClusterArn",
    "HyperPodClusterName",
    "TemplateDigest",
)


BY_TEMPLATE_PUBLISHED = ("InferenceOperatorStatus", "TlsBucketName", "HyperpodInferenceRoleArn")
"""Where the template installs the operator: its other roles are no outputs of the stack."""


@dataclass(frozen=True, kw_only=True)
class HyperPodEksPlan:
    """Everything the target's components need, in plain values, and what the inventory looks up.

    `roles` is None and `existing` set where a stack of others' is taken over. `dead_stack` is the id of a
    stack that is about to be replaced, `stack_is_made` whether one is made in this run. `operator` is None
    where the template installs it; `tls_bucket` is the bucket that our stack is then told, else empty.
    """

    roles: ServiceRolesArgs | None
    existing: ExistingStack | None
    stack_name: str
    eks_cluster_name: str
    groups: tuple[WantedGroup, ...]
    template_url: str
    parameters: Mapping[str, str]
    zone_count: int | None
    replacement_trigger: str
    dead_stack: str | None
    stack_is_made: bool
    admins: tuple[str, ...]
    operator: OperatorPlan | None
    tls_bucket: str
    published: tuple[str, ...]
    wanted: tuple[Wanted, ...]
    checks: tuple[Check, ...]
    results: tuple[CheckResult, ...]


def plan_hyperpod_eks(survey: Survey) -> HyperPodEksPlan:
    """Plan the target. Reads zones, the stack and admins from the account; changes nothing.

    Raises `UserError` for a stack that the profile names and that cannot be taken over.
    """
    profile, names = survey.profile, survey.names
    if profile.hyperpod.existing_stack:
        return _plan_existing(survey, read_existing_stack(survey.reader, profile.hyperpod.existing_stack))
    made_in = _zones_of_stack(survey)
    vpc = profile.hyperpod.existing_vpc
    facts = read_existing_vpc(survey.reader, vpc) if vpc else VpcFacts()
    zones = facts.all_zones or _zones(survey, made_in)
    by_template = profile.operator.install == "template"
    # A predecessor's bucket is of no use here: the role that AWS's template makes may only use its own kind.
    tls_bucket = (profile.operator.tls_bucket or names.tls_bucket) if by_template else ""
    parameters = (
        template_parameters(
            profile,
            names,
            zones=facts.zones or zones,
            tls_bucket=tls_bucket,
            eks_route_table_ids=facts.eks_route_table_ids,
        )
        if len(zones) > 1
        else {}
    )
    context = RoleContext(names=names, partition=survey.identity.partition)
    entries = tuple(needed(SERVICE_ROLES, (TARGET,)).values())
    roles = ServiceRolesArgs(
        module=MODULE,
        roles=entries,
        role_context=context,
        role_path=profile.role_path,
        permissions_boundary=profile.permissions_boundary,
        live=survey.live_roles(entry.role_name(context) for entry in entries),
    )
    operator = None
    if not by_template:
        operator = plan_operator(
            survey,
            cluster=names.hyperpod_eks_cluster,
            kubernetes=_kubernetes_version(survey),
            made=prerequisites_by_template(_parameters_of_stack(survey) or parameters, region=profile.region),
        )
    admins, admin_results = resolve_admins(survey.reader, profile.admins, survey.identity.account)
    published = (*ALWAYS_PUBLISHED, *(operator.published if operator else BY_TEMPLATE_PUBLISHED))
    url = profile_template_url(profile)
    reader = survey.reader
    dead = hyperpod_checks.dead_stack_id(reader, names.hyperpod_stack)
    recorded = survey.recorded.resources.get((STACK, f"{NATIVE}-stack"))
    is_made_now = dead is not None or describe_stack(reader, names.hyperpod_stack) is None
    return HyperPodEksPlan(
        roles=roles,
        existing=None,
        stack_name=names.hyperpod_stack,
        eks_cluster_name=names.hyperpod_eks_cluster,
        groups=wanted_groups(profile.hyperpod),
        template_url=url,
        parameters=parameters,
        zone_count=None if profile.hyperpod.existing_vpc else len(made_in or zones),
        # Another trigger replaces the stack: it stays what it was, until the recorded stack is dead.
        replacement_trigger=(dead or recorded.replacement_trigger) if recorded else "",
        dead_stack=dead,
        stack_is_made=is_made_now,
        admins=admins,
        operator=operator,
        tls_bucket=tls_bucket,
        published=published,
        wanted=(
            *wanted_service_roles(ROLES, roles),
            *wanted_hyperpod_native(NATIVE, names),
            *(operator.wanted if operator else wanted_template_operator(OPERATOR, tls_bucket)),
            *wanted_outputs(OUTPUTS, names, MODULE, published),
        ),
        checks=(
            Check(
                name="HyperPod zones",
                run=lambda: eks_checks.check_zones(
                    reader, zones, _floor_types(survey), profile.region_facts.excluded_zones
                ),
            ),
            Check(
                name="template",
                run=lambda: hyperpod_checks.check_template(reader, profile, url, made=not is_made_now),
            ),
            Check(
                name="template parameters",
                run=lambda: hyperpod_checks.check_parameters(
                    parameter_problems(load_contract(), parameters, region=profile.region)
                    if parameters
                    else ()
                ),
            ),
            Check(
                name="stack",
                run=lambda: hyperpod_checks.check_stack(
                    reader,
                    names.hyperpod_stack,
                    parameters,
                    recorded=recorded is not None,
                    stack=profile.stack,
                ),
            ),
            Check(
                name="names of the stack",
                run=lambda: hyperpod_checks.check_names_of_stack(
                    reader,
                    stack_name=names.hyperpod_stack,
                    eks_cluster=names.hyperpod_eks_cluster,
                    hyperpod_cluster=names.hyperpod_cluster,
                ),
            ),
            Check(
                name="mlcc:operator.install",
                run=lambda: hyperpod_checks.check_operator_owner(
                    names.hyperpod_stack,
                    _parameters_of_stack(survey),
                    by_template=by_template,
                    stack=profile.stack,
                ),
            ),
            *role_checks(reader, service_roles_checked(roles), profile),
            *(operator.checks if operator else ()),
        ),
        results=(*admin_results, *facts.results, *(operator.results if operator else ())),
    )


def _plan_existing(survey: Survey, existing: ExistingStack) -> HyperPodEksPlan:
    """Plan around a stack of others': it keeps its parameters, its roles and, unless the profile names
    groups, its instance groups."""
    profile, names, reader = survey.profile, survey.names, survey.reader
    operator = None
    by_us = profile.operator.install == "graph"
    if by_us:
        operator = plan_operator(
            survey, cluster=existing.eks_cluster, kubernetes=existing.kubernetes, made=existing.made
        )
    admins, admin_results = resolve_admins(reader, profile.admins, survey.identity.account)
    known = {"HyperPodInstanceRoleArn": existing.instance_role_arn, "TemplateDigest": existing.digest}
    published = (
        *(key for key in ALWAYS_PUBLISHED if key not in known or known[key]),
        *(operator.published if operator else ()),
    )
    recorded = survey.recorded.resources.get((STACK, f"{NATIVE}-stack"))
    named = "instance_groups" in profile.hyperpod.model_fields_set
    return HyperPodEksPlan(
        roles=None,
        existing=existing,
        stack_name=existing.name,
        eks_cluster_name=existing.eks_cluster,
        groups=wanted_groups(profile.hyperpod) if named else existing.groups,
        template_url=profile_template_url(profile),
        parameters=existing.parameters,
        zone_count=existing.zone_count,
        replacement_trigger=recorded.replacement_trigger if recorded else "",
        dead_stack=None,
        stack_is_made=False,
        admins=admins,
        operator=operator,
        tls_bucket="",
        published=published,
        wanted=(
            *wanted_hyperpod_native(NATIVE, names, existing.native),
            *(operator.wanted if operator else ()),
            *wanted_outputs(OUTPUTS, names, MODULE, published),
        ),
        checks=(
            Check(
                name="existing stack",
                run=lambda: check_existing_stack(existing, installs_operator=by_us),
            ),
            *(operator.checks if operator else ()),
        ),
        results=(*admin_results, *(operator.results if operator else ())),
    )


def _floor_types(survey: Survey) -> tuple[str, ...]:
    """EC2 names of the floor's instance types: where these are not offered, nothing works."""
    groups = survey.profile.hyperpod.floor_groups
    return tuple(dict.fromkeys(instance_type(group.instance_type).ec2_name for group in groups))


def _zones_of_stack(survey: Survey) -> tuple[str, ...]:
    """The zones that a living stack was made in, where it stays whatever the profile says; else none."""
    zones = _parameters_of_stack(survey).get("AvailabilityZoneIds")
    return tuple(zones.split(",")) if zones else ()


def _parameters_of_stack(survey: Survey) -> dict[str, str]:
    """Parameters that a living stack was made with; none without one."""
    stack = describe_stack(survey.reader, survey.names.hyperpod_stack)
    if stack is None or stack["StackStatus"] in hyperpod_checks.DEAD_STATES:
        return {}
    return {entry["ParameterKey"]: entry.get("ParameterValue", "") for entry in stack.get("Parameters", [])}


def _kubernetes_version(survey: Survey) -> str:
    """What the cluster of a living stack runs, since the add-ons are for that; else the profile's."""
    lives = bool(_parameters_of_stack(survey))
    cluster = describe_cluster(survey.reader, survey.names.hyperpod_eks_cluster) if lives else None
    return str((cluster or {}).get("version") or survey.profile.hyperpod.kubernetes_version)


def _zones(survey: Survey, made_in: tuple[str, ...]) -> tuple[str, ...]:
    """The profile's zones; else those the stack was made with; else the first that offer the floor."""
    profile = survey.profile
    chosen = profile.hyperpod.zones or profile.network.zones or made_in
    if chosen:
        return chosen
    return choose_zones(
        eks_checks.available_zones(survey.reader),
        eks_checks.instance_type_offers(survey.reader, _floor_types(survey)),
        profile.region_facts.excluded_zones,
    )
