"""Clean up after a supervisor that was killed: ``python -I -S watchdog.py FOLDER KEEP``.

A supervisor that ends in the ordinary way stops all it started. One that is killed outright cannot, so this
process, in a session of its own, reads a pipe that only the supervisor writes to. ``command PID`` names the
command's process group, ``done`` ends the watch; an end of the pipe without it is a killed supervisor. Then
what the rehearsal started is ended and its folder removed (KEEP is ``keep`` to leave it).
"""

from __future__ import annotations

import shutil
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from mlcc_rehearsal.runner.processes import end_left_behind

#: Real seconds that processes have to end by themselves.
PATIENCE_SECONDS = 2.0


def main(folder: str, keep: bool) -> None:
    """Watch the standard input."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        word, _, pid = line.strip().partition(" ")
        if word == "done":
            return
        groups = {int(pid)} if word == "command" else set()
    end_left_behind(folder, roots=groups, groups=groups, patience=PATIENCE_SECONDS)
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] == "keep")
