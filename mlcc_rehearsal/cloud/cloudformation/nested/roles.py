"""IAM roles that templates make."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from moto.iam.models import iam_backends

from mlcc_rehearsal.cloud.cloudformation.parts import Part, Run
from mlcc_rehearsal.cloud.cloudformation.stacks import generated_name
from mlcc_rehearsal.cloud.cloudformation.tasks import Work

# CloudFormation waits for a new role to be usable. Source: commonly seen 15 to 20 seconds for a role.
_SETTLING = 17.0


def _iam(run: Run) -> Any:
    return iam_backends[run.account.account_id][run.account.partition]


def trust(service: str) -> dict[str, Any]:
    """A trust policy for one service."""
    return {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}],
    }


def role(
    logical_id: str,
    service: str,
    *,
    name: str | None = None,
    managed: Iterable[str] = (),
    inline: Mapping[str, Any] | None = None,
    tags: Mapping[str, str] | None = None,
) -> Part:
    """A role that ``service`` assumes.

    :param name: its name; generated when None.
    :param managed: names of AWS's policies, with their path.
    """

    def create(run: Run) -> Work:
        iam = _iam(run)
        role_name = name or generated_name(run.stack, logical_id)
        all_tags = [{"Key": k, "Value": v} for k, v in {**run.stack.tags, **(tags or {})}.items()]
        made = iam.create_role(role_name, json.dumps(trust(service)), "/", None, "", all_tags, "3600")
        run.made(role_name, Arn=made.arn)
        for policy in managed:
            iam.attach_role_policy(f"arn:{run.account.partition}:iam::aws:policy/{policy}", role_name)
        for policy_name, document in (inline or {}).items():
            iam.put_role_policy(role_name, policy_name, json.dumps(document))
        yield _SETTLING

    def delete(run: Run) -> Work:
        iam = _iam(run)
        role_name = str(run.resource.physical_id)
        found = next((each for each in iam.get_roles() if each.name == role_name), None)
        if found is not None:
            for arn in list(found.managed_policies):
                iam.detach_role_policy(arn, role_name)
            for policy_name in list(found.policies):
                iam.delete_role_policy(role_name, policy_name)
            iam.delete_role(role_name)
        yield 3.0

    return Part(logical_id, "AWS::IAM::Role", create, delete, properties={"RoleName": name} if name else {})
