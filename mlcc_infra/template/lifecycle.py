"""The lifecycle script that HyperPod runs on every new instance, and where it lies.

The key is stable: instance groups keep the address they were made with, so the contents are updated in place.
HyperPod prepares nodes of EKS clusters by itself; a script is needed because the template always names one.
"""

from __future__ import annotations

from typing import Final

SCRIPT_KEY: Final = "lifecycle/on_create.sh"
"""Key in the lifecycle bucket, and OnCreatePath: the template makes of it the prefix `lifecycle` and the file
`on_create.sh` (its hyperpod-cluster-template)."""

SCRIPT: Final = """\
#!/bin/bash
# Runs once on every new instance, as root, before the instance joins the cluster. A status other than zero
# would fail the instance. What it prints is in CloudWatch, log group /aws/sagemaker/Clusters/<name>/<id>.
echo "$(date -u +%Y-%m-%dT%H:%M:%SZ) mlcc-infra: on_create on $(hostname): nothing to set up"
exit 0
"""


def source_uri(bucket: str) -> str:
    """SourceS3Uri of the groups' LifeCycleConfig."""
    return f"s3://{bucket}/{SCRIPT_KEY.rsplit('/', 1)[0]}"
