"""``mlcc-infra doctor``: the preflight of a stack by itself, without changing anything."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from mlcc_infra.cli.exit_codes import ExitCode
from mlcc_infra.cli.stack_argument import StackName, profile_of

if TYPE_CHECKING:
    from mlcc_infra.account.preflight import CheckResult

_STYLES = {"ok": "green", "warning": "yellow", "unknown": "yellow", "refused": "bold red"}


def doctor(
    stack: StackName,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list instead of a table.")] = False,
) -> None:
    """Check whether `pulumi up` of a stack can work: exit code 3 when something stands in the way."""
    from mlcc_infra.account.session import known_profiles
    from mlcc_infra.targets.deployment import plan_deployment
    from mlcc_infra.targets.identity_checks import access_results, stored_identity_results

    profile = profile_of(stack)
    plan = plan_deployment(profile)
    recorded = plan.survey.recorded
    results = (
        *plan.results,
        *stored_identity_results(profile, recorded, known_profiles()),
        *access_results(profile, recorded),
    )
    refused = any(result.verdict == "refused" for result in results)
    if as_json:
        typer.echo(json.dumps([asdict(result) for result in results], indent=2))
    else:
        _print_table(stack, results)
    if refused:
        raise typer.Exit(ExitCode.REFUSED)


def _print_table(stack: str, results: Sequence[CheckResult]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"Preflight of {stack}", title_justify="left")
    for column in ("check", "verdict", "found", "needed", "what to do"):
        table.add_column(column, overflow="fold")
    for result in results:
        style = _STYLES[result.verdict]
        table.add_row(
            result.name, f"[{style}]{result.verdict}[/]", result.found, result.needed, result.remedy
        )
    Console().print(table)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(doctor)
