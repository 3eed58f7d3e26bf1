"""A rehearsal from beginning to end.

The account runs in this process, in threads; each thing that takes time at the start runs beside the others:
plugins import what they need, the CLI makes the stacks, the account starts. After the command, everything
that was started is ended and the private folder removed.
"""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlcc_rehearsal.runner import environment, plugins, stacks
from mlcc_rehearsal.runner.command import Command, Interrupted, Signals, Terminal
from mlcc_rehearsal.runner.commands import write_commands, yaml_path
from mlcc_rehearsal.runner.engine import Engine, locate
from mlcc_rehearsal.runner.folder import RunFolder, open_folder
from mlcc_rehearsal.runner.own_plugins import identity_of
from mlcc_rehearsal.runner.processes import adopt_orphans, end_left_behind
from mlcc_rehearsal.runner.project_view import ProjectView, find_checkout, find_project, stack_files
from mlcc_rehearsal.runner.tripwire import Tripwire

#: Real seconds that what a command left running has to end by itself.
_LEFT_BEHIND_SECONDS = 3.0
_WATCHDOG = Path(__file__).with_name("watchdog.py")


@dataclass(frozen=True)
class Options:
    """What a rehearsal is started with. Paths are absolute; `command` holds at least one word."""

    command: tuple[str, ...]
    speed: float = 60.0
    faults: Path | None = None
    api_log: Path | None = None
    keep: Path | None = None
    real_plugins: bool = False


def say(text: str) -> None:
    """One message to the user, on the standard error stream: the command's output is its own."""
    with contextlib.suppress(OSError):  # the terminal hung up
        print(f"rehearsal: {text}", file=sys.__stderr__, flush=True)


@dataclass(frozen=True)
class Project:
    """The project a rehearsal is started in."""

    root: Path
    view: ProjectView
    stacks: dict[str, Path]
    #: What the stack files ask for, one after the other.
    configurations: list[dict[str, Any]]


class Rehearsal:
    """One rehearsal. `run` may be called once, from the main thread."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._signals = Signals()
        self._plugins: list[plugins.PluginProcess] = []
        self._watchdog: subprocess.Popen[str] | None = None
        self._real_plugins: Path | None = None
        self._ended = False

    def run(self) -> int:
        """Rehearse; answers the command's exit code. UserError when the rehearsal cannot start."""
        self._signals.install()
        adopt_orphans()
        with contextlib.ExitStack() as cleanup:
            try:
                with self._signals.interrupting():
                    folder = open_folder(self.options.keep)
                    cleanup.callback(folder.close)
                    words = self._start(folder, cleanup)
            except (Interrupted, Exception):
                if self._signals.interrupted is None:
                    raise
                return 128 + self._signals.interrupted
            if self._signals.interrupted is not None:
                return 128 + self._signals.interrupted
            code = self._rehearse(folder, words)
            if folder.kept:
                say(f"kept: the state in {folder.backend}, logs and all AWS calls in {folder.logs}")
            return code

    def _start(self, folder: RunFolder, cleanup: contextlib.ExitStack) -> dict[str, str]:
        """Start everything the command needs and answer its environment."""
        ambient = dict(os.environ)
        cleanup.enter_context(_output_to(folder.logs / "account.log"))
        if self.options.real_plugins:
            self._real_plugins = Path(ambient.get("PULUMI_HOME") or Path.home() / ".pulumi") / "plugins"
        cleanup.callback(self._end_children, folder)
        self._start_watchdog(folder)
        base = environment.base_environment(ambient, folder, speed=self.options.speed)
        tripwire = Tripwire(folder.logs / "refused-connections.jsonl")
        cleanup.callback(_report_attempts, tripwire)
        base |= environment.proxy_environment(tripwire.address)
        if not self.options.real_plugins:
            self._plugins = plugins.start_all(folder.logs, base, os.getpid())
        project = self._project(folder)
        with ThreadPoolExecutor(1) as beside:
            engine: Future[Engine] = beside.submit(self._prepare_engine, folder, base, project)
            account = self._start_account(folder, project, cleanup)
            # Kubeconfigs call `aws`: of plugins, too, it is the rehearsal's.
            path = environment.command_path(base["PATH"], folder, (), None)
            with_region = project is None or not stacks.names_region(project.configurations)
            late = environment.account_environment(account, with_region=with_region) | {"PATH": path}
            environment.write_aws_files(
                folder, account, stacks.profile_names(project.configurations) if project else ()
            )
            for process in self._plugins:
                process.serve(late)
            found = engine.result()
        return self._command_environment(folder, {**base, **late, "PATH": base["PATH"]}, found, project)

    def _start_watchdog(self, folder: RunFolder) -> None:
        self._watchdog = subprocess.Popen(
            [
                sys.executable,
                "-I",
                "-S",
                str(_WATCHDOG),
                str(folder.path),
                "keep" if folder.kept else "remove",
            ],
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def _tell_watchdog(self, line: str) -> None:
        if self._watchdog is not None and self._watchdog.stdin is not None:
            with contextlib.suppress(OSError):  # it was killed; we do without
                self._watchdog.stdin.write(line + "\n")
                self._watchdog.stdin.flush()

    def _project(self, folder: RunFolder) -> Project | None:
        root = find_project(Path.cwd())
        if root is None:
            return None
        view = ProjectView.of(root, folder.projects, yaml_path())
        files = stack_files(root)
        return Project(root, view, files, stacks.configurations(files))

    def _prepare_engine(self, folder: RunFolder, base: dict[str, str], project: Project | None) -> Engine:
        engine = locate(os.environ, base["PATH"])
        write_commands(
            folder, pulumi=engine.pulumi, checkout=find_checkout(project.root) if project else None
        )
        if self._real_plugins is not None and self._real_plugins.is_dir():
            (folder.pulumi_home / "plugins").symlink_to(self._real_plugins)
        if project is not None:
            stacks.make_stacks(engine.pulumi, list(project.stacks), project.view.sync(), base)
        return engine

    def _start_account(
        self, folder: RunFolder, project: Project | None, cleanup: contextlib.ExitStack
    ) -> environment.Account:
        from mlcc_rehearsal.cloud import Cloud, CloudOptions  # takes half a second, while others work too

        region = stacks.common_region(project.configurations) if project else stacks.DEFAULT_REGION
        cloud: Any = Cloud.start(
            CloudOptions(
                region=region,
                speed=self.options.speed,
                faults=self.options.faults,
                api_log=self.options.api_log or folder.logs / "api.jsonl",
            )
        )
        cleanup.callback(cloud.stop)
        return environment.Account(cloud.endpoint, region, cloud.access_key_id, cloud.secret_access_key)

    def _command_environment(
        self, folder: RunFolder, values: dict[str, str], engine: Engine, project: Project | None
    ) -> dict[str, str]:
        path = environment.command_path(
            values["PATH"], folder, engine.bin_dirs, project.root if project else None
        )
        values = {**values, "PATH": path}
        if project is not None:
            values[environment.PROJECT_VIEW] = f"{project.root}{os.pathsep}{project.view.folder}"
        if self._plugins:
            values["PULUMI_DEBUG_PROVIDERS"] = plugins.debug_providers(self._plugins)
            plugins.settings(folder.logs, identity_of(values)).write(folder.path)
        return values

    def _rehearse(self, folder: RunFolder, values: dict[str, str]) -> int:
        self._announce(folder)
        terminal = Terminal()
        command = Command(list(self.options.command), values, terminal)
        self._tell_watchdog(f"command {command.group}")
        try:
            return command.run(self._signals, self._check_plugins, self._children)
        finally:
            self._tell_watchdog("ended")
            self._end_children(folder)  # while the account still answers them

    def _announce(self, folder: RunFolder) -> None:
        kept = "kept" if folder.kept else "removed at the end, --keep DIR keeps them"
        say(
            f"no AWS account is touched; time ×{self.options.speed:g}; logs in {folder.logs} ({kept})"
            + ("; with installed plugins, which is experimental" if self.options.real_plugins else "")
        )
        if folder.replaced:
            say(f"what an earlier rehearsal kept in {folder.path} was replaced: its account ended with it")

    def _children(self) -> set[int]:
        pids = {process.pid for process in self._plugins}
        return {pid for pid in (*pids, self._watchdog and self._watchdog.pid) if pid}

    def _check_plugins(self) -> None:
        for process in self._plugins:
            process.check(say)

    def _end_children(self, folder: RunFolder) -> None:
        """End what runs in the rehearsal, once: what the command left behind, then plugins and watchdog."""
        if self._ended:
            return
        self._ended = True
        end_left_behind(
            str(folder.path),
            roots={os.getpid()},
            spare=self._children(),
            patience=_LEFT_BEHIND_SECONDS,
            reap=True,
        )
        plugins.stop_all(self._plugins)
        self._tell_watchdog("done")
        if self._watchdog is not None:
            with contextlib.suppress(OSError):
                self._watchdog.communicate()


def _report_attempts(tripwire: Tripwire) -> None:
    tripwire.stop()
    targets = sorted(set(tripwire.attempts))
    if targets:
        shown = ", ".join(targets[:5]) + (", …" if len(targets) > 5 else "")
        count = len(tripwire.attempts)
        what = "connection" if count == 1 else "connections"
        say(f"{count} {what} outside the loopback refused: {shown}")


@contextlib.contextmanager
def _output_to(log: Path) -> Iterator[None]:
    """Write what libraries in this process print, warn and log into `log`: the streams are the command's."""
    with (
        log.open("a", buffering=1) as file,
        contextlib.redirect_stdout(file),
        contextlib.redirect_stderr(file),
    ):
        logging.basicConfig(stream=file, level=logging.WARNING, force=True)
        logging.captureWarnings(True)
        yield
        logging.captureWarnings(False)
        logging.basicConfig(handlers=[logging.NullHandler()], force=True)


def rehearse(options: Options) -> int:
    """Run one rehearsal; see `Rehearsal.run`."""
    return Rehearsal(options).run()
