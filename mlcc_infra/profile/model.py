"""The profile: everything a stack file may say, as one immutable object of plain Python values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Self

from pydantic import ConfigDict, Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from mlcc_infra.naming import Names, default_profile
from mlcc_infra.profile.base import AdoptMode, Kind, Part, Target
from mlcc_infra.profile.eks import Eks
from mlcc_infra.profile.hyperpod import HyperPod
from mlcc_infra.profile.network import Network
from mlcc_infra.profile.operator import Operator
from mlcc_infra.profile.principals import principal_arns
from mlcc_infra.profile.problems import Problem, ProfileError
from mlcc_infra.regions import REGIONS, Region

NOT_KEYS: Final = frozenset({"stack", "region"})
"""Fields of the model that are not keys under `mlcc:`."""
PARTIAL: Final = {"partial": True}
"""Validation context in which the checks across keys are left to the caller."""


class Adopt(Part):
    """`mlcc:adopt`: what to do with things that exist already, for all kinds or by kind."""

    model_config = ConfigDict(json_schema_extra=None)

    default: AdoptMode = "auto"
    """For every kind that is not named in `kinds`."""
    kinds: dict[Kind, AdoptMode] = Field(default_factory=dict)
    """By kind."""

    def mode(self, kind: str) -> AdoptMode:
        """The mode for a kind of thing."""
        for known, mode in self.kinds.items():
            if known == kind:
                return mode
        return self.default


class Profile(Part):
    """One profile: the settings of one Pulumi stack.

    Made by :func:`mlcc_infra.profile.load_profile`; validated in one go, so that a `Profile` that exists has
    passed every check that needs no AWS call.
    """

    stack: str
    """Name of the Pulumi stack."""
    region: str
    """AWS region, from `aws:region`, else from the environment."""
    name: str = Field(default="", alias="profile", examples=["demo"])
    """Name of the profile, which is in every physical name. Default: the stack's name without `mlcc-`. Set it
    to take over what a predecessor named otherwise."""
    targets: tuple[Target, ...] = Field(min_length=1, examples=[["vanilla-eks"]])
    """What is deployed: `vanilla-eks`, `hyperpod-eks`, `operator-only` (the last two exclude each other)."""
    aws_profile: str | None = Field(default=None, min_length=1, max_length=128)
    """AWS profile that every call uses. Default: the credentials of the environment, and nothing about them
    is stored."""
    account_id: str | None = Field(default=None, examples=["012345678901"])
    """The AWS account, twelve digits in quotes. Default: the account of the first `up`."""
    admins: tuple[str, ...] = Field(default=(), examples=[["arn:aws:iam::123456789012:role/Admin"]])
    """ARNs of IAM roles or users who get cluster-admin. Who runs Pulumi is no part of it."""
    adopt: Adopt = Adopt()
    """What to do with things of our names that exist already: `auto` takes them over, `never` refuses if one
    exists, `required` refuses if one does not; for all, or by kind."""
    own: tuple[str, ...] = Field(default=(), examples=[["bucket"]])
    """Adopted things that destroy may delete: a kind, or `<kind>/<name>`."""
    force_delete: bool = False
    """Whether destroy deletes the retained things too."""
    exclusive: bool = False
    """Whether `up` takes off the profile's roles what somebody else attached; unset, it is left alone and
    said."""
    tags: dict[str, str] = Field(default_factory=dict)
    """Tags for everything that is made, beside this product's own."""
    permissions_boundary: str | None = Field(
        default=None, pattern=r"^arn:aws[a-z-]*:iam::([0-9]{12}|aws):policy/[\w+=,.@/-]+$", max_length=2048
    )
    """ARN of the managed policy that bounds every role made."""
    role_path: str | None = Field(
        default=None, pattern=r"^/([!-.0-~]+/)*$", max_length=512, examples=["/ml/"]
    )
    """IAM path of the roles made, but for the HyperPod instance role and the operator's execution role, which
    AWS looks for at `/`."""
    network: Network = Network()
    """Network of the vanilla cluster."""
    eks: Eks = Eks()
    """The vanilla EKS cluster."""
    hyperpod: HyperPod = HyperPod()
    """The HyperPod cluster."""
    operator: Operator = Operator()
    """The inference operator."""

    _warnings: tuple[Problem, ...] = PrivateAttr(default=())

    @field_validator("adopt", mode="before")
    @classmethod
    def _adopt_by_kind(cls, value: Any) -> Any:
        # In the stack file: one mode, or a mapping of kinds to modes with `default` beside them.
        if isinstance(value, str):
            return {"default": value}
        if isinstance(value, Mapping) and "kinds" not in value:
            kinds = {kind: mode for kind, mode in value.items() if kind != "default"}
            return {"kinds": kinds, **({"default": value["default"]} if "default" in value else {})}
        return value

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Self:
        if not self.name:
            object.__setattr__(self, "name", default_profile(self.stack.rsplit("/", 1)[-1]))
        if not (info.context or {}).get("partial"):
            self.verified(self.admins)
        return self

    def verified(self, given_admins: tuple[str, ...], **checking: Any) -> Self:
        """Run every check across keys, keep the warnings, and normalise the admins.

        Raises:
            ProfileError: with all refusals.
        """
        from mlcc_infra.profile.checks import check_profile

        outcome = check_profile(self, **checking)
        if outcome.problems:
            raise ProfileError(outcome.problems, stack=self.stack)
        object.__setattr__(self, "admins", principal_arns(given_admins))
        self._warnings = outcome.warnings
        return self

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """What is allowed but worth saying, for preflight to show."""
        return self._warnings

    @property
    def region_facts(self) -> Region:
        """What is known of the region without asking AWS."""
        return REGIONS[self.region]

    @property
    def partition(self) -> str:
        """The AWS partition of the region, such as `aws`."""
        return self.region_facts.partition

    def names(self, account: str) -> Names:
        """The physical names of this profile in an account (twelve digits).

        Raises:
            ValueError: when it is no account id.
        """
        if not re.fullmatch(r"[0-9]{12}", account):
            raise ValueError(f"an AWS account id has twelve digits, found {account!r}")
        return Names(self.name, account, self.region)

    def has(self, target: str) -> bool:
        """Whether the profile deploys a target."""
        return target in self.targets

    def owns(self, kind: str, name: str) -> bool:
        """Whether destroy may delete an adopted thing: `mlcc:own` has it or its kind, or `forceDelete`."""
        return self.force_delete or kind in self.own or f"{kind}/{name}" in self.own
