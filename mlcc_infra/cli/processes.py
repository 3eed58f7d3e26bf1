"""Running commands that have things to put right when they are interrupted."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence

from mlcc_infra.account.state_transfer import pulumi_cli
from mlcc_infra.cli.exit_codes import ExitCode


def run_to_end(command: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
    """Run a command to its end, also after ^C, which it gets as well.

    Answers its exit code; that of an interruption when it failed after one, whatever it says itself.
    """
    interrupts: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    try:
        code = subprocess.Popen(command, env=environment).wait()
    finally:
        signal.signal(signal.SIGINT, before)
    return int(ExitCode.INTERRUPTED) if code and interrupts else code


def use_engine() -> None:
    """Have whatever runs `pulumi` find one: that on PATH, which in a rehearsal knows about it, else the
    installed engine's. Where there is neither, whoever needs it says so.
    """
    if shutil.which("pulumi"):
        return
    from mlcc_infra.engine import EngineError, find_engine

    with contextlib.suppress(EngineError):
        os.environ.update(find_engine().environment(os.environ))


def run_pulumi(*arguments: str, input: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a pulumi command without questions; its output is text in the answer."""
    return subprocess.run(
        [pulumi_cli(), *arguments, "--non-interactive", "--color", "never"],
        input=input,
        capture_output=True,
        text=True,
        check=False,
    )
