"""A life in acts: steps taken one after the other, told to a newcomer, with what each changed and took.

An act is data; `play` runs a list of them and stops at the first that fails. Time is told twice: as it passed
here, and how long AWS had something under way, which is what one would wait for on a real account.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mlcc_infra.cli.changes import Changes, logged, read_changes
from mlcc_infra.cli.errors import CommandError, exit_code_of, show
from mlcc_infra.cli.exit_codes import ExitCode
from mlcc_infra.cli.processes import run_to_end

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

#: Set in the environment of every rehearsed command.
REHEARSAL_VARIABLE = "MLCC_REHEARSAL"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, kw_only=True)
class Done:
    """How an action went: its exit code, and what it changed in a word or two."""

    code: int = 0
    changes: str = ""


@dataclass(frozen=True, kw_only=True)
class Act:
    """One step of a life: what it is in a word or two, and what it does in a sentence or two.

    It is a command, whose changes are counted by the engine when it is `pulumi`, or an `action` of our own.
    """

    title: str
    story: str
    #: What it shows, a few words for the closing table.
    shows: str
    command: tuple[str, ...] = ()
    action: Callable[[Console], Done] | None = None
    #: How an action is shown, as somebody would type it; nothing when empty.
    shown: str = ""
    #: True: it fails when it changes nothing. False: it fails when it changes anything. None: either is fine.
    changes_something: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How an act went. `seconds` are real ones, `modelled` those in which AWS had something under way.

    `broken` is the expectation that its changes did not meet, in words.
    """

    act: Act
    code: int
    seconds: float
    modelled: float
    changes: str = ""
    broken: str = ""

    @property
    def failed(self) -> bool:
        """Whether the life ends here."""
        return self.code != 0 or bool(self.broken)


def duration(seconds: float) -> str:
    """A duration as people say it: ``8.2 s``, ``14 min 05 s``, ``1 h 03 min``."""
    if seconds < 60:
        return f"{seconds:.1f} s" if round(seconds, 1) else "0 s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def rehearsed_endpoint() -> str:
    """The address of the rehearsed account. CommandError when this is no rehearsal, whatever is claimed.

    What plays a life changes things behind a stack's back: it must never do so on a real account.
    """
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    if os.environ.get(REHEARSAL_VARIABLE) != "1" or urlsplit(endpoint).hostname not in _LOOPBACK:
        raise CommandError("a life is played on a rehearsed account only", remedy="mlcc-infra rehearse")
    return endpoint


def working_seconds() -> float:
    """Modelled seconds so far in which the rehearsed account had work under way, from its control address."""
    with urllib.request.urlopen(f"{rehearsed_endpoint()}/_rehearsal/time", timeout=30) as answer:
        return float(json.load(answer)["working"])


def _act(act: Act, console: Console) -> tuple[int, str, Changes | None]:
    """Do what an act does: exit code, changes in words, and the engine's count of them."""
    if act.action is not None:
        done = _done(act.action, console)
        return done.code, done.changes, None
    if act.command[0] != "pulumi":
        return run_to_end(act.command), "", None
    with tempfile.TemporaryDirectory(prefix="mlcc-act-") as folder:
        log = Path(folder) / "events.jsonl"
        code = run_to_end(*logged(act.command, log))
        changes = read_changes(log)
    return code, str(changes or ""), changes


def _done(action: Callable[[Console], Done], console: Console) -> Done:
    try:
        return action(console)
    except KeyboardInterrupt:
        return Done(code=ExitCode.INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - an act that fails ends the life as a command's failure does
        show(error)
        return Done(code=exit_code_of(error))


def _broken(act: Act, code: int, changes: Changes | None) -> str:
    if act.changes_something is None or code != 0:
        return ""
    if changes is None:
        return "the engine did not say what it changed"
    if act.changes_something and not changes.total:
        return "it changed nothing, and should have"
    if not act.changes_something and changes.total:
        return f"it should have changed nothing ({changes})"
    return ""


def play(
    acts: Sequence[Act], console: Console, working: Callable[[], float] = working_seconds
) -> list[Outcome]:
    """Run `acts` in order, their output on the console as they write it; stop after one that fails.

    `working` tells for how many modelled seconds AWS has had work under way so far.
    """
    from rich.rule import Rule

    outcomes: list[Outcome] = []
    for number, act in enumerate(acts, 1):
        console.print()
        console.print(Rule(f"[bold]{number}/{len(acts)}  {act.title}", align="left"))
        console.print(act.story)
        if words := act.shown or " ".join(act.command):
            console.print(f"[cyan]$ {words}", highlight=False, soft_wrap=True)
        console.file.flush()
        started, modelled = time.monotonic(), working()
        code, said, changes = _act(act, console)
        outcome = Outcome(
            act=act,
            code=code,
            seconds=time.monotonic() - started,
            modelled=working() - modelled,
            changes=said,
            broken=_broken(act, code, changes),
        )
        outcomes.append(outcome)
        if outcome.failed:
            break
    return outcomes


def _shows(outcome: Outcome) -> str:
    if outcome.code:
        return f"[red]failed (exit code {outcome.code})"
    return f"[red]{outcome.broken}" if outcome.broken else outcome.act.shows


def summary(acts: Sequence[Act], outcomes: Sequence[Outcome], title: str) -> Table:
    """The closing table, eighty columns wide: each act, what it changed, the two times, and what it shows."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("act", no_wrap=True)
    table.add_column("changes", min_width=13)
    table.add_column("AWS would take", justify="right", max_width=11)
    table.add_column("real time", justify="right", no_wrap=True)
    table.add_column("what it shows")
    for outcome in outcomes:
        table.add_row(
            outcome.act.title,
            outcome.changes.replace(", ", "\n"),
            duration(outcome.modelled),
            duration(outcome.seconds),
            _shows(outcome),
        )
    for act in acts[len(outcomes) :]:
        table.add_row(act.title, "", "", "", "[dim]not reached")
    if len(outcomes) > 1:
        table.add_section()
        modelled, total = (sum(getattr(o, name) for o in outcomes) for name in ("modelled", "seconds"))
        table.add_row("all", "", duration(modelled), duration(total), "")
    return table
