"""The cache: where it is, complete or absent, one set-up at a time."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from mlcc_infra.engine import cache
from mlcc_infra.engine.versions import PINNED, show


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"MLCC_CACHE_DIR": "/own", "XDG_CACHE_HOME": "/xdg", "HOME": "/me"}, "/own/engine"),
        ({"XDG_CACHE_HOME": "/xdg", "HOME": "/me"}, "/xdg/mlcc-infra/engine"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/me"}, "/me/.cache/mlcc-infra/engine"),
        ({"HOME": "/me"}, "/me/.cache/mlcc-infra/engine"),
    ],
)
def test_cache_is_outside_the_checkout_and_keyed_by_version(environ: dict[str, str], expected: str) -> None:
    assert cache.root(environ) == Path(expected)
    assert cache.home(environ) == Path(expected) / show(PINNED)


def test_folder_appears_only_when_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "cli"
    with cache.placed(target) as staging:
        (staging / "pulumi").write_text("half")
        assert not target.exists()
    assert (target / "pulumi").read_text() == "half"


def test_nothing_is_left_of_what_failed(tmp_path: Path) -> None:
    def fail() -> None:
        with cache.placed(tmp_path / "cli") as staging:
            (staging / "pulumi").touch()
            raise InterruptedError

    with pytest.raises(InterruptedError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_broken_folder_is_replaced_whole(tmp_path: Path) -> None:
    target = tmp_path / "cli"
    target.mkdir()
    (target / "old").touch()
    with cache.placed(target) as staging:
        (staging / "new").touch()
    assert [file.name for file in target.iterdir()] == ["new"]
    assert [folder.name for folder in tmp_path.iterdir()] == ["cli"]


def test_second_set_up_waits_and_says_for_whom(tmp_path: Path) -> None:
    lines: list[str] = []
    order: list[str] = []
    inside = threading.Event()

    def first() -> None:
        with cache.locked(tmp_path, lines.append):
            inside.set()
            time.sleep(0.5)
            order.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    inside.wait(10)
    with cache.locked(tmp_path, lines.append):
        order.append("second")
    thread.join()
    assert order == ["first", "second"]
    assert lines == [f"waiting for another set-up (process {os.getpid()}), 0 s"]


def test_killed_set_up_leaves_no_lock_and_its_leftovers_go(tmp_path: Path) -> None:
    script = (
        "import pathlib, sys, time\n"
        "from mlcc_infra.engine import cache\n"
        "home = pathlib.Path(sys.argv[1])\n"
        "with cache.locked(home, print), cache.placed(home / 'cli') as staging:\n"
        "    (staging / 'pulumi').touch()\n"
        "    print('filling', flush=True)\n"
        "    time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "filling\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert not (tmp_path / "cli").exists()
    assert list(tmp_path.glob(f"{cache.STAGING}*"))
    with cache.locked(tmp_path, print):
        assert not list(tmp_path.glob(f"{cache.STAGING}*"))
