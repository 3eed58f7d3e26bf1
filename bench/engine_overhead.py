"""What the engine and the language host cost by themselves: no cloud, resources that do next to nothing.

    .venv/bin/python bench/engine_overhead.py [--resources 80] [--chains 8] [--seconds 0.2] [--json]

Each resource takes `--seconds` to create, so an `up` takes the longest chain at least, and a quarter of the
sum: Pulumi's provider of dynamic resources does four things at a time. Figures go with the machine; compare
them with those of another commit on the same one.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mlcc_infra.engine import find_engine

PROVIDER = """
import time
from pulumi.dynamic import CreateResult, Resource, ResourceProvider

class Slow(ResourceProvider):
    def create(self, props):
        time.sleep(props["seconds"])
        return CreateResult(props["label"], props)

class Step(Resource):
    def __init__(self, name, seconds, opts):
        super().__init__(Slow(), name, {"seconds": seconds, "label": name}, opts)
"""

PROGRAM = """
import pulumi
from steps import Step

for chain in range({chains}):
    before = None
    for step in range({length}):
        needs = [before] if before else []
        before = Step(f"step-{{chain}}-{{step}}", {seconds}, pulumi.ResourceOptions(depends_on=needs))
"""

PROJECT = """
name: overhead
runtime: {{name: python, options: {{virtualenv: {virtualenv}}}}}
"""

COMMANDS = {
    "stack init": ["stack", "init", "bench"],
    "preview": ["preview", "--stack=bench"],
    "up": ["up", "--stack=bench", "--yes", "--skip-preview"],
    "up, nothing to do": ["up", "--stack=bench", "--yes", "--skip-preview", "--expect-no-changes"],
    "refresh": ["refresh", "--stack=bench", "--yes", "--skip-preview"],
    "destroy": ["destroy", "--stack=bench", "--yes", "--skip-preview"],
}


def measure(*, resources: int, chains: int, seconds: float) -> dict[str, float]:
    """Seconds of each command. Raises CalledProcessError when one fails."""
    with tempfile.TemporaryDirectory(prefix="mlcc-bench-") as made:
        folder = Path(made) / "project"
        folder.mkdir()
        (folder / "Pulumi.yaml").write_text(PROJECT.format(virtualenv=sys.prefix))
        (folder / "steps.py").write_text(PROVIDER)
        length = max(1, resources // chains)
        (folder / "__main__.py").write_text(PROGRAM.format(chains=chains, length=length, seconds=seconds))
        state = Path(made) / "state"
        state.mkdir()
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PULUMI_")}
        environment = find_engine().environment(kept) | {
            "PULUMI_HOME": str(Path(made) / "home"),
            "PULUMI_BACKEND_URL": f"file://{state}",
            "PULUMI_CONFIG_PASSPHRASE": "bench",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        }
        times: dict[str, float] = {}
        for name, arguments in COMMANDS.items():
            started = time.perf_counter()
            subprocess.run(
                ["pulumi", *arguments, "--non-interactive"],
                cwd=folder,
                env=environment,
                stdout=subprocess.DEVNULL,
                check=True,
            )
            times[name] = round(time.perf_counter() - started, 2)
        return times


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--resources", type=int, default=80)
    parser.add_argument("--chains", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    times = measure(resources=options.resources, chains=options.chains, seconds=options.seconds)
    if options.json:
        print(json.dumps(times))
        return
    for name, seconds in times.items():
        print(f"{name:20}{seconds:6.2f} s")


if __name__ == "__main__":
    main()
