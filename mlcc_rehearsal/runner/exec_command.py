"""Become a command, as a child of the supervisor: ``python -I -S exec_command.py PARENT TTY COMMAND…``.

What must happen between fork and exec is done here, in a process of its own, because the supervisor has
threads and its threads may hold locks at the moment of a fork. TTY is ``tty`` when the command is to be the
terminal's foreground job, else ``-``.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from mlcc_rehearsal.runner.processes import end_with_parent

NOT_FOUND, NOT_EXECUTABLE = 127, 126


def main(parent: int, tty: str, command: list[str]) -> int:
    """Become `command`; answers a shell's exit code when that is not possible."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    if tty == "tty":
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # a background job may then take the terminal
        descriptor = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
        os.tcsetpgrp(descriptor, os.getpgrp())
    for number in (signal.SIGTTOU, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    end_with_parent(parent, signal.SIGTERM)
    try:
        os.execvp(command[0], command)
    except FileNotFoundError:
        print(f"mlcc-infra rehearse: no command {command[0]!r} on the rehearsal's PATH", file=sys.stderr)
        return NOT_FOUND
    except OSError as error:
        print(f"mlcc-infra rehearse: {command[0]}: {error.strerror}", file=sys.stderr)
        return NOT_EXECUTABLE


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
