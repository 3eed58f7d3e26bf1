"""The engine a rehearsal runs: the `pulumi` CLI and its language host."""
from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from mlcc_infra.errors import UserError


@dataclass(frozen=True)
class Engine:
    """The CLI, and the folders that its helpers (language host, dynamic providers) are found in."""

    pulumi: Path
    folders: tuple[Path, ...]


def locate(path: str) -> Engine:
    found = shutil.which("pulumi", path=path)
    if found is None:
        raise UserError("no pulumi CLI was found", remedy="run `make setup`")
    return Engine(Path(found), (Path(found).parent,))
