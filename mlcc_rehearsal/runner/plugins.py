"""The stand-in plugins' processes: started early, watched, started again on the same port after a crash."""

from __future__ import annotations

import contextlib
import json
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from mlcc_infra.errors import UserError
from mlcc_rehearsal.runner.own_plugins import PluginSettings

#: Which plugins share a process: Pulumi's runtime, which `eks` needs for itself, is one a process.
PROCESSES = (("aws", "kubernetes"), ("eks",))
#: Real seconds until a plugin must have said where it listens.
START_SECONDS = 60.0
#: How often a plugin process is started again before it is left alone.
MAX_RESTARTS = 3
_STOP_SECONDS = 3.0
_PACKAGES = Path(__file__).resolve().parents[2]


def log_tail(log: Path, lines: int = 20) -> str:
    """The last lines of a log, indented; a sentence when there are none."""
    text = log.read_text(errors="replace").strip() if log.exists() else ""
    return "\n".join(f"    {line}" for line in text.splitlines()[-lines:]) or "    (the log is empty)"


class PluginProcess:
    """One process that serves `names`. `prepare`, `serve`, then `check` now and then, then `stop`."""

    def __init__(
        self, names: tuple[str, ...], logs: Path, environment: Mapping[str, str], supervisor: int
    ) -> None:
        self.names = names
        self.log = logs / f"plugins-{'-'.join(names)}.log"
        self.ports: dict[str, int] = {}
        self._environment = {
            **environment,
            "MLCC_REHEARSAL_SUPERVISOR": str(supervisor),
            "PYTHONPATH": str(_PACKAGES),
            "PYTHONUNBUFFERED": "1",
        }
        self._late: dict[str, str] = {}
        self._restarts = 0
        self._process: subprocess.Popen[str] | None = None

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self._process.pid if self._process and self._process.returncode is None else None

    def prepare(self, ports: Mapping[str, int] | None = None) -> None:
        """Start the process, from the main thread (it ends with the thread that started it)."""
        fixed = [f"--port={name}={port}" for name, port in (ports or {}).items()]
        with self.log.open("a") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "mlcc_rehearsal.runner.plugin_launcher", *self.names, *fixed],
                env=self._environment,
                cwd=self.log.parent,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )

    def serve(self, late_environment: Mapping[str, str]) -> dict[str, int]:
        """Hand over the account's environment and answer the ports. UserError when it does not start."""
        self._late = dict(late_environment)
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it ended; said below
            process.stdin.write(json.dumps(self._late) + "\n")
            process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], START_SECONDS)
        line = process.stdout.readline() if ready else ""
        if not line:
            raise UserError(
                f"the stand-in plugins {', '.join(self.names)} did not start:\n{log_tail(self.log)}",
                remedy="the whole log is kept with --keep DIR",
            )
        self.ports = {str(name): int(port) for name, port in json.loads(line).items()}
        return self.ports

    def check(self, report: Callable[[str], None]) -> None:
        """Report a crash, with the end of the log, and start the process again where engines look for it."""
        process = self._process
        if process is None or process.poll() is None:
            return
        code = process.returncode
        cause = f"signal {-code}" if code < 0 else f"exit code {code}"
        report(f"the stand-in plugins {', '.join(self.names)} ended ({cause}):\n{log_tail(self.log)}")
        self._process = None
        if self._restarts == MAX_RESTARTS:
            report(f"they were started {MAX_RESTARTS} times again, and are left alone now")
            return
        self._restarts += 1
        ports = self.ports
        self.prepare(ports)
        try:
            self.serve(self._late)
        except UserError as error:
            report(str(error))
            return
        report("they serve again; an update that was running must be run again")

    def terminate(self) -> None:
        """Ask the process to end."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)

    def stop(self) -> None:
        """Wait for the end of a process that was asked to, a few seconds; then kill it."""
        process = self._process
        if process is None:
            return
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


def start_all(logs: Path, environment: Mapping[str, str], supervisor: int) -> list[PluginProcess]:
    """Start all plugin processes; they prepare while the account starts."""
    processes = [PluginProcess(names, logs, environment, supervisor) for names in PROCESSES]
    for process in processes:
        process.prepare()
    return processes


def debug_providers(processes: list[PluginProcess]) -> str:
    """The value of PULUMI_DEBUG_PROVIDERS: where engines attach to the plugins instead of starting any."""
    return ",".join(f"{name}:{port}" for process in processes for name, port in process.ports.items())


def settings(logs: Path, identity: dict[str, str]) -> PluginSettings:
    """What a command needs to start stand-ins of its own, when its identity is not `identity`."""
    return PluginSettings(
        python=sys.executable,
        packages=str(_PACKAGES),
        logs=str(logs),
        processes=PROCESSES,
        environment=identity,
    )


def stop_all(processes: list[PluginProcess]) -> None:
    """End all plugin processes."""
    for process in processes:
        process.terminate()
    for process in processes:
        process.stop()
