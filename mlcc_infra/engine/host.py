"""Putting the language host into the cache, independent of any checkout.

The host's environment is keyed by its pins and the host by its code, so a change in the code costs a copy and
a change in the pins a `pip install`, never another build of the CLI; and checkouts with different hosts do
not get in each other's way.
"""

import compileall
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from .build import EXECUTOR
from .cache import placed
from .model import EngineError, Say

CODE = Path(__file__).with_name("language_host")
PINS = Path(__file__).with_name("host-requirements.txt")
COPY = "mlcc_language_host"  # the name of the code's folder in the cache
LAUNCHERS = {"pulumi-language-python": "language-host", "pulumi-resource-pulumi-python": "dynamic-provider"}


def _key(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:12]


def python_key() -> str:
    """The key of the host's environment: of its pins."""
    return _key(PINS.read_bytes())


def host_key() -> str:
    """The key of the host: of its code, of this module, which places it, and of its environment."""
    files = sorted(CODE.glob("*.py"))
    parts = [part for file in files for part in (file.name.encode(), file.read_bytes())]
    return _key(*parts, Path(__file__).read_bytes(), python_key().encode())


def bin_dir(home: Path) -> Path:
    """The folder with the CLI and all that belongs to it, in a version's folder of the cache."""
    return home / f"host-{host_key()}" / "bin"


def interpreter(home: Path) -> Path:
    """The language host's own interpreter."""
    return home / f"python-{python_key()}" / "bin" / "python"


def is_complete(home: Path) -> bool:
    """Whether the CLI, the host and its interpreter work; the last goes with the Python it was made of."""
    return (bin_dir(home) / "pulumi").is_file() and interpreter(home).is_file()


def install(home: Path, environ: Mapping[str, str], say: Say) -> None:
    """Complete a version's folder in which ``cli/`` is there. To be called under the cache's lock."""
    if not interpreter(home).is_file():
        _install_python(interpreter(home).parents[1], environ, say)
    if not (bin_dir(home) / "pulumi").is_file():
        _install_code(home)
        say("language host installed")


def _install_python(target: Path, environ: Mapping[str, str], say: Say) -> None:
    say("installing the language host's packages")
    # Not the interpreter of a virtual environment, which may go with its checkout.
    base = getattr(sys, "_base_executable", "") or sys.executable
    with placed(target) as staging:
        _check([base, "-m", "venv", str(staging)], environ)
        pip = [str(staging / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
        _check([*pip, "install", "--quiet", "--no-deps", "-r", str(PINS)], environ)


def _install_code(home: Path) -> None:
    target = bin_dir(home).parent
    with placed(target) as staging:
        code = staging / COPY
        shutil.copytree(CODE, code, ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(code, quiet=1)
        binaries = staging / "bin"
        binaries.mkdir()
        shutil.copyfile(home / "cli" / EXECUTOR, binaries / EXECUTOR)
        for name, role in LAUNCHERS.items():
            command = [str(interpreter(home)), "-I", str(target / COPY / "start.py"), role]
            if role == "language-host":
                command.append(str(target / "bin" / EXECUTOR))
            launcher = binaries / name
            launcher.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
            launcher.chmod(0o755)
        # The engine warns about a language host on PATH that is not the one beside its own executable, so
        # each host has the CLI beside it.
        _link(home / "cli" / "pulumi", binaries / "pulumi")


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file system without hard links
        shutil.copy2(source, target)


def _check(command: list[str], environ: Mapping[str, str]) -> None:
    result = subprocess.run(command, env=dict(environ), capture_output=True, text=True, check=False)
    if result.returncode != 0:
        words = (result.stderr or result.stdout).strip().splitlines()[-20:]
        raise EngineError("\n".join([f"`{shlex.join(command)}` failed:", *words]))
