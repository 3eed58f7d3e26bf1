"""In which Python environment a program runs.

In this order: the ``virtualenv`` of Pulumi.yaml's runtime options, relative to the folder of that file; the
active environment (``VIRTUAL_ENV``); ``PULUMI_PYTHON_CMD``; ``python3`` on PATH.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DESCRIBE = Path(__file__).with_name("describe.py")


class UnusableEnvironmentError(Exception):
    """The program cannot run as Pulumi.yaml asks; the message says why and what to do."""


@dataclass(frozen=True)
class ProgramEnvironment:
    """An interpreter, and the virtual environment it belongs to (None: the system's)."""

    python: Path
    virtualenv: Path | None

    def variables(self, base: Mapping[str, str]) -> dict[str, str]:
        """The variables of a process in this environment, as activating it would set them."""
        variables = dict(base)
        if self.virtualenv is not None:
            variables["VIRTUAL_ENV"] = str(self.virtualenv)
            variables["PATH"] = os.pathsep.join(
                part for part in (str(self.virtualenv / "bin"), variables.get("PATH", "")) if part
            )
            variables.pop("PYTHONHOME", None)
        return variables

    def describe(self) -> dict[str, Any]:
        """What is installed in it: see :mod:`.describe`, which runs there.

        Raises UnusableEnvironmentError with the interpreter's own words if it cannot say.
        """
        result = subprocess.run(
            [str(self.python), str(DESCRIBE)],
            env=self.variables(os.environ),
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode != 0:
            raise UnusableEnvironmentError(
                f"{self.python} could not list its packages (exit code {result.returncode}):\n"
                f"{result.stderr.strip()}"
            )
        described: dict[str, Any] = json.loads(result.stdout)
        return described


def resolve(
    options: Mapping[str, Any], root: Path, environ: Mapping[str, str], *, may_be_missing: bool = False
) -> ProgramEnvironment:
    """The environment that the runtime options name, for a project whose Pulumi.yaml lies in `root`.

    `may_be_missing` allows a virtual environment that is yet to be made. Raises UnusableEnvironmentError for
    options this host does not know and for a virtual environment that is none.
    """
    refuse_unknown(options)
    option = str(options.get("virtualenv") or "")
    if option:
        virtualenv = Path(os.path.normpath(root / option))
        python = virtualenv / "bin" / "python"
        if not python.is_file() and not may_be_missing:
            state = "is no virtual environment" if virtualenv.is_dir() else "does not exist"
            raise UnusableEnvironmentError(
                f"The 'virtualenv' option in Pulumi.yaml is set to {option!r}, but {str(virtualenv)!r} "
                f"{state}. Create it with its packages: `make setup` in a checkout of mlcc-infra, "
                "`pulumi install` elsewhere."
            )
        return ProgramEnvironment(python, virtualenv)
    active = environ.get("VIRTUAL_ENV", "")
    if active and (Path(active) / "bin" / "python").is_file():
        return ProgramEnvironment(Path(active) / "bin" / "python", Path(active))
    for name in (environ.get("PULUMI_PYTHON_CMD", ""), "python3", "python"):
        found = shutil.which(name, path=environ.get("PATH")) if name else None
        if found:
            return ProgramEnvironment(Path(found), None)
    raise UnusableEnvironmentError("No python3 on PATH to run the program with.")


def refuse_unknown(options: Mapping[str, Any]) -> None:
    """Raises UnusableEnvironmentError for runtime options that would otherwise be silently ignored."""
    toolchain = str(options.get("toolchain") or "pip").lower()
    if toolchain != "pip":
        raise UnusableEnvironmentError(
            f"The 'toolchain' option in Pulumi.yaml is {toolchain!r}. The language host of mlcc-infra knows "
            "'pip' only; for others install Pulumi's own release, which brings the official host."
        )
    checker = str(options.get("typechecker") or "none").lower()
    if checker != "none":
        raise UnusableEnvironmentError(
            f"The 'typechecker' option in Pulumi.yaml is {checker!r}. The language host of mlcc-infra runs "
            "no type checker: remove the option, or install Pulumi's own release."
        )
