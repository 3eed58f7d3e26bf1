"""Running the rehearsed command: its streams and terminal untouched, signals passed on, its end waited for.

The command gets a process group of its own, as a job of a shell does, so that a signal reaches all of it and
nothing else. When our streams are the terminal's it also becomes the terminal's foreground job: it reads from
it, ^C goes to it alone, ^Z stops it and us. In a pipeline the terminal stays with the shell's job, for the
other commands in it may need it, and ^C reaches the command through us.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType

from mlcc_rehearsal.runner.processes import reap_orphans

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Real seconds the command has to end after a forwarded signal, then after SIGTERM; SIGKILL follows.
PATIENCE_SECONDS = 20.0
TERM_SECONDS = 5.0
_TICK_SECONDS = 0.5
_SHIM = Path(__file__).with_name("exec_command.py")


class Interrupted(BaseException):
    """A signal to end arrived while no command ran. Not an Exception: nothing on the way may swallow it."""

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by signal {number}")
        self.number = number


class Signals:
    """Signals that arrived, in order. While `raising`, the first raises Interrupted in the main thread.

    `interrupted` is its number: what it met on its way, such as a module that was being initialised, may have
    made another error of it, or none.
    """

    def __init__(self) -> None:
        self.raising = False
        self.arrived: list[int] = []
        self.interrupted: int | None = None
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGCHLD:
            return  # it only wakes the wait below
        if self.raising:
            self.raising = False
            self.interrupted = number
            raise Interrupted(number)
        self.arrived.append(number)

    def install(self) -> None:
        """Take over the signals of this process; call in the main thread."""
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for number in (*FORWARDED, signal.SIGCHLD):
            if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                continue  # nohup: outliving the terminal is what was asked for
            signal.signal(number, self._handle)

    @contextlib.contextmanager
    def interrupting(self) -> Iterator[None]:
        """Within the block a signal raises Interrupted."""
        self.raising = True
        try:
            yield
        finally:
            self.raising = False

    def wait(self, seconds: float) -> None:
        """Sleep until a signal arrives, at most `seconds`."""
        select.select([self._reader], [], [], seconds)
        with contextlib.suppress(BlockingIOError):
            while os.read(self._reader, 512):
                pass


class Terminal:
    """The controlling terminal while we are in its foreground. `owned`: all our streams are its."""

    def __init__(self) -> None:
        self._descriptor: int | None = None
        with contextlib.suppress(OSError):  # there is none
            descriptor = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
            if os.tcgetpgrp(descriptor) == os.getpgrp():
                self._descriptor = descriptor
                signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            else:
                os.close(descriptor)
        self.owned = self._descriptor is not None and all(os.isatty(number) for number in (0, 1, 2))

    def give(self, group: int) -> None:
        """Make process group `group` the foreground job."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):  # the group just ended, or the terminal hung up
                os.tcsetpgrp(self._descriptor, group)


class Command:
    """A command being run; `run` waits for its end."""

    def __init__(self, words: list[str], environment: Mapping[str, str], terminal: Terminal) -> None:
        self._terminal = terminal
        parent, tty = str(os.getpid()), "tty" if terminal.owned else "-"
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_SHIM), parent, tty, *words],
            env=dict(environment),
            process_group=0,
        )

    @property
    def group(self) -> int:
        """The command's process group, which is also its process id."""
        return self._process.pid

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.group, number)

    def _poll(self) -> int | None:
        """The wait status of the command's end; a stopped command stops us with it."""
        with contextlib.suppress(ChildProcessError):
            pid, status = os.waitpid(self.group, os.WNOHANG | os.WUNTRACED)
            if pid and os.WIFSTOPPED(status):
                self._stopped(os.WSTOPSIG(status))
            elif pid:
                return status
        return None

    def _stopped(self, number: int) -> None:
        if number == signal.SIGTSTP and self._terminal.owned:
            self._terminal.give(os.getpgrp())
            os.kill(0, signal.SIGSTOP)  # the shell sees its job stopped; we go on when it says so
        if number in (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
            # In a pipeline too: a command that reads from the terminal needs it more than a pager does.
            self._terminal.give(self.group)
            self._signal(signal.SIGCONT)

    def run(self, signals: Signals, tick: Callable[[], None], known: Callable[[], set[int]]) -> int:
        """Wait for the end and answer a shell's exit code: 128 + n when signal n ended the command.

        `tick` is called at least every half second; `known` are the children that others wait for.
        """
        deadline, escalation = None, [signal.SIGTERM, signal.SIGKILL]
        while (status := self._poll()) is None:
            signals.wait(_TICK_SECONDS if deadline is None else 0.1)
            reap_orphans({*known(), self.group})
            while signals.arrived:
                self._signal(signals.arrived.pop(0))
                self._signal(signal.SIGCONT)
                deadline = deadline or time.monotonic() + PATIENCE_SECONDS
            if deadline is not None and escalation and time.monotonic() > deadline:
                self._signal(escalation.pop(0))
                deadline = time.monotonic() + TERM_SECONDS
            tick()
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self._terminal.give(os.getpgrp())
        code = self._process.returncode
        return code if code >= 0 else 128 - code
