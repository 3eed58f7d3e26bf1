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
_AWS_PROGRAM = "from mlcc_rehearsal.aws_cli import main; sys.exit(main())"


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
    python = shlex.quote(sys.executable)
    pulumi_script = shlex.join([str(_HERE / "pulumi_command.py"), str(folder.path)])
    _write(folder.bin / "pulumi", f"{python} -I -S {pulumi_script}")
    # Not by `-m`: this must work from a checkout that is not installed, in every working folder.
    program = f"import sys; sys.path.insert(0, {str(_HERE.parents[1])!r}); {_AWS_PROGRAM}"
    _write(folder.bin / "aws", f"{python} -I -c {shlex.quote(program)}")


def _write(command: Path, words: str) -> None:
    command.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    command.chmod(0o755)
