"""What the scripts of lives share: acts, the control address of the cloud, settings of a stack.

A script runs inside a rehearsal, plays its acts by the plain commands a user would type, and leaves what it
saw in a JSON file; the tests judge that file and the API log.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3

sys.path.insert(0, str(Path(__file__).parents[3]))

from mlcc_infra.account.cluster_client import ClusterApi, connect, describe
from mlcc_infra.account.session import AccountSession
from tests.engine.account_listing import list_account

REGION = "us-west-2"
ACCOUNT = "123456789012"
# Late lines of Lambda functions, control planes and nodes are written within two modelled minutes.
LATE_SECONDS = 300
# All GPU types are out of capacity everywhere.
NO_GPU = [{"effect": "no-capacity", "match": {"InstanceType": pattern}} for pattern in ("ml.g*", "ml.p*")]


class Play:
    """Acts on one stack; `acts` goes into the file."""

    def __init__(self, stack: str, file: str) -> None:
        self.stack = stack
        #: Variables of the commands, when they are not this process's own.
        self.environment: dict[str, str] | None = None
        self._file = Path(file)
        self.acts: dict[str, Any] = {"start": {"account": list_account()}}

    def act(self, name: str, *command: str) -> int:
        """Run a pulumi command on the stack and keep how it went; its exit code."""
        return self.run(name, ["pulumi", *command, "-s", self.stack, "--color", "never"])

    def ours(self, name: str, *command: str) -> int:
        """The same with a command of `mlcc-infra`, to which the stack's name is added."""
        return self.run(name, [sys.executable, "-m", "mlcc_infra.cli", *command, self.stack])

    def run(self, name: str, command: list[str]) -> int:
        """Run a command and keep how it went; its exit code."""
        before, began = clock(), time.monotonic()
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        output = done.stdout + done.stderr
        after = clock()
        self.acts[name] = {
            "code": done.returncode,
            "output": output,
            "stdout": done.stdout if "--json" in command else "",
            "began": before["now"],
            "ended": after["now"],
            "working": after["working"] - before["working"],
            "real": time.monotonic() - began,
            "account": list_account(),
            "published": published(),
            "state": self.state(),
        }
        print(f"{name}: exit code {done.returncode}, {self.acts[name]['real']:.0f} s", flush=True)
        if done.returncode:
            print(output, flush=True)
        return done.returncode

    def up(self, name: str, *flags: str) -> int:
        """`pulumi up`; without the preview, which is an act of its own."""
        return self.act(name, "up", "--yes", "--skip-preview", *flags)

    def destroy(self, name: str) -> int:
        """`pulumi destroy`, and what is in the account when the last late lines are written."""
        code = self.act(name, "destroy", "--yes", "--skip-preview")
        self.later(name)
        return code

    def later(self, name: str) -> None:
        """What the account holds when the last late lines after an act are written."""
        advance(LATE_SECONDS)
        self.acts[name]["account"] = list_account()

    def note(self, name: str, value: Any) -> None:
        """Keep something that was seen."""
        self.acts[name] = value

    def state(self) -> Any:
        """The stack's state."""
        done = subprocess.run(
            ["pulumi", "stack", "export", "-s", self.stack], capture_output=True, text=True, check=False
        )
        return json.loads(done.stdout) if done.returncode == 0 else None

    def set(self, path: str, value: str) -> None:
        """`pulumi config set --path`."""
        subprocess.run(
            ["pulumi", "config", "set", "--path", path, value, "-s", self.stack],
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def unset(self, path: str) -> None:
        """`pulumi config rm --path`."""
        subprocess.run(
            ["pulumi", "config", "rm", "--path", path, "-s", self.stack],
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def retained(self) -> Any:
        """What `mlcc-infra retained --json` prints."""
        done = subprocess.run(
            [sys.executable, "-m", "mlcc_infra.cli", "retained", self.stack, "--json"],
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)

    @contextlib.contextmanager
    def written(self) -> Iterator[None]:
        """Write the file at the end, also when an act could not be played."""
        try:
            yield
        finally:
            self._file.write_text(json.dumps(self.acts, default=str))


def control(path: str, body: Any = None) -> Any:
    """Ask the control address; with a body it is told something."""
    request = urllib.request.Request(
        f"{os.environ['AWS_ENDPOINT_URL']}/_rehearsal/{path}",
        data=None if body is None else json.dumps(body).encode(),
    )
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.load(answer)


def clock() -> dict[str, float]:
    """Modelled seconds: `now`, and `working`, those in which AWS had something under way."""
    answer: dict[str, float] = control("time")
    return answer


def advance(seconds: float) -> None:
    """Let modelled time pass at once."""
    control("advance", {"seconds": seconds})


def faults(*entries: dict[str, Any]) -> None:
    """Put these faults in force, and no others."""
    control("faults", {"clear": True})
    control("faults", list(entries))


def until(condition: Callable[[], Any], *, step: float = 60, limit: float = 3 * 3600) -> Any:
    """Let modelled time pass until the condition holds."""
    passed = 0.0
    while not (found := condition()):
        if passed >= limit:
            raise TimeoutError(f"{condition} did not hold within {limit:.0f} modelled seconds")
        advance(step)
        passed += step
    return found


@contextlib.contextmanager
def meanwhile(look: Callable[[], bool]) -> Iterator[None]:
    """Call `look` again and again while something else runs, until it answers true."""
    over = threading.Event()

    def run() -> None:
        while not over.wait(0.2):
            if look():
                return

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextlib.contextmanager
def cluster(name: str) -> Iterator[ClusterApi]:
    """A cluster's Kubernetes API, opened as the product opens it."""
    session = AccountSession(region=REGION)
    with connect(session, describe(session, name)) as api:
        yield api


def hyperpod(name: str) -> dict[str, Any]:
    """DescribeCluster of a HyperPod cluster."""
    return dict(boto3.client("sagemaker").describe_cluster(ClusterName=name))


def published() -> dict[str, str]:
    """Values of all published outputs; the state has them as secrets."""
    pages = boto3.client("ssm").get_paginator("get_parameters_by_path").paginate(Path="/mlcc", Recursive=True)
    return {found["Name"]: found["Value"] for page in pages for found in page["Parameters"]}


def trust(role: str) -> Any:
    """Trust policy of a role."""
    return boto3.client("iam").get_role(RoleName=role)["Role"]["AssumeRolePolicyDocument"]


def issuer(eks_cluster: str) -> str:
    """OIDC issuer of an EKS cluster."""
    described = boto3.client("eks").describe_cluster(name=eks_cluster)["cluster"]
    return str(described["identity"]["oidc"]["issuer"])
