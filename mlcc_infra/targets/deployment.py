"""From a profile to registered resources: survey, plan, preflight and inventory side by side, compose."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any

import pulumi
import pulumi_aws as aws
from botocore.exceptions import BotoCoreError, ClientError
from pulumi.runtime import get_config_env
from pulumi.runtime.config import CONFIG

from mlcc_infra.account.addon_checks import read_addon_states
from mlcc_infra.account.decisions import (
    AdoptMode,
    Decision,
    Decisions,
    Fact,
    Presence,
    Recorded,
    ResourceKey,
    Wanted,
    decide_all,
)
from mlcc_infra.account.inventory import take_inventory
from mlcc_infra.account.preflight import Check, CheckResult, Verdict, refuse_if_any, run_checks
from mlcc_infra.account.reader import Reader
from mlcc_infra.account.recorded_state import RecordedState
from mlcc_infra.account.session import AccountSession
from mlcc_infra.account.stack_failure import watch_creation
from mlcc_infra.account.under_way import wait_until_at_rest
from mlcc_infra.components.base import StackContext
from mlcc_infra.components.kept import KeptResources, kept_resources
from mlcc_infra.errors import UserError
from mlcc_infra.profile import KINDS, Profile, load_profile
from mlcc_infra.targets import hyperpod_eks_plan, operator_only_plan, vanilla_eks_plan
from mlcc_infra.targets.adoption import (
    Adopted,
    find_adopted,
    replacement_refusals,
    short_form,
    unread_results,
)
from mlcc_infra.targets.expectations import expectations
from mlcc_infra.targets.hyperpod_eks import create_hyperpod_eks
from mlcc_infra.targets.identity_checks import identity_results
from mlcc_infra.targets.operator_only import create_operator_only
from mlcc_infra.targets.operator_plan import ADDONS_WITH_ROLE
from mlcc_infra.targets.permissions import PlannedRoles, check_permissions
from mlcc_infra.targets.survey import Survey, take_survey
from mlcc_infra.targets.vanilla_eks import create_vanilla_eks

AWS_PROVIDER_NAME = "aws"


@dataclass(frozen=True, kw_only=True)
class DeploymentPlan:
    """What a run is going to do, decided and checked, before anything is registered.

    One plan a target, None for those that the profile does not ask for.
    """

    survey: Survey
    vanilla_eks: vanilla_eks_plan.VanillaEksPlan | None
    hyperpod_eks: hyperpod_eks_plan.HyperPodEksPlan | None
    operator_only: operator_only_plan.OperatorOnlyPlan | None
    facts: Mapping[ResourceKey, Fact]
    decisions: Decisions
    adopted: tuple[Adopted, ...]
    addon_triggers: Mapping[ResourceKey, str]
    results: tuple[CheckResult, ...]

    @property
    def under_way(self) -> list[Wanted]:
        """What AWS is still at work on: made, changed or deleted by a run that ended before it did."""
        wanted = (decision.wanted for decision in self.decisions.by_key.values())
        return [item for item in wanted if self.facts[item.key].under_way]


def plan_deployment(profile: Profile, *, recorded: RecordedState | None = None) -> DeploymentPlan:
    """Find out, plan and check, without changing anything.

    The results hold every verdict, refusals included; nothing is raised for those. Raises `UserError` when
    there is nothing to plan with: no credentials, a wrong account, an unreadable state.
    """
    survey = take_survey(profile, recorded=recorded)
    with _readable():
        vanilla = vanilla_eks_plan.plan_vanilla_eks(survey) if profile.has(vanilla_eks_plan.TARGET) else None
        hyperpod = (
            hyperpod_eks_plan.plan_hyperpod_eks(survey) if profile.has(hyperpod_eks_plan.TARGET) else None
        )
        operator = (
            operator_only_plan.plan_operator_only(survey) if profile.has(operator_only_plan.TARGET) else None
        )
    plans = [plan for plan in (vanilla, hyperpod, operator) if plan is not None]
    wanted: list[Wanted] = [item for plan in plans for item in plan.wanted]
    checks: list[Check] = [check for plan in plans for check in plan.checks]
    with ThreadPoolExecutor(1, thread_name_prefix="checks") as pool:
        checking = pool.submit(run_checks, checks)
        facts = take_inventory(survey.reader, wanted)
        checked = checking.result()
    recorded_state = survey.recorded
    decisions = decide_all(
        wanted, facts, recorded_state.resources, _adopt_modes(profile), recorded_state.begun
    )
    adopted = find_adopted(
        survey.reader,
        decisions,
        facts,
        expectations(
            profile,
            survey.names,
            survey.reader,
            partition=survey.identity.partition,
            vanilla=vanilla,
            hyperpod=hyperpod,
            operator_only=operator,
        ),
    )
    addons = read_addon_states(
        survey.reader,
        wanted,
        survey.recorded.resources,
        with_role=ADDONS_WITH_ROLE,
        published=vanilla_eks_plan.PUBLISHED_ADDON_KEYS,
    )
    permissions = check_permissions(survey, decisions, _planned_roles(vanilla, hyperpod, operator))
    results = (
        *identity_results(profile, survey.identity, os.environ),
        *_profile_warnings(profile),
        *_pending_warning(profile, recorded_state),
        *(result for plan in plans for result in plan.results),
        *checked,
        *_refusals(decisions.refused),
        *replacement_refusals(adopted, stack=profile.stack),
        *unread_results(adopted),
        *addons.results,
        *permissions,
        *(_unknown(decision) for decision in decisions.warnings),
    )
    return DeploymentPlan(
        survey=survey,
        vanilla_eks=vanilla,
        hyperpod_eks=hyperpod,
        operator_only=operator,
        facts=facts,
        decisions=decisions,
        adopted=adopted,
        addon_triggers=addons.triggers,
        results=results,
    )


def _planned_roles(
    vanilla: vanilla_eks_plan.VanillaEksPlan | None,
    hyperpod: hyperpod_eks_plan.HyperPodEksPlan | None,
    operator_only: operator_only_plan.OperatorOnlyPlan | None,
) -> PlannedRoles:
    operators = [
        plan.operator for plan in (hyperpod, operator_only) if plan is not None and plan.operator is not None
    ]
    return PlannedRoles(
        kept=[
            plan.roles.spec(entry)
            for plan in (vanilla, hyperpod)
            if plan and plan.roles
            for entry in plan.roles.roles
        ],
        others=[
            *(role.spec for role in (vanilla.service_account_roles if vanilla else ())),
            *(role.spec for operator in operators for role in operator.roles if role.spec is not None),
        ],
    )


@contextmanager
def _readable() -> Iterator[None]:
    """A plan needs some answers of AWS (zones, a stack as it is); without them it is one clear error."""
    try:
        yield
    except ClientError as error:
        detail = error.response.get("Error", {})
        raise UserError(
            f"AWS refused {error.operation_name}, without which nothing can be planned: "
            f"{detail.get('Code')}: {detail.get('Message')}",
            remedy="Give the caller that permission, or run again when AWS answers.",
        ) from error
    except BotoCoreError as error:
        raise UserError(
            f"AWS could not be asked: {error}", remedy="Check the network and the region, and run again."
        ) from error


def _adopt_modes(profile: Profile) -> dict[str, AdoptMode]:
    return {kind: AdoptMode(profile.adopt.mode(kind)) for kind in KINDS}


def _profile_warnings(profile: Profile) -> list[CheckResult]:
    return [
        CheckResult(name=warning.key, verdict=Verdict.WARNING, found=warning.found, remedy=warning.remedy)
        for warning in profile.warnings
    ]


def _pending_warning(profile: Profile, recorded: RecordedState) -> list[CheckResult]:
    if not recorded.pending:
        return []
    begun = ", ".join(f"{found.operation} {found.key[1]}" for found in recorded.pending)
    return [
        CheckResult(
            name="pending operations",
            verdict=Verdict.WARNING,
            found=f"a run was killed while it was {begun}",
            remedy=f"mlcc-infra recover {profile.stack} finds out what became of them and clears them",
        )
    ]


def _refusals(decisions: Iterable[Decision]) -> list[CheckResult]:
    """One result a refused thing, but one a CloudFormation stack for all that it still owns."""
    results: list[CheckResult] = []
    stacks: dict[str, list[Decision]] = {}
    for decision in decisions:
        if decision.stack:
            stacks.setdefault(decision.stack, []).append(decision)
        else:
            results.append(_refusal(decision))
    return [*results, *(_stack_refusal(stack, owned) for stack, owned in stacks.items())]


def _stack_refusal(stack: str, owned: Sequence[Decision]) -> CheckResult:
    """How a stack lets go of what it owns (CloudFormation user guide, DeletionPolicy)."""
    things = dict.fromkeys(
        f"{decision.wanted.kind} {decision.wanted.belongs_to or decision.wanted.physical}"
        for decision in owned
    )
    return CheckResult(
        name=f"CloudFormation stack {stack}",
        verdict=Verdict.REFUSED,
        found=f"the stack exists and still owns {', '.join(things)}",
        needed="things that no stack owns: its next update or deletion would change or delete them",
        remedy="1. in its template set `DeletionPolicy: Retain` on each (CDK: removalPolicy RETAIN) and "
        f"update the stack; 2. `aws cloudformation update-termination-protection --stack-name {stack} "
        f"--no-enable-termination-protection` and `aws cloudformation delete-stack --stack-name {stack}`; "
        "3. when it is gone, run again. docs/move-from-the-predecessor.md has all of it",
    )


def _refusal(decision: Decision) -> CheckResult:
    return CheckResult(
        name=f"{decision.wanted.kind} {decision.wanted.physical}",
        verdict=Verdict.REFUSED,
        found=decision.reason,
        remedy=decision.remedy,
    )


def _unknown(decision: Decision) -> CheckResult:
    return CheckResult(
        name=f"{decision.wanted.kind} {decision.wanted.physical}",
        verdict=Verdict.UNKNOWN,
        found=decision.warning,
    )


def deploy(profile: Profile) -> None:
    """Plan, refuse what cannot work, say what is worth saying, and register everything."""
    plan = _plan_at_rest(profile)
    _say(plan)
    survey = plan.survey
    context = StackContext(
        names=survey.names,
        stack=profile.stack,
        partition=survey.identity.partition,
        aws_profile=profile.aws_profile,
        extra_tags=profile.tags,
        decisions=plan.decisions,
        own=frozenset(profile.own),
        force_delete=profile.force_delete,
        exclusive=profile.exclusive,
        kept=None if profile.force_delete else KeptResources(_kept(plan), stack=profile.stack),
        replacement_triggers=plan.addon_triggers,
    )
    provider = aws.Provider(
        AWS_PROVIDER_NAME,
        region=profile.region,
        profile=profile.aws_profile,
        allowed_account_ids=[survey.identity.account],
    )
    vanilla = None
    if plan.vanilla_eks is not None:
        vanilla = create_vanilla_eks(profile, plan.vanilla_eks, context=context, provider=provider)
    if plan.hyperpod_eks is not None:
        if plan.hyperpod_eks.stack_is_made and not pulumi.runtime.is_dry_run():
            _watch_stack(survey, besides=plan.hyperpod_eks.dead_stack)
        create_hyperpod_eks(profile, plan.hyperpod_eks, context=context, provider=provider)
    if plan.operator_only is not None:
        shared = vanilla is not None and plan.operator_only.eks_cluster_name == survey.names.eks_cluster
        create_operator_only(
            profile,
            plan.operator_only,
            after=[vanilla.base] if vanilla is not None and shared else [],
            context=context,
            provider=provider,
        )


def _checked_plan(profile: Profile, *, recorded: RecordedState | None = None) -> DeploymentPlan:
    plan = plan_deployment(profile, recorded=recorded)
    refuse_if_any(plan.results, stack=profile.stack)
    return plan


def _plan_at_rest(profile: Profile) -> DeploymentPlan:
    """The plan, once AWS has done what it was still at work on, in previews too: until then a cluster has no
    endpoint and a stack no outputs that could be shown.
    """
    plan = _checked_plan(profile)
    waiting = plan.under_way
    if not waiting:
        return plan
    survey = plan.survey

    def read(items: Sequence[Wanted]) -> Mapping[ResourceKey, Fact]:
        return take_inventory(Reader(survey.reader.session, profile=profile.name), items)

    wait_until_at_rest(waiting, read, pulumi.log.info)
    again = _checked_plan(profile, recorded=survey.recorded)
    known = survey.recorded.resources
    gone = [item for item in waiting if item.key in known and _is_absent(again, item.key)]
    if gone:
        names = ", ".join(f"{item.kind} {item.physical}" for item in gone)
        raise UserError(
            f"{names}: deleted since this run read the state, which still has it.",
            remedy=f"Run `pulumi up -s {profile.stack}` again.",
        )
    return again


def _is_absent(plan: DeploymentPlan, key: ResourceKey) -> bool:
    return key not in plan.facts or plan.facts[key].presence is Presence.ABSENT


def _kept(plan: DeploymentPlan) -> dict[ResourceKey, Recorded]:
    return kept_resources(plan.survey.recorded.resources, plan.facts, plan.decisions)


def _watch_stack(survey: Survey, *, besides: str | None) -> None:
    """Have the first real cause said when the stack cannot be made; the provider knows the outer stack only.

    Beside the program and without holding it up. An error hook could not do it: it stays in the state, and
    without a program, as in `destroy`, it would take the place of what a deletion failed with.
    """
    watch = partial(
        watch_creation,
        AccountSession(region=survey.profile.region, aws_profile=survey.profile.aws_profile),
        survey.names.hyperpod_stack,
        pulumi.log.error,
        besides=besides,
    )
    threading.Thread(target=copy_context().run, args=(watch,), name="stack watch", daemon=True).start()


def _say(plan: DeploymentPlan) -> None:
    for result in plan.results:
        if result.verdict in (Verdict.WARNING, Verdict.UNKNOWN):
            pulumi.log.warn(str(result))
    if plan.adopted:
        pulumi.log.info(short_form(plan.adopted, stack=plan.survey.profile.stack))


def deploy_stack() -> None:
    """The whole program of a stack: read its profile from Pulumi's configuration and deploy it.

    What the user can mend ends the run with one clear error and no traceback.
    """
    try:
        deploy(load_profile(_configuration(), pulumi.get_stack(), environ=os.environ))
    except UserError as error:
        raise pulumi.RunError(str(error)) from None


def _configuration() -> Mapping[str, Any]:
    # Programs run by the CLI get the configuration in the environment, inline programs in a variable.
    return {**get_config_env(), **CONFIG.get()}
