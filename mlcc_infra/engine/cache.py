"""The cache outside the checkout: folders that are complete or absent, and one set-up at a time.

``<cache>/engine/<version>/`` holds

- ``cli/``: the CLI built from Go modules and Pulumi's executor script;
- ``python-<key>/``: the language host's own virtual environment;
- ``host-<key>/``: the language host, and ``bin/`` with all that goes on PATH;
- ``download/``: the official release, where that could be had instead.

A folder is filled under another name and renamed when it is complete, so an interrupted set-up leaves nothing
that is taken for a finished one.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Generator, Mapping
from pathlib import Path

from .model import Say
from .versions import PINNED, show

STAGING = ".staging-"


def root(environ: Mapping[str, str] = os.environ) -> Path:
    """Engines in ``$MLCC_CACHE_DIR``, else ``$XDG_CACHE_HOME/mlcc-infra``, else ``~/.cache/mlcc-infra``."""
    if own := environ.get("MLCC_CACHE_DIR"):
        return Path(own).expanduser().absolute() / "engine"
    xdg = environ.get("XDG_CACHE_HOME", "")
    # the specification has relative paths ignored
    base = (
        Path(xdg) if xdg and Path(xdg).is_absolute() else Path(environ.get("HOME") or Path.home()) / ".cache"
    )
    return base / "mlcc-infra" / "engine"


def home(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of the pinned version."""
    return root(environ) / show(PINNED)


@contextlib.contextmanager
def locked(folder: Path, say: Say) -> Generator[None]:
    """Hold the lock of a version's folder; wait for whoever holds it, and say so now and then."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a+", encoding="utf-8") as lock:
        started = time.monotonic()
        announced = -1.0
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                waited = time.monotonic() - started
                if announced < 0 or waited - announced >= 15:
                    announced = waited
                    lock.seek(0)
                    owner = lock.read().strip() or "unknown"
                    say(f"waiting for another set-up (process {owner}), {waited:.0f} s")
                time.sleep(0.2)
        lock.seek(0)
        lock.truncate()
        lock.write(str(os.getpid()))
        lock.flush()
        _remove_leftovers(folder)
        yield  # closing the file releases the lock, and so does the end of the process


@contextlib.contextmanager
def placed(target: Path) -> Generator[Path]:
    """A new folder to fill, which becomes `target` when the block ends without an error.

    What is at `target` already is replaced. To be used under the lock.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f"{STAGING}{target.name}-", dir=target.parent))
    staging.chmod(0o755)
    try:
        yield staging
        if target.exists():
            target.rename(staging.with_name(f"{staging.name}-old"))
        staging.rename(target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        shutil.rmtree(staging.with_name(f"{staging.name}-old"), ignore_errors=True)


def _remove_leftovers(folder: Path) -> None:
    """What interrupted set-ups left. Whoever holds the lock is the only one who fills anything."""
    for leftover in folder.glob(f"{STAGING}*"):
        shutil.rmtree(leftover, ignore_errors=True)
