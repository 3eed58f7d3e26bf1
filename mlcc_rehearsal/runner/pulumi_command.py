"""The `pulumi` command of a rehearsal: the real CLI, in a private view of the project.

Run as a script by ``bin/pulumi`` of the rehearsal's folder, with that folder as first argument, by an
interpreter without its site packages: it starts in a few milliseconds and then becomes the real CLI.
The CLI is run in the view when the folder it would work in (its own, or ``-C``'s) belongs to a project inside
the checkout. Everywhere else it is run as called.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from mlcc_rehearsal.runner import own_plugins
from mlcc_rehearsal.runner.project_view import ProjectView, find_project

#: The file in a rehearsal's folder that tells this command what it needs to know.
SETTINGS = "pulumi-command.json"
# What an engine tells its plugins, and programs hand down to a CLI they call, about its receiver of logs.
# That CLI would connect to it by the name `localhost`, about which gRPC asks name servers (SRV and TXT).
_OUTER_ENGINE = "PULUMI_LOG_OTLP_ENDPOINT"
# Options of the CLI (pulumi/pkg cmd/pulumi at v3.276.0) whose value is a path, or an address that may be one.
_PATH_OPTIONS = frozenset(
    {
        "--config-file", "--event-log", "--file", "--import-file", "--input-file", "--out", "--plan",
        "--policy-pack", "--policy-pack-config", "--profiling", "--provider-file", "--resources-file",
        "--save-plan",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Call:
    """A call of the CLI: the folder it is to work in, and its arguments without the option naming it."""

    folder: Path
    arguments: tuple[str, ...]


def parse_call(arguments: list[str], cwd: Path) -> Call:
    """Take ``-C DIR``, ``-CDIR``, ``--cwd DIR`` and ``--cwd=DIR`` out of `arguments`; the last one counts."""
    folder, kept, position = cwd, list[str](), 0
    while position < len(arguments):
        argument = arguments[position]
        if argument == "--":
            kept += arguments[position:]
            break
        if argument in ("-C", "--cwd") and position + 1 < len(arguments):
            folder = cwd / arguments[position + 1]
            position += 1
        elif argument.startswith("--cwd="):
            folder = cwd / argument.removeprefix("--cwd=")
        elif argument.startswith("-C") and len(argument) > 2:
            folder = cwd / argument[2:].removeprefix("=")
        else:
            kept.append(argument)
        position += 1
    return Call(folder, tuple(kept))


def absolute_paths(arguments: tuple[str, ...], folder: Path) -> list[str]:
    """`arguments` with relative paths, as options take them, made absolute against `folder`."""
    fixed, is_path, ended = list[str](), False, False
    for argument in arguments:
        ended = ended or argument == "--"
        option, equals, value = argument.partition("=")
        if ended:
            fixed.append(argument)
        elif is_path:
            fixed.append(_absolute(argument, folder))
        elif equals and option in _PATH_OPTIONS:
            fixed.append(f"{option}={_absolute(value, folder)}")
        else:
            fixed.append(argument)
        is_path = not is_path and not equals and option in _PATH_OPTIONS
    return fixed


def _absolute(value: str, folder: Path) -> str:
    # "-" is the standard streams; an address (file://, tcp://) is absolute already.
    return value if value == "-" or "://" in value else str(folder / value)


def main(run: Path, arguments: list[str]) -> None:
    """Become the real CLI. OSError when it cannot be executed."""
    settings = json.loads((run / SETTINGS).read_text())
    real = settings["pulumi"]
    os.environ.pop(_OUTER_ENGINE, None)
    call = parse_call(arguments, Path.cwd())
    checkout = settings["checkout"]
    project = find_project(call.folder.resolve()) if checkout and call.folder.is_dir() else None
    if project is not None and project.is_relative_to(checkout):
        view = ProjectView.of(project, run / "projects", tuple(settings["python_path"])).sync()
        arguments = absolute_paths(call.arguments, call.folder)
        os.chdir(view)
        os.environ["PWD"] = str(view)
    _attach(run, call.arguments)
    os.execv(real, ["pulumi", *arguments])


def _attach(run: Path, arguments: tuple[str, ...]) -> None:
    """Have the engine attach to stand-ins that have its own identity, when that is not the rehearsal's."""
    settings = own_plugins.PluginSettings.read(run)
    if settings is None or not own_plugins.uses_providers(arguments):
        return
    try:
        found = own_plugins.debug_providers(settings, os.environ)
    except (OSError, ValueError) as error:
        sys.exit(
            f"rehearsal: stand-ins with this command's identity did not start ({error}): see {settings.logs}"
        )
    if found is not None:
        os.environ[own_plugins.DEBUG_PROVIDERS] = found


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
