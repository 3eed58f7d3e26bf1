"""Lengths: what the template's parameters become, and how much of it the services take."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from mlcc_infra.naming import (
    CLOUDFORMATION_STACK,
    EKS_CLUSTER,
    HYPERPOD_CLUSTER,
    IAM_ROLE,
    S3_BUCKET,
    NameLimit,
)
from mlcc_infra.template.groups import EMPTY, GROUP_SLOTS, RIG_SLOTS

PARAMETER_BYTES: Final = 4096
"""Of one parameter's value (CloudFormation quotas)."""
ENVIRONMENT_BYTES: Final = 4096
"""Of all environment variables of a Lambda function (AWS Lambda quotas)."""
FIXED_ENVIRONMENT_BYTES: Final = 1400
"""Keys and ordinary values in the environment of the function that makes the cluster, `[]` in all forty slots
included: estimated from AWS's hyperpod-cluster-template, so a total near the limit may still be refused."""
IN_ENVIRONMENT: Final = (
    *GROUP_SLOTS,
    *RIG_SLOTS,
    "RestrictedInstanceGroupsConfig",
    "Tags",
    "TieredStorageConfig",
)
"""Parameters of any length that travel in that environment."""


def environment_bytes(values: Mapping[str, str]) -> int:
    """About how much of the function's environment these parameters take."""
    ordinary = {name: len(EMPTY) for name in (*GROUP_SLOTS, *RIG_SLOTS)}
    return FIXED_ENVIRONMENT_BYTES + sum(
        max(0, len(values[name].encode()) - ordinary.get(name, 0)) for name in IN_ENVIRONMENT
    )


LAMBDA_FUNCTION: Final = NameLimit(
    service="Lambda function", maximum=64, pattern=re.compile(r"^[a-zA-Z0-9_-]+$")
)


@dataclass(frozen=True, kw_only=True)
class Derived:
    """A name that a nested stack makes of a parameter: only where `resource` exists."""

    resource: str
    parameter: str
    template: str
    limit: NameLimit


# Names in AWS's nested templates; {id8} is eight hex digits of the nested stack's own id.
DERIVED: Final = (
    Derived(
        resource="EKSClusterStack",
        parameter="ResourceNamePrefix",
        template="{ResourceNamePrefix}-{EKSClusterName}",
        limit=EKS_CLUSTER,
    ),
    Derived(
        resource="EKSClusterStack",
        parameter="ResourceNamePrefix",
        template="{ResourceNamePrefix}-role",
        limit=IAM_ROLE,
    ),
    Derived(
        resource="HelmChartStack",
        parameter="ResourceNamePrefix",
        template="{ResourceNamePrefix}helmfunc",
        limit=LAMBDA_FUNCTION,
    ),
    Derived(
        resource="HyperPodParamClusterStack",
        parameter="ResourceNamePrefix",
        template="{ResourceNamePrefix}hpfunc",
        limit=LAMBDA_FUNCTION,
    ),
    Derived(
        resource="SageMakerIAMRoleStack",
        parameter="ResourceNamePrefix",
        template="{ResourceNamePrefix}ExecRole",
        limit=IAM_ROLE,
    ),
    Derived(
        resource="S3BucketStack",
        parameter="ResourceNamePrefix",
        template="{ResourceNamePrefix}-bucket",
        limit=S3_BUCKET,
    ),
    Derived(
        resource="CertManagerStack",
        parameter="ResourceNamePrefix",
        template="{ResourceNamePrefix}-certfunc-00000000",
        limit=LAMBDA_FUNCTION,
    ),
    Derived(
        resource="FsxK8sIntegrationStack",
        parameter="ResourceNamePrefix",
        template="FSXLCSI-{ResourceNamePrefix}-{EKSClusterName}",
        limit=IAM_ROLE,
    ),
    Derived(
        resource="ObservabilityCustomResourceRole",
        parameter="ResourceNamePrefix",
        template="{ResourceNamePrefix}-ObsRole",
        limit=IAM_ROLE,
    ),
    Derived(
        resource="InferenceOperatorAddonStack",
        parameter="ResourceNameShortPrefix",
        template="inf-{ResourceNameShortPrefix}-fsxcsi-00000000",
        limit=IAM_ROLE,
    ),
    Derived(
        resource="InferenceOperatorAddonStack",
        parameter="ResourceNameShortPrefix",
        template="hyperpod-tls-{ResourceNameShortPrefix}-00000000",
        limit=S3_BUCKET,
    ),
    Derived(
        resource="HyperPodParamClusterStack",
        parameter="HyperPodClusterName",
        template="{HyperPodClusterName}",
        limit=HYPERPOD_CLUSTER,
    ),
    Derived(
        resource="HyperPodParamClusterStack",
        parameter="S3BucketName",
        template="{S3BucketName}",
        limit=S3_BUCKET,
    ),
    Derived(
        resource="HyperPodParamClusterStack",
        parameter="SageMakerIAMRoleName",
        template="{SageMakerIAMRoleName}",
        limit=IAM_ROLE,
    ),
    Derived(
        resource="VPCStack",
        parameter="ResourceNamePrefix",
        template="{ResourceNamePrefix}",
        limit=CLOUDFORMATION_STACK,
    ),
)


def name_problems(
    values: Mapping[str, str], resources: frozenset[str], used: frozenset[str]
) -> Iterator[tuple[str, str, str]]:
    """Names that a service would refuse: parameter, what was found, what would work.

    Of several that are too long the one is named that leaves the least room.

    Args:
        values: every parameter's value.
        resources: the resources that exist.
        used: the parameters that something uses.
    """
    too_long: dict[str, tuple[int, Derived, str]] = {}
    for entry in DERIVED:
        if entry.resource not in resources or entry.parameter not in used:
            continue
        name = entry.template.format(**values)
        over = len(name) - entry.limit.maximum
        if over > 0:
            if over > too_long.get(entry.parameter, (0,))[0]:
                too_long[entry.parameter] = (over, entry, name)
        elif not entry.limit.pattern.fullmatch(name):
            yield (
                entry.parameter,
                f"the {entry.limit.service} becomes {name!r}, which is no name for one",
                f"a name of the form {entry.limit.pattern.pattern}",
            )
    for parameter, (over, entry, name) in too_long.items():
        size = f"{len(name)} characters of at most {entry.limit.maximum}"
        room = f"at most {len(values[parameter]) - over} characters fit"
        yield parameter, f"the {entry.limit.service} becomes {name!r}, {size}", room
