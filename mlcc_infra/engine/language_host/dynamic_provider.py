"""Runs ``pulumi.dynamic``, the provider of dynamic resources, in the program's environment.

The engine starts ``pulumi-resource-pulumi-python`` in the program's folder and passes Pulumi.yaml's runtime
options as ``PULUMI_RUNTIME_<OPTION>`` (``plugin.NewProvider`` of Pulumi's Go SDK).
"""

import os
import sys
import threading
from pathlib import Path

from .environment import UnusableEnvironmentError, resolve
from .processes import Children, Lifetime

OPTIONS = ("toolchain", "virtualenv")


def project_root(folder: Path) -> Path:
    """The nearest folder upwards with a Pulumi.yaml, which is what `virtualenv` is relative to."""
    for candidate in (folder, *folder.parents):
        if (candidate / "Pulumi.yaml").is_file() or (candidate / "Pulumi.yml").is_file():
            return candidate
    return folder


def main(arguments: list[str]) -> int:
    """Run the provider until the engine is done with it. Returns the exit code."""
    lifetime = Lifetime()
    children = Children()
    options = {name: os.environ.get(f"PULUMI_RUNTIME_{name.upper()}", "") for name in OPTIONS}
    try:
        environment = resolve(options, project_root(Path.cwd()), os.environ)
    except UnusableEnvironmentError as error:
        print(error, file=sys.stderr)
        return 1
    process = children.start(
        [str(environment.python), "-u", "-m", "pulumi.dynamic", *arguments],
        env=environment.variables(os.environ),
    )
    codes: list[int] = []

    def until_it_ends() -> None:
        codes.append(children.wait(process))
        lifetime.stop()

    waiter = threading.Thread(target=until_it_ends, daemon=True)
    waiter.start()
    lifetime.wait(children)
    waiter.join()
    return codes[0] if codes[0] >= 0 else 128 - codes[0]
