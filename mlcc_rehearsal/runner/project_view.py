"""A private view of a Pulumi project, so that the engine writes none of its files in the checkout.

``pulumi stack init``, ``up`` and ``config`` write into stack files (an ``encryptionsalt``, re-quoted values).
A view is a folder with copies of Pulumi.yaml and of the stack files, and links to everything else. The copy
of Pulumi.yaml names the checkout as ``main``, absolutely, so that programs run where they always run, with
the paths in their tracebacks that the user knows; only configuration is private. Sources: pulumi/pkg
``engine/project.go`` at v3.276.0 (an absolute ``main`` is taken as it is, and is the program's working
directory) and ``sdk/go/common/workspace/paths.go`` (projects are searched upwards; stack files lie in
``stackConfigDir``).

Only the standard library is imported at the top: the `pulumi` command of a rehearsal runs this each time.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECT_FILES = ("Pulumi.yaml", "Pulumi.yml", "Pulumi.json")
_STACK_FILE = re.compile(r"Pulumi\.(?P<stack>[^/]+)\.(?:yaml|yml|json)")
_SALT = re.compile(r"^encryptionsalt:.*$", re.MULTILINE)
# Looking for version control data in the view would cost each command time and tell it nothing new.
_NOT_LINKED = frozenset({".git"})


def find_project(start: Path) -> Path | None:
    """The nearest folder at or above `start` that holds a Pulumi project file; None when there is none."""
    for folder in (start, *start.parents):
        if any((folder / name).is_file() for name in PROJECT_FILES):
            return folder
    return None


def find_checkout(project: Path) -> Path:
    """The folder nothing may be written in: the repository `project` lies in, or the project itself."""
    for folder in (project, *project.parents):
        if (folder / ".git").exists():
            return folder
    return project


def stack_of(file_name: str) -> str | None:
    """The stack a file name belongs to, or None: ``Pulumi.mlcc-demo.yaml`` is ``mlcc-demo``'s."""
    match = _STACK_FILE.fullmatch(file_name)
    return match["stack"] if match else None


def _project_file(project: Path) -> Path:
    return next(project / name for name in PROJECT_FILES if (project / name).is_file())


def _loaded(text: str, python_path: tuple[str, ...]) -> dict[str, Any]:
    for folder in python_path:
        if folder not in sys.path:
            sys.path.append(folder)
    import yaml  # here, because most runs of the command find the view up to date

    try:
        loaded = yaml.safe_load(text)
    except yaml.YAMLError:
        return {}  # the engine says what is wrong with the file, better than this could
    return loaded if isinstance(loaded, dict) else {}


def _stacks_of(project: Mapping[str, Any]) -> str:
    """Where a project file says that the stack files are, relative to the project."""
    return str(project.get("stackConfigDir") or project.get("config") or ".")


def stack_config_dir(project: Path, python_path: tuple[str, ...] = ()) -> Path:
    """The folder of `project`'s stack files: its ``stackConfigDir`` (also ``config``), or the project."""
    return project / _stacks_of(_loaded(_project_file(project).read_text(), python_path))


def stack_files(project: Path) -> dict[str, Path]:
    """The stack files of `project` by stack name, sorted; empty when the folder does not exist."""
    folder = stack_config_dir(project)
    if not folder.is_dir():
        return {}
    found = {stack: path for path in sorted(folder.iterdir()) if (stack := stack_of(path.name))}
    return {stack: path for stack, path in found.items() if path.is_file()}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _with_salt_of(text: str, private: Path) -> str:
    """`text`, keeping the salt made in this rehearsal: secrets in the private backend need it."""
    if _SALT.search(text) or not private.is_file():
        return text
    salt = _SALT.search(private.read_text())
    return f"{text.rstrip()}\n{salt[0]}\n" if salt else text


@dataclass(frozen=True)
class ProjectView:
    """The view of `source` at `folder`. Several commands share it; `sync` is done by one at a time."""

    source: Path
    folder: Path
    #: Where PyYAML can be imported from, for interpreters that start without their packages.
    python_path: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: Path, views: Path, python_path: tuple[str, ...] = ()) -> ProjectView:
        """The view of `source` among the `views` of a rehearsal; not yet made."""
        name = f"{source.name}-{_digest(str(source))[:8]}"
        return cls(source, views / name, python_path)

    @property
    def _record(self) -> Path:
        return self.folder.with_name(f".{self.folder.name}.json")

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        with self.folder.with_name(f".{self.folder.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def sync(self) -> Path:
        """Make the view, or bring it up to date with what changed in the checkout since; answers `folder`.

        A stack file changed in the checkout replaces the private copy and keeps its salt; one that did not
        change keeps what commands of this rehearsal wrote into the copy.
        """
        with self._locked():
            recorded = json.loads(self._record.read_text()) if self._record.exists() else {}
            self.folder.mkdir(exist_ok=True)
            known: dict[str, str] = dict(recorded.get("digests", {}))
            stacks = self._sync_project(recorded.get("stacks"), known)
            private = self._sync_stacks(stacks, known)
            self._sync_links(self.source, self.folder, private)
            if stacks != "." and (self.source / stacks).is_dir():
                self._sync_links(self.source / stacks, self.folder / stacks, private)
            now = {"stacks": stacks, "digests": known}
            if now != recorded:
                self._record.write_text(json.dumps(now))
        return self.folder

    def _sync_project(self, stacks: str | None, known: dict[str, str]) -> str:
        """Copy the project file when it changed. Answers the stack files' folder, relative to the project."""
        file = _project_file(self.source)
        text = file.read_text()
        if stacks is not None and known.get(file.name) == _digest(text):
            return stacks
        project = _loaded(text, self.python_path)
        known[file.name] = _digest(text)
        stacks = os.path.normpath(_stacks_of(project))
        if not project:
            (self.folder / file.name).write_text(text)
            return "."
        project["main"] = str((self.source / str(project.get("main") or ".")).resolve())
        runtime = project.get("runtime")
        options = runtime.get("options") if isinstance(runtime, dict) else None
        if isinstance(options, dict) and options.get("virtualenv"):
            options["virtualenv"] = str(self.source / str(options["virtualenv"]))
        # JSON is YAML: one way to write whichever of the three the project uses.
        (self.folder / file.name).write_text(json.dumps(project, indent=2))
        return stacks

    def _sync_stacks(self, stacks: str, known: dict[str, str]) -> set[Path]:
        """Copy stack files that are new or changed, drop those gone. Answers what is never linked."""
        source, private = self.source / stacks, self.folder / stacks
        private.mkdir(parents=True, exist_ok=True)
        entries = sorted(source.iterdir()) if source.is_dir() else []
        files = [path for path in entries if stack_of(path.name) and path.is_file()]
        for file in files:
            key = f"{stacks}/{file.name}"
            text = file.read_text()
            if known.get(key) != _digest(text):
                (private / file.name).write_text(_with_salt_of(text, private / file.name))
                known[key] = _digest(text)
        for key in [key for key in known if "/" in key and not (self.source / key).is_file()]:
            (self.folder / key).unlink(missing_ok=True)
            del known[key]
        first = Path(stacks).parts[0] if stacks != "." else None
        return {*files, *((self.source / first,) if first else ()), _project_file(self.source)}

    @staticmethod
    def _sync_links(source: Path, folder: Path, private: set[Path]) -> None:
        wanted = {
            path.name: path
            for path in source.iterdir()
            if path not in private and path.name not in _NOT_LINKED
        }
        for link in folder.iterdir():
            if link.is_symlink() and link.name not in wanted:
                link.unlink()
        for name, path in wanted.items():
            link = folder / name
            if not link.is_symlink() and not link.exists():
                link.symlink_to(path)

    def remove(self) -> None:
        """Remove the view; the checkout stays as it is."""
        shutil.rmtree(self.folder, ignore_errors=True)
