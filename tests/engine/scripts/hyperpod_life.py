"""The life of stack mlcc-hyperpod, played inside a rehearsal.

Usage: hyperpod_life.py FILE. All GPU types are out of capacity at first; then settings that are frozen are
changed together with instance groups; at last the stack is destroyed and made again at once, while SageMaker
still takes the old cluster's watcher away.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from botocore.exceptions import ClientError

from mlcc_infra.account import cluster_client, operator_watcher
from mlcc_infra.account.session import AccountSession
from tests.engine.scripts.hyperpod_acts import (
    NO_GPU,
    REGION,
    Play,
    advance,
    cluster,
    faults,
    hyperpod,
    issuer,
    meanwhile,
    trust,
)

EKS, HYPERPOD, EXECUTION_ROLE = (
    "mlcc-hyperpod-hp-eks",
    "mlcc-hyperpod-hyperpod",
    "SageMakerHyperPodInference-hyperpod",
)
# Longer than a destroy and an `up` take here; the script lets it end when the drain was seen.
DRAIN_SECONDS = 30000


def look_at_cluster(play: Play, name: str) -> None:
    with cluster(EKS) as api:
        nodes = [node["metadata"]["labels"] for node in api.items("/api/v1/nodes")]
    described = hyperpod(HYPERPOD)
    play.note(
        name,
        {
            "arn": described["ClusterArn"],
            "status": described["ClusterStatus"],
            "groups": {
                group["InstanceGroupName"]: (group["CurrentCount"], group["TargetCount"])
                for group in described["InstanceGroups"]
            },
            "nodes": nodes,
            "issuer": issuer(EKS),
            "trust": trust(EXECUTION_ROLE),
        },
    )


def until_drain_is_seen(play: Play) -> bool:
    """Whether the new cluster's controller was told that the old watcher drains; then the drain ends."""
    session = AccountSession(region=REGION)
    try:
        sight = operator_watcher.look(session, EKS, hyperpod(HYPERPOD)["ClusterArn"])
    except (
        ClientError,
        cluster_client.ClusterGoneError,
        cluster_client.ClusterUnreachableError,
        cluster_client.ClusterRefusedError,
    ):
        return False
    if not sight.reading.draining:
        return False
    play.note("drain", {"line": sight.reading.line})
    advance(DRAIN_SECONDS)
    return True


def main() -> None:
    play = Play("mlcc-hyperpod", sys.argv[1])
    with play.written():
        for key, value in {"name": "big", "instanceType": "ml.p5.48xlarge", "instanceCount": "1"}.items():
            play.set(f"mlcc:hyperpod.instanceGroups[2].{key}", value)
        play.act("preview", "preview", "--json")
        faults(*NO_GPU)
        play.up("up")
        look_at_cluster(play, "cluster")
        play.up("no-op up", "--expect-no-changes")

        faults()
        advance(1200)
        play.set("mlcc:hyperpod.kubernetesVersion", "1.34")
        play.set("mlcc:hyperpod.nodeRecovery", "None")
        for index, zone in enumerate(("usw2-az1", "usw2-az2", "usw2-az3")):
            play.set(f"mlcc:hyperpod.zones[{index}]", zone)
        play.set("mlcc:hyperpod.instanceGroups[1].instanceCount", "2")
        play.unset("mlcc:hyperpod.instanceGroups[2]")
        play.up("changed")
        advance(1200)
        look_at_cluster(play, "changed cluster")
        play.up("after the change", "--expect-no-changes")
        for key in ("kubernetesVersion", "nodeRecovery", "zones"):
            play.unset(f"mlcc:hyperpod.{key}")

        faults(
            {
                "service": "sagemaker",
                "operation": "DeleteClusterInference",
                "effect": "delay",
                "seconds": DRAIN_SECONDS,
            }
        )
        play.destroy("destroy")
        play.note("retained", play.retained())
        with meanwhile(lambda: until_drain_is_seen(play)):
            play.up("up again")
        look_at_cluster(play, "cluster again")


if __name__ == "__main__":
    main()
