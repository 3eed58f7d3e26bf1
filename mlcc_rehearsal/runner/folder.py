"""The private folder of a rehearsal: where everything that must not touch the user's own files lies."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from mlcc_infra.errors import UserError

_MARK = ".mlcc-rehearsal"
_PARTS = ("backend", "bin", "home", "logs", "projects", "pulumi-home")


@dataclass(frozen=True)
class RunFolder:
    """The folder at `path`; removed at the end unless `kept`. `replaced`: it held an earlier rehearsal."""

    path: Path
    kept: bool
    replaced: bool
    lock: int

    @property
    def backend(self) -> Path:
        """Where the state of the stacks lies."""
        return self.path / "backend"

    @property
    def bin(self) -> Path:
        """The `pulumi` and `aws` commands of the rehearsal; first on PATH."""
        return self.path / "bin"

    @property
    def home(self) -> Path:
        """HOME of the command."""
        return self.path / "home"

    @property
    def logs(self) -> Path:
        """Logs of the plugins, the API log and the record of refused connections."""
        return self.path / "logs"

    @property
    def projects(self) -> Path:
        """Private views of projects (`mlcc_rehearsal.runner.project_view`)."""
        return self.path / "projects"

    @property
    def pulumi_home(self) -> Path:
        """PULUMI_HOME: credentials, workspaces and plugins of the command's engines."""
        return self.path / "pulumi-home"

    @property
    def aws_config(self) -> Path:
        """The AWS configuration file."""
        return self.home / ".aws" / "config"

    @property
    def aws_credentials(self) -> Path:
        """The AWS credentials file."""
        return self.home / ".aws" / "credentials"

    @property
    def kubeconfig(self) -> Path:
        """Where kubeconfig is written and read; it does not exist at the start."""
        return self.home / ".kube" / "config"

    def close(self) -> None:
        """Remove the folder, or give it back when it is kept."""
        if not self.kept:
            shutil.rmtree(self.path, ignore_errors=True)
        with contextlib.suppress(OSError):
            os.close(self.lock)


def _locked(path: Path) -> int:
    descriptor = os.open(path / _MARK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise UserError(
            f"another rehearsal keeps {path} at this moment", remedy="give --keep another folder"
        ) from None
    os.ftruncate(descriptor, 0)
    os.write(descriptor, json.dumps({"pid": os.getpid()}).encode())
    return descriptor


def open_folder(keep: Path | None = None) -> RunFolder:
    """A new private folder: a temporary one, or `keep`.

    A `keep` that an earlier rehearsal kept is emptied first: its state describes an account that ended with
    that rehearsal. UserError when `keep` holds anything else, is a file, or is in use by a rehearsal.
    """
    if keep is None:
        path, replaced = Path(tempfile.mkdtemp(prefix="mlcc-rehearsal-")).resolve(), False
        lock = _locked(path)
    else:
        path = keep.resolve()
        if path.exists() and not path.is_dir():
            raise UserError(
                f"--keep {keep} is no folder", remedy="give a folder that does not exist, or an empty one"
            )
        path.mkdir(parents=True, exist_ok=True)
        entries = list(path.iterdir())
        if entries and not (path / _MARK).is_file():
            raise UserError(
                f"--keep {keep} holds files that no rehearsal made, such as {entries[0].name}",
                remedy="give a folder that does not exist, or an empty one",
            )
        lock, replaced = _locked(path), bool(entries)
        for entry in entries:
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            elif entry.name != _MARK:
                entry.unlink()
    folder = RunFolder(path, keep is not None, replaced, lock)
    for part in _PARTS:
        (path / part).mkdir()
    for file in (folder.aws_config, folder.kubeconfig):
        file.parent.mkdir()
    return folder
