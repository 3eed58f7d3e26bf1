"""Who and where: region, partition, caller, zones.

Source: terraform-provider-aws ``internal/service/{meta,sts}`` and
``internal/service/ec2/ec2_availability_zones_data_source.go``.
"""

from __future__ import annotations

from typing import Any

import botocore.session

from mlcc_rehearsal.plugins.aws.calling import Call
from mlcc_rehearsal.plugins.serving import ProviderError


def _region(call: Call) -> dict[str, Any]:
    region = str(call.inputs.get("region") or call.inputs.get("name") or call.region)
    resolver = botocore.session.get_session().get_component("endpoint_resolver")
    details = next(
        (p["regions"][region] for p in resolver._endpoint_data["partitions"] if region in p["regions"]), None
    )
    if details is None:
        raise ProviderError(f"region not found for name: {region}")
    return {
        "description": details["description"],
        "endpoint": f"ec2.{region}.amazonaws.com",
        "id": region,
        "name": region,
        "region": region,
    }


def _partition(call: Call) -> dict[str, Any]:
    china = call.partition == "aws-cn"
    return {
        "dnsSuffix": "amazonaws.com.cn" if china else "amazonaws.com",
        "id": call.partition,
        "partition": call.partition,
        "reverseDnsPrefix": "cn.com.amazonaws" if china else "com.amazonaws",
    }


def _caller(call: Call) -> dict[str, Any]:
    answer = call.aws("sts", "get_caller_identity")
    return {
        "accountId": answer["Account"],
        "arn": answer["Arn"],
        "id": answer["Account"],
        "userId": answer["UserId"],
    }


def _zones(call: Call) -> dict[str, Any]:
    given = call.inputs
    filters = [{"Name": item["name"], "Values": item["values"]} for item in given.get("filters") or []]
    if given.get("state"):
        filters.append({"Name": "state", "Values": [given["state"]]})
    answer = call.aws(
        "ec2",
        "describe_availability_zones",
        Filters=filters or None,
        AllAvailabilityZones=given.get("allAvailabilityZones"),
    )
    left_out = {*(given.get("excludeNames") or []), *(given.get("excludeZoneIds") or [])}
    zones = [
        zone
        for zone in sorted(answer["AvailabilityZones"], key=lambda zone: str(zone["ZoneName"]))
        if not {zone["ZoneName"], zone.get("ZoneId")} & left_out
    ]
    return {
        **given,
        "groupNames": sorted({str(zone.get("GroupName") or call.region) for zone in zones}),
        "id": call.region,
        "names": [zone["ZoneName"] for zone in zones],
        "zoneIds": [zone.get("ZoneId") for zone in zones],
    }


FUNCTIONS = {
    "aws:index/getRegion:getRegion": _region,
    "aws:index/getPartition:getPartition": _partition,
    "aws:index/getCallerIdentity:getCallerIdentity": _caller,
    "aws:index/getAvailabilityZones:getAvailabilityZones": _zones,
}
