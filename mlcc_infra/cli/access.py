"""``mlcc-infra access``: who may administer a stack's clusters, and letting them in again."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from mlcc_infra.cli.errors import CommandError
from mlcc_infra.cli.exit_codes import ExitCode
from mlcc_infra.cli.stack_argument import StackName

if TYPE_CHECKING:
    from mlcc_infra.account.stack_access import ClusterAccess


def access(
    stack: StackName,
    repair: Annotated[
        bool, typer.Option("--repair", help="Let the stack's admins in again, and the caller if need be.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list instead of lines.")] = False,
) -> None:
    """Show who may administer the clusters of a stack, asked of EKS and of each cluster itself.

    `pulumi up` reads what is in a cluster before it could repair who may read it. When the access entry of
    whoever runs it is gone, --repair makes the entries that the state names; and one for the caller when the
    cluster still turns it away, as EKS had made for whoever made the cluster.

    Exit code 1 when an admin has no access or the cluster refuses the caller.
    """
    from mlcc_infra.account import stack_access
    from mlcc_infra.account.cluster_client import ClusterGoneError
    from mlcc_infra.account.state_transfer import export_state

    entries = stack_access.stored_access(export_state(stack))
    if not entries:
        raise CommandError(
            f"the state of {stack} holds no access to a cluster: there is none yet, or it is somebody else's"
        )
    found = []
    for entry in entries:
        let_in: list[str] = []
        try:
            if repair:
                let_in, state = stack_access.repair(entry)
            else:
                state = stack_access.look(entry)
        except ClusterGoneError as error:
            raise CommandError(str(error), remedy=f"pulumi up -s {stack}") from error
        found.append(state)
        if not as_json:
            _show(stack, state, let_in)
    if as_json:
        typer.echo(json.dumps([asdict(state) for state in found], indent=2))
    if not all(state.whole for state in found):
        raise typer.Exit(ExitCode.FAILED)


def _show(stack: str, found: ClusterAccess, let_in: list[str]) -> None:
    typer.echo(f"Cluster {found.cluster}:")
    for arn in let_in:
        typer.echo(f"  {arn} was let in again, as administrator")
    for arn in found.admins:
        typer.echo(f"  {arn}: {'no access' if arn in found.missing else 'administrator'}")
    words = found.reason or "administrator, as the cluster itself says"
    typer.echo(f"  {found.caller} (who asks): {words}")
    if not found.whole:
        typer.echo(f"  mlcc-infra access {stack} --repair")
    elif let_in and found.caller not in found.admins:
        typer.echo("  who is to stay an administrator belongs under mlcc:admins in the stack file")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(access)
