"""Stand-in plugins of an engine whose environment has another identity than the rehearsal's.

Real plugins are children of the engine and have its environment: its keys, its AWS_PROFILE, its kubeconfig.
The rehearsal's stand-ins are started once, before any command. A `pulumi` that is called with other values of
what they would look at gets stand-ins of its own, which end with it. That costs a second or two, and only
where it makes a difference. Imports nothing outside the standard library, as `pulumi_command` must not.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

#: The file in a rehearsal's folder that says with what its stand-ins were started.
SETTINGS = "own-plugins.json"
DEBUG_PROVIDERS = "PULUMI_DEBUG_PROVIDERS"
#: Processes that this one has started; they end after it.
STARTED: list[subprocess.Popen[bytes]] = []
# What the plugins look at: credentials and settings of AWS, kubeconfigs, settings of the kubernetes provider.
_PREFIXES = ("AWS_", "PULUMI_K8S_", "KUBE")
_NAMES = ("HOME",)
# Commands of the CLI (pulumi/pkg cmd/pulumi at v3.276.0) that start no provider.
_WITHOUT_PROVIDERS = frozenset(
    {
        "about", "cancel", "config", "env", "help", "login", "logout", "new", "org", "plugin", "policy",
        "schema", "stack", "state", "version", "whoami",
    }
)  # fmt: skip


@dataclass(frozen=True)
class PluginSettings:
    """How the rehearsal starts its stand-ins: by which command, in which processes, with which identity."""

    python: str
    packages: str
    logs: str
    processes: tuple[tuple[str, ...], ...]
    environment: dict[str, str] = field(default_factory=dict)

    def write(self, run: Path) -> None:
        """Put them where the rehearsal's `pulumi` finds them."""
        (run / SETTINGS).write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, run: Path) -> PluginSettings | None:
        """What `write` has put there; None where the rehearsal has no stand-ins."""
        try:
            found = json.loads((run / SETTINGS).read_text())
        except FileNotFoundError:
            return None
        return cls(
            python=found["python"],
            packages=found["packages"],
            logs=found["logs"],
            processes=tuple(tuple(names) for names in found["processes"]),
            environment=found["environment"],
        )


def identity_of(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that plugins look at."""
    return {
        name: value for name, value in environment.items() if name.startswith(_PREFIXES) or name in _NAMES
    }


def uses_providers(arguments: tuple[str, ...]) -> bool:
    """Whether a call of the CLI may start providers; options before the command make it yes."""
    return bool(arguments) and arguments[0] not in _WITHOUT_PROVIDERS


def debug_providers(settings: PluginSettings, environment: Mapping[str, str]) -> str | None:
    """Where the engine is to attach when its identity is another; None when the rehearsal's will do.

    The stand-ins end with the process that calls this, or with what it becomes. OSError or ValueError when
    they do not start; their log says why.
    """
    given = environment.get(DEBUG_PROVIDERS, "")
    if not given or identity_of(environment) == settings.environment:
        return None
    STARTED.extend(started := [_start(settings, names, environment) for names in settings.processes])
    ports = {name: port for name, _, port in (item.partition(":") for item in given.split(","))}
    for process in started:
        assert process.stdout is not None
        ports |= {name: str(port) for name, port in json.loads(process.stdout.readline()).items()}
    return ",".join(f"{name}:{port}" for name, port in ports.items())


def _start(
    settings: PluginSettings, names: tuple[str, ...], environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    kept = {name: value for name, value in environment.items() if name != DEBUG_PROVIDERS}
    log = Path(settings.logs) / f"plugins-{'-'.join(names)}-{os.getpid()}.log"
    with log.open("wb") as stream:
        return subprocess.Popen(
            [settings.python, "-m", "mlcc_rehearsal.plugins", *names],
            env={**kept, "PYTHONPATH": settings.packages, "PYTHONUNBUFFERED": "1"},
            cwd=settings.logs,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stream,
            start_new_session=True,
        )
