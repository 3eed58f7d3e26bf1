"""How long finding out takes before the first write: inventory and preflight on the rehearsal cloud.

    .venv/bin/python bench/inventory_and_preflight.py [--stack mlcc-demo] [--repeat 5] [--json]

Makes the stack on a rehearsed account, then plans it anew as `up` does, each time in a fresh process: once
with its state, once as if that were lost, so that everything is looked up, charts in the cluster included. Of
each the best of the repetitions is shown, in wall-clock and in processor seconds; importing the library is
not counted. The target is 1.5 s on an idle machine. Figures go with the machine; compare them with those of
another commit on the same one.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGET_SECONDS = 1.5
STATES = ("recorded", "lost")


def measured(stack: str, state: str) -> dict[str, float]:
    """Plan once, in this process: seconds, processor seconds, and how many things were looked up."""
    import pulumi_aws  # noqa: F401 - its import is the program's, not the inventory's

    from mlcc_infra.account.recorded_state import RecordedState
    from mlcc_infra.profile import load_stack_file
    from mlcc_infra.targets.deployment import plan_deployment

    profile = load_stack_file(Path("stacks") / f"Pulumi.{stack}.yaml", os.environ)
    recorded = RecordedState() if state == "lost" else None
    began, used = time.perf_counter(), time.process_time()
    plan = plan_deployment(profile, recorded=recorded)
    return {
        "seconds": time.perf_counter() - began,
        "processor": time.process_time() - used,
        "looked up": len(plan.decisions.by_key),
        "taken over": len(plan.decisions.imported),
    }


def inside(stack: str, repeat: int, file: Path) -> None:
    """In the rehearsal: make the stack, then measure in fresh processes."""
    subprocess.run(
        ["pulumi", "up", "-s", stack, "--yes", "--skip-preview"], check=True, stdout=subprocess.DEVNULL
    )
    figures: dict[str, dict[str, float]] = {}
    for state in STATES:
        runs = []
        for _ in range(repeat):
            command = [sys.executable, __file__, "--stack", stack, "--measure", state]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            runs.append(json.loads(done.stdout))
        figures[state] = min(runs, key=lambda run: run["seconds"])
    file.write_text(json.dumps(figures))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--stack", default="mlcc-demo")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--measure", choices=STATES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measured(given.stack, given.measure)))
        return
    if given.inside:
        inside(given.stack, given.repeat, given.inside)
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figures.json"
        again = [__file__, "--stack", given.stack, "--repeat", str(given.repeat), "--inside", str(file)]
        rehearse = [sys.executable, "-m", "mlcc_infra.cli", "rehearse", "--speed", "240", "--"]
        subprocess.run([*rehearse, sys.executable, *again], cwd=ROOT, check=True)
        figures = json.loads(file.read_text())
    if given.json:
        print(json.dumps(figures, indent=2))
        return
    for state, figure in figures.items():
        print(
            f"{given.stack}, state {state}: {figure['seconds']:.2f} s ({figure['processor']:.2f} s of "
            f"processor time), {figure['looked up']:.0f} things looked up, "
            f"{figure['taken over']:.0f} to take over; target {TARGET_SECONDS} s"
        )


if __name__ == "__main__":
    main()
