"""Whether the identity of a run may do what the run is about to do, and its roles what they are made for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from mlcc_infra.account import permission_checks
from mlcc_infra.account.caller_needs import Need, Place, admin_needs, needs, passing, template_needs
from mlcc_infra.account.decisions import Decisions
from mlcc_infra.account.preflight import Check, CheckResult, run_checks
from mlcc_infra.components.eks_base import CLUSTER, FARGATE_PROFILE, NODE_GROUP
from mlcc_infra.components.hyperpod_native import STACK
from mlcc_infra.components.iam_role import RoleSpec
from mlcc_infra.components.s3_bucket import BUCKET
from mlcc_infra.tagging import tags
from mlcc_infra.targets.survey import Survey

FARGATE_SERVICE = "eks-fargate-pods.amazonaws.com"


@dataclass(frozen=True, kw_only=True)
class PlannedRoles:
    """The roles that a run registers: `kept` are those that destroy leaves."""

    kept: Sequence[RoleSpec]
    others: Sequence[RoleSpec]

    @property
    def all(self) -> tuple[RoleSpec, ...]:
        """Both."""
        return (*self.kept, *self.others)


def check_permissions(survey: Survey, decisions: Decisions, roles: PlannedRoles) -> tuple[CheckResult, ...]:
    """What the caller may not do of what is to be made, and roles of ours of what they are given.

    Only for what does not exist yet: who runs an `up` that changes nothing needs no right to create, and
    roles that somebody with more rights made beforehand are taken over by one who may not make any.
    """
    profile, identity, reader = survey.profile, survey.identity, survey.reader
    place = _place(survey, roles)
    asked = _needs(survey, decisions, roles, place)
    new = {decision.wanted.physical for decision in decisions.created}
    granted = [
        permission_checks.RoleNeed(
            name=spec.role_name, documents=[json.loads(str(text)) for text in spec.inline.values()]
        )
        for spec in roles.all
        if spec.inline and (spec.permissions_boundary or spec.role_name not in new)
    ]
    return run_checks(
        [
            Check(
                name=permission_checks.NAME,
                run=lambda: permission_checks.check_caller(reader, identity, asked),
            ),
            Check(
                name=f"{permission_checks.NAME} of roles",
                run=lambda: permission_checks.check_roles(reader, granted, profile.permissions_boundary),
            ),
        ]
        if asked
        else []
    )


def _needs(survey: Survey, decisions: Decisions, roles: PlannedRoles, place: Place) -> tuple[Need, ...]:
    names, created = survey.names, decisions.created
    made = {decision.wanted.key[0] for decision in created}
    kept = {
        *(place.role(spec.role_name) for spec in roles.kept),
        *(
            f"arn:{place.partition}:s3:::{decision.wanted.lookup['bucket']}"
            for decision in created
            if decision.wanted.key[0] == BUCKET and decision.wanted.physical != names.lifecycle_bucket
        ),
    }
    besides: list[Need] = []
    for token, role, services in (
        (CLUSTER, names.eks_cluster_role, ("eks.amazonaws.com",)),
        (NODE_GROUP, names.eks_node_role, ("ec2.amazonaws.com", "eks.amazonaws.com")),
        (
            FARGATE_PROFILE,
            names.fargate_pod_exec_role,
            ("eks-fargate-pods.amazonaws.com", "eks.amazonaws.com"),
        ),
        (STACK, names.hyperpod_instance_role, ("sagemaker.amazonaws.com",)),
    ):
        if token in made:
            besides.append(passing(place, role, *services))
    if CLUSTER in made and survey.profile.admins:
        besides.append(admin_needs(place, names.eks_cluster))
    if STACK in made:
        besides += template_needs(place, names.hyperpod_stack, names.hyperpod_eks_cluster)
    return (*needs([decision.wanted for decision in created], place, retained=kept), *besides)


def _place(survey: Survey, roles: PlannedRoles) -> Place:
    names, profile = survey.names, survey.profile
    return Place(
        partition=survey.identity.partition,
        region=names.region,
        account=names.account,
        request_tags=tags(
            profile=names.profile,
            region=names.region,
            stack=profile.stack,
            module="eks",
            resource="any",
            extra=profile.tags,
        ),
        role_paths={spec.role_name: spec.path for spec in roles.all},
        permissions_boundary=profile.permissions_boundary,
    )
