"""The processes a host starts, and the engine it belongs to: neither outlives the other.

The engine starts a plugin in a process group of its own, and ends it by SIGINT to that group, five seconds
later by SIGKILL (``cmdutil.RegisterProcessGroup`` and ``plugin.ExecPlugin`` of Pulumi's Go SDK). Children
stay in that group, so that the engine's last word reaches them too.
"""

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

GRACE = 1.0  # seconds for a program to end by itself once its engine has given up
PATIENCE = 5.0  # seconds between asking a child to end and killing it, as in the official host
SHORT_PATIENCE = 1.0  # the same when nobody is left to read what the child would say
POLL = 0.3  # seconds between two looks at the parent
ENGINE_POLLS = 7  # the engine's address is tried at every seventh look


class Children:
    """The running children of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    def start(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | Path | None = None,
        output: int | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start a child; `output` as Popen's `stdout` and `stderr`.

        Raises OSError if it cannot be started, and InterruptedError, which is one, once the host is ending.
        """
        with self._lock:
            if self._closed:
                raise InterruptedError("the language host is shutting down")
            process = subprocess.Popen(
                list(command), stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=dict(env), cwd=cwd
            )
            self._running.add(process)
        return process

    def wait(self, process: subprocess.Popen[bytes]) -> int:
        """Wait for a child and forget it. Returns its exit code, or minus the signal that ended it."""
        try:
            return process.wait()
        finally:
            with self._lock:
                self._running.discard(process)

    def end_one(self, process: subprocess.Popen[bytes]) -> None:
        """End one child in the background, if it still runs."""
        if process.poll() is None:
            threading.Thread(target=self._end_quietly, args=([process],), daemon=True).start()

    def end_all(self) -> None:
        """End all children in the background, because the engine has given up on what they do."""
        with self._lock:
            running = list(self._running)
        threading.Thread(target=self._end_quietly, args=(running,), daemon=True).start()

    @staticmethod
    def _end_quietly(processes: Sequence[subprocess.Popen[bytes]]) -> None:
        # At once and by SIGTERM: a program whose engine has given up would print a traceback of wherever its
        # next call fails, and with SIGINT of wherever it happens to be, beneath the error that matters.
        end(processes, signal.SIGTERM, PATIENCE)

    def end(self, first: signal.Signals, patience: float = PATIENCE, *, close: bool = False) -> None:
        """End all children: ask by signal, wait, kill. With `close`, no further one can be started."""
        with self._lock:
            self._closed = self._closed or close
            running = list(self._running)
        end(running, first, patience)


def end(processes: Sequence[subprocess.Popen[bytes]], first: signal.Signals, patience: float) -> None:
    """Ask processes to end, wait up to `patience` seconds for all of them together, and kill the rest."""
    deadline = time.monotonic() + patience
    # SIGINT from a terminal reaches the whole group by itself; from the engine it means that the update is
    # over. In both cases a child may be ending already, and passing it on would only make Python print a
    # traceback beneath the error that matters: it gets a moment, and then SIGTERM.
    if first is signal.SIGINT:
        if _all_ended(processes, time.monotonic() + min(GRACE, patience / 2)):
            return
        first = signal.SIGTERM
    for process in processes:
        if process.poll() is None:
            process.send_signal(first)
    if _all_ended(processes, deadline):
        return
    for process in processes:
        if process.poll() is None:
            process.kill()


def _all_ended(processes: Sequence[subprocess.Popen[bytes]], deadline: float) -> bool:
    while any(process.poll() is None for process in processes):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.02)
    return True


class Lifetime:
    """Ends when told to by SIGINT or SIGTERM, or when the engine that started this process is gone.

    Must be made in the main thread, early: the parent of that moment is taken for the engine.
    """

    def __init__(self) -> None:
        self._parent = os.getppid()
        self._stop = threading.Event()
        self._signal = signal.SIGTERM
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _frame: object) -> None:
        self._signal = signal.Signals(number)
        self._stop.set()

    def stop(self) -> None:
        """End it from within: the work is done."""
        self._stop.set()

    def wait(self, children: Children, engine: Callable[[], str] = lambda: "") -> None:
        """Wait for the end, then end the children. `engine` is the engine's address, "" if not known."""
        unreachable = looks = 0
        while not self._stop.wait(POLL):
            looks += 1
            if os.getppid() != self._parent:
                break
            if engine() and looks % ENGINE_POLLS == 0:
                unreachable = unreachable + 1 if refuses(engine()) else 0
                if unreachable >= 2:
                    break
        orphaned = not self._stop.is_set()
        children.end(self._signal, SHORT_PATIENCE if orphaned else PATIENCE - 1.0, close=True)


def refuses(address: str) -> bool:
    """Whether nothing listens at `host:port` any more. A slow answer is not a refusal."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=1.0):
            return False
    except ConnectionRefusedError:
        return True
    except (OSError, ValueError):
        return False
