"""Stack mlcc-hyperpod with what AWS's template can bring besides the cluster, played inside a rehearsal.

Usage: template_features.py FILE. First with FSx, so that the template makes the OIDC provider and a driver
and we make the rest; then, destroyed and made again, with the operator installed by the template itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import boto3

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.engine.scripts.hyperpod_acts import NO_GPU, Play, cluster, faults

EKS = "mlcc-hyperpod-hp-eks"


def look(play: Play, name: str) -> None:
    """Add-ons, file systems and roles of the account, and what the cluster says of the volume."""
    eks, iam = boto3.client("eks"), boto3.client("iam")
    addons = {
        addon: eks.describe_addon(clusterName=EKS, addonName=addon)["addon"]
        for addon in eks.list_addons(clusterName=EKS)["addons"]
    }
    providers = [each["Arn"] for each in iam.list_open_id_connect_providers()["OpenIDConnectProviderList"]]
    with cluster(EKS) as api:
        volumes = api.items("/api/v1/persistentvolumes")
    play.note(
        name,
        {
            "addons": addons,
            "providers": {
                arn: iam.list_open_id_connect_provider_tags(OpenIDConnectProviderArn=arn)["Tags"]
                for arn in providers
            },
            "file systems": boto3.client("fsx").describe_file_systems()["FileSystems"],
            "volumes": volumes,
        },
    )


def left_over(play: Play) -> Any:
    """What `mlcc-infra orphans --json` prints; it ends with a code of its own when it finds something."""
    done = subprocess.run(
        [sys.executable, "-m", "mlcc_infra.cli", "orphans", play.stack, "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    return json.loads(done.stdout)


def life(play: Play, prefix: str) -> None:
    """Up, nothing to do, destroy, and what is left."""
    play.up(f"{prefix} up")
    look(play, f"{prefix} account")
    play.up(f"{prefix} no-op up", "--expect-no-changes")
    play.destroy(f"{prefix} destroy")
    play.note(f"{prefix} left over", left_over(play))


def main() -> None:
    play = Play("mlcc-hyperpod", sys.argv[1])
    with play.written():
        faults(*NO_GPU)
        play.set("mlcc:hyperpod.fsx.enabled", "true")
        life(play, "fsx")
        play.unset("mlcc:hyperpod.fsx")
        play.set("mlcc:operator.install", "template")
        life(play, "template")


if __name__ == "__main__":
    main()
