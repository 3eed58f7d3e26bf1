"""Preflight checks of a VPC that somebody else made: what a cluster in it needs of its subnets."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Sequence
from typing import Any

from botocore.exceptions import ClientError

from mlcc_infra.account.eks_checks import ADDRESSES_FOR_EKS, MINIMUM_ZONES
from mlcc_infra.account.preflight import CheckResult, Verdict
from mlcc_infra.account.reader import Reader, error_code
from mlcc_infra.profile.check_network import ADDRESSES_PER_NODE_AT_LEAST

# DescribeSubnets and DescribeVpcAttribute of ids that are not there (EC2 API reference, error codes).
_MISSING = frozenset({"InvalidSubnetID.NotFound", "InvalidSubnetId.NotFound", "InvalidVpcID.NotFound"})


def check_existing_network(
    reader: Reader,
    vpc_id: str,
    private_subnets: Sequence[str],
    public_subnets: Sequence[str],
    nodes: int,
    excluded: Collection[str] = (),
    service_cidr: str | None = None,
) -> list[CheckResult]:
    """Subnets of one VPC, in two zones that EKS takes, with room for the nodes, and DNS on.

    What does not exist is refused; only what may not be read is unknown, and raised.
    """
    try:
        return [
            *_service_block(reader, vpc_id, service_cidr),
            *_network_results(reader, vpc_id, private_subnets, public_subnets, nodes, excluded),
        ]
    except ClientError as error:
        if error_code(error) not in _MISSING:
            raise
        detail = error.response["Error"].get("Message", error_code(error))
        return [_missing_refusal(reader, vpc_id, detail)]


def _missing_refusal(reader: Reader, vpc_id: str, detail: str) -> CheckResult:
    return _network_refusal(
        f"{detail} in {reader.session.region} (mlcc:network.vpcId is {vpc_id})",
        "a VPC and subnets of this account and region",
        "correct mlcc:network.vpcId and the subnet ids, aws:region or mlcc:awsProfile",
    )


def _service_block(reader: Reader, vpc_id: str, service_cidr: str | None) -> list[CheckResult]:
    """The services' block overlaps none of the VPC's (EKS API, KubernetesNetworkConfigRequest)."""
    if service_cidr is None:
        return []
    client = reader.session.client("ec2")
    (vpc,) = reader.once(("vpc", vpc_id), lambda: client.describe_vpcs(VpcIds=[vpc_id])["Vpcs"])
    blocks = {vpc["CidrBlock"], *(each["CidrBlock"] for each in vpc.get("CidrBlockAssociationSet", ()))}
    services = ipaddress.ip_network(service_cidr)
    taken = sorted(block for block in blocks if services.overlaps(ipaddress.ip_network(block)))
    if not taken:
        return []
    return [
        _network_refusal(
            f"mlcc:eks.serviceCidr {service_cidr} overlaps {', '.join(taken)} of {vpc_id}",
            "a block apart from all of the VPC's",
            "choose another mlcc:eks.serviceCidr, or remove it: then EKS chooses",
        )
    ]


def _network_results(
    reader: Reader,
    vpc_id: str,
    private_subnets: Sequence[str],
    public_subnets: Sequence[str],
    nodes: int,
    excluded: Collection[str],
) -> list[CheckResult]:
    client = reader.session.client("ec2")
    ids = [*private_subnets, *public_subnets]
    # By filter, which answers those that exist; by id EC2 answers an error about one that does not.
    of_these = [{"Name": "subnet-id", "Values": ids}]
    subnets: list[dict[str, Any]] = reader.once(
        ("subnets", *ids), lambda: client.describe_subnets(Filters=of_these)["Subnets"]
    )
    results: list[CheckResult] = []
    missing = sorted(set(ids) - {subnet["SubnetId"] for subnet in subnets})
    if missing:
        results.append(_missing_refusal(reader, vpc_id, f"there is no {', '.join(missing)}"))
    refused = [subnet for subnet in subnets if subnet["AvailabilityZoneId"] in excluded]
    if refused:
        shown = ", ".join(f"{subnet['SubnetId']} in {subnet['AvailabilityZoneId']}" for subnet in refused)
        results.append(
            _network_refusal(
                f"EKS makes no cluster in the zone of {shown} (UnsupportedAvailabilityZoneException)",
                f"subnets in other zones than {', '.join(sorted(excluded))}",
                "leave these subnets out of mlcc:network",
            )
        )
    foreign = [subnet["SubnetId"] for subnet in subnets if subnet["VpcId"] != vpc_id]
    if foreign:
        results.append(
            _network_refusal(
                f"{', '.join(foreign)} is not in {vpc_id}", "subnets of that VPC", "correct the subnet ids"
            )
        )
    private = [subnet for subnet in subnets if subnet["SubnetId"] in private_subnets]
    zones = sorted({subnet["AvailabilityZoneId"] for subnet in private})
    if len(zones) < MINIMUM_ZONES:
        results.append(
            _network_refusal(
                f"the private subnets are in {', '.join(zones) or 'no zone'}",
                "private subnets in at least two zones",
                "add a private subnet of another zone to mlcc:network.privateSubnetIds",
            )
        )
    free = sum(max(0, subnet["AvailableIpAddressCount"] - ADDRESSES_FOR_EKS) for subnet in private)
    needed = nodes * ADDRESSES_PER_NODE_AT_LEAST
    if free < needed:
        results.append(
            _network_refusal(
                f"the private subnets have {free} addresses for nodes ({ADDRESSES_FOR_EKS} each are EKS's)",
                f"at least {needed} for {nodes} nodes: one a node, and one more for every pod",
                "use larger subnets, or fewer nodes",
            )
        )
    for attribute in ("enableDnsSupport", "enableDnsHostnames"):
        answer = client.describe_vpc_attribute(VpcId=vpc_id, Attribute=attribute)
        if not answer[attribute[0].upper() + attribute[1:]]["Value"]:
            results.append(
                _network_refusal(
                    f"{attribute} of {vpc_id} is off",
                    "DNS resolution and DNS host names, which EKS needs",
                    f"aws ec2 modify-vpc-attribute --vpc-id {vpc_id} --{_dashed(attribute)}",
                )
            )
    return results or [CheckResult(name="network", verdict=Verdict.OK, found=vpc_id)]


def _network_refusal(found: str, needed: str, remedy: str) -> CheckResult:
    return CheckResult(name="network", verdict=Verdict.REFUSED, found=found, needed=needed, remedy=remedy)


def _dashed(attribute: str) -> str:
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in attribute)
