"""Stand-ins for a command whose identity is not the rehearsal's: when they are needed, and with what."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlcc_rehearsal.runner import own_plugins
from mlcc_rehearsal.runner.own_plugins import PluginSettings, identity_of, uses_providers

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "AKIAFIRST",
    "AWS_CONFIG_FILE": "/run/config",
    "KUBECONFIG": "/run/kube",
    "HOME": "/run/home",
    "PATH": "/bin",
    "PULUMI_DEBUG_PROVIDERS": "aws:1,kubernetes:2,eks:3",
}
# Serves nothing: says ports that depend on its names, and what it was started with.
PROGRAM = """
import json, os, sys
names = sys.argv[3:]
print(json.dumps({name: 9000 + len(name) for name in names}))
print(sorted(name for name in os.environ if name.startswith("AWS_")), os.environ.get("AWS_ACCESS_KEY_ID"),
      os.environ.get("PULUMI_DEBUG_PROVIDERS"), file=sys.stderr)
"""


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[PluginSettings]:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{PROGRAM}' \"$@\"\n")
    python.chmod(0o755)
    made = PluginSettings(
        python=str(python),
        packages="/packages",
        logs=str(tmp_path),
        processes=(("aws", "kubernetes"), ("eks",)),
        environment=identity_of(ENVIRONMENT),
    )
    made.write(tmp_path)
    found = PluginSettings.read(tmp_path)
    assert found == made
    yield made
    for process in own_plugins.STARTED:
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
    own_plugins.STARTED.clear()


def test_the_rehearsals_own_identity_needs_no_other_stand_ins(settings: PluginSettings) -> None:
    assert own_plugins.debug_providers(settings, ENVIRONMENT | {"PATH": "/elsewhere"}) is None


@pytest.mark.parametrize(
    "change",
    [
        {"AWS_ACCESS_KEY_ID": "AKIASECOND"},
        {"AWS_PROFILE": "another"},
        {"KUBECONFIG": "/another"},
        {"PULUMI_K8S_DELETE_UNREACHABLE": "true"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_identity_gets_stand_ins_of_its_own_on_other_ports(
    settings: PluginSettings, change: dict[str, str]
) -> None:
    found = own_plugins.debug_providers(settings, ENVIRONMENT | change)
    assert found == "aws:9003,kubernetes:9010,eks:9003"


def test_its_stand_ins_have_the_commands_environment(settings: PluginSettings, tmp_path: Path) -> None:
    own_plugins.debug_providers(settings, ENVIRONMENT | {"AWS_ACCESS_KEY_ID": "AKIASECOND"})
    (log,) = tmp_path.glob("plugins-eks-*.log")
    own_plugins.STARTED[-1].wait()
    assert log.read_text().split("] ")[1].split() == ["AKIASECOND", "None"]


def test_without_stand_ins_nothing_is_started(settings: PluginSettings, tmp_path: Path) -> None:
    del settings
    bare = {"AWS_PROFILE": "another"}
    found = PluginSettings.read(tmp_path)
    assert found is not None
    assert own_plugins.debug_providers(found, bare) is None
    assert PluginSettings.read(tmp_path / "elsewhere") is None


def test_only_commands_that_may_start_providers_count() -> None:
    assert uses_providers(("up", "--yes"))
    assert uses_providers(("--color", "never", "destroy"))
    assert not uses_providers(("stack", "export"))
    assert not uses_providers(())
