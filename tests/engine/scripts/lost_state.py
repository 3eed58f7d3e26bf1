"""A stack whose state is lost, again and again, played inside a rehearsal.

Usage: lost_state.py FILE. MLCC_LOST_STACK names the stack, MLCC_LOST_SEEDS the seeds of what is deleted
behind the stack's back as well. At last something changes that only a replacement can bring about, and the
stack is destroyed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.engine.scripts.hyperpod_acts import ACCOUNT, Play, hyperpod
from tests.engine.scripts.operator_life import make_cluster, their_profile
from tests.engine.scripts.out_of_band import choose, delete, resources

DELETED = 4


def lose_state(stack: str) -> None:
    """Delete the backend's folder, as whoever deletes it would, and begin again."""
    shutil.rmtree(Path(os.environ["PULUMI_BACKEND_URL"].removeprefix("file://")) / ".pulumi")
    subprocess.run(["pulumi", "stack", "init", stack], check=True, stdout=subprocess.DEVNULL)


def replace_something(play: Play) -> None:
    """A change that the profile allows and AWS has no update for."""
    if play.stack in ("mlcc-demo", "mlcc-eks"):
        play.set("mlcc:eks.fargateNamespaces[1]", "more")
    else:
        play.set("mlcc:rolePath", "/team/")


def main() -> None:
    stack = os.environ["MLCC_LOST_STACK"]
    seeds = [int(seed) for seed in os.environ["MLCC_LOST_SEEDS"].split()]
    play = Play(stack, sys.argv[1])
    with play.written():
        if stack in ("mlcc-demo", "mlcc-eks"):
            play.set("mlcc:eks.fargateNamespaces[0]", "batch")
        if stack == "mlcc-operator":
            profile = their_profile()
            names = profile.names(ACCOUNT)
            make_cluster(profile, names)
            play.set("mlcc:operator.cluster.eksClusterName", names.hyperpod_eks_cluster)
            arn = hyperpod(names.hyperpod_cluster)["ClusterArn"]
            play.set("mlcc:operator.cluster.hyperPodClusterArn", arn)
            play.listed("start")
        play.up("up")
        lose_state(stack)
        play.up("after the loss")
        play.up("no-op up", "--expect-no-changes")
        for seed in seeds:
            chosen = choose(seed, resources(play.state()), DELETED)
            delete(chosen)
            play.note(f"deleted {seed}", [one["urn"] for one in chosen])
            lose_state(stack)
            play.up(f"after the loss {seed}")
            play.up(f"no-op up {seed}", "--expect-no-changes")
        replace_something(play)
        play.up("replaced")
        play.destroy("destroy")


if __name__ == "__main__":
    main()
