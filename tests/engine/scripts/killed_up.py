"""`up` killed at ten seeded moments, played inside a rehearsal (the vanilla cluster of mlcc-demo).

Usage: killed_up.py FILE. After each kill come `recover` and the next `up`, which is killed later; at the end
of each life one that is let through.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import boto3

sys.path.insert(0, str(Path(__file__).parents[3]))

from mlcc_infra.cli.changes import logged
from mlcc_rehearsal.runner.processes import list_processes
from tests.engine.account_listing import list_account
from tests.engine.scripts.hyperpod_acts import Play

STACK = "mlcc-demo"
SEED = 20261130
# One moment in each tenth of `up`, in so many lives: in each they come later and later, so that there is
# always something left to kill. The last one is when a Helm release is being installed.
TENTHS = 10
LIVES = 2
RELEASE = "kubernetes:helm.sh/v3:Release"
# A busy machine may see the installation end before the kill.
RETRIES = 3
# Names the rehearsal in the environment of whatever is started in it.
MARK = b"MLCC_REHEARSAL_RUNS="
NAMED = {
    "VpcId": "Vpcs",
    "SubnetId": "Subnets",
    "InternetGatewayId": "InternetGateways",
    "AllocationId": "Addresses",
    "RouteTableId": "RouteTables",
    "NatGatewayId": "NatGateways",
    "VpcEndpointId": "VpcEndpoints",
}


def begun(log: Path) -> list[str]:
    """Types of the steps that an engine has begun, those of its refresh not counted."""
    return [found for line in whole_lines(log, 0)[0] if (found := step(line))]


def whole_lines(log: Path, offset: int) -> tuple[list[bytes], int]:
    """The lines that are written to their end from an offset on, and where they end."""
    if not log.exists():
        return [], offset
    with log.open("rb") as file:
        file.seek(offset)
        text = file.read()
    text = text[: text.rfind(b"\n") + 1]
    return text.splitlines(), offset + len(text)


def step(line: bytes) -> str | None:
    """The type of the step that an event begins, None for other events."""
    if b'"resourcePreEvent"' not in line:
        return None
    metadata = json.loads(line)["resourcePreEvent"]["metadata"]
    return None if metadata.get("op") in (None, "refresh") else str(metadata["type"])


def processes() -> set[int]:
    """What runs in this rehearsal: language hosts, programs, plugins, the CLI itself."""
    mark = MARK + os.environ[MARK[:-1].decode()].encode()
    found = set[int]()
    for process in list_processes():
        with contextlib.suppress(OSError):  # it has ended, or is somebody else's
            if mark in (Path("/proc") / str(process.pid) / "environ").read_bytes().split(b"\0"):
                found.add(process.pid)
    return found


def killed_up(moment: int | str, delay: float) -> dict[str, Any]:
    """Kill `up` `delay` seconds after it has begun so many steps, or one of a type; and what lived on."""
    before = processes()

    def wait_for_moment(engine: subprocess.Popen[bytes], log: Path) -> None:
        types: list[str] = []
        offset = 0
        while engine.poll() is None:
            lines, offset = whole_lines(log, offset)
            types += [found for line in lines if (found := step(line))]
            if moment in types if isinstance(moment, str) else len(types) >= moment:
                return
            time.sleep(0.02)

    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "events.jsonl"
        command, environment = logged(["pulumi", "up", "-s", STACK, "--yes", "--skip-preview"], log)
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as engine:
            wait_for_moment(engine, log)
            time.sleep(delay)
            killed = engine.poll() is None
            engine.kill()
        steps = len(begun(log))
    deadline = time.monotonic() + 20
    while (alive := processes() - before) and time.monotonic() < deadline:
        time.sleep(0.1)
    return {"moment": moment, "killed": killed, "begun": steps, "alive": len(alive)}


def pending() -> list[str] | str:
    """Pending operations in the state, or what is the matter with the state."""
    done = subprocess.run(
        ["pulumi", "stack", "export", "-s", STACK], capture_output=True, text=True, check=False
    )
    if done.returncode:
        return done.stderr
    operations = json.loads(done.stdout)["deployment"].get("pending_operations") or []
    return [f"{operation['type']} {operation['resource']['urn']}" for operation in operations]


def locked_up() -> str:
    """What a plain `pulumi up` says now."""
    done = subprocess.run(
        ["pulumi", "up", "-s", STACK, "--yes", "--skip-preview", "--color", "never"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def begin_again() -> None:
    """Make it possible to kill the installation of a release that had ended before the kill: from nothing."""
    recover()
    command = ["pulumi", "destroy", "-s", STACK, "--yes", "--skip-preview"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def recover(*flags: str) -> dict[str, Any]:
    """Run `mlcc-infra recover`."""
    done = subprocess.run(
        [sys.executable, "-m", "mlcc_infra.cli", "recover", STACK, *flags],
        capture_output=True,
        text=True,
        check=False,
    )
    return {"code": done.returncode, "output": done.stdout + done.stderr, "stdout": done.stdout}


def shape() -> dict[str, int]:
    """The account with names in place of ids: one run's is like another's."""
    ec2 = boto3.client("ec2")
    names: dict[str, str] = {}
    for key, result in NAMED.items():
        operation = {"Addresses": "describe_addresses"}.get(result, f"describe_{_snake(result)}")
        for item in getattr(ec2, operation)()[result]:
            tags = {tag["Key"]: tag["Value"] for tag in item.get("Tags", [])}
            names[item[key]] = tags.get("mlcc:resource", "nobody's")
    lines = (
        " ".join(names.get(word, word) for word in line.split(" "))
        for line in list_account()
        if not line.startswith(("NetworkInterfaces", "SecurityGroups", "OIDC provider"))
    )
    providers = boto3.client("iam").list_open_id_connect_providers()["OpenIDConnectProviderList"]
    return {**Counter(lines), "OIDC providers": len(providers)}


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


def moments(steps: int) -> list[list[tuple[int | str, float]]]:
    """When `up` is killed in each life, for one of so many steps: the step, and real seconds after it."""
    chance = random.Random(SEED)
    edges = [2 + (steps - 4) * tenth // TENTHS for tenth in range(TENTHS + 1)]
    found: list[tuple[int | str, float]] = [
        (chance.randrange(edges[tenth], edges[tenth + 1]), chance.uniform(0, 0.5)) for tenth in range(TENTHS)
    ]
    lives = [found[life::LIVES] for life in range(LIVES)]
    lives[-1].append((RELEASE, 0.03))
    return lives


def main() -> None:
    play = Play(STACK, sys.argv[1])
    with play.written():
        play.unset("mlcc:targets[1]")
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "events.jsonl"
            os.environ["PULUMI_DEBUG_COMMANDS"] = "true"
            play.up("untouched", "--event-log", str(log))
            count = len(begun(log))
        play.note("untouched shape", shape())
        play.destroy("untouched destroy")
        for life, kills in enumerate(moments(count)):
            told: list[dict[str, Any]] = []
            for moment, delay in kills:
                told.append({"kill": killed_up(moment, delay)})
                for _ in range(RETRIES if moment == RELEASE else 0):
                    if any(RELEASE in line for line in pending()):
                        break
                    begin_again()
                    told[-1] = {"kill": killed_up(moment, delay)}
                if "locked" not in play.acts:
                    play.note("locked", locked_up())
                told[-1] |= {"pending": pending(), "recover": recover(), "left": pending()}
                print(told[-1], flush=True)
            play.note(f"kills {life}", told)
            play.note(f"again {life}", recover("--json"))
            play.up(f"up {life}")
            play.note(f"shape {life}", shape())
            play.up(f"no-op {life}", "--expect-no-changes")
            play.destroy(f"destroy {life}")


if __name__ == "__main__":
    main()
