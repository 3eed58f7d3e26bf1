"""The commands a rehearsal puts first on PATH: `pulumi` and `aws`."""

from __future__ import annotations

import importlib.util
import json
import shlex
import sys
from pathlib import Path

from mlcc_rehearsal.runner.environment import BIN_MARK
from mlcc_rehearsal.runner.folder import RunFolder
from mlcc_rehearsal.runner.pulumi_command import SETTINGS

_HERE = Path(__file__).resolve().parent


def _package_folder(module: str) -> str:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{module} is not installed", name=module)
    return str(Path(spec.origin).parents[1])


def yaml_path() -> tuple[str, ...]:
    """Where an interpreter without its site packages finds PyYAML."""
    return (_package_folder("yaml"),)


def write_commands(folder: RunFolder, *, pulumi: Path, checkout: Path | None) -> None:
    """Write the commands. `pulumi` is the real CLI; projects inside `checkout` are worked on in views."""
    settings = {
        "pulumi": str(pulumi),
        "checkout": str(checkout) if checkout else None,
        "python_path": yaml_path(),
    }
    (folder.path / SETTINGS).write_text(json.dumps(settings))
    (folder.bin / BIN_MARK).write_text("the first folder on a rehearsed command's PATH\n")
    for name, options, script in (
        ("pulumi", "-I -S", "pulumi_command.py"),
        ("aws", "-I", "aws_command.py"),
    ):
        words = [sys.executable, *options.split(), str(_HERE / script), str(folder.path)]
        command = folder.bin / name
        command.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        command.chmod(0o755)
