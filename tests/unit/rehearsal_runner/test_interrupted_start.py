"""A signal while a rehearsal starts, in the middle of code that makes something else of it."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

# A module in C that is being initialised answers an exception of its own, or forgets the one that came.
BEGIN = """
import os, signal, sys, time
from mlcc_rehearsal.runner import supervisor

def begin(self, folder, cleanup):
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(10)
    except BaseException:
        {then}
    return {{}}

supervisor.Rehearsal._start = begin
supervisor.Rehearsal._rehearse = lambda self, folder, words: 0
print(supervisor.Rehearsal(supervisor.Options(command=("true",))).run())
"""


@pytest.mark.parametrize(
    "then", ["raise TypeError('expected a message argument') from None", "pass", "raise"]
)
def test_a_signal_that_became_another_error_or_none_ends_the_rehearsal_as_itself(then: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BEGIN.format(then=then)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"{128 + signal.SIGTERM}\n"), done.stderr
