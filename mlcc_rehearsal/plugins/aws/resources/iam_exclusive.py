"""Full lists of a role's policies: what is not on them is taken off.

Sources: terraform-provider-aws ``internal/service/iam/role_{policies,policy_attachments}_exclusive.go``
and the documentation of both types: creating and updating bring the role to the list, deleting ends the
ownership and changes nothing; imported by the role's name, which is the id in pulumi-aws.
"""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.plugins.aws.calling import AwsError, Call
from mlcc_rehearsal.plugins.aws.definition import Definition, Import
from mlcc_rehearsal.plugins.aws.resources._iam import GONE
from mlcc_rehearsal.plugins.aws.resources.iam_roles import attached


def _sync_attachments(call: Call) -> str:
    role, want = str(call.inputs["roleName"]), set(call.inputs["policyArns"])
    have = set(attached(call, role))
    for arn in sorted(want - have):
        call.aws("iam", "attach_role_policy", RoleName=role, PolicyArn=arn)
    for arn in sorted(have - want):
        call.find("iam", "detach_role_policy", GONE, RoleName=role, PolicyArn=arn)
    return role


def _read_attachments(call: Call) -> dict[str, Any] | None:
    try:
        return {"roleName": call.id, "policyArns": attached(call, call.id)}
    except AwsError as error:
        if error.aws_code == GONE:
            return None
        raise


def _inline_names(call: Call, role: str) -> list[str]:
    return [str(name) for name in call.pages("iam", "list_role_policies", "PolicyNames", RoleName=role)]


def _sync_inline(call: Call) -> str:
    role, want = str(call.inputs["roleName"]), set(call.inputs["policyNames"])
    # A name that is not there cannot be made from a name alone; the provider leaves that to others.
    for name in sorted(set(_inline_names(call, role)) - want):
        call.find("iam", "delete_role_policy", GONE, RoleName=role, PolicyName=name)
    return role


def _read_inline(call: Call) -> dict[str, Any] | None:
    try:
        return {"roleName": call.id, "policyNames": _inline_names(call, call.id)}
    except AwsError as error:
        if error.aws_code == GONE:
            return None
        raise


ATTACHMENTS = Definition(
    token="aws:iam/rolePolicyAttachmentsExclusive:RolePolicyAttachmentsExclusive",
    label="IAM Role Policy Attachments Exclusive",
    create=_sync_attachments,
    read=_read_attachments,
    update=_sync_attachments,
    delete=lambda _: None,
    imports=Import("role name", "my-role", lambda text: (text, {"roleName": text})),
    replace=frozenset({"roleName"}),
    title=lambda properties: str(properties.get("roleName")),
)

INLINE = Definition(
    token="aws:iam/rolePoliciesExclusive:RolePoliciesExclusive",
    label="IAM Role Policies Exclusive",
    create=_sync_inline,
    read=_read_inline,
    update=_sync_inline,
    delete=lambda _: None,
    imports=Import("role name", "my-role", lambda text: (text, {"roleName": text})),
    replace=frozenset({"roleName"}),
    title=lambda properties: str(properties.get("roleName")),
)

DEFINITIONS = (ATTACHMENTS, INLINE)
