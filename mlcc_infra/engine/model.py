"""An engine that can be used, and what can go wrong on the way to one."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Source = Literal["path", "installer", "built"]

#: Takes one line of progress.
Say = Callable[[str], None]


class EngineError(Exception):
    """No engine can be had. The message says what was tried and what would work."""


class SourceUnavailableError(EngineError):
    """One source cannot serve; the next one is tried. The message is one line."""


@dataclass(frozen=True)
class Engine:
    """A Pulumi CLI with a language host for Python."""

    pulumi: Path
    """The executable."""
    bin_dirs: tuple[Path, ...]
    """The folders that must come first on PATH: the CLI's and, where that is another, the language host's."""
    version: str
    """`3.276.0`."""
    source: Source

    def environment(self, base_env: Mapping[str, str]) -> dict[str, str]:
        """A copy of `base_env` in which this engine comes first on PATH."""
        first = [str(folder) for folder in self.bin_dirs]
        rest = [part for part in base_env.get("PATH", os.defpath).split(os.pathsep) if part not in first]
        return {**base_env, "PATH": os.pathsep.join([*first, *rest])}
