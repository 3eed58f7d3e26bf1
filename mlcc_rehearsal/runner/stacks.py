"""Making the stacks of a project in the rehearsal's backend, and reading what their files ask for."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml

from mlcc_infra.errors import UserError

DEFAULT_REGION = "us-west-2"
#: Keys of stack files that name an AWS profile.
_PROFILE_KEYS = ("mlcc:awsProfile", "aws:profile")
_INIT_SECONDS = 60.0


def _configuration(path: Path) -> dict[str, Any]:
    try:
        loaded = yaml.safe_load(path.read_text())
    except yaml.YAMLError:
        return {}  # the engine, and the profile's own checks, say what is wrong with the file
    config = loaded.get("config") if isinstance(loaded, dict) else None
    return config if isinstance(config, dict) else {}


def configurations(files: Mapping[str, Path]) -> list[dict[str, Any]]:
    """The configuration in each of the stack files; empty for one that cannot be read as YAML."""
    return [_configuration(path) for path in files.values()]


def profile_names(configurations: Iterable[Mapping[str, Any]]) -> set[str]:
    """The AWS profiles named in the configurations of stack files."""
    values = (each.get(key) for each in configurations for key in _PROFILE_KEYS)
    return {value for value in values if isinstance(value, str) and value.strip()}


def names_region(configurations: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a stack file says which region its stack is for."""
    return any(each.get("aws:region") for each in configurations)


def common_region(configurations: Iterable[Mapping[str, Any]]) -> str:
    """The region all stack files agree on, else us-west-2: one account serves all stacks."""
    regions = {each.get("aws:region") for each in configurations} - {None}
    only = next(iter(regions)) if len(regions) == 1 else None
    return only if isinstance(only, str) and only else DEFAULT_REGION


def _init(pulumi: Path, stack: str, view: Path, environment: Mapping[str, str]) -> str | None:
    """Make one stack; answers what the CLI said when it failed."""
    command = [
        str(pulumi),
        "stack",
        "init",
        "--stack",
        stack,
        "--no-select",
        "--non-interactive",
        "--color",
        "never",
    ]
    try:
        done = subprocess.run(
            command,
            cwd=view,
            env={**environment, "PWD": str(view)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_INIT_SECONDS,
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        return f"not done within {_INIT_SECONDS:g} s"
    return None if done.returncode == 0 else (done.stderr or done.stdout).strip()


def make_stacks(pulumi: Path, stacks: list[str], view: Path, environment: Mapping[str, str]) -> None:
    """Make `stacks` of the project at `view`, several at once. UserError in the CLI's words if one fails.

    The first is made alone: with it the backend writes its ``.pulumi/meta.yaml``, which another would find
    half written ("read .pulumi/meta.yaml: EOF", seen under load with pulumi 3.276.0).
    """

    def make(stack: str) -> str | None:
        return _init(pulumi, stack, view, environment)

    with ThreadPoolExecutor(4) as pool:
        answers = [*map(make, stacks[:1]), *pool.map(make, stacks[1:])]
        failures = [f"{stack}: {answer}" for stack, answer in zip(stacks, answers, strict=True) if answer]
    if failures:
        raise UserError(
            "stacks could not be made in the rehearsal's backend:\n" + "\n".join(failures),
            remedy="mend the stack's file, or move it out of the folder of stack files",
        )
