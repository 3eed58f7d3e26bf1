"""The base of all parts of a profile, and the kinds of values they share."""

from __future__ import annotations

from typing import Annotated, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Part(BaseModel):
    """A part of the profile: immutable, keys in camelCase in the stack file, unknown keys refused."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        use_attribute_docstrings=True,
        validate_default=False,
        hide_input_in_errors=True,
    )


Target = Literal["vanilla-eks", "hyperpod-eks", "operator-only"]
TARGETS: Final[tuple[Target, ...]] = get_args(Target)

Kind = Literal[
    "role",
    "policy",
    "oidc-provider",
    "network",
    "cluster",
    "node-group",
    "fargate-profile",
    "addon",
    "chart",
    "access-entry",
    "bucket",
    "stack",
    "hyperpod-cluster",
    "parameter",
]
"""The kinds of things that can be adopted, as ``mlcc:adopt`` and ``mlcc:own`` name them."""

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

AdoptMode = Literal["auto", "never", "required"]
ADOPT_MODES: Final[tuple[AdoptMode, ...]] = get_args(AdoptMode)

SubnetId = Annotated[str, Field(pattern=r"^subnet-[0-9a-f]{8,17}$")]
VpcId = Annotated[str, Field(pattern=r"^vpc-[0-9a-f]{8,17}$")]
SecurityGroupId = Annotated[str, Field(pattern=r"^sg-[0-9a-f]{8,17}$")]
BucketName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")]
KubernetesVersion = Annotated[str, Field(pattern=r"^1\.[0-9]{2}$")]
RoleArn = Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:iam::[0-9]{12}:role/[\w+=,.@/-]+$")]
AddonVersion = Annotated[str, Field(pattern=r"^v[0-9]+\.[0-9]+\.[0-9]+-eksbuild\.[0-9]+$")]
"""An exact version of an EKS add-on; ``latest`` is not one."""

Labels = dict[str, str]


class Taint(Part):
    """A Kubernetes taint of nodes."""

    key: str = Field(pattern=r"^([a-z0-9.-]+/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$")
    """The taint's key, such as `nvidia.com/gpu`."""
    value: str = Field(default="", max_length=63)
    """The taint's value."""
    effect: Literal["NoSchedule", "NoExecute", "PreferNoSchedule"] = "NoSchedule"
    """What happens to pods that do not tolerate it."""
