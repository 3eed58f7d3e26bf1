"""A stack of AWS's template that the console or `hyp` made, as it is: `mlcc:hyperpod.existingStack`.

It keeps its own parameters and everything it made; what this product sends or makes elsewhere is read off it
(facts/hyperpod_native.md, rule 7).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from mlcc_infra.account.hyperpod_checks import DEAD_STATES
from mlcc_infra.account.instance_group_plan import WantedGroup
from mlcc_infra.account.lookups.cloudformation import describe_stack
from mlcc_infra.account.lookups.eks import describe_cluster
from mlcc_infra.account.lookups.sagemaker import describe_hyperpod
from mlcc_infra.account.preflight import CheckResult, Verdict
from mlcc_infra.account.reader import Reader
from mlcc_infra.components.hyperpod_native import ExistingNative
from mlcc_infra.errors import UserError
from mlcc_infra.instance_types import instance_type
from mlcc_infra.profile.hyperpod import FLOOR_GROUP
from mlcc_infra.template.made import Prerequisites, prerequisites_by_template

PREFIX = "ResourceNamePrefix"
NEEDED_OUTPUTS = (
    "OutputEKSClusterArn",
    "OutputEKSClusterName",
    "OutputHyperPodClusterArn",
    "OutputHyperPodClusterName",
)


@dataclass(frozen=True, kw_only=True)
class ExistingStack:
    """What such a stack has made, and with what.

    `buckets` are those of its own that have to be empty before it can be deleted; `digest` is that of its
    template's text, None where that cannot be read.
    """

    name: str
    prefix: str
    parameters: Mapping[str, str]
    eks_cluster: str
    hyperpod_cluster: str
    kubernetes: str
    instance_role_arn: str
    zone_count: int | None
    groups: tuple[WantedGroup, ...]
    buckets: tuple[str, ...]
    digest: str | None
    made: Prerequisites

    @property
    def native(self) -> ExistingNative:
        """As the component takes it."""
        return ExistingNative(
            stack_name=self.name,
            prefix=self.prefix,
            eks_cluster=self.eks_cluster,
            hyperpod_cluster=self.hyperpod_cluster,
            buckets=self.buckets,
        )


def read_existing_stack(reader: Reader, name: str) -> ExistingStack:
    """Read the stack and the clusters it made. Raises `UserError` for one that cannot be taken over."""
    stack = describe_stack(reader, name)
    region = reader.session.region
    if stack is None:
        raise UserError(
            f"mlcc:hyperpod.existingStack names {name}, and there is no such stack in {region}.",
            remedy="Correct the name or aws:region (`aws cloudformation list-stacks`); without the key the "
            "stack is made.",
        )
    status = str(stack["StackStatus"])
    if status in DEAD_STATES or status.endswith("_IN_PROGRESS"):
        raise UserError(
            f"Stack {name} of mlcc:hyperpod.existingStack is {status}, so it cannot be taken over.",
            remedy="Wait until it is done and run again; one that failed has to be mended or deleted first.",
        )
    outputs = {entry["OutputKey"]: entry["OutputValue"] for entry in stack.get("Outputs", [])}
    parameters = {
        entry["ParameterKey"]: entry.get("ParameterValue", "") for entry in stack.get("Parameters", [])
    }
    missing = [key for key in NEEDED_OUTPUTS if not outputs.get(key)]
    if missing or PREFIX not in parameters:
        lacking = ", ".join(missing) or f"the parameter {PREFIX}"
        raise UserError(
            f"Stack {name} of mlcc:hyperpod.existingStack has not {lacking}: it is no stack of AWS's "
            "main-stack-eks-based-template.yaml with both clusters.",
            remedy="Name the main stack, not one that it nests; for clusters made otherwise use the target "
            "operator-only.",
        )
    eks = describe_cluster(reader, outputs["OutputEKSClusterName"])
    described = describe_hyperpod(reader, outputs["OutputHyperPodClusterName"])
    if eks is None or described is None:
        gone = outputs["OutputEKSClusterName" if eks is None else "OutputHyperPodClusterName"]
        raise UserError(
            f"Stack {name} made the cluster {gone}, and it is gone.",
            remedy="Delete the stack; without mlcc:hyperpod.existingStack a new one is made.",
        )
    prefix = parameters[PREFIX]
    zones = [zone for zone in parameters.get("AvailabilityZoneIds", "").split(",") if zone]
    roles = [
        group["ExecutionRole"]
        for group in described.get("InstanceGroups") or []
        if group.get("ExecutionRole")
    ]
    return ExistingStack(
        name=name,
        prefix=prefix,
        parameters=parameters,
        eks_cluster=outputs["OutputEKSClusterName"],
        hyperpod_cluster=outputs["OutputHyperPodClusterName"],
        kubernetes=str(eks["version"]),
        instance_role_arn=str(roles[0]) if roles else "",
        zone_count=len(zones) if parameters.get("CreateVPCStack") == "true" else None,
        groups=_groups(described),
        buckets=(
            (f"{prefix}-bucket", f"{prefix}-logs") if parameters.get("CreateS3BucketStack") == "true" else ()
        ),
        digest=_digest(reader, name),
        made=prerequisites_by_template(parameters, region=region),
    )


def _groups(described: Mapping[str, Any]) -> tuple[WantedGroup, ...]:
    """The groups as they are. `up` waits for the one that the operator's pods fit on: as in a profile."""
    found = [
        group
        for group in described.get("InstanceGroups") or []
        if group.get("InstanceGroupName") and group.get("InstanceType")
    ]
    names = [group["InstanceGroupName"] for group in found]
    fitting = [
        group["InstanceGroupName"] for group in found if instance_type(group["InstanceType"]).is_x86_cpu
    ]
    floor = FLOOR_GROUP if FLOOR_GROUP in names else next(iter(fitting), None)
    return tuple(_group(group, floor=group["InstanceGroupName"] == floor) for group in found)


def _group(group: Mapping[str, Any], *, floor: bool) -> WantedGroup:
    kubernetes = group.get("KubernetesConfig") or {}
    labels = kubernetes.get("DesiredLabels") or kubernetes.get("CurrentLabels") or {}
    taints = kubernetes.get("DesiredTaints") or kubernetes.get("CurrentTaints") or []
    return WantedGroup(
        name=group["InstanceGroupName"],
        instance_type=group["InstanceType"],
        instance_count=int(group.get("TargetCount", group.get("CurrentCount", 0))),
        labels=dict(labels),
        taints=tuple(
            {"key": taint["Key"], "effect": taint["Effect"], "value": taint.get("Value", "")}
            for taint in taints
        ),
        floor=floor,
    )


def _digest(reader: Reader, name: str) -> str | None:
    """SHA-256 of the text that the stack was made from (CloudFormation, GetTemplate)."""
    client = reader.session.client("cloudformation")
    try:
        body = reader.once(
            ("template", name),
            lambda: client.get_template(StackName=name, TemplateStage="Original")["TemplateBody"],
        )
    except ClientError:
        return None
    return hashlib.sha256(body.encode()).hexdigest() if isinstance(body, str) else None


def check_existing_stack(stack: ExistingStack, *, installs_operator: bool) -> list[CheckResult]:
    """The operator has one owner: a stack that installs it and this product would fight (rule 10).

    `installs_operator` tells whether this product does (`mlcc:operator.install: graph`).
    """
    if stack.made.operator and installs_operator:
        return [
            CheckResult(
                name="operator",
                verdict=Verdict.REFUSED,
                found=f"stack {stack.name} installs the inference operator itself",
                needed="one owner of the operator, its roles and its cert-manager",
                remedy="set mlcc:operator.install to `template`; or take the operator out of the stack first "
                "(remove the models, update the stack with EnableHPInferenceFeature=false), and run again",
            )
        ]
    return [
        CheckResult(
            name="existing stack", verdict=Verdict.OK, found=f"{stack.name}, {stack.hyperpod_cluster}"
        )
    ]
