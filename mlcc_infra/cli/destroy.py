"""``mlcc-infra destroy``: `pulumi destroy`, and on request the deletion of what that retains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mlcc_infra.cli.dead_clusters import drop_what_died
from mlcc_infra.cli.errors import CommandError
from mlcc_infra.cli.exit_codes import ExitCode
from mlcc_infra.cli.processes import run_to_end
from mlcc_infra.cli.stack_argument import StackName, profile_of

if TYPE_CHECKING:
    from mlcc_infra.account.recorded_state import RecordedState
    from mlcc_infra.profile import Profile


def destroy(
    stack: StackName,
    force_delete: Annotated[
        bool, typer.Option("--force-delete", help="Delete the retained resources too, after the stack.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Destroy a stack. What it retains on purpose stays, unless --force-delete.

    Refused where `mlcc:forceDelete` or `mlcc:own` was changed since the last `up`: destroy goes by the state.

    Where a cluster was deleted behind the stack's back, what was in it is dropped from the state first.
    """
    from mlcc_infra.account.recorded_state import read_recorded_state
    from mlcc_infra.account.state_transfer import pulumi_cli

    profile = profile_of(stack)
    # Read before it is gone: whatever is done after the stack is in its account, with its identity.
    recorded = read_recorded_state(stack)
    _require_settings_in_state(profile, recorded)
    if profile.force_delete:
        _say_foreign(profile, recorded)
    drop_what_died(profile, typer.echo)
    command = [pulumi_cli(), "destroy", "--stack", stack, *(["--yes"] if yes else [])]
    code = run_to_end(command)
    if code != 0:
        raise CommandError(
            f"pulumi destroy of {stack} ended with exit code {code}; nothing else was deleted",
            remedy="mend what it reports above and run the same command again",
            code=ExitCode.INTERRUPTED if code == ExitCode.INTERRUPTED else ExitCode.FAILED,
        )
    if profile.hyperpod.existing_stack and profile.has("hyperpod-eks"):
        identity = recorded.identity(profile.aws_profile)
        _say_nested(profile, profile.hyperpod.existing_stack, identity)
    if not force_delete:
        return
    from mlcc_infra.account.retained import delete_bucket, delete_role
    from mlcc_infra.targets.retention import read_retained

    retained = read_retained(profile, recorded)
    if not retained.lines():
        typer.echo(f"{stack} has left nothing in {retained.place}.")
        return
    for kind, name in retained.lines():
        typer.echo(f"  {kind}  {name}")
    for role in retained.roles:
        for kind, name in role.foreign():
            typer.echo(f"  {kind} {name} is somebody else's, and is taken off first")
    if not yes and not typer.confirm(f"Delete these from the account of {stack}?"):
        raise CommandError("nothing more was deleted", code=ExitCode.INTERRUPTED)
    for role in retained.roles:
        delete_role(retained.reader, role)
        typer.echo(f"deleted role {role.name}")
    for bucket in retained.buckets:
        delete_bucket(retained.reader, bucket)
        typer.echo(f"deleted bucket {bucket.name} with everything in it")


def _require_settings_in_state(profile: Profile, recorded: RecordedState) -> None:
    """Destroy goes by the state; what the profile says since is refused, not silently without effect."""
    from mlcc_infra.targets.destroy_settings import settings_not_in_state

    contradictions = settings_not_in_state(profile, recorded)
    if not contradictions:
        return
    listed = "".join(f"\n    {line}" for line in contradictions)
    remedy = f"run `pulumi up -s {profile.stack}` first, or set the key back to what it was then"
    if profile.force_delete:
        remedy += (
            f" (`mlcc-infra destroy {profile.stack} --force-delete` deletes what is retained without the key)"
        )
    raise CommandError(
        f"the state of {profile.stack} does not know yet what the profile says of its destruction:{listed}",
        remedy=remedy,
        code=ExitCode.REFUSED,
    )


def _say_nested(profile: Profile, stack: str, aws_profile: str | None) -> None:
    """What an adopted stack leaves when it is deleted: nested stacks that AWS's template retains (rule 7)."""
    from mlcc_infra.account.lookups.cloudformation import describe_stack, nested_stacks_left
    from mlcc_infra.account.reader import Reader
    from mlcc_infra.account.session import AccountSession

    session = AccountSession(region=profile.region, aws_profile=aws_profile)
    reader = Reader(session, profile=profile.name)
    if describe_stack(reader, stack) is not None:
        typer.echo(f"stack {stack} was taken over and stays; mlcc:own with `stack` lets destroy delete it")
        return
    for name in nested_stacks_left(reader, stack):
        typer.echo(f"stack {name}, which {stack} nested, is retained by AWS's template; delete it by hand")


def _say_foreign(profile: Profile, recorded: RecordedState) -> None:
    """With `mlcc:forceDelete` the engine deletes the roles; what others put on them goes first, so say it."""
    from mlcc_infra.targets.retention import read_retained

    for role in read_retained(profile, recorded).roles:
        for kind, name in role.foreign():
            typer.echo(
                f"{kind} {name} is somebody else's; mlcc:forceDelete takes it off and deletes the role"
            )


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(destroy)
