"""SSM parameters that tell other tools what a stack made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, final

import pulumi
from pulumi_aws import ssm

from mlcc_infra.account.decisions import Wanted
from mlcc_infra.components.base import Component, StackContext
from mlcc_infra.naming import Names

PARAMETER = "aws:ssm/parameter:Parameter"
KIND = "parameter"


@final
@dataclass(frozen=True, kw_only=True)
class PublishedOutputsArgs:
    """Values by parameter key, the keys of `naming.SSM_KEYS[module]`. SSM refuses empty values."""

    module: str
    values: Mapping[str, pulumi.Input[str]]


@final
@dataclass(frozen=True, kw_only=True)
class PublishedOutputsResources:
    """The parameters, by key."""

    parameters: Mapping[str, ssm.Parameter]


class PublishedOutputs(Component):
    """One String parameter a key under `/mlcc/<profile>/<module>/`, adopted when ours, deleted on destroy.

    Raises `KeyError` for a key that the contract (names.md) does not have.
    """

    TOKEN: ClassVar[str] = "mlcc:outputs:PublishedOutputs"

    def __init__(
        self,
        name: str,
        args: PublishedOutputsArgs,
        *,
        context: StackContext,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(name, context, opts, module=args.module)
        self.resources = PublishedOutputsResources(
            parameters={key: self._parameter(args.module, key, value) for key, value in args.values.items()}
        )
        self.register_outputs(
            {"names": [context.names.ssm_parameter(args.module, key) for key in sorted(args.values)]}
        )

    def _parameter(self, module: str, key: str, value: pulumi.Input[str]) -> ssm.Parameter:
        return ssm.Parameter(
            self.logical_name(key),
            name=self.context.names.ssm_parameter(module, key),
            type=ssm.ParameterType.STRING,
            value=value,
            tags=self.tags(PARAMETER, key, name=False),
            opts=self.child(PARAMETER, key),
        )


def wanted_outputs(name: str, names: Names, module: str, keys: tuple[str, ...]) -> list[Wanted]:
    """What the inventory looks up for published outputs; pure."""
    return [
        Wanted(
            key=(PARAMETER, f"{name}-{key}"),
            kind=KIND,
            physical=names.ssm_parameter(module, key),
            lookup={"name": names.ssm_parameter(module, key), "prefix": names.ssm_prefix(module)},
        )
        for key in keys
    ]
