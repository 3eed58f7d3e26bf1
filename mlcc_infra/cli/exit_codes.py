"""What the command's exit codes mean. Scripts rely on the numbers: they never change, new ones are added."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """How a run of the command ended. ``mlcc-infra rehearse`` answers the rehearsed command's code."""

    #: Done.
    OK = 0
    #: Something failed on the way; what was done stays done, and the same command may be run again.
    FAILED = 1
    #: The call was wrong: an unknown option, a missing argument, a file that is not there.
    USAGE = 2
    #: Refused before the first write: the profile or the preflight says it would fail.
    REFUSED = 3
    #: Another run holds the stack.
    LOCKED = 4
    #: A part of the installation is missing: the engine, or the extra that rehearsals need.
    MISSING = 5
    #: Ended by ^C, as shells count it.
    INTERRUPTED = 130
