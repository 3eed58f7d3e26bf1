"""Processes of a rehearsal: ending with their parent, and finding those a command left behind.

Linux has what is needed (prctl and /proc, see prctl(2) and proc(5)); elsewhere the table that `ps` prints
stands in for /proc, and children notice a lost parent by polling.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PROC = Path("/proc")


def _prctl(option: int, value: int) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    return ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) == 0


def end_with_parent(parent: int, number: int = signal.SIGKILL) -> None:
    """Have this process sent signal `number` when the thread that started it ends (it survives exec).

    `parent` is the pid of the process that started it: when that is gone already, this process ends here.
    """
    _prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def adopt_orphans() -> bool:
    """Make this process the new parent of descendants that lose theirs. False where that is not possible."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


@dataclass(frozen=True)
class Process:
    """A process as the system lists it."""

    pid: int
    parent: int
    group: int


def _listed_by_proc() -> list[Process]:
    found = []
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):  # it ended while we looked
            # The name, in parentheses, may hold spaces; the fields that count follow the last parenthesis.
            state, parent, group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
            if state not in "ZX":
                found.append(Process(int(entry.name), int(parent), int(group)))
    return found


def _listed_by_ps() -> list[Process]:
    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,pgid=,stat="], check=True, capture_output=True, text=True
    ).stdout
    rows = [line.split() for line in listing.splitlines()]
    return [Process(int(row[0]), int(row[1]), int(row[2])) for row in rows if not row[3].startswith("Z")]


def list_processes() -> list[Process]:
    """The processes that run now, without those that only wait to be reaped."""
    return _listed_by_proc() if (_PROC / "self" / "stat").exists() else _listed_by_ps()


def _has_mark(pid: int, mark: str) -> bool:
    """Whether the environment that process `pid` started with names the rehearsal's folder `mark`."""
    with contextlib.suppress(OSError):  # ended, or another user's
        for entry in (_PROC / str(pid) / "environ").read_bytes().split(b"\0"):
            if entry.startswith(b"MLCC_REHEARSAL_RUNS="):
                return mark.encode() in entry.partition(b"=")[2].split(os.pathsep.encode())
    return False


def family(
    processes: Iterable[Process],
    roots: Collection[int],
    groups: Collection[int] = (),
    spare: Collection[int] = (),
) -> set[int]:
    """The pids among `roots` and their descendants, and of process `groups` and theirs, without `spare`'s."""
    listed = list(processes)
    known = {process.pid for process in listed}
    found = (set(roots) & known) | {process.pid for process in listed if process.group in groups}
    found -= set(spare)
    while True:
        more = {p.pid for p in listed if p.parent in found and p.pid not in found and p.pid not in spare}
        if not more:
            return found
        found |= more


def left_behind(
    mark: str, roots: Collection[int], groups: Collection[int], spare: Collection[int]
) -> set[int]:
    """What still runs of a rehearsal: marked with its folder, a descendant of `roots`, or in `groups`."""
    listed = list_processes()
    marked = {process.pid for process in listed if _has_mark(process.pid, mark)}
    return family(listed, {*roots, *marked}, groups, spare) - {os.getpid()}


def reap_orphans(known: Collection[int]) -> None:
    """Reap children this process adopted, which nobody else waits for; leave the `known` ones."""
    for process in _children_to_reap():
        if process not in known:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process, os.WNOHANG)


def _children_to_reap() -> list[int]:
    children = _PROC / "self" / "task" / str(os.getpid()) / "children"
    waiting = []
    with contextlib.suppress(OSError):
        for pid in (int(text) for text in children.read_text().split()):
            with contextlib.suppress(OSError):
                if (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] == "Z":
                    waiting.append(pid)
    return waiting


def send(pids: Iterable[int], number: int) -> None:
    """Send a signal to each of `pids` that still runs."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def end_left_behind(
    mark: str,
    *,
    roots: Collection[int] = (),
    groups: Collection[int] = (),
    spare: Collection[int] = (),
    patience: float,
    reap: bool = False,
) -> set[int]:
    """End what still runs of a rehearsal: SIGTERM, `patience` real seconds, SIGKILL. Answers what it was.

    With `reap`, orphans adopted meanwhile are reaped: for a process that called `adopt_orphans`.
    """
    found = left_behind(mark, roots, groups, spare)
    everything, deadline = set(found), time.monotonic() + patience
    if found:
        send(found, signal.SIGTERM)
        send(found, signal.SIGCONT)  # a stopped process would not notice
    while found and time.monotonic() < deadline:
        time.sleep(0.05)
        if reap:
            reap_orphans(spare)
        found = left_behind(mark, roots, groups, spare)
    # Killing is repeated: a process may start another between being listed and being killed.
    for _ in range(20):
        if not found:
            break
        everything |= found
        send(found, signal.SIGKILL)
        time.sleep(0.05)
        if reap:
            reap_orphans(spare)
        found = left_behind(mark, roots, groups, spare)
    return everything
