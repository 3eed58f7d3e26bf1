"""A stack with the state that an earlier release left, played inside a rehearsal.

Usage: release_life.py FILE. MLCC_RELEASE_STACK names the stack, MLCC_RELEASE the release whose state it gets;
then it is previewed, brought up and destroyed. With MLCC_RELEASE_RECORD its state after the first `up` is
written to that file instead, to be the record of this release.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
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


def put_state(stack: str, state: dict[str, Any], file: Path) -> None:
    file.write_text(json.dumps(state))
    subprocess.run(["pulumi", "stack", "import", "-s", stack, "--file", str(file)], check=True)


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
            return
        state = in_account_of(recorded_state(os.environ["MLCC_RELEASE"], stack), export(stack))
        put_state(stack, state, Path(sys.argv[1]).with_name("state.json"))
        play.note("put", {"state": play.state()})
        play.act("preview", "preview", "--json")
        play.destroy("destroy")
        play.note("retained", play.retained())


if __name__ == "__main__":
    main()
