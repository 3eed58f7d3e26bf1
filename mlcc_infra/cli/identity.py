"""``mlcc-infra identity``: whose credentials a stack's state uses, and giving it others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlcc_infra.cli.errors import CommandError
from mlcc_infra.cli.exit_codes import ExitCode
from mlcc_infra.cli.stack_argument import StackName, profile_of
from mlcc_infra.errors import UserError

if TYPE_CHECKING:
    from mlcc_infra.account.session import Identity
    from mlcc_infra.account.stored_identity import StoredIdentity

#: What --use takes for "whatever the environment has".
ENVIRONMENT = "environment"


def identity(
    stack: StackName,
    use: Annotated[
        str | None,
        typer.Option(metavar="PROFILE", help=f"An AWS profile's name, or `{ENVIRONMENT}` for none."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object instead of lines.")] = False,
) -> None:
    """Show which AWS profile the state of a stack stores, or have it use another.

    Refresh and destroy run no program and take credentials from the state. Where the profile stored there
    does not exist, as in a CI job that has keys alone, `--use environment` rewrites the state first; it is
    refused, and nothing written, when the credentials do not work or are for another account.
    """
    from mlcc_infra.account.stored_identity import stored_accounts, stored_identities

    export = _export(stack)
    stored = stored_identities(export)
    if not stored:
        raise CommandError(
            f"the state of {stack} stores no identity: it holds no provider", remedy=f"pulumi up -s {stack}"
        )
    accounts = stored_accounts(export)
    if use is None:
        _show(stack, stored, accounts, as_json=as_json)
        return
    wanted = None if use == ENVIRONMENT else use
    caller = _working(stack, export, wanted, accounts)
    changed = _rewrite(stack, export, wanted)
    if as_json:
        typer.echo(
            json.dumps({"uses": wanted, "caller": caller.arn, "rewritten": _as_data(changed)}, indent=2)
        )
        return
    source = f"the AWS profile {wanted}" if wanted else "the credentials of the environment"
    if not changed:
        typer.echo(f"The state of {stack} uses {source} already ({caller.arn}); nothing was changed.")
    else:
        typer.echo(f"The state of {stack} now uses {source} ({caller.arn}):")
        for found in changed:
            typer.echo(f"  {found.holder}")
    _say_stack_file(stack, wanted)


def _export(stack: str) -> dict[str, Any]:
    """The state; what has to be read of it and is encrypted is opened, in memory."""
    from mlcc_infra.account.state_transfer import export_state
    from mlcc_infra.account.stored_identity import EncryptedIdentityError, stored_identities, with_secrets_of

    export = export_state(stack)
    try:
        stored_identities(export)
    except EncryptedIdentityError:
        return with_secrets_of(export, export_state(stack, show_secrets=True))
    return export


def _working(
    stack: str, export: Mapping[str, Any], wanted: str | None, accounts: tuple[str, ...]
) -> Identity:
    """Who the new identity is. CommandError when it cannot work, before anything is written."""
    from mlcc_infra.account.session import AccountSession, credentials_source, known_profiles
    from mlcc_infra.account.stored_identity import pending_operations, stored_region

    if pending := pending_operations(export):
        raise CommandError(
            f"a run on {stack} was killed and left {len(pending)} unfinished, the first "
            f"{pending[0]['resource']['urn']}: rewriting the state would forget that",
            remedy=f"mlcc-infra recover {stack}",
            code=ExitCode.REFUSED,
        )
    known = known_profiles()
    if wanted is not None and wanted not in known:
        raise CommandError(
            f"there is no AWS profile {wanted} in this machine's AWS configuration; nothing was changed",
            remedy=f"one of {', '.join(sorted(known)) or 'none'}, or --use {ENVIRONMENT}",
            code=ExitCode.REFUSED,
        )
    region = stored_region(export)
    if region is None:
        raise CommandError(f"the state of {stack} holds no aws provider", remedy=f"pulumi up -s {stack}")
    try:
        caller = AccountSession(region=region, aws_profile=wanted).identity()
    except UserError as error:
        raise CommandError(
            f"{error.message} Nothing was changed.", remedy=error.remedy, code=ExitCode.REFUSED
        ) from error
    if accounts and any(account != caller.account for account in accounts):
        raise CommandError(
            f"{stack} belongs to account {', '.join(accounts)}; the credentials are for {caller.account} "
            f"({caller.arn}), by {credentials_source(wanted)}; nothing was changed",
            remedy="log in to that account, or name a profile of it",
            code=ExitCode.REFUSED,
        )
    return caller


def _rewrite(stack: str, export: Mapping[str, Any], wanted: str | None) -> tuple[StoredIdentity, ...]:
    from mlcc_infra.account.state_transfer import import_state
    from mlcc_infra.account.stored_identity import with_identity

    rewritten = with_identity(export, wanted)
    if rewritten.changed:
        import_state(stack, rewritten.export)
    return rewritten.changed


def _as_data(stored: tuple[StoredIdentity, ...]) -> list[dict[str, Any]]:
    return [asdict(found) for found in stored]


def _show(
    stack: str, stored: tuple[StoredIdentity, ...], accounts: tuple[str, ...], *, as_json: bool
) -> None:
    from mlcc_infra.account.session import known_profiles

    profiles = sorted({found.profile for found in stored if found.profile})
    missing = sorted(set(profiles) - known_profiles())
    if as_json:
        data = {"accounts": accounts, "stored": _as_data(stored), "missing_here": missing}
        typer.echo(json.dumps(data, indent=2))
        return
    words = f"the AWS profile {', '.join(profiles)}" if profiles else "the credentials of the environment"
    typer.echo(f"The state of {stack} uses {words}, in account {', '.join(accounts) or 'unknown'}:")
    for found in stored:
        typer.echo(f"  {found.holder}: {found.profile or ENVIRONMENT}")
    for profile in missing:
        typer.echo(
            f"There is no AWS profile {profile} on this machine, so refresh and destroy cannot work here:"
        )
        typer.echo(f"  mlcc-infra identity {stack} --use {ENVIRONMENT}    (or a profile's name)")


def _say_stack_file(stack: str, wanted: str | None) -> None:
    """What the next `up` reads is the stack file."""
    try:
        named = profile_of(stack).aws_profile
    except UserError:
        return  # it says what is wrong with it when it is used
    if named == wanted:
        return
    command = (
        f"pulumi config set mlcc:awsProfile {wanted} -s {stack}"
        if wanted
        else f"pulumi config rm mlcc:awsProfile -s {stack}"
    )
    typer.echo(f"Its stack file says {f'mlcc:awsProfile {named}' if named else 'no mlcc:awsProfile'}; `up`, ")
    typer.echo(f"`doctor` and `orphans` follow that. To change it too: {command}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(identity)
