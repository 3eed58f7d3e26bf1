"""Finding and ending what a rehearsed command left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from mlcc_rehearsal.runner.environment import RUNS
from mlcc_rehearsal.runner.processes import Process, end_left_behind, family, list_processes

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="marks are read from /proc")


def table(*rows: tuple[int, int, int]) -> list[Process]:
    return [Process(*row) for row in rows]


def test_a_family_is_everything_below_its_roots() -> None:
    processes = table((1, 0, 1), (10, 1, 10), (11, 10, 10), (12, 11, 12), (20, 1, 20))
    assert family(processes, [10]) == {10, 11, 12}


def test_a_group_counts_with_what_its_members_started() -> None:
    processes = table((10, 1, 7), (11, 10, 11), (20, 1, 20))
    assert family(processes, [], groups=[7]) == {10, 11}


def test_spared_processes_are_spared_with_theirs() -> None:
    processes = table((10, 1, 10), (11, 10, 11), (12, 11, 12), (13, 10, 13))
    assert family(processes, [10], spare=[11]) == {10, 13}


def test_a_root_that_ended_is_no_matter() -> None:
    assert family(table((1, 0, 1)), [99]) == set()


def test_this_process_is_listed() -> None:
    assert os.getpid() in {process.pid for process in list_processes()}


def start(mark: str, script: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, RUNS: f"{mark}:/tmp/an-outer-one"}
    return subprocess.Popen(["bash", "-c", script], env=environment, start_new_session=True)


def test_detached_processes_are_found_by_the_mark_in_their_environment() -> None:
    process = start("/tmp/a-rehearsal", "sleep 60")
    assert end_left_behind("/tmp/a-rehearsal", patience=2) == {process.pid}
    assert process.wait() == -signal.SIGTERM


def test_processes_of_another_rehearsal_are_left_alone() -> None:
    process = start("/tmp/another-rehearsal", "sleep 60")
    assert end_left_behind("/tmp/a-rehearsal", patience=2) == set()
    assert process.poll() is None
    process.kill()
    process.wait()


def test_what_ignores_the_first_signal_is_killed() -> None:
    process = start("/tmp/a-stubborn-one", "trap '' TERM; while :; do sleep 0.1; done")
    time.sleep(0.3)
    started = time.monotonic()
    end_left_behind("/tmp/a-stubborn-one", patience=0.5)
    assert process.wait() == -signal.SIGKILL
    assert time.monotonic() - started < 5
