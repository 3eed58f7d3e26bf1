"""A stack whose state is lost, again and again, played inside a rehearsal.

Usage: lost_state.py FILE. MLCC_LOST_STACK names the stack, MLCC_LOST_SEEDS the seeds of what is deleted
behind the stack's back as well. Then something changes that only a replacement can bring about, and the stack
is destroyed. With MLCC_LOST_CLUSTER its EKS cluster is deleted before, twice, while the state is kept.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from mlcc_infra.account.dead_cluster_state import drop_in_cluster_state
from mlcc_infra.account.session import AccountSession
from tests.engine.account_listing import list_account
from tests.engine.scripts.hyperpod_acts import REGION, Play
from tests.engine.scripts.operator_life import use_their_cluster
from tests.engine.scripts.out_of_band import CLUSTER, Resource, choose, closed, delete, resources

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


def delete_some(play: Play, name: str, chosen: list[Resource]) -> None:
    """Delete resources behind the stack's back, and note which, and what is left."""
    delete(chosen)
    play.note(name, {"urns": [one["urn"] for one in chosen], "account": list_account()})


def lose_cluster(play: Play) -> None:
    """The EKS cluster deleted, and what that takes along; the state still has all of it."""
    everything = resources(play.state())
    gone = closed((one for one in everything if one["type"] == CLUSTER), everything)
    delete_some(play, "cluster deleted", gone)


def drop_what_died(play: Play) -> None:
    """Drop from the state what was in a cluster that is gone."""
    session = AccountSession(region=REGION)
    dropped = drop_in_cluster_state(play.stack, lambda _region: session)
    play.note("dropped", {"because": dropped.because, "resources": dropped.resources})


def main() -> None:
    stack = os.environ["MLCC_LOST_STACK"]
    seeds = [int(seed) for seed in os.environ["MLCC_LOST_SEEDS"].split()]
    play = Play(stack, sys.argv[1])
    with play.written():
        if stack in ("mlcc-demo", "mlcc-eks"):
            play.set("mlcc:eks.fargateNamespaces[0]", "batch")
        if stack == "mlcc-operator":
            use_their_cluster(play)
        play.up("up")
        lose_state(stack)
        play.up("after the loss")
        play.up("no-op up", "--expect-no-changes")
        for seed in seeds:
            delete_some(play, f"deleted {seed}", choose(seed, resources(play.state()), DELETED))
            lose_state(stack)
            play.up(f"after the loss {seed}")
        if seeds:
            play.up("last no-op up", "--expect-no-changes")
        if os.environ.get("MLCC_LOST_CLUSTER"):
            lose_cluster(play)
            play.up("without a cluster")
            drop_what_died(play)
            play.up("cluster made again")
        replace_something(play)
        play.up("replaced")
        if os.environ.get("MLCC_LOST_CLUSTER"):
            lose_cluster(play)
            play.ours("destroy", "destroy", "--yes")
            play.later("destroy")
        else:
            play.destroy("destroy")
        play.ours("orphans", "orphans")


if __name__ == "__main__":
    main()
