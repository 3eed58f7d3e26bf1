"""What is ours of an inference operator that AWS's template installs: its bucket for TLS certificates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import pulumi

from mlcc_infra.account.decisions import Wanted
from mlcc_infra.components.base import Component, StackContext
from mlcc_infra.components.inference_operator import TLS_BUCKET, create_tls_bucket
from mlcc_infra.components.s3_bucket import BucketResources, wanted_bucket


@final
@dataclass(frozen=True, kw_only=True)
class TemplateOperatorArgs:
    """The bucket's name, which the template is told."""

    tls_bucket: str


@final
@dataclass(frozen=True, kw_only=True)
class TemplateOperatorResources:
    """The children of `TemplateOperator`."""

    tls_bucket: BucketResources


class TemplateOperator(Component):
    """The TLS bucket, made before the stack and retained (facts/hyperpod_native.md, rule 10).

    The template uses a bucket that it is told of as it is: it makes none and grants nothing on it.
    """

    TOKEN: ClassVar[str] = "mlcc:operator:TemplateOperator"

    def __init__(
        self,
        name: str,
        args: TemplateOperatorArgs,
        *,
        context: StackContext,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(name, context, opts, module="hyperpod")
        bucket = create_tls_bucket(self, args.tls_bucket)
        self.resources = TemplateOperatorResources(tls_bucket=bucket)
        self.register_outputs({"tlsBucket": args.tls_bucket})


def wanted_template_operator(name: str, tls_bucket: str) -> list[Wanted]:
    """What the inventory looks up for it; pure."""
    return wanted_bucket(name, TLS_BUCKET, tls_bucket)
