"""Lives of whole stacks, each played once a test session, and what can be read of one.

A life takes minutes; several test modules judge the same one. Under pytest-xdist the first worker that needs
it plays it, and the others read its file.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.engine.rehearsed import SPEED, rehearse

SCRIPTS = Path(__file__).parent / "scripts"


@dataclass(frozen=True, kw_only=True)
class Life:
    """Acts by name, and every AWS call of the whole life."""

    acts: dict[str, Any]
    calls: list[dict[str, Any]]

    def new(self, act: str, since: str = "start") -> list[str]:
        """What the account holds after an act and did not hold before."""
        before = set(self.acts[since]["account"])
        return [line for line in self.acts[act]["account"] if line not in before]

    def words(self, act: str) -> str:
        """An act's output with single blanks."""
        return " ".join(self.acts[act]["output"].split())

    def warnings(self, act: str) -> list[str]:
        """The warnings of an act, each once, as the summary at its end has them."""
        summary = self.acts[act]["output"].rpartition("Diagnostics:")[2]
        return [line.strip() for line in summary.splitlines() if line.strip().startswith("warning: ")]

    def during(self, act: str, *, mutating: bool = True) -> list[dict[str, Any]]:
        """The calls of an act in order, those that change something or all."""
        began, ended = self.acts[act]["began"], self.acts[act]["ended"]
        found = [call for call in self.calls if began <= call["time"] <= ended]
        return [call for call in found if call["mutating"] or not mutating]

    def at(self, act: str, operation: str, resource: str = "") -> list[float]:
        """When an operation was called in an act, on resources whose name ends so."""
        return [
            call["time"]
            for call in self.during(act)
            if call["operation"] == operation and str(call["resource"]).endswith(resource)
        ]

    def resources(self, act: str, kind: str = "") -> list[dict[str, Any]]:
        """Resources of the state after an act, those whose type has `kind` in it."""
        found = self.acts[act]["state"]["deployment"]["resources"]
        return [resource for resource in found if kind in resource["type"]]

    def only(self, act: str, kind: str) -> dict[str, Any]:
        """The one resource of a kind."""
        (found,) = self.resources(act, kind)
        return found

    def imported(self, act: str) -> list[str]:
        """Import ids of what the act took over."""
        return sorted(found["importID"] for found in self.resources(act) if found.get("importID"))


def play_life(
    factory: pytest.TempPathFactory,
    script: str,
    environment: Mapping[str, str] | None = None,
    *,
    speed: float = SPEED,
    name: str | None = None,
) -> Life:
    """Play a script of tests/engine/scripts in a rehearsal, unless another worker has.

    `name` tells lives of one script apart.
    """
    root = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    folder = root / f"life-{name or script}"
    folder.mkdir(exist_ok=True)
    finished = folder / "finished.json"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not finished.exists():
            acts = folder / "acts.json"
            rehearsal = rehearse(
                [sys.executable, str(SCRIPTS / f"{script}.py"), str(acts)],
                folder=folder,
                speed=speed,
                environment=dict(environment or {}),
            )
            told = json.loads(acts.read_text()) if acts.exists() else {}
            written = {"code": rehearsal.code, "output": rehearsal.output, "acts": told}
            finished.write_text(json.dumps({**written, "calls": rehearsal.calls}))
    life = json.loads(finished.read_text())
    assert life["code"] == 0, life["output"]
    return Life(acts=life["acts"], calls=life["calls"])


@pytest.fixture(scope="session")
def hyperpod_life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """mlcc-hyperpod from first to last: no GPU to be had, settings changed, destroyed, made again."""
    return play_life(tmp_path_factory, "hyperpod_life", {"MLCC_REHEARSAL_OMITTED_GROUPS": "stay"})


@pytest.fixture(scope="session")
def recovery_life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """mlcc-hyperpod with a first create that fails, where HyperPod drops groups that an update leaves out."""
    return play_life(tmp_path_factory, "hyperpod_recovery", {"MLCC_REHEARSAL_OMITTED_GROUPS": "go"})


@pytest.fixture(scope="session")
def features_life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """mlcc-hyperpod with FSx from the template, then with the operator from it; each up to its destroy."""
    return play_life(tmp_path_factory, "template_features", speed=600)


@pytest.fixture(scope="session")
def killed_stack_life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """mlcc-hyperpod with a first run that is killed while the stack is made."""
    return play_life(tmp_path_factory, "killed_stack", speed=600)


@pytest.fixture(scope="session")
def operator_life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """mlcc-operator on somebody else's cluster, with a watcher that does not come at first."""
    return play_life(tmp_path_factory, "operator_life")


@pytest.fixture(scope="session")
def demo_life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """mlcc-demo with both targets, destroyed with what users left in its clusters."""
    return play_life(tmp_path_factory, "hyperpod_demo")


@pytest.fixture(scope="session")
def adoption_life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """mlcc-demo where its roles exist in the wrong shape; add-ons change versions, fail, and are mended."""
    return play_life(tmp_path_factory, "adoption_life")


@pytest.fixture(scope="session")
def kept_life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """The vanilla cluster of mlcc-demo with roles of others: taken over, changed, replaced, destroyed."""
    return play_life(tmp_path_factory, "kept_and_replaced", speed=600)


@pytest.fixture(scope="session")
def refused_life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """mlcc-demo on an account that refuses it for several reasons."""
    return play_life(tmp_path_factory, "refused_life")


@pytest.fixture(scope="session")
def vanilla_life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """mlcc-demo: drift repaired, destroyed, made again, and destroyed with the state of a release."""
    return play_life(tmp_path_factory, "vanilla_eks_life")


@pytest.fixture(scope="session")
def predecessor_life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """mlcc-demo over what a predecessor left: refused while its stacks live, then taken over."""
    return play_life(tmp_path_factory, "predecessor_life")


@pytest.fixture(scope="session")
def existing_stack_life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """mlcc-hyperpod over a stack that somebody else made: taken over, kept, then owned and destroyed."""
    return play_life(tmp_path_factory, "existing_stack_life")


@pytest.fixture(scope="session")
def killed_life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """The vanilla cluster of mlcc-demo, `up` killed at ten seeded moments and once more.

    Slowly, so that a busy machine can still kill it within the seconds that a chart takes.
    """
    return play_life(tmp_path_factory, "killed_up", speed=120)
