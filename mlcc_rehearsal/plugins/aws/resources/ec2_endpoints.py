"""VPC endpoints.

Source: terraform-provider-aws ``internal/service/ec2/vpc_endpoint.go``.
"""

from __future__ import annotations

import json
from typing import Any

from mlcc_rehearsal.plugins.aws.calling import AwsError, Call, UnexpectedStateError, WaitTimeoutError
from mlcc_rehearsal.plugins.aws.definition import MINUTE, Definition, Import, Timeouts
from mlcc_rehearsal.plugins.aws.resources._ec2 import TAGGING, describe, specifications, tags_of
from mlcc_rehearsal.plugins.serving import ProviderError


def _endpoint(call: Call) -> dict[str, Any] | None:
    return describe(
        call,
        "describe_vpc_endpoints",
        "VpcEndpoints",
        "InvalidVpcEndpointId.NotFound",
        VpcEndpointIds=[call.id],
    )


def _endpoint_state(call: Call) -> tuple[Any, str]:
    found = _endpoint(call)
    return found, str(found["State"]).lower() if found else ""


def _create_endpoint(call: Call) -> str:
    given = call.inputs
    answer = call.aws(
        "ec2",
        "create_vpc_endpoint",
        VpcId=given["vpcId"],
        ServiceName=given.get("serviceName"),
        VpcEndpointType=given.get("vpcEndpointType"),
        PolicyDocument=given.get("policy"),
        PrivateDnsEnabled=bool(given.get("privateDnsEnabled")),
        RouteTableIds=given.get("routeTableIds") or None,
        SubnetIds=given.get("subnetIds") or None,
        SecurityGroupIds=given.get("securityGroupIds") or None,
        TagSpecifications=specifications(call, "vpc-endpoint"),
    )
    call.id = str(answer["VpcEndpoint"]["VpcEndpointId"])
    try:
        call.wait(
            lambda: _endpoint_state(call),
            pending=("pending",),
            target=("available", "pendingacceptance"),
        )
    except (UnexpectedStateError, WaitTimeoutError) as error:
        name = given.get("serviceName")
        raise ProviderError(f"waiting for EC2 VPC Endpoint ({name}) create: {error.message}") from error
    return call.id


def _text(policy: Any) -> str | None:
    return policy if isinstance(policy, str) or policy is None else json.dumps(policy)


def _read_endpoint(call: Call) -> dict[str, Any] | None:
    endpoint = _endpoint(call)
    if endpoint is None or endpoint["State"] == "deleted":
        return None
    prefix = describe(
        call,
        "describe_prefix_lists",
        "PrefixLists",
        Filters=[{"Name": "prefix-list-name", "Values": [endpoint["ServiceName"]]}],
    )
    return {
        "arn": call.arn("ec2", f"vpc-endpoint/{call.id}"),
        "cidrBlocks": (prefix or {}).get("Cidrs"),
        "dnsEntries": [
            {"dnsName": entry.get("DnsName"), "hostedZoneId": entry.get("HostedZoneId")}
            for entry in endpoint.get("DnsEntries") or []
        ],
        "ipAddressType": endpoint.get("IpAddressType") or "",
        "networkInterfaceIds": endpoint.get("NetworkInterfaceIds") or [],
        "ownerId": endpoint.get("OwnerId") or call.account_id,
        "policy": _text(endpoint.get("PolicyDocument")),
        "prefixListId": (prefix or {}).get("PrefixListId"),
        "privateDnsEnabled": bool(endpoint.get("PrivateDnsEnabled")),
        "requesterManaged": bool(endpoint.get("RequesterManaged")),
        "routeTableIds": endpoint.get("RouteTableIds") or [],
        "securityGroupIds": [group["GroupId"] for group in endpoint.get("Groups") or []],
        "serviceName": endpoint["ServiceName"],
        "state": endpoint["State"],
        "subnetIds": endpoint.get("SubnetIds") or [],
        "tags": tags_of(endpoint),
        "vpcEndpointType": endpoint.get("VpcEndpointType") or "Gateway",
        "vpcId": endpoint["VpcId"],
    }


def _update_endpoint(call: Call) -> None:
    changes: dict[str, Any] = {}
    for name, noun in (
        ("routeTableIds", "RouteTable"),
        ("subnetIds", "Subnet"),
        ("securityGroupIds", "SecurityGroup"),
    ):
        if call.changed(name):
            have, want = set(call.state.get(name) or []), set(call.inputs.get(name) or [])
            changes[f"Add{noun}Ids"] = sorted(want - have) or None
            changes[f"Remove{noun}Ids"] = sorted(have - want) or None
    if call.changed("policy"):
        if call.inputs.get("policy"):
            changes["PolicyDocument"] = call.inputs["policy"]
        else:
            changes["ResetPolicy"] = True
    if call.changed("privateDnsEnabled"):
        changes["PrivateDnsEnabled"] = bool(call.inputs.get("privateDnsEnabled"))
    if changes:
        call.aws("ec2", "modify_vpc_endpoint", VpcEndpointId=call.id, **changes)


def _delete_endpoint(call: Call) -> None:
    answer = call.find("ec2", "delete_vpc_endpoints", "InvalidVpcEndpoint.NotFound", VpcEndpointIds=[call.id])
    for problem in (answer or {}).get("Unsuccessful") or []:
        error = problem.get("Error") or {}
        if error.get("Code") != "InvalidVpcEndpoint.NotFound":
            words = f"{error.get('Code')}: {error.get('Message')}"
            raise AwsError(f"api error {words}", str(error.get("Code")), str(error.get("Message")))

    def refresh() -> tuple[Any, str]:
        found, status = _endpoint_state(call)
        return (None, "") if found is None or status == "deleted" else (found, status)

    try:
        call.wait(refresh, pending=("available", "deleting", "pendingacceptance"), target=())
    except (UnexpectedStateError, WaitTimeoutError) as error:
        raise ProviderError(f"waiting for EC2 VPC Endpoint ({call.id}) delete: {error.message}") from error


ENDPOINT = Definition(
    token="aws:ec2/vpcEndpoint:VpcEndpoint",
    label="EC2 VPC Endpoint",
    create=_create_endpoint,
    read=_read_endpoint,
    update=_update_endpoint,
    delete=_delete_endpoint,
    imports=Import("vpce-id", "vpce-0abc"),
    tagging=TAGGING,
    replace=frozenset(
        {
            "resourceConfigurationArn",
            "serviceName",
            "serviceNetworkArn",
            "serviceRegion",
            "vpcEndpointType",
            "vpcId",
        }
    ),
    computed=frozenset(
        {
            "dnsOptions",
            "ipAddressType",
            "policy",
            "privateDnsEnabled",
            "routeTableIds",
            "securityGroupIds",
            "serviceRegion",
            "subnetConfigurations",
            "subnetIds",
        }
    ),
    defaults={"vpcEndpointType": "Gateway"},
    unread=frozenset({"autoAccept"}),
    policies=frozenset({"policy"}),
    timeouts=Timeouts(create=10 * MINUTE, update=10 * MINUTE, delete=10 * MINUTE),
    title=lambda properties: str(properties.get("serviceName")),
)

DEFINITIONS = (ENDPOINT,)
