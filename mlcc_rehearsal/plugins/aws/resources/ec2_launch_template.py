"""EC2 launch templates: a new version for each change.

Source: terraform-provider-aws ``internal/service/ec2/ec2_launch_template.go``. The blocks that EKS
node groups use are modelled; another one is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlcc_rehearsal.plugins.aws.calling import Call
from mlcc_rehearsal.plugins.aws.definition import RESOURCES_FOLDER, AutoName, Definition, Import
from mlcc_rehearsal.plugins.aws.resources._common import (
    checks,
    conflicts,
    length,
    physical_name,
    pruned,
    tag_list,
    tag_map,
)
from mlcc_rehearsal.plugins.aws.resources._ec2 import TAGGING, describe, specifications, tags_of

_PLAIN = {
    "disableApiStop": "DisableApiStop",
    "disableApiTermination": "DisableApiTermination",
    "imageId": "ImageId",
    "instanceInitiatedShutdownBehavior": "InstanceInitiatedShutdownBehavior",
    "instanceType": "InstanceType",
    "kernelId": "KernelId",
    "keyName": "KeyName",
    "ramDiskId": "RamDiskId",
    "userData": "UserData",
    "vpcSecurityGroupIds": "SecurityGroupIds",
    "securityGroupNames": "SecurityGroups",
}
_BLOCKS = {
    "metadataOptions": (
        "MetadataOptions",
        {
            "httpEndpoint": "HttpEndpoint",
            "httpTokens": "HttpTokens",
            "httpPutResponseHopLimit": "HttpPutResponseHopLimit",
            "httpProtocolIpv6": "HttpProtocolIpv6",
            "instanceMetadataTags": "InstanceMetadataTags",
        },
    ),
    "iamInstanceProfile": ("IamInstanceProfile", {"arn": "Arn", "name": "Name"}),
    "monitoring": ("Monitoring", {"enabled": "Enabled"}),
    "placement": (
        "Placement",
        {"availabilityZone": "AvailabilityZone", "groupName": "GroupName", "tenancy": "Tenancy"},
    ),
}
_EBS = {
    "deleteOnTermination": "DeleteOnTermination",
    "encrypted": "Encrypted",
    "iops": "Iops",
    "kmsKeyId": "KmsKeyId",
    "snapshotId": "SnapshotId",
    "throughput": "Throughput",
    "volumeSize": "VolumeSize",
    "volumeType": "VolumeType",
}
_NULLABLE = ("deleteOnTermination", "encrypted")
_OUTSIDE = {"defaultVersion", "description", "name", "namePrefix", "region", "tags", "updateDefaultVersion"}
_INSIDE = {*_PLAIN, *_BLOCKS, "blockDeviceMappings", "ebsOptimized", "tagSpecifications"}


def _boolean(value: Any) -> bool | None:
    # The provider writes booleans that may be absent as texts.
    return None if value in (None, "") else value in (True, "true")


def _data(given: Mapping[str, Any]) -> dict[str, Any]:
    data: dict[str, Any] = {parameter: given.get(name) or None for name, parameter in _PLAIN.items()}
    for name, (parameter, fields) in _BLOCKS.items():
        if given.get(name):
            data[parameter] = pruned({p: given[name].get(n) for n, p in fields.items()})
    data["EbsOptimized"] = _boolean(given.get("ebsOptimized"))
    data["BlockDeviceMappings"] = [
        pruned(
            {
                "DeviceName": item.get("deviceName"),
                "NoDevice": item.get("noDevice"),
                "VirtualName": item.get("virtualName"),
                "Ebs": _ebs(item["ebs"]) if item.get("ebs") else None,
            }
        )
        for item in given.get("blockDeviceMappings") or []
    ] or None
    data["TagSpecifications"] = [
        {"ResourceType": item["resourceType"], "Tags": tag_list(item.get("tags") or {}) or []}
        for item in given.get("tagSpecifications") or []
    ] or None
    return pruned(data)


def _ebs(block: Mapping[str, Any]) -> dict[str, Any]:
    return pruned(
        {p: _boolean(block.get(n)) if n in _NULLABLE else block.get(n) or None for n, p in _EBS.items()}
    )


def _flat_ebs(block: Mapping[str, Any]) -> dict[str, Any]:
    flat = {n: block.get(p) for n, p in _EBS.items()}
    for name in _NULLABLE:
        flat[name] = "" if flat[name] is None else str(bool(flat[name])).lower()
    return pruned(flat)


def _flat(data: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {name: data.get(parameter) for name, parameter in _PLAIN.items()}
    for name, (parameter, fields) in _BLOCKS.items():
        if data.get(parameter):
            flat[name] = pruned({n: data[parameter].get(p) for n, p in fields.items()})
    optimized = data.get("EbsOptimized")
    flat["ebsOptimized"] = "" if optimized is None else str(bool(optimized)).lower()
    flat["blockDeviceMappings"] = [
        pruned(
            {
                "deviceName": item.get("DeviceName"),
                "noDevice": item.get("NoDevice"),
                "virtualName": item.get("VirtualName"),
                "ebs": _flat_ebs(item["Ebs"]) if item.get("Ebs") else None,
            }
        )
        for item in data.get("BlockDeviceMappings") or []
    ]
    flat["tagSpecifications"] = [
        {"resourceType": item.get("ResourceType"), "tags": tag_map(item.get("Tags"))}
        for item in data.get("TagSpecifications") or []
        if item.get("ResourceType") != "launch-template"
    ]
    return flat


def _create(call: Call) -> str:
    answer = call.aws(
        "ec2",
        "create_launch_template",
        LaunchTemplateName=physical_name(call),
        VersionDescription=call.inputs.get("description") or None,
        LaunchTemplateData=_data(call.inputs),
        TagSpecifications=specifications(call, "launch-template"),
    )
    return str(answer["LaunchTemplate"]["LaunchTemplateId"])


def _read(call: Call) -> dict[str, Any] | None:
    missing = ("InvalidLaunchTemplateId.NotFound", "InvalidLaunchTemplateId.Malformed")
    template = describe(
        call, "describe_launch_templates", "LaunchTemplates", *missing, LaunchTemplateIds=[call.id]
    )
    if template is None:
        return None
    latest = str(template["LatestVersionNumber"])
    version = describe(
        call,
        "describe_launch_template_versions",
        "LaunchTemplateVersions",
        *missing,
        LaunchTemplateId=call.id,
        Versions=[latest],
    )
    if version is None:
        return None
    return {
        **_flat(version.get("LaunchTemplateData") or {}),
        "arn": call.arn("ec2", f"launch-template/{call.id}"),
        "defaultVersion": template["DefaultVersionNumber"],
        "description": version.get("VersionDescription") or "",
        "latestVersion": template["LatestVersionNumber"],
        "name": template["LaunchTemplateName"],
        "namePrefix": "",
        "tags": tags_of(template),
    }


def _update(call: Call) -> None:
    made = None
    if call.changed("description", *_INSIDE):
        answer = call.aws(
            "ec2",
            "create_launch_template_version",
            LaunchTemplateId=call.id,
            VersionDescription=call.inputs.get("description") or None,
            LaunchTemplateData=_data(call.inputs),
        )
        made = answer["LaunchTemplateVersion"]["VersionNumber"]
    default = made if call.inputs.get("updateDefaultVersion") else None
    if call.changed("defaultVersion") and call.inputs.get("defaultVersion"):
        default = call.inputs["defaultVersion"]
    if default:
        call.aws("ec2", "modify_launch_template", LaunchTemplateId=call.id, DefaultVersion=str(default))


def _unmodelled(inputs: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (name, f"the stand-in does not model {name} of launch templates yet: add it in {RESOURCES_FOLDER}")
        for name in inputs
        if name not in _OUTSIDE | _INSIDE | {"tagsAll", "__defaults"}
    ]


TEMPLATE = Definition(
    token="aws:ec2/launchTemplate:LaunchTemplate",
    label="EC2 Launch Template",
    create=_create,
    read=_read,
    update=_update,
    delete=lambda call: call.find(
        "ec2",
        "delete_launch_template",
        "InvalidLaunchTemplateId.NotFound",
        "InvalidLaunchTemplateId.VersionNotFound",
        "InvalidLaunchTemplateName.NotFoundException",
        LaunchTemplateId=call.id,
    ),
    imports=Import("lt-id", "lt-0abc"),
    name=AutoName(),
    tagging=TAGGING,
    replace=frozenset({"name", "namePrefix"}),
    computed=frozenset(
        {
            "blockDeviceMappings.ebs.iops",
            "blockDeviceMappings.ebs.throughput",
            "blockDeviceMappings.ebs.volumeSize",
            "blockDeviceMappings.ebs.volumeType",
            "defaultVersion",
            "metadataOptions",
            "metadataOptions.httpEndpoint",
            "metadataOptions.httpPutResponseHopLimit",
            "metadataOptions.httpTokens",
            "metadataOptions.instanceMetadataTags",
            "name",
            "namePrefix",
        }
    ),
    unread=frozenset({"updateDefaultVersion"}),
    ordered=frozenset({"blockDeviceMappings", "tagSpecifications"}),
    recomputed={"latestVersion": ("description", *sorted(_INSIDE))},
    validate=checks(length("name", 3, 128), conflicts("name", "namePrefix"), _unmodelled),
)

DEFINITIONS = (TEMPLATE,)
