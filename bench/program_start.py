"""CPU seconds that a program spends on loading its SDKs, with the collector as it is and as we set it.

.venv/bin/python bench/program_start.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys

RUNS = 5
LOAD = """
import importlib, time
began = time.process_time()
{before}
import mlcc_infra.targets, pulumi_aws, pulumi_kubernetes.core.v1
for name in ("cloudformation", "ec2", "eks", "iam", "s3", "ssm"):
    getattr(importlib.import_module(f"pulumi_aws.{{name}}"), "__doc__")
getattr(pulumi_aws.ec2, "Vpc"), getattr(pulumi_kubernetes.core.v1, "ConfigMap")
print(time.process_time() - began)
"""
VARIANTS = {
    "collector as Python sets it": "",
    "collect_rarely()": "from mlcc_infra.garbage import collect_rarely; collect_rarely()",
}


def main() -> None:
    for name, before in VARIANTS.items():
        command = [sys.executable, "-c", LOAD.format(before=before)]
        taken = [float(subprocess.check_output(command, text=True)) for _ in range(RUNS)]
        print(f"{name}: median {statistics.median(taken):.2f} s, {min(taken):.2f} to {max(taken):.2f}")


if __name__ == "__main__":
    main()
