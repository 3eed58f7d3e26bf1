"""What AWS's template has to be told of a VPC that exists, read from the account."""

from __future__ import annotations

from dataclasses import dataclass

from botocore.exceptions import ClientError

from mlcc_infra.account.preflight import CheckResult, Verdict
from mlcc_infra.account.reader import Reader, error_code
from mlcc_infra.profile.hyperpod import ExistingVpc

KEY = "mlcc:hyperpod.existingVpc"


@dataclass(frozen=True, kw_only=True)
class VpcFacts:
    """Zone ids of its private subnets, and of those and its subnets for EKS, in their order; and route tables
    of its subnets for EKS.

    All are empty when EC2 did not tell; `results` say why.
    """

    zones: tuple[str, ...] = ()
    all_zones: tuple[str, ...] = ()
    eks_route_table_ids: tuple[str, ...] = ()
    results: tuple[CheckResult, ...] = ()


def read_existing_vpc(reader: Reader, vpc: ExistingVpc) -> VpcFacts:
    """Ask EC2; never raises for what it answers.

    A subnet without a route table of its own has the VPC's main one (Amazon VPC user guide, route tables).
    """
    eks_subnets = vpc.eks_subnet_ids or vpc.private_subnet_ids
    subnet_ids = list(dict.fromkeys((*vpc.private_subnet_ids, *eks_subnets)))
    try:
        subnets = reader.once(
            ("existing-vpc-subnets", *subnet_ids),
            lambda: reader.pages("ec2", "describe_subnets", "Subnets", SubnetIds=subnet_ids),
        )
        tables = reader.once(
            ("existing-vpc-tables", vpc.vpc_id),
            lambda: reader.pages(
                "ec2",
                "describe_route_tables",
                "RouteTables",
                Filters=[{"Name": "vpc-id", "Values": [vpc.vpc_id]}],
            ),
        )
    except ClientError as error:
        missing = error_code(error).startswith("Invalid")
        message = error.response.get("Error", {}).get("Message", "")
        return VpcFacts(
            results=(
                CheckResult(
                    name="existing VPC",
                    verdict=Verdict.REFUSED if missing else Verdict.UNKNOWN,
                    found=f"{error_code(error)}: {message}",
                    needed="the VPC with its subnets and their route tables",
                    remedy=f"correct {KEY}"
                    if missing
                    else "allow ec2:DescribeSubnets and ec2:DescribeRouteTables",
                ),
            )
        )
    by_id = {subnet["SubnetId"]: str(subnet["AvailabilityZoneId"]) for subnet in subnets}
    zones, all_zones = (
        tuple(dict.fromkeys(by_id[subnet] for subnet in ids if subnet in by_id))
        for ids in (vpc.private_subnet_ids, subnet_ids)
    )
    used: dict[str, str] = {}
    main = ""
    for table in tables:
        for association in table.get("Associations", []):
            if association.get("Main"):
                main = table["RouteTableId"]
            elif association.get("SubnetId"):
                used[association["SubnetId"]] = table["RouteTableId"]
    routes = dict.fromkeys(used.get(subnet, main) for subnet in eks_subnets)
    return VpcFacts(
        zones=zones, all_zones=all_zones, eks_route_table_ids=tuple(table for table in routes if table)
    )
