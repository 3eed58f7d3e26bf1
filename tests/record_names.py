"""The logical names of the project's stacks, and the record of each release.

Run it to record those of this version.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import mlcc_infra
from mlcc_infra.naming import Names
from tests.graph import ACCOUNT, REGION, Registered, register, rehearsed_account

FOLDER = Path(__file__).parent / "releases"
RELEASES: tuple[str, ...] = tuple(
    sorted(
        (path.name for path in FOLDER.iterdir() if path.is_dir()),
        key=lambda version: [int(number) for number in version.split(".")],
    )
)
STACKS = ("mlcc-demo", "mlcc-eks", "mlcc-hyperpod", "mlcc-operator")
ROOT_STACK = "pulumi:pulumi:Stack"


def changes(stack: str) -> dict[str, Any]:
    """What a stack's file leaves to its user: mlcc-operator needs a cluster that exists."""
    if stack != "mlcc-operator":
        return {}
    import boto3

    from tests.engine.scripts.operator_life import make_cluster, their_profile

    profile = their_profile()
    names: Names = profile.names(ACCOUNT)
    sagemaker = boto3.client("sagemaker", region_name=REGION)
    if not sagemaker.list_clusters()["ClusterSummaries"]:
        make_cluster(profile, names)
    arn = sagemaker.describe_cluster(ClusterName=names.hyperpod_cluster)["ClusterArn"]
    cluster = {"eksClusterName": names.hyperpod_eks_cluster, "hyperPodClusterArn": arn}
    return {"mlcc:operator": {"cluster": cluster, "verify": "warn"}}


@functools.cache
def graph_of(stack: str) -> tuple[Registered, ...]:
    """What a stack registers; within `rehearsed_account`."""
    return tuple(register(stack, changes(stack)))


def names_of(stack: str, *, aliases: bool = False) -> set[str]:
    """Types and logical names of a stack; with `aliases` also those that its resources once had."""
    found = {resource.key for resource in graph_of(stack) if resource.type != ROOT_STACK}
    if aliases:
        for resource in graph_of(stack):
            for alias in resource.request.aliases:
                kind, name = alias.spec.type or resource.type, alias.spec.name or resource.name
                found.add(f"{kind}::{name}")
    return found


def recorded_names(version: str, stack: str) -> set[str]:
    """The names that a release's record holds for a stack."""
    return set((FOLDER / version / "names" / f"{stack}.txt").read_text().split())


def main() -> None:
    folder = FOLDER / mlcc_infra.__version__ / "names"
    folder.mkdir(parents=True, exist_ok=True)
    with rehearsed_account():
        for stack in STACKS:
            text = "\n".join(sorted(names_of(stack)))
            (folder / f"{stack}.txt").write_text(f"{text}\n")
            print(f"{stack}: {len(names_of(stack))} names")


if __name__ == "__main__":
    main()
