"""A life in acts: commands run one after the other, told to a newcomer, with the time each took.

An act is data; `play` runs a list of them and stops at the first that fails. Time is told twice: as it passed
here, and how long AWS had something under way, which is what one would wait for on a real account.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.rule import Rule
from rich.table import Table


@dataclass(frozen=True, kw_only=True)
class Act:
    """One command of a life: what it shows, in a word or two and in a sentence or two, and its words."""

    title: str
    story: str
    command: tuple[str, ...]
    #: How the command is shown; the command itself when empty.
    shown: str = ""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How an act went. `seconds` are real ones, `modelled` those in which AWS had something under way."""

    act: Act
    code: int
    seconds: float
    modelled: float


def duration(seconds: float) -> str:
    """A duration as people say it: ``8.2 s``, ``14 min 05 s``, ``1 h 03 min``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def _run(command: Sequence[str]) -> int:
    """Run a command to its end, also after ^C, which it gets as well: it has things to put right."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.Popen(command).wait()
    finally:
        signal.signal(signal.SIGINT, before)


def working_seconds() -> float:
    """Modelled seconds so far in which the rehearsed account had work under way, from its control address."""
    with urllib.request.urlopen(f"{os.environ['AWS_ENDPOINT_URL']}/_rehearsal/time", timeout=30) as answer:
        return float(json.load(answer)["working"])


def play(
    acts: Sequence[Act], console: Console, working: Callable[[], float] = working_seconds
) -> list[Outcome]:
    """Run `acts` in order, their output on the console as they write it; stop after one that fails.

    `working` tells for how many modelled seconds AWS has had work under way so far.
    """
    outcomes: list[Outcome] = []
    for number, act in enumerate(acts, 1):
        console.print()
        console.print(Rule(f"[bold]{number}/{len(acts)}  {act.title}", align="left"))
        console.print(act.story)
        console.print(f"[cyan]$ {act.shown or ' '.join(act.command)}", highlight=False)
        console.file.flush()
        started, modelled = time.monotonic(), working()
        code = _run(act.command)
        outcomes.append(
            Outcome(
                act=act,
                code=code,
                seconds=time.monotonic() - started,
                modelled=working() - modelled,
            )
        )
        if code != 0:
            break
    return outcomes


def summary(acts: Sequence[Act], outcomes: Sequence[Outcome], title: str) -> Table:
    """The closing table: each act, how it went, and the two times."""
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("act")
    table.add_column("outcome")
    table.add_column("here", justify="right")
    table.add_column("AWS would take", justify="right")
    for outcome in outcomes:
        verdict = "[green]done" if outcome.code == 0 else f"[red]failed (exit code {outcome.code})"
        table.add_row(outcome.act.title, verdict, duration(outcome.seconds), duration(outcome.modelled))
    for act in acts[len(outcomes) :]:
        table.add_row(act.title, "[dim]not reached", "", "")
    if len(outcomes) > 1:
        table.add_section()
        total, modelled = (sum(getattr(o, name) for o in outcomes) for name in ("seconds", "modelled"))
        table.add_row("all", "", duration(total), duration(modelled))
    return table
