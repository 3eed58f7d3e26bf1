"""IAM managed policies, instance profiles and OIDC providers.

Sources: terraform-provider-aws ``internal/service/iam/{policy,instance_profile,openid_connect_provider}.go``.
"""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.plugins.aws.calling import Call
from mlcc_rehearsal.plugins.aws.definition import AutoName, Definition, Import
from mlcc_rehearsal.plugins.aws.resources._common import (
    length,
    matches,
    physical_name,
    rfc3339,
    tag_list,
    tag_map,
)
from mlcc_rehearsal.plugins.aws.resources._iam import GONE, document, tagging

#: IAM keeps five versions of a policy; the provider deletes the oldest to make room.
POLICY_VERSIONS = 5


# Managed policies


def _create_policy(call: Call) -> str:
    answer = call.aws(
        "iam",
        "create_policy",
        PolicyName=physical_name(call),
        Path=call.inputs.get("path"),
        Description=call.inputs.get("description") or None,
        PolicyDocument=call.inputs["policy"],
        Tags=tag_list(call.tags),
    )
    return str(answer["Policy"]["Arn"])


def _read_policy(call: Call) -> dict[str, Any] | None:
    answer = call.find("iam", "get_policy", GONE, PolicyArn=call.id)
    if answer is None:
        return None
    policy = answer["Policy"]
    version = call.aws("iam", "get_policy_version", PolicyArn=call.id, VersionId=policy["DefaultVersionId"])
    return {
        "arn": policy["Arn"],
        "attachmentCount": policy.get("AttachmentCount", 0),
        "description": policy.get("Description") or "",
        "name": policy["PolicyName"],
        "namePrefix": "",
        "path": policy["Path"],
        "policy": document(version["PolicyVersion"]["Document"]),
        "policyId": policy["PolicyId"],
        "tags": tag_map(policy.get("Tags")),
    }


def _update_policy(call: Call) -> None:
    if not call.changed("policy"):
        return
    versions = call.pages("iam", "list_policy_versions", "Versions", PolicyArn=call.id)
    if len(versions) >= POLICY_VERSIONS:
        spare = [version for version in versions if not version["IsDefaultVersion"]]
        oldest = min(spare, key=lambda version: (version["CreateDate"], int(version["VersionId"][1:])))
        call.aws("iam", "delete_policy_version", PolicyArn=call.id, VersionId=oldest["VersionId"])
    call.aws(
        "iam", "create_policy_version",
        PolicyArn=call.id, PolicyDocument=call.inputs["policy"], SetAsDefault=True,
    )  # fmt: skip


def _delete_policy(call: Call) -> None:
    versions = call.find("iam", "list_policy_versions", GONE, PolicyArn=call.id)
    for version in versions["Versions"] if versions else ():
        if not version["IsDefaultVersion"]:
            call.aws("iam", "delete_policy_version", PolicyArn=call.id, VersionId=version["VersionId"])
    call.find("iam", "delete_policy", GONE, PolicyArn=call.id)


POLICY = Definition(
    token="aws:iam/policy:Policy",
    label="IAM Policy",
    create=_create_policy,
    read=_read_policy,
    update=_update_policy,
    delete=_delete_policy,
    imports=Import("arn", "arn:aws:iam::123456789012:policy/my-policy"),
    name=AutoName(),
    tagging=tagging("policy", "PolicyArn"),
    replace=frozenset({"name", "namePrefix", "path", "description"}),
    computed=frozenset({"name", "namePrefix"}),
    defaults={"path": "/"},
    unread=frozenset({"delayAfterPolicyCreationInMs"}),
    policies=frozenset({"policy"}),
    validate=length("name", 1, 128),
)


# Instance profiles


def _create_profile(call: Call) -> str:
    answer = call.aws(
        "iam", "create_instance_profile",
        InstanceProfileName=physical_name(call), Path=call.inputs.get("path"), Tags=tag_list(call.tags),
    )  # fmt: skip
    call.id = str(answer["InstanceProfile"]["InstanceProfileName"])
    if call.inputs.get("role"):
        _add_role(call)
    return call.id


def _add_role(call: Call) -> None:
    # "Invalid IAM Instance Profile name" and a missing role are retried: both may be too new.
    call.retry(
        lambda: call.aws(
            "iam", "add_role_to_instance_profile", InstanceProfileName=call.id, RoleName=call.inputs["role"]
        ),
        lambda error: error.aws_code == "InvalidParameterValue",
    )


def _read_profile(call: Call) -> dict[str, Any] | None:
    answer = call.find("iam", "get_instance_profile", GONE, InstanceProfileName=call.id)
    if answer is None:
        return None
    profile = answer["InstanceProfile"]
    roles = profile.get("Roles") or []
    return {
        "arn": profile["Arn"],
        "createDate": rfc3339(profile["CreateDate"]),
        "name": profile["InstanceProfileName"],
        "namePrefix": "",
        "path": profile["Path"],
        "role": roles[0]["RoleName"] if roles else None,
        "tags": tag_map(profile.get("Tags")),
        "uniqueId": profile["InstanceProfileId"],
    }


def _remove_role(call: Call, role: str) -> None:
    call.find("iam", "remove_role_from_instance_profile", GONE, InstanceProfileName=call.id, RoleName=role)


def _update_profile(call: Call) -> None:
    if call.changed("role"):
        if call.state.get("role"):
            _remove_role(call, call.state["role"])
        if call.inputs.get("role"):
            _add_role(call)


def _delete_profile(call: Call) -> None:
    if call.state.get("role"):
        _remove_role(call, call.state["role"])
    call.find("iam", "delete_instance_profile", GONE, InstanceProfileName=call.id)


PROFILE = Definition(
    token="aws:iam/instanceProfile:InstanceProfile",
    label="IAM Instance Profile",
    create=_create_profile,
    read=_read_profile,
    update=_update_profile,
    delete=_delete_profile,
    imports=Import("name", "my-profile"),
    name=AutoName(),
    tagging=tagging("instance_profile", "InstanceProfileName"),
    replace=frozenset({"name", "namePrefix", "path"}),
    computed=frozenset({"name", "namePrefix"}),
    defaults={"path": "/"},
)


# OIDC providers


def _create_provider(call: Call) -> str:
    answer = call.aws(
        "iam",
        "create_open_id_connect_provider",
        Url=call.inputs["url"],
        ClientIDList=call.inputs["clientIdLists"],
        # IAM finds the thumbprint itself when none is given; this API then wants an empty list.
        ThumbprintList=call.inputs.get("thumbprintLists") or [],
        Tags=tag_list(call.tags),
    )
    return str(answer["OpenIDConnectProviderArn"])


def _read_provider(call: Call) -> dict[str, Any] | None:
    found = call.find("iam", "get_open_id_connect_provider", GONE, OpenIDConnectProviderArn=call.id)
    if found is None:
        return None
    return {
        "arn": call.id,
        "clientIdLists": list(found.get("ClientIDList") or []),
        "thumbprintLists": list(found.get("ThumbprintList") or []),
        "url": found["Url"],
        "tags": tag_map(found.get("Tags")),
    }


def _update_provider(call: Call) -> None:
    arn = {"OpenIDConnectProviderArn": call.id}
    if call.changed("thumbprintLists") and call.inputs.get("thumbprintLists"):
        call.aws(
            "iam", "update_open_id_connect_provider_thumbprint",
            **arn, ThumbprintList=call.inputs["thumbprintLists"],
        )  # fmt: skip
    if call.changed("clientIdLists"):
        have, want = set(call.state.get("clientIdLists") or []), set(call.inputs["clientIdLists"])
        for client in sorted(want - have):
            call.aws("iam", "add_client_id_to_open_id_connect_provider", **arn, ClientID=client)
        for client in sorted(have - want):
            call.aws("iam", "remove_client_id_from_open_id_connect_provider", **arn, ClientID=client)


def _same_issuer(left: Any, right: Any) -> bool:
    return str(left).removeprefix("https://") == str(right).removeprefix("https://")


OIDC_PROVIDER = Definition(
    token="aws:iam/openIdConnectProvider:OpenIdConnectProvider",
    label="IAM OIDC Provider",
    create=_create_provider,
    read=_read_provider,
    update=_update_provider,
    delete=lambda call: call.find(
        "iam", "delete_open_id_connect_provider", GONE, OpenIDConnectProviderArn=call.id
    ),
    imports=Import("arn", "arn:aws:iam::123456789012:oidc-provider/oidc.eks.us-west-2.amazonaws.com/id/ABC"),
    tagging=tagging("open_id_connect_provider", "OpenIDConnectProviderArn"),
    replace=frozenset({"url"}),
    computed=frozenset({"thumbprintLists"}),
    ordered=frozenset({"thumbprintLists"}),
    same={"url": _same_issuer},
    validate=matches("url", r"https://.+", '"url": must begin with https:// (got {value})'),
    title=lambda properties: str(properties.get("url")),
)

DEFINITIONS = (POLICY, PROFILE, OIDC_PROVIDER)
