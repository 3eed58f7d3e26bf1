"""The plan of the inference operator, shared by the targets `hyperpod-eks` and `operator-only`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from mlcc_infra import versions
from mlcc_infra.account import eks_checks
from mlcc_infra.account.addon_checks import AddonSettings, check_configurations
from mlcc_infra.account.decisions import Wanted
from mlcc_infra.account.lookups.iam import get_role
from mlcc_infra.account.lookups.s3 import bucket_tags
from mlcc_infra.account.preflight import Check, CheckResult, Verdict
from mlcc_infra.account.reader import error_code
from mlcc_infra.addon_configuration import without_empty
from mlcc_infra.components.inference_operator import (
    ADDON,
    ALB_ROLE,
    EXECUTION_ROLE,
    FSX_CSI_ROLE,
    GATED_MODEL_ROLE,
    GATEWAY_ROLE,
    KEDA_ROLE,
    PREREQUISITE_ROLES,
    S3_CSI_ROLE,
    TLS_BUCKET,
    OperatorRolePlan,
    wanted_inference_operator,
)
from mlcc_infra.components.s3_bucket import BUCKET
from mlcc_infra.errors import UserError
from mlcc_infra.operator_configuration import OperatorConfiguration
from mlcc_infra.policies import LiveRole, RoleContext
from mlcc_infra.profile import Profile
from mlcc_infra.targets.service_account_role_plan import (
    plan_service_account_role,
    role_names,
    service_account_role_checked,
)
from mlcc_infra.targets.service_role_checks import CheckedRole, role_checks
from mlcc_infra.targets.survey import Survey
from mlcc_infra.template.made import Prerequisites

OPERATOR = "operator"
NOTHING_MADE = Prerequisites(oidc_provider=False, addons=frozenset(), operator=False)
ROLE_OUTPUTS = {
    EXECUTION_ROLE: "HyperpodInferenceRoleArn",
    ALB_ROLE: "AlbControllerRoleArn",
    KEDA_ROLE: "KedaOperatorRoleArn",
    S3_CSI_ROLE: "S3CsiRoleArn",
    FSX_CSI_ROLE: "FsxCsiRoleArn",
}
"""Keys under which the ARNs of the operator's roles are published."""
ADDONS_WITH_ROLE = frozenset((ADDON, f"{OPERATOR}-addon-{name}") for name in PREREQUISITE_ROLES)
"""Add-ons that are made with a role for their service account, by type and logical name."""
PREREQUISITES = ("cert-manager", "metrics-server", "aws-mountpoint-s3-csi-driver", "aws-fsx-csi-driver")


@dataclass(frozen=True, kw_only=True)
class OperatorPlan:
    """Roles, bucket and add-ons of the operator on one cluster, and what the inventory looks up for them.

    `oidc_provider` tells whether the issuer's OIDC provider is made here.
    """

    roles: tuple[OperatorRolePlan, ...]
    tls_bucket: str
    prerequisites: Mapping[str, tuple[str, Mapping[str, Any]]]
    oidc_provider: bool
    wanted: tuple[Wanted, ...]
    checks: tuple[Check, ...]
    results: tuple[CheckResult, ...]

    @property
    def published(self) -> tuple[str, ...]:
        """Keys that are published of it: its state, its bucket, and the roles that are made."""
        made = {plan.key for plan in self.roles}
        roles = (key for role, key in ROLE_OUTPUTS.items() if role in made)
        return ("InferenceOperatorStatus", "TlsBucketName", *roles)


def plan_operator(
    survey: Survey,
    *,
    cluster: str,
    kubernetes: str,
    made: Prerequisites = NOTHING_MADE,
    hyperpod_cluster_arn: str | None = None,
) -> OperatorPlan:
    """Plan the operator on an EKS cluster (by name) that runs a Kubernetes version; changes nothing.

    `made` is what AWS's template makes on that cluster already, and is left out (rule 5).
    `hyperpod_cluster_arn` is None for a HyperPod cluster that is yet to be made.
    """
    profile, names = survey.profile, survey.names
    tls_bucket, results = _tls_bucket(survey)
    context = RoleContext(
        names=names,
        partition=survey.identity.partition,
        model_buckets=profile.operator.model_buckets,
        tls_bucket=tls_bucket,
    )
    roles = _roles(profile, survey, context)
    prerequisites = _prerequisites(profile, kubernetes, made)
    addons = {name: version for name, (version, _) in prerequisites.items()}
    addons[versions.OPERATOR_ADDON_NAME] = profile.operator.version
    keys = {name: f"mlcc:operator.addons.{name}.version" for name in prerequisites}
    keys[versions.OPERATOR_ADDON_NAME] = "mlcc:operator.version"
    return OperatorPlan(
        roles=roles,
        tls_bucket=tls_bucket,
        prerequisites=prerequisites,
        oidc_provider=not made.oidc_provider,
        wanted=tuple(
            wanted_inference_operator(
                OPERATOR,
                names,
                partition=survey.identity.partition,
                cluster=cluster,
                roles=roles,
                tls_bucket=tls_bucket,
                prerequisites=tuple(prerequisites),
                oidc_provider=not made.oidc_provider,
            )
        ),
        checks=(
            Check(
                name="operator add-on versions",
                run=lambda: eks_checks.check_addon_versions(survey.reader, kubernetes, addons, keys),
            ),
            *role_checks(survey.reader, _checked(context, roles), profile),
            Check(name="predecessor's role", run=lambda: _check_predecessors_role(survey)),
            Check(
                name="operator add-on settings",
                run=lambda: check_configurations(
                    survey.reader, _settings(survey, roles, tls_bucket, prerequisites, hyperpod_cluster_arn)
                ),
            ),
        ),
        results=results,
    )


def _check_predecessors_role(survey: Survey) -> list[CheckResult]:
    """It cannot be taken over: the add-on refuses its name (facts/hyperpod_native.md, rule 9)."""
    role, ours = survey.names.predecessor_inference_role, survey.names.operator_execution_role
    if get_role(survey.reader, role) is None:
        return []
    return [
        CheckResult(
            name="predecessor's role",
            verdict=Verdict.WARNING,
            found=f"role {role} of a predecessor is not used: the operator gets {ours}",
            remedy=f"delete {role} when nothing else uses it",
        )
    ]


def _settings(
    survey: Survey,
    roles: Sequence[OperatorRolePlan],
    tls_bucket: str,
    prerequisites: Mapping[str, tuple[str, Mapping[str, Any]]],
    hyperpod_cluster_arn: str | None,
) -> list[AddonSettings]:
    """What the add-ons will be told, for their schemas: what is not known yet has its form already."""
    profile, names, partition = survey.profile, survey.names, survey.identity.partition
    operator = profile.operator
    arns = {plan.key: plan.arn(partition=partition, account=names.account) for plan in roles}
    to_come = f"arn:{partition}:sagemaker:{names.region}:{names.account}:cluster/{'0' * 12}"
    configuration = OperatorConfiguration(
        version=operator.version,
        execution_role_arn=arns[EXECUTION_ROLE],
        tls_bucket=tls_bucket,
        hyperpod_cluster_arn=hyperpod_cluster_arn or to_come,
        alb_role_arn=arns.get(ALB_ROLE),
        keda_role_arn=arns.get(KEDA_ROLE),
        gated_model_role_arn=arns.get(GATED_MODEL_ROLE),
        gateway_enabled=operator.gateway.enabled,
        gateway_role_arn=arns.get(GATEWAY_ROLE),
        more=operator.configuration,
    )
    return [
        *(
            AddonSettings(
                name=name,
                version=version,
                values=without_empty(values),
                key=f'mlcc:operator.addons["{name}"].configuration',
            )
            for name, (version, values) in prerequisites.items()
        ),
        AddonSettings(
            name=versions.OPERATOR_ADDON_NAME,
            version=operator.version,
            values=without_empty(configuration.values()),
            key="mlcc:operator.configuration",
        ),
    ]


def _tls_bucket(survey: Survey) -> tuple[str, tuple[CheckResult, ...]]:
    """The profile's bucket; else the one the state has; else a predecessor's that exists; else ours."""
    profile, names = survey.profile, survey.names
    if profile.operator.tls_bucket:
        return profile.operator.tls_bucket, ()
    recorded = survey.recorded.resources.get((BUCKET, f"{OPERATOR}-{TLS_BUCKET}"))
    if recorded is not None:
        return recorded.id, ()
    predecessors = names.predecessor_tls_bucket
    try:
        found = bucket_tags(survey.reader, predecessors) is not None
    except ClientError as error:
        # Bucket names are global, so most likely it is somebody else's; if not, nothing is lost.
        unread = CheckResult(
            name="TLS bucket",
            verdict=Verdict.UNKNOWN,
            found=f"whether {predecessors} is a predecessor's could not be read ({error_code(error)}); "
            f"{names.tls_bucket} is used",
            remedy="set mlcc:operator.tlsBucket to use another one",
        )
        return names.tls_bucket, (unread,)
    return (predecessors if found else names.tls_bucket), ()


def _checked(context: RoleContext, roles: tuple[OperatorRolePlan, ...]) -> list[CheckedRole]:
    return [
        service_account_role_checked(context, plan.key, plan.spec, plan.policy)
        for plan in roles
        if plan.spec is not None
    ]


def _roles(profile: Profile, survey: Survey, context: RoleContext) -> tuple[OperatorRolePlan, ...]:
    operator = profile.operator
    given = {
        EXECUTION_ROLE: operator.roles.execution,
        ALB_ROLE: operator.roles.alb_controller,
        KEDA_ROLE: operator.roles.keda_operator,
        S3_CSI_ROLE: operator.roles.s3_csi,
        FSX_CSI_ROLE: operator.roles.fsx_csi,
        GATED_MODEL_ROLE: operator.roles.gated_model,
        GATEWAY_ROLE: operator.roles.gateway,
    }
    wanted = {
        EXECUTION_ROLE: True,
        ALB_ROLE: operator.load_balancer_controller.enabled,
        KEDA_ROLE: operator.keda.enabled,
        S3_CSI_ROLE: True,
        FSX_CSI_ROLE: True,
        GATED_MODEL_ROLE: operator.gated_models,
        GATEWAY_ROLE: operator.gateway.enabled,
    }
    made = [key for key, needed in wanted.items() if needed and not given[key]]
    live = survey.live_roles(role_names(context, made))
    return tuple(_role(profile, context, key, given[key], live) for key, needed in wanted.items() if needed)


def _role(
    profile: Profile, context: RoleContext, key: str, given: str | None, live: Mapping[str, LiveRole]
) -> OperatorRolePlan:
    if given:
        return OperatorRolePlan(key=key, given=given)
    plan = plan_service_account_role(profile, context, key, live)
    return OperatorRolePlan(key=key, spec=plan.spec, trust=plan.trust, policy=plan.policy)


def _pinned(addon: str, kubernetes: str) -> str:
    try:
        return versions.addon_version(addon, kubernetes)
    except KeyError as missing:
        raise UserError(
            f"The cluster runs Kubernetes {kubernetes}, for which this release pins no version of {addon}.",
            remedy=f"Set mlcc:operator.addons.{addon}.version (`aws eks describe-addon-versions "
            f"--addon-name {addon} --kubernetes-version {kubernetes}` lists them), or update the cluster.",
        ) from missing


def _prerequisites(
    profile: Profile, kubernetes: str, made: Prerequisites
) -> dict[str, tuple[str, Mapping[str, Any]]]:
    chosen: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for name in sorted({*PREREQUISITES, *profile.operator.addons}):
        addon = profile.operator.addons.get(name)
        if (addon is not None and not addon.enabled) or name in made.addons:
            continue
        version = addon.version if addon is not None else None
        configuration = addon.configuration if addon is not None else {}
        chosen[name] = (version or _pinned(name, kubernetes), configuration)
    return chosen
