"""The component ``eks:index:ServiceRole``: the cluster's role when the caller brings none."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pulumi
import pulumi_aws as aws


class ServiceRole(pulumi.ComponentResource):
    """A role for a service with managed policies attached. Logical names hold a hash of the policy's ARN."""

    def __init__(
        self,
        name: str,
        *,
        service: str,
        description: str | None,
        policies: tuple[str, ...],
        actions: tuple[str, ...],
        tags: Any,
        parent: pulumi.Resource,
    ) -> None:
        super().__init__("eks:index:ServiceRole", name, None, pulumi.ResourceOptions(parent=parent))
        partition = aws.get_partition_output(opts=pulumi.InvokeOutputOptions(parent=parent)).partition
        statement = {"Action": list(actions), "Effect": "Allow", "Principal": {"Service": [service]}}
        child = pulumi.ResourceOptions(parent=self)
        self.role = aws.iam.Role(
            f"{name}-role",
            description=description,
            assume_role_policy=json.dumps(
                {"Version": "2012-10-17", "Statement": [statement]}, separators=(",", ":")
            ),
            tags=tags,
            opts=child,
        )
        self.attachments = [
            aws.iam.RolePolicyAttachment(
                f"{name}-{self._hash(policy)}",
                policy_arn=pulumi.Output.format("arn:{0}:iam::aws:policy/{1}", partition, policy),
                role=self.role.name,
                opts=child,
            )
            for policy in policies
        ]
        self.register_outputs({"resolvedRole": self.role, "directRole": self.role})

    @staticmethod
    def _hash(policy: str) -> str:
        # Not for security: the component's own way of making logical names unique.
        return hashlib.sha1(f"arn:aws:iam::aws:policy/{policy}".encode(), usedforsecurity=False).hexdigest()[
            :8
        ]
