"""The whole life of a stack on a rehearsed account, from the first `up` to what a destroy leaves."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mlcc_infra.cli.acts import Act, Done, Outcome, play, rehearsed_endpoint, summary
from mlcc_infra.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from rich.console import Console

#: The stack whose life is shown when none is named.
DEMO_STACK = "mlcc-demo"
#: Quick enough for somebody who watches, slow enough for the product's time limits on a busy machine.
DEMO_SPEED = 200.0


def life(stack: str) -> list[Act]:
    """The acts of a stack's life."""

    def pulumi(verb: str, *options: str) -> tuple[str, ...]:
        return ("pulumi", verb, "-s", stack, "--yes", *options)

    # What an update is going to do, and its outputs, are shown once.
    short = ("--skip-preview", "--suppress-outputs")

    return [
        Act(
            title="up",
            story=f"All that stacks/Pulumi.{stack}.yaml asks for is previewed and made.",
            command=pulumi("up"),
            shows="one command makes it all",
            changes_something=True,
        ),
        Act(
            title="up again",
            story="The same once more compares account and profile and finds nothing to do.",
            command=pulumi("up", *short),
            shows="running it again is safe",
            changes_something=False,
        ),
        Act(
            title="drift",
            story="Somebody works on the account by hand, behind the stack's back.",
            action=lambda console: _drift(stack, console),
            shows="what people do by hand",
        ),
        Act(
            title="repair",
            story="A plain `up` finds what changed and puts it right; a policy that is not ours stays.",
            command=pulumi("up", *short),
            shows="drift found and mended",
            changes_something=True,
        ),
        Act(
            title="destroy",
            story="Everything goes, in reverse order, but for what is retained on purpose.",
            command=pulumi("destroy", *short),
            shows="nothing blocks the way",
            changes_something=True,
        ),
        Act(
            title="orphans",
            story="The account itself is asked what of this stack is still there.",
            action=lambda _console: _orphans(stack),
            shown=f"mlcc-infra orphans {stack}",
            shows="only what is kept",
        ),
    ]


def _drift(stack: str, console: Console) -> Done:
    from mlcc_infra.cli.drift import break_things
    from mlcc_infra.cli.stack_argument import profile_of

    count = 0
    for words in break_things(profile_of(stack)):
        console.print(f"  {words}")
        count += 1
    return Done(changes=f"{count} by hand")


def _orphans(stack: str) -> Done:
    from mlcc_infra.cli.orphans import report

    found = report(stack)
    sys.stdout.flush()
    return Done(
        code=ExitCode.OK if found.clean else ExitCode.FAILED,
        changes=f"{len(found.kept)} kept, {len(found.left_over)} left over",
    )


def play_life(stack: str) -> int:
    """Play it, in the rehearsal that this process runs in. CommandError when it runs in none."""
    from rich.console import Console

    rehearsed_endpoint()
    console = Console(highlight=False)
    console.print(
        f"[bold]The life of {stack}, rehearsed.[/] The real Pulumi engine works on an AWS account that "
        "exists only on this machine. Nothing is billed and nothing leaves it."
    )
    acts = life(stack)
    outcomes = play(acts, console)
    console.print()
    console.print(summary(acts, outcomes, f"The life of {stack}, rehearsed"))
    if any(outcome.failed for outcome in outcomes):
        return _exit_code(outcomes[-1])
    console.print("On a real account it is the same commands, without the rehearsal:")
    console.print(f"  pulumi up -s {stack}", soft_wrap=True)
    return ExitCode.OK


def _exit_code(failed: Outcome) -> int:
    return ExitCode.INTERRUPTED if failed.code == ExitCode.INTERRUPTED else ExitCode.FAILED
