"""What a target tells other tools: SSM parameters, and outputs of the stack under the same keys."""

from __future__ import annotations

import pulumi

from mlcc_infra.components.base import StackContext
from mlcc_infra.components.published_outputs import PublishedOutputs, PublishedOutputsArgs


def publish(
    name: str, args: PublishedOutputsArgs, *, context: StackContext, options: pulumi.ResourceOptions
) -> PublishedOutputs:
    """Register the parameters, and export each value as `<module>.<key>`."""
    outputs = PublishedOutputs(name, args, context=context, opts=options)
    for key, value in args.values.items():
        pulumi.export(f"{args.module}.{key}", value)
    return outputs
