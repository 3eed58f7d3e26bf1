"""IAM roles, their inline policies and attachments.

Sources: terraform-provider-aws ``internal/service/iam/{role,role_policy,role_policy_attachment}.go``;
pulumi-aws ``provider/resource_overrides.go`` (role names of 64 characters, attachments deleted
before they are replaced).
"""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.plugins.aws.calling import AwsError, Call
from mlcc_rehearsal.plugins.aws.definition import AutoName, Definition, Import
from mlcc_rehearsal.plugins.aws.resources._common import (
    checks,
    compound,
    conflicts,
    length,
    matches,
    physical_name,
    rfc3339,
    tag_list,
    tag_map,
)
from mlcc_rehearsal.plugins.aws.resources._iam import GONE, document, propagated, settled, tagging

# Roles


def _create_role(call: Call) -> str:
    given = call.inputs
    answer = propagated(
        call,
        lambda: call.aws(
            "iam",
            "create_role",
            RoleName=physical_name(call),
            AssumeRolePolicyDocument=given["assumeRolePolicy"],
            Path=given.get("path"),
            Description=given.get("description") or None,
            MaxSessionDuration=given.get("maxSessionDuration"),
            PermissionsBoundary=given.get("permissionsBoundary") or None,
            Tags=tag_list(call.tags),
        ),
    )
    call.id = str(answer["Role"]["RoleName"])
    for policy in given.get("inlinePolicies") or []:
        _put_inline(call, policy)
    for arn in given.get("managedPolicyArns") or []:
        call.aws("iam", "attach_role_policy", RoleName=call.id, PolicyArn=arn)
    return call.id


def _put_inline(call: Call, policy: dict[str, Any]) -> None:
    if policy.get("policy"):
        call.aws(
            "iam", "put_role_policy",
            RoleName=call.id, PolicyName=policy["name"], PolicyDocument=policy["policy"],
        )  # fmt: skip


def attached(call: Call, role: str) -> list[str]:
    """ARNs of the policies attached to a role."""
    found = call.pages("iam", "list_attached_role_policies", "AttachedPolicies", RoleName=role)
    return [str(policy["PolicyArn"]) for policy in found]


def _inline(call: Call, role: str) -> list[dict[str, str]]:
    policies = []
    for name in call.pages("iam", "list_role_policies", "PolicyNames", RoleName=role):
        found = call.aws("iam", "get_role_policy", RoleName=role, PolicyName=name)
        policies.append({"name": str(name), "policy": document(found["PolicyDocument"])})
    return policies


def _read_role(call: Call) -> dict[str, Any] | None:
    answer = call.find("iam", "get_role", GONE, RoleName=call.id)
    if answer is None:
        return None
    role = answer["Role"]
    boundary = role.get("PermissionsBoundary") or {}
    return {
        "arn": role["Arn"],
        "assumeRolePolicy": document(role["AssumeRolePolicyDocument"]),
        "createDate": rfc3339(role["CreateDate"]),
        "description": role.get("Description") or "",
        "inlinePolicies": _inline(call, call.id),
        "managedPolicyArns": attached(call, call.id),
        "maxSessionDuration": role.get("MaxSessionDuration", 3600),
        "name": role["RoleName"],
        "namePrefix": "",
        "path": role["Path"],
        "permissionsBoundary": boundary.get("PermissionsBoundaryArn"),
        "tags": tag_map(role.get("Tags")),
        "uniqueId": role["RoleId"],
    }


def _update_role(call: Call) -> None:
    given = call.inputs
    if call.changed("assumeRolePolicy"):
        propagated(
            call,
            lambda: call.aws(
                "iam", "update_assume_role_policy", RoleName=call.id, PolicyDocument=given["assumeRolePolicy"]
            ),
        )
    if call.changed("description"):
        call.aws(
            "iam", "update_role_description", RoleName=call.id, Description=given.get("description") or ""
        )
    if call.changed("maxSessionDuration"):
        call.aws("iam", "update_role", RoleName=call.id, MaxSessionDuration=given["maxSessionDuration"])
    if call.changed("permissionsBoundary"):
        if given.get("permissionsBoundary"):
            call.aws(
                "iam", "put_role_permissions_boundary",
                RoleName=call.id, PermissionsBoundary=given["permissionsBoundary"],
            )  # fmt: skip
        else:
            call.aws("iam", "delete_role_permissions_boundary", RoleName=call.id)
    if call.changed("inlinePolicies"):
        _update_inline(call)
    if call.changed("managedPolicyArns"):
        have, want = set(call.state.get("managedPolicyArns") or []), set(given.get("managedPolicyArns") or [])
        for arn in sorted(have - want):
            call.find("iam", "detach_role_policy", GONE, RoleName=call.id, PolicyArn=arn)
        for arn in sorted(want - have):
            call.aws("iam", "attach_role_policy", RoleName=call.id, PolicyArn=arn)


def _update_inline(call: Call) -> None:
    want = {
        policy["name"]: policy for policy in call.inputs.get("inlinePolicies") or [] if policy.get("policy")
    }
    for policy in call.state.get("inlinePolicies") or []:
        if policy["name"] not in want:
            call.find("iam", "delete_role_policy", GONE, RoleName=call.id, PolicyName=policy["name"])
    for policy in want.values():
        _put_inline(call, policy)


def _delete_role(call: Call) -> None:
    profiles = call.find("iam", "list_instance_profiles_for_role", GONE, RoleName=call.id)
    if profiles is None:
        return
    for profile in profiles["InstanceProfiles"]:
        call.find(
            "iam", "remove_role_from_instance_profile", GONE,
            RoleName=call.id, InstanceProfileName=profile["InstanceProfileName"],
        )  # fmt: skip
    # When its state knows of any, the provider takes off all that are there (a refresh makes it know);
    # what was attached since the last refresh is DeleteConflict unless forceDetachPolicies is set.
    force = bool(call.state.get("forceDetachPolicies"))
    if force or call.state.get("managedPolicyArns"):
        for arn in attached(call, call.id):
            call.find("iam", "detach_role_policy", GONE, RoleName=call.id, PolicyArn=arn)
    if force or call.state.get("inlinePolicies"):
        for policy in _inline(call, call.id):
            call.find("iam", "delete_role_policy", GONE, RoleName=call.id, PolicyName=policy["name"])
    settled(call, lambda: call.find("iam", "delete_role", GONE, RoleName=call.id))


ROLE = Definition(
    token="aws:iam/role:Role",
    label="IAM Role",
    create=_create_role,
    read=_read_role,
    update=_update_role,
    delete=_delete_role,
    imports=Import("role-name", "my-role"),
    name=AutoName(limit=64),
    tagging=tagging("role", "RoleName"),
    replace=frozenset({"name", "namePrefix", "path"}),
    computed=frozenset({"name", "namePrefix", "inlinePolicies", "managedPolicyArns"}),
    defaults={"forceDetachPolicies": False, "maxSessionDuration": 3600, "path": "/"},
    unread=frozenset({"forceDetachPolicies"}),
    policies=frozenset({"assumeRolePolicy", "inlinePolicies.policy"}),
    validate=checks(
        length("name", 1, 64),
        matches(
            "name", r"[0-9A-Za-z_+=,.@-]*",
            'invalid value for name (must match [\\w+=,.@-]): "{value}"',
        ),
        length("description", 0, 1000),
        conflicts("name", "namePrefix"),
    ),
)  # fmt: skip


# Inline policies


def _put_role_policy(call: Call) -> str:
    name = physical_name(call)
    call.aws(
        "iam", "put_role_policy",
        RoleName=call.inputs["role"], PolicyName=name, PolicyDocument=call.inputs["policy"],
    )  # fmt: skip
    return f"{call.inputs['role']}:{name}"


def _read_role_policy(call: Call) -> dict[str, Any] | None:
    role, _, name = call.id.partition(":")
    found = call.find("iam", "get_role_policy", GONE, RoleName=role, PolicyName=name)
    if found is None:
        return None
    return {"name": name, "namePrefix": "", "policy": document(found["PolicyDocument"]), "role": role}


def _delete_role_policy(call: Call) -> None:
    role, _, name = call.id.partition(":")
    call.find("iam", "delete_role_policy", GONE, RoleName=role, PolicyName=name)


ROLE_POLICY = Definition(
    token="aws:iam/rolePolicy:RolePolicy",
    label="IAM Role Policy",
    create=_put_role_policy,
    read=_read_role_policy,
    update=_put_role_policy,
    delete=_delete_role_policy,
    imports=compound("role:policy", "my-role:my-policy", ":", "role", "name"),
    name=AutoName(),
    replace=frozenset({"name", "namePrefix", "role"}),
    computed=frozenset({"name", "namePrefix"}),
    policies=frozenset({"policy"}),
)


# Attachments


def _attach(call: Call) -> str:
    role, arn = call.inputs["role"], call.inputs["policyArn"]
    call.aws("iam", "attach_role_policy", RoleName=role, PolicyArn=arn)
    return f"{role}/{arn}"


def _read_attachment(call: Call) -> dict[str, Any] | None:
    role, _, arn = call.id.partition("/")
    try:
        found = attached(call, role)
    except AwsError as error:
        if error.aws_code == GONE:
            return None
        raise
    return {"role": role, "policyArn": arn} if arn in found else None


def _detach(call: Call) -> None:
    role, _, arn = call.id.partition("/")
    call.find("iam", "detach_role_policy", GONE, RoleName=role, PolicyArn=arn)


ATTACHMENT = Definition(
    token="aws:iam/rolePolicyAttachment:RolePolicyAttachment",
    label="IAM Role Policy Attachment",
    create=_attach,
    read=_read_attachment,
    delete=_detach,
    imports=compound(
        "<role-name>/<policy_arn>", "my-role/arn:aws:iam::aws:policy/ReadOnlyAccess", "/", "role", "policyArn"
    ),
    replace=frozenset({"role", "policyArn"}),
    delete_before_replace=True,
    title=lambda properties: f"{properties.get('role')}:{properties.get('policyArn')}",
)

DEFINITIONS = (ROLE, ROLE_POLICY, ATTACHMENT)
