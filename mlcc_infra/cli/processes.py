"""Running commands that have things to put right when they are interrupted."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Mapping, Sequence


def run_to_end(command: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
    """Run a command to its end, also after ^C, which it gets as well; answers its exit code."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.Popen(command, env=environment).wait()
    finally:
        signal.signal(signal.SIGINT, before)
