"""How long `up` would take on a real account: both targets side by side against the longer one alone.

    .venv/bin/python bench/side_by_side.py [--speed 60] [--runs 1] [--json]

Rehearses `pulumi up` of mlcc-demo, mlcc-hyperpod and mlcc-eks, each on an account of its own, and reads the
modelled time in which AWS had work under way from the control address. The slower the rehearsal, the less the
time that programs take here distorts the figure.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

STACKS = ("mlcc-demo", "mlcc-hyperpod", "mlcc-eks")
INSIDE = """
import json, os, subprocess, sys, urllib.request
done = subprocess.run(["pulumi", "up", "--yes", "--skip-preview", "-s", sys.argv[1]], stdout=sys.stderr)
with urllib.request.urlopen(os.environ["AWS_ENDPOINT_URL"] + "/_rehearsal/time", timeout=30) as answer:
    print(json.dumps({"code": done.returncode, "working": json.load(answer)["working"]}))
"""


def modelled_seconds(stack: str, speed: float) -> float:
    """Modelled seconds of one `up`. RuntimeError when it fails."""
    command = [sys.executable, "-m", "mlcc_infra.cli", "rehearse", "--speed", str(speed), "--"]
    done = subprocess.run(
        [*command, sys.executable, "-c", INSIDE, stack],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-3000:])
    told = json.loads(done.stdout.strip().splitlines()[-1])
    if told["code"] != 0:
        raise RuntimeError(done.stderr[-3000:])
    return float(told["working"])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="modelled time of up, side by side and alone")
    parser.add_argument("--speed", type=float, default=60.0)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    best = {
        stack: min(modelled_seconds(stack, options.speed) for _ in range(options.runs)) for stack in STACKS
    }
    longer = max(best["mlcc-hyperpod"], best["mlcc-eks"])
    result = {**best, "against the longer alone": best["mlcc-demo"] / longer}
    if options.json:
        print(json.dumps(result))
        return
    for stack, seconds in best.items():
        print(f"{stack:16}{seconds / 60:7.1f} min")
    print(f"side by side it takes {result['against the longer alone']:.3f} times the longer one alone")


if __name__ == "__main__":
    main()
