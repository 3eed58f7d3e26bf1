"""Serve stand-in plugins for a supervisor: ``python -m mlcc_rehearsal.runner.plugin_launcher NAME…``.

As ``python -m mlcc_rehearsal.plugins``, but started before the account has an address: what plugins import is
imported at once, then the rest of the environment is read from the standard input (one JSON object on a
line). That is a second saved at the start of each rehearsal.
"""

from __future__ import annotations

import importlib
import json
import os
import sys

from mlcc_infra.garbage import collect_rarely
from mlcc_rehearsal.runner.processes import end_with_parent

# What each plugin imports sooner or later, and takes long to.
_HEAVY = {
    "aws": ("grpc", "boto3", "pulumi", "pulumi_aws"),
    "kubernetes": ("grpc", "boto3", "pulumi", "yaml"),
    "eks": ("grpc", "pulumi", "pulumi_aws", "pulumi_eks", "pulumi_kubernetes"),
}


def main(argv: list[str]) -> None:
    """Prepare, wait for the environment, serve. ImportError when requirements are not installed."""
    end_with_parent(int(os.environ["MLCC_REHEARSAL_SUPERVISOR"]))
    collect_rarely()
    for name in argv:
        for module in _HEAVY.get(name, ()):
            importlib.import_module(module)
    line = sys.stdin.readline()
    if not line:
        sys.exit("the supervisor ended before the plugins had an account to work with")
    os.environ.update(json.loads(line))
    importlib.import_module("mlcc_rehearsal.plugins.__main__").main(argv)


if __name__ == "__main__":
    main(sys.argv[1:])
