"""IAM roles and policies that templates make."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from moto.iam.models import iam_backends

from mlcc_rehearsal.cloud.cloudformation.parts import Part, Run, at_once
from mlcc_rehearsal.cloud.cloudformation.stacks import generated_name
from mlcc_rehearsal.cloud.cloudformation.tasks import Work

# CloudFormation waits for a new role to be usable. Source: commonly seen 15 to 20 seconds for a role.
_SETTLING = 17.0


def iam_of(run: Run) -> Any:
    """IAM of the account."""
    return iam_backends[run.account.account_id][run.account.partition]


def trust(service: str) -> dict[str, Any]:
    """A trust policy for one service."""
    return {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}],
    }


def role(
    logical_id: str,
    trusted: str | Mapping[str, Any],
    *,
    name: str | None = None,
    path: str = "/",
    managed: Iterable[str] = (),
    policies: Iterable[str] = (),
    inline: Mapping[str, Any] | None = None,
    tags: Mapping[str, str] | None = None,
    deletion_policy: str = "Delete",
) -> Part:
    """A role.

    :param trusted: the service that assumes it, or its whole trust policy.
    :param name: its name; generated when None.
    :param managed: names of AWS's policies, with their path.
    :param policies: logical ids of policies of the same stack.
    """
    policies = tuple(policies)
    document = trust(trusted) if isinstance(trusted, str) else dict(trusted)

    def create(run: Run) -> Work:
        iam = iam_of(run)
        role_name = name or generated_name(run.stack, logical_id)
        all_tags = [{"Key": k, "Value": v} for k, v in {**run.stack.tags, **(tags or {})}.items()]
        made = iam.create_role(role_name, json.dumps(document), path, None, "", all_tags, "3600")
        run.made(role_name, Arn=made.arn)
        for policy in managed:
            iam.attach_role_policy(f"arn:{run.account.partition}:iam::aws:policy/{policy}", role_name)
        for policy in policies:
            iam.attach_role_policy(run.physical(policy), role_name)
        for policy_name, statements in (inline or {}).items():
            iam.put_role_policy(role_name, policy_name, json.dumps(statements))
        yield _SETTLING

    def delete(run: Run) -> Work:
        iam = iam_of(run)
        role_name = str(run.resource.physical_id)
        found = next((each for each in iam.get_roles() if each.name == role_name), None)
        if found is not None:
            for arn in list(found.managed_policies):
                iam.detach_role_policy(arn, role_name)
            for policy_name in list(found.policies):
                iam.delete_role_policy(role_name, policy_name)
            iam.delete_role(role_name)
        yield 3.0

    return Part(
        logical_id,
        "AWS::IAM::Role",
        create,
        delete,
        policies,
        {"RoleName": name} if name else {},
        deletion_policy=deletion_policy,
    )


def managed_policy(
    logical_id: str, name: str, statements: list[dict[str, Any]], *, deletion_policy: str = "Delete"
) -> Part:
    """A customer's policy; its physical id is its ARN."""

    def create(run: Run) -> None:
        text = json.dumps({"Version": "2012-10-17", "Statement": statements})
        run.made(iam_of(run).create_policy("", "/", text, name, []).arn)

    def delete(run: Run) -> None:
        iam, arn = iam_of(run), str(run.resource.physical_id)
        if arn in iam.managed_policies:
            for found in iam.get_roles():
                if arn in found.managed_policies:
                    iam.detach_role_policy(arn, found.name)
            iam.delete_policy(arn)

    return Part(
        logical_id,
        "AWS::IAM::ManagedPolicy",
        at_once(create),
        at_once(delete),
        properties={"ManagedPolicyName": name},
        deletion_policy=deletion_policy,
    )
