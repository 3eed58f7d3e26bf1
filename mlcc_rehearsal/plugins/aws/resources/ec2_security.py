"""Security groups and their rules.

Sources: terraform-provider-aws ``internal/service/ec2/{vpc_security_group,vpc_security_group_rule}.go``:
the default egress rule is revoked on create; deletion retries DependencyViolation and
InvalidGroup.InUse until its timeout, after removing interfaces that nodes left; with
``revokeRulesOnDelete`` rules are revoked first; a rule's id is a checksum. pulumi-aws
``provider/resource_overrides.go``: the default description, rules deleted before replaced.
"""

from __future__ import annotations

import threading
import zlib
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from mlcc_rehearsal.plugins.aws.calling import AwsError, Call
from mlcc_rehearsal.plugins.aws.definition import MINUTE, AutoName, Definition, Import, Timeouts
from mlcc_rehearsal.plugins.aws.resources._common import (
    checks,
    conflicts,
    length,
    one_of,
    physical_name,
)
from mlcc_rehearsal.plugins.aws.resources._ec2 import (
    TAGGING,
    delete,
    describe,
    lingering_interfaces,
    specifications,
    tags_of,
)
from mlcc_rehearsal.plugins.serving import ProviderError

_PROTOCOLS = {"all": "-1", "6": "tcp", "17": "udp", "1": "icmp", "58": "icmpv6"}
# One writer a group at a time, as the provider has it: EC2 loses concurrent changes.
_LOCKS: dict[str, threading.Lock] = defaultdict(threading.Lock)


def protocol(value: Any) -> str:
    """A protocol as EC2 answers it."""
    text = str(value).lower()
    return _PROTOCOLS.get(text, text)


def group(call: Call, id: str) -> dict[str, Any] | None:
    """A security group as EC2 describes it, or None."""
    return describe(
        call,
        "describe_security_groups",
        "SecurityGroups",
        "InvalidGroup.NotFound",
        "InvalidSecurityGroupID.NotFound",
        GroupIds=[id],
    )


def permission(rule: Mapping[str, Any], group_id: str) -> dict[str, Any]:
    """EC2's form of a rule as programs write it (inline ones and SecurityGroupRule alike)."""
    about = {"Description": rule["description"]} if rule.get("description") else {}
    groups = list(rule.get("securityGroups") or [])
    if rule.get("sourceSecurityGroupId"):
        groups.append(rule["sourceSecurityGroupId"])
    if rule.get("self"):
        groups.append(group_id)
    made: dict[str, Any] = {
        "IpProtocol": protocol(rule["protocol"]),
        "IpRanges": [{"CidrIp": cidr, **about} for cidr in rule.get("cidrBlocks") or []],
        "Ipv6Ranges": [{"CidrIpv6": cidr, **about} for cidr in rule.get("ipv6CidrBlocks") or []],
        "PrefixListIds": [{"PrefixListId": prefix, **about} for prefix in rule.get("prefixListIds") or []],
        "UserIdGroupPairs": [{"GroupId": item.split("/")[-1], **about} for item in groups],
    }
    if made["IpProtocol"] != "-1":
        made |= {"FromPort": int(rule["fromPort"]), "ToPort": int(rule["toPort"])}
    return {key: value for key, value in made.items() if value != []}


# Groups


def _create_group(call: Call) -> str:
    answer = call.aws(
        "ec2",
        "create_security_group",
        GroupName=physical_name(call),
        Description=call.inputs["description"],
        VpcId=call.inputs.get("vpcId"),
        TagSpecifications=specifications(call, "security-group"),
    )
    call.id = str(answer["GroupId"])
    call.wait(lambda: (group(call, call.id), "exists"), target=("exists",))
    _revoke(call, "egress", {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]})
    for kind in ("ingress", "egress"):
        for rule in call.inputs.get(kind) or []:
            _authorize(call, kind, permission(rule, call.id))
    return call.id


def _authorize(call: Call, kind: str, rule: dict[str, Any], group_id: str = "") -> dict[str, Any]:
    return call.aws(
        "ec2", f"authorize_security_group_{kind}", GroupId=group_id or call.id, IpPermissions=[rule]
    )


def _revoke(call: Call, kind: str, rule: dict[str, Any], group_id: str = "") -> None:
    call.find(
        "ec2",
        f"revoke_security_group_{kind}",
        "InvalidPermission.NotFound",
        "InvalidGroup.NotFound",
        GroupId=group_id or call.id,
        IpPermissions=[rule],
    )


def _flat(rule: Mapping[str, Any], group_id: str) -> list[dict[str, Any]]:
    """A rule of EC2 as the provider's rule blocks: one a description."""
    blocks: dict[str, dict[str, Any]] = {}

    def block(source: Mapping[str, Any]) -> dict[str, Any]:
        about = str(source.get("Description") or "")
        if about not in blocks:
            blocks[about] = {
                "cidrBlocks": [],
                "description": about,
                "fromPort": int(rule.get("FromPort", 0)),
                "ipv6CidrBlocks": [],
                "prefixListIds": [],
                "protocol": protocol(rule["IpProtocol"]),
                "securityGroups": [],
                "self": False,
                "toPort": int(rule.get("ToPort", 0)),
            }
        return blocks[about]

    for source in rule.get("IpRanges") or []:
        block(source)["cidrBlocks"].append(source["CidrIp"])
    for source in rule.get("Ipv6Ranges") or []:
        block(source)["ipv6CidrBlocks"].append(source["CidrIpv6"])
    for source in rule.get("PrefixListIds") or []:
        block(source)["prefixListIds"].append(source["PrefixListId"])
    for source in rule.get("UserIdGroupPairs") or []:
        if source["GroupId"] == group_id:
            block(source)["self"] = True
        else:
            block(source)["securityGroups"].append(source["GroupId"])
    return list(blocks.values())


def _read_group(call: Call) -> dict[str, Any] | None:
    found = group(call, call.id)
    if found is None:
        return None
    return {
        "arn": call.arn("ec2", f"security-group/{call.id}"),
        "description": found["Description"],
        "egress": [b for rule in found.get("IpPermissionsEgress") or [] for b in _flat(rule, call.id)],
        "ingress": [b for rule in found.get("IpPermissions") or [] for b in _flat(rule, call.id)],
        "name": found["GroupName"],
        "namePrefix": "",
        "ownerId": found.get("OwnerId") or call.account_id,
        "tags": tags_of(found),
        "vpcId": found.get("VpcId"),
    }


def _update_group(call: Call) -> None:
    with _LOCKS[call.id]:
        for kind in ("ingress", "egress"):
            if not call.changed(kind):
                continue
            have = [permission(rule, call.id) for rule in call.state.get(kind) or []]
            want = [permission(rule, call.id) for rule in call.inputs.get(kind) or []]
            for rule in have:
                if rule not in want:
                    _revoke(call, kind, rule)
            for rule in want:
                if rule not in have:
                    _authorize(call, kind, rule)


def _revoke_all(call: Call) -> None:
    """The group's own rules, and those of other groups that name it."""
    groups = call.pages("ec2", "describe_security_groups", "SecurityGroups")
    for other in groups:
        for kind, key in (("ingress", "IpPermissions"), ("egress", "IpPermissionsEgress")):
            for rule in other.get(key) or []:
                pairs = rule.get("UserIdGroupPairs") or []
                if other["GroupId"] == call.id or any(pair["GroupId"] == call.id for pair in pairs):
                    mine = rule if other["GroupId"] == call.id else _only(rule, call.id)
                    _revoke(call, kind, mine, other["GroupId"])


def _only(rule: Mapping[str, Any], group_id: str) -> dict[str, Any]:
    kept = {key: rule[key] for key in ("IpProtocol", "FromPort", "ToPort") if key in rule}
    return {**kept, "UserIdGroupPairs": [{"GroupId": group_id}]}


def _delete_group(call: Call) -> None:
    lingering_interfaces(call, "group-id")
    if call.state.get("revokeRulesOnDelete"):
        _revoke_all(call)
    delete(
        call,
        lambda: call.aws("ec2", "delete_security_group", GroupId=call.id),
        "InvalidGroup.NotFound",
        "InvalidGroup.InUse",
    )


GROUP = Definition(
    token="aws:ec2/securityGroup:SecurityGroup",
    label="Security Group",
    create=_create_group,
    read=_read_group,
    update=_update_group,
    delete=_delete_group,
    imports=Import("sg-id", "sg-0abc"),
    name=AutoName(),
    tagging=TAGGING,
    replace=frozenset({"description", "name", "namePrefix", "vpcId"}),
    computed=frozenset({"egress", "ingress", "name", "namePrefix", "vpcId"}),
    defaults={"description": "Managed by Pulumi", "revokeRulesOnDelete": False},
    unread=frozenset({"revokeRulesOnDelete"}),
    ordered=frozenset(
        f"{kind}.{name}"
        for kind in ("ingress", "egress")
        for name in ("cidrBlocks", "ipv6CidrBlocks", "prefixListIds")
    ),
    timeouts=Timeouts(create=10 * MINUTE, delete=15 * MINUTE),
    validate=checks(length("name", 0, 255), length("description", 0, 255), conflicts("name", "namePrefix")),
)

# Rules


def rule_id(group_id: str, kind: str, rule: Mapping[str, Any]) -> str:
    """The provider's id for a rule: a checksum of what it says."""
    sources = [
        *sorted(item["CidrIp"] for item in rule.get("IpRanges") or []),
        *sorted(item["CidrIpv6"] for item in rule.get("Ipv6Ranges") or []),
        *sorted(item["PrefixListId"] for item in rule.get("PrefixListIds") or []),
        *sorted(item["GroupId"] for item in rule.get("UserIdGroupPairs") or []),
    ]
    ports = [str(rule.get("FromPort", 0)), str(rule.get("ToPort", 0))]
    text = "-".join([group_id, *ports, rule["IpProtocol"], kind, *sources])
    return f"sgrule-{zlib.crc32(text.encode())}"


def _create_rule(call: Call) -> str:
    given = call.inputs
    group_id, kind = given["securityGroupId"], given["type"]
    rule = permission(given, group_id)
    with _LOCKS[group_id]:
        try:
            answer = _authorize(call, kind, rule, group_id)
        except AwsError as error:
            if error.aws_code == "InvalidPermission.Duplicate":
                raise ProviderError(
                    f"[WARN] A duplicate Security Group rule was found on ({group_id}). "
                    f"Error: {error.message}"
                ) from error
            raise
    made = answer.get("SecurityGroupRules") or []
    if len(made) == 1:
        call.inputs["securityGroupRuleId"] = made[0].get("SecurityGroupRuleId")
    return rule_id(group_id, kind, rule)


def _sources(rule: Mapping[str, Any]) -> set[str]:
    names = ("IpRanges", "CidrIp"), ("Ipv6Ranges", "CidrIpv6"), ("PrefixListIds", "PrefixListId")
    found = {item[key] for name, key in names for item in rule.get(name) or []}
    return found | {item["GroupId"] for item in rule.get("UserIdGroupPairs") or []}


def _find_rule(found: Mapping[str, Any], kind: str, wanted: Mapping[str, Any]) -> dict[str, Any] | None:
    for rule in found.get("IpPermissions" if kind == "ingress" else "IpPermissionsEgress") or []:
        same_ports = wanted["IpProtocol"] == "-1" or all(
            rule.get(port) == wanted.get(port) for port in ("FromPort", "ToPort")
        )
        same_protocol = protocol(rule["IpProtocol"]) == wanted["IpProtocol"]
        if same_protocol and same_ports and _sources(wanted) <= _sources(rule):
            return dict(rule)
    return None


def _description(rule: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    for name in ("IpRanges", "Ipv6Ranges", "PrefixListIds", "UserIdGroupPairs"):
        for item in rule.get(name) or []:
            if _sources({name: [item]}) & _sources(wanted):
                return str(item.get("Description") or "")
    return ""


def _read_rule(call: Call) -> dict[str, Any] | None:
    known = call.state if call.state.get("securityGroupId") else call.inputs
    group_id, kind = known["securityGroupId"], known["type"]
    found = group(call, group_id)
    if found is None:
        return None
    wanted = permission({**known, "description": None}, group_id)
    rule = _find_rule(found, kind, wanted)
    if rule is None:
        return None
    if not call.id.startswith("sgrule-"):
        call.id = rule_id(group_id, kind, wanted)
    return {
        "cidrBlocks": known.get("cidrBlocks") or [],
        "description": _description(rule, wanted),
        "fromPort": int(rule.get("FromPort", known["fromPort"])),
        "ipv6CidrBlocks": known.get("ipv6CidrBlocks") or [],
        "prefixListIds": known.get("prefixListIds") or [],
        "protocol": protocol(rule["IpProtocol"]),
        "securityGroupId": group_id,
        "securityGroupRuleId": known.get("securityGroupRuleId") or call.inputs.get("securityGroupRuleId"),
        "self": bool(known.get("self")),
        "sourceSecurityGroupId": known.get("sourceSecurityGroupId"),
        "toPort": int(rule.get("ToPort", known["toPort"])),
        "type": kind,
    }


def _update_rule(call: Call) -> None:
    if call.changed("description"):
        group_id, kind = call.inputs["securityGroupId"], call.inputs["type"]
        call.aws(
            "ec2",
            f"update_security_group_rule_descriptions_{kind}",
            GroupId=group_id,
            IpPermissions=[permission(call.inputs, group_id)],
        )


def _delete_rule(call: Call) -> None:
    group_id = call.state["securityGroupId"]
    with _LOCKS[group_id]:
        rule = permission({**call.state, "description": None}, group_id)
        _revoke(call, call.state["type"], rule, group_id)


def _parse_rule(text: str) -> tuple[str, dict[str, Any]]:
    def wrong(why: str) -> ValueError:
        form = "SECURITYGROUPID_TYPE_PROTOCOL_FROMPORT_TOPORT_SOURCE[_SOURCE]*"
        return ValueError(f'unexpected format for ID ("{text}"), expected {form}: {why}')

    found = text.split("_")
    if len(found) < 6:
        raise wrong("too few parts")
    group_id, kind, name, low, high, *sources = found
    if not group_id.startswith("sg-"):
        raise wrong("invalid Security Group ID")
    if kind not in ("ingress", "egress"):
        raise wrong("expecting 'ingress' or 'egress'")
    if not low.lstrip("-").isdigit() or not high.lstrip("-").isdigit():
        raise wrong("invalid from_port or to_port")
    known: dict[str, Any] = {
        "securityGroupId": group_id,
        "type": kind,
        "protocol": protocol(name),
        "fromPort": int(low),
        "toPort": int(high),
        "self": False,
        "cidrBlocks": [],
        "ipv6CidrBlocks": [],
        "prefixListIds": [],
    }
    for source in sources:
        if source == "self":
            known["self"] = True
        elif source.startswith("sg-"):
            known["sourceSecurityGroupId"] = source
        elif ":" in source:
            known["ipv6CidrBlocks"].append(source)
        elif source.startswith("pl-"):
            known["prefixListIds"].append(source)
        else:
            known["cidrBlocks"].append(source)
    return text, known


def _some_source(inputs: Mapping[str, Any]) -> list[tuple[str, str]]:
    names = ("cidrBlocks", "ipv6CidrBlocks", "prefixListIds", "self", "sourceSecurityGroupId")
    if any(inputs.get(name) for name in names):
        return []
    choice = "cidr_blocks,ipv6_cidr_blocks,prefix_list_ids,self,source_security_group_id"
    text = f'Missing required argument. "cidr_blocks": one of `{choice}` must be specified'
    return [("cidrBlocks", text)]


RULE = Definition(
    token="aws:ec2/securityGroupRule:SecurityGroupRule",
    label="Security Group Rule",
    create=_create_rule,
    read=_read_rule,
    update=_update_rule,
    delete=_delete_rule,
    imports=Import(
        "SECURITYGROUPID_TYPE_PROTOCOL_FROMPORT_TOPORT_SOURCE[_SOURCE]*",
        "sg-0abc_ingress_tcp_443_443_10.0.0.0/16",
        _parse_rule,
    ),
    replace=frozenset(
        {
            "cidrBlocks",
            "fromPort",
            "ipv6CidrBlocks",
            "prefixListIds",
            "protocol",
            "securityGroupId",
            "self",
            "sourceSecurityGroupId",
            "toPort",
            "type",
        }
    ),
    computed=frozenset({"sourceSecurityGroupId"}),
    defaults={"self": False},
    ordered=frozenset({"cidrBlocks", "ipv6CidrBlocks", "prefixListIds"}),
    same={"protocol": lambda old, new: protocol(old) == protocol(new)},
    timeouts=Timeouts(create=5 * MINUTE),
    delete_before_replace=True,
    title=lambda properties: str(properties.get("securityGroupId")),
    validate=checks(
        one_of("type", "ingress", "egress"),
        conflicts("cidrBlocks", "sourceSecurityGroupId"),
        conflicts("cidrBlocks", "self"),
        conflicts("sourceSecurityGroupId", "self"),
        _some_source,
    ),
)

DEFINITIONS = (GROUP, RULE)
