"""The resource graph of a stack, registered against Pulumi's mocks: no engine, no plugins.

What the program reads of AWS it reads from a rehearsed account in this process. What lies inside published
components (`pulumi_eks.Cluster`) is made by their plugin and is not in the graph here.
"""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pulumi
import yaml
from google.protobuf import json_format
from pulumi.runtime.mocks import MockCallArgs, MockMonitor, MockResourceArgs, Mocks, set_mocks
from pulumi.runtime.rpc import UNKNOWN

from mlcc_infra.account.recorded_state import RecordedState
from mlcc_infra.profile import load_profile
from mlcc_rehearsal.cloud import Cloud, CloudOptions

ROOT = Path(__file__).parents[1]
ACCOUNT = "123456789012"
REGION = "us-west-2"
SPEED = 100_000.0
REMOTE_CLUSTER = "eks:index:Cluster"


@dataclass(frozen=True, kw_only=True)
class Registered:
    """One resource as the program registered it; `request` is what the engine would have got."""

    type: str
    name: str
    inputs: Mapping[str, Any]
    request: Any

    @property
    def custom(self) -> bool:
        """False for components."""
        return bool(self.request.custom)

    @property
    def key(self) -> str:
        """Type and logical name: what the state finds it by, below its parents' types."""
        return f"{self.type}::{self.name}"


class Answers(Mocks):
    """What AWS would answer: outputs are inputs, with an ARN."""

    def new_resource(self, args: MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        if args.typ == REMOTE_CLUSTER:
            return None, {**args.inputs, "eksCluster": UNKNOWN}
        arn = f"arn:aws:made:{REGION}:{ACCOUNT}:{args.name}"
        return f"{args.name}-id", {"arn": arn, **args.inputs}

    def call(self, args: MockCallArgs) -> tuple[dict[Any, Any], list[tuple[str, str]] | None]:
        return {}, None


class Monitor(MockMonitor):
    """Keeps what is registered, options included."""

    def __init__(self) -> None:
        super().__init__(Answers())
        self.found: list[Registered] = []
        self._lock = threading.Lock()

    def RegisterResource(self, request: Any) -> Any:
        inputs = dict(json_format.MessageToDict(request.object))
        with self._lock:
            self.found.append(
                Registered(type=request.type, name=request.name, inputs=inputs, request=request)
            )
        return super().RegisterResource(request)


@contextlib.contextmanager
def rehearsed_account(**more: str) -> Iterator[Cloud]:
    """An account in this process, and the environment that leads to it."""
    with Cloud.start(CloudOptions(account_id=ACCOUNT, region=REGION, speed=SPEED, kubernetes=False)) as cloud:
        leads = {
            "AWS_ENDPOINT_URL": cloud.endpoint,
            "AWS_ACCESS_KEY_ID": cloud.access_key_id,
            "AWS_SECRET_ACCESS_KEY": cloud.secret_access_key,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "MLCC_CLOCK_SPEED": str(SPEED),
        }
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        with patch.dict(os.environ, {**kept, **leads, **more}, clear=True):
            yield cloud


def configuration(stack: str) -> dict[str, Any]:
    """What the file of a stack says."""
    loaded = yaml.safe_load((ROOT / "stacks" / f"Pulumi.{stack}.yaml").read_text())
    return dict(loaded["config"])


def register(
    stack: str, changes: Mapping[str, Any] | None = None, recorded: RecordedState | None = None
) -> list[Registered]:
    """Register the graph of a stack of this project with `changes` to its configuration.

    Call it within `rehearsed_account`. `recorded` is what its state is said to hold.
    """
    from mlcc_infra.targets.deployment import deploy

    monitor = Monitor()
    profile = load_profile({**configuration(stack), **(changes or {})}, stack, environ={})
    set_mocks(Answers(), project="mlcc", stack=stack, preview=True, monitor=monitor)

    @pulumi.runtime.test
    def program() -> None:
        deploy(profile)

    state = recorded or RecordedState()
    with (
        warnings.catch_warnings(),
        patch("mlcc_infra.targets.survey.read_recorded_state", lambda *_args: state),
    ):
        # pulumi_aws warns of its own deprecated classes when all of it is imported.
        warnings.simplefilter("ignore", DeprecationWarning)
        program()
    return monitor.found
