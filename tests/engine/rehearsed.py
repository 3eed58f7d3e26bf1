"""Running something on a rehearsed account, as tests do it: by the public command."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
# Modelled seconds in a real one: a ten-minute cluster takes two and a half seconds.
SPEED = 240
LIMIT_SECONDS = 1200
PROJECT_FILES = (
    "Pulumi.yaml",
    "__main__.py",
    "mlcc_infra",
    "mlcc_rehearsal",
    "stacks",
    "docs",
    "pyproject.toml",
)


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """A finished rehearsal: how it ended, what it printed, and every AWS call it made."""

    code: int
    output: str
    calls: list[dict[str, Any]]

    def mutating(self, *services: str) -> list[dict[str, Any]]:
        """Calls that change something, of all services or of those named."""
        return [
            call for call in self.calls if call["mutating"] and (not services or call["service"] in services)
        ]


def copy_project(folder: Path, *, only: str | None = None) -> Path:
    """A private copy of the project's sources, for tests that change stack files; all stacks or one."""
    project = folder / "project"
    project.mkdir()
    for name in PROJECT_FILES:
        source = ROOT / name
        if source.is_dir():
            # With its byte code, which rehearsals do not write: what a test changes is newer than that.
            shutil.copytree(source, project / name)
        elif source.exists():
            shutil.copy(source, project / name)
    for file in (project / "stacks").glob("Pulumi.*.yaml"):
        if only not in (None, file.name.split(".")[1]):
            file.unlink()
    environment = ROOT / ".venv"
    if environment.exists():
        (project / ".venv").symlink_to(environment)
    return project


def rehearse(
    command: list[str],
    *,
    folder: Path,
    project: Path = ROOT,
    speed: float = SPEED,
    options: tuple[str, ...] = (),
    environment: dict[str, str] | None = None,
) -> Rehearsal:
    """Run a command in a rehearsal of a project; the API log goes into `folder`."""
    log = folder / "api.jsonl"
    done = subprocess.run(
        [
            sys.executable,
            *("-m", "mlcc_infra.cli", "rehearse"),
            *("--speed", str(speed), "--api-log", str(log), *options, "--", *command),
        ],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    calls = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return Rehearsal(code=done.returncode, output=done.stdout, calls=calls)
