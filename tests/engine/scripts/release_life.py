"""A stack with the state that an earlier release left, played inside a rehearsal.

Usage: release_life.py FILE. MLCC_RELEASE_STACK names the stack, MLCC_RELEASE the release whose state it gets;
then it is previewed and destroyed. With MLCC_RELEASE_RECORD its state after the first `up` is written to that
file instead, to be the record of this release.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.engine.scripts.hyperpod_acts import Play
from tests.engine.scripts.operator_life import use_their_cluster
from tests.recorded_states import in_account_of, recorded_state


def export(stack: str) -> Any:
    """The state in the clear: another stack's secrets could not be read."""
    command = ["pulumi", "stack", "export", "-s", stack, "--show-secrets"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def live_on_with_state_of(release: str, play: Play) -> None:
    """Acts on a stack that is up: its state becomes the release's, is previewed, and destroyed."""
    state = in_account_of(recorded_state(release, play.stack), export(play.stack))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "state.json"
        file.write_text(json.dumps(state))
        subprocess.run(["pulumi", "stack", "import", "-s", play.stack, "--file", str(file)], check=True)
    play.note("release's state", {"state": play.state()})
    play.act("release's preview", "preview", "--json")
    play.destroy("release's destroy")
    play.note("retained at last", play.retained())


def main() -> None:
    stack = os.environ["MLCC_RELEASE_STACK"]
    play = Play(stack, sys.argv[1])
    with play.written():
        if stack == "mlcc-operator":
            use_their_cluster(play)
        if play.up("up") != 0:
            raise SystemExit(1)
        record = os.environ.get("MLCC_RELEASE_RECORD")
        if record:
            Path(record).write_text(json.dumps(export(stack)))
        else:
            live_on_with_state_of(os.environ["MLCC_RELEASE"], play)


if __name__ == "__main__":
    main()
