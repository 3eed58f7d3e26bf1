"""Running commands that have things to put right when they are interrupted."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence

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


def pulumi_command() -> tuple[str, dict[str, str]]:
    """The `pulumi` on PATH (in a rehearsal it is one that knows about it), else the installed engine's."""
    environment = dict(os.environ)
    found = shutil.which("pulumi")
    if found:
        return found, environment
    from mlcc_infra.engine import find_engine

    engine = find_engine()
    return str(engine.pulumi), engine.environment(environment)


def run_pulumi(*arguments: str, input: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a pulumi command without questions; its output is text in the answer."""
    executable, environment = pulumi_command()
    return subprocess.run(
        [executable, *arguments, "--non-interactive", "--color", "never"],
        env=environment,
        input=input,
        capture_output=True,
        text=True,
        check=False,
    )
