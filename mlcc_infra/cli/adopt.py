"""``mlcc-infra adopt``: what `pulumi up` would take over, and how it differs, without changing anything."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlcc_infra.cli.exit_codes import ExitCode
from mlcc_infra.cli.stack_argument import StackName, profile_of

if TYPE_CHECKING:
    from mlcc_infra.account.preflight import CheckResult
    from mlcc_infra.targets.adoption import Adopted
    from mlcc_infra.targets.deployment import DeploymentPlan


# In front of every policy's name, and of no use to a reader; the JSON has it.
_POLICY_ARN = re.compile(r"arn:aws[a-z-]*:iam::[a-z0-9]*:policy/")


def adopt(
    stack: StackName,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object instead of a table.")] = False,
) -> None:
    """Show what `pulumi up` of a stack would take over, and how each thing differs from the profile.

    Changes nothing. Exit code 3 when something stands in the way; what, and what to do, is shown too.
    """
    from mlcc_infra.targets.deployment import plan_deployment

    plan = plan_deployment(profile_of(stack))
    refused = [result for result in plan.results if result.verdict == "refused"]
    unread = [result for result in plan.results if result.verdict == "unknown"]
    if as_json:
        typer.echo(json.dumps(_as_json(stack, plan, refused, unread), indent=2))
    else:
        _print(stack, plan, refused, unread)
    if refused:
        raise typer.Exit(ExitCode.REFUSED)


def _counts(plan: DeploymentPlan) -> dict[str, int]:
    actions = [decision.action.value for decision in plan.decisions.by_key.values()]
    return {"create": actions.count("create"), "keep": actions.count("keep")}


def _as_json(
    stack: str, plan: DeploymentPlan, refused: list[CheckResult], unread: list[CheckResult]
) -> dict[str, Any]:
    survey = plan.survey
    return {
        "stack": stack,
        "profile": survey.names.profile,
        "account": survey.names.account,
        "region": survey.names.region,
        "adopt": [_entry(found) for found in plan.adopted],
        **_counts(plan),
        "refused": [asdict(result) for result in refused],
        "unknown": [asdict(result) for result in unread],
    }


def _entry(found: Adopted) -> dict[str, Any]:
    wanted = found.decision.wanted
    return {
        "kind": wanted.kind,
        "name": wanted.physical,
        "type": wanted.key[0],
        "logicalName": wanted.key[1],
        "importId": found.decision.import_id,
        "owner": found.owner.value,
        "origin": found.decision.origin.value,
        "differences": [asdict(difference) for difference in found.differences],
        "unread": found.unread,
    }


def _print(stack: str, plan: DeploymentPlan, refused: list[CheckResult], unread: list[CheckResult]) -> None:
    names = plan.survey.names
    place = f"account {names.account}, {names.region}"
    counts = _counts(plan)
    if plan.adopted:
        _print_table(stack, plan, place)
    else:
        typer.echo(
            f"Nothing to adopt in {place}: nothing of profile {names.profile} exists there that the state of "
            f"{stack} does not have."
        )
    typer.echo(f"{counts['keep']} are in the state already, {counts['create']} would be made.")
    for title, results in (
        ("Could not be read:", unread),
        ("In the way, so `up` would be refused:", refused),
    ):
        if results:
            typer.echo(f"\n{title}")
            for result in results:
                typer.echo(f"  {str(result).replace(chr(10), chr(10) + '  ')}")


def _print_table(stack: str, plan: DeploymentPlan, place: str) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=f"`pulumi up` of {stack} would take over {len(plan.adopted)} in {place}", title_justify="left"
    )
    table.add_column("what", overflow="fold", ratio=2)
    table.add_column("whose", overflow="fold", min_width=8)
    table.add_column("found -> wanted, + added, - removed", overflow="fold", ratio=3)
    for found in plan.adopted:
        if found.differences:
            lines = [_POLICY_ARN.sub("", str(difference)) for difference in found.differences]
            # As text: what AWS holds is no markup.
            table.add_row(Text(found.name), Text(found.owner.value), Text("\n".join(lines)), end_section=True)
    console = Console()
    if table.row_count:
        console.print(table)
    else:
        console.print(Text(str(table.title)))
    same = [found.name for found in plan.adopted if found.as_wanted]
    if same:
        console.print(Text(f"As the profile has them, {len(same)}:"))
        for name in same:
            console.print(Text(f"  {name}"))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(adopt)
