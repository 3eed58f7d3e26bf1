"""Preflight checks of a vanilla EKS cluster: zones, versions, what is there, what is installed here."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping, Sequence

from mlcc_infra import versions
from mlcc_infra.account.cluster_access import AUTHENTICATION_MODES, move_mode_command, next_mode
from mlcc_infra.account.lookups.eks import describe_cluster
from mlcc_infra.account.preflight import CheckResult, Verdict
from mlcc_infra.account.reader import Reader
from mlcc_infra.account.zones import missing_offers
from mlcc_infra.errors import UserError

OFFERED_VERSIONS_SHOWN = 5
MINIMUM_ZONES = 2
# EKS needs six free addresses in each subnet and recommends sixteen (EKS user guide, network requirements).
ADDRESSES_FOR_EKS = 6


def available_zones(reader: Reader) -> tuple[str, ...]:
    """Ids of the region's ordinary zones that are available to the account, sorted."""
    answer = reader.once(
        ("zones",),
        lambda: reader.session.client("ec2").describe_availability_zones(
            Filters=[
                {"Name": "zone-type", "Values": ["availability-zone"]},
                {"Name": "state", "Values": ["available"]},
            ]
        ),
    )
    return tuple(sorted(zone["ZoneId"] for zone in answer["AvailabilityZones"]))


def instance_type_offers(reader: Reader, instance_types: Collection[str]) -> dict[str, frozenset[str]]:
    """For each EC2 instance type the zone ids that offer it."""
    wanted = sorted(set(instance_types))
    if not wanted:
        return {}
    offers = reader.once(
        ("offers", *wanted),
        lambda: reader.pages(
            "ec2",
            "describe_instance_type_offerings",
            "InstanceTypeOfferings",
            LocationType="availability-zone-id",
            Filters=[{"Name": "instance-type", "Values": wanted}],
        ),
    )
    return {
        name: frozenset(offer["Location"] for offer in offers if offer["InstanceType"] == name)
        for name in wanted
    }


def check_zones(
    reader: Reader, zones: Sequence[str], instance_types: Collection[str], excluded: Collection[str]
) -> list[CheckResult]:
    """Enough zones, that exist here, that EKS takes, and that offer the instance types."""
    available = available_zones(reader)
    results: list[CheckResult] = []
    unknown = [zone for zone in zones if zone not in available]
    if unknown:
        results.append(
            CheckResult(
                name="zones",
                verdict=Verdict.REFUSED,
                found=f"{', '.join(unknown)} is not available to this account in {reader.session.region}",
                needed=f"zones out of {', '.join(available)}",
                remedy="correct mlcc:network.zones, or remove the key to have zones chosen",
            )
        )
    offers = instance_type_offers(reader, instance_types)
    if len(zones) < MINIMUM_ZONES:
        shown = "; ".join(f"{name} in {', '.join(sorted(found)) or 'none'}" for name, found in offers.items())
        results.append(
            CheckResult(
                name="zones",
                verdict=Verdict.REFUSED,
                found=f"{len(zones)} zone(s) of {reader.session.region} offer everything asked for ({shown})",
                needed=f"{MINIMUM_ZONES} zones that EKS takes (not: {', '.join(sorted(excluded)) or '-'})",
                remedy="choose other instance types in mlcc:eks.nodeGroups, or another region",
            )
        )
    for instance_type, gaps in missing_offers(zones, offers).items():
        somewhere = sorted(offers[instance_type])
        results.append(
            CheckResult(
                name="instance types",
                verdict=Verdict.REFUSED if len(gaps) == len(zones) else Verdict.WARNING,
                found=f"{instance_type} is not offered in {', '.join(gaps)}",
                needed=f"a type offered in all zones; this one is in {', '.join(somewhere) or 'none'}",
                remedy="change instanceTypes in mlcc:eks.nodeGroups, or mlcc:network.zones",
            )
        )
    if not results:
        results.append(CheckResult(name="zones", verdict=Verdict.OK, found=", ".join(zones)))
    return results


def check_addon_versions(
    reader: Reader, kubernetes: str, addons: Mapping[str, str], keys: Mapping[str, str]
) -> list[CheckResult]:
    """Every pinned add-on version is offered for the Kubernetes version (EKS, DescribeAddonVersions)."""
    results: list[CheckResult] = []
    for addon, version in addons.items():
        listed = reader.once(
            ("addon-versions", kubernetes, addon),
            lambda addon=addon: reader.pages(
                "eks", "describe_addon_versions", "addons", addonName=addon, kubernetesVersion=kubernetes
            ),
        )
        offered = [item["addonVersion"] for found in listed for item in found["addonVersions"]]
        if version in offered:
            results.append(CheckResult(name=f"add-on {addon}", verdict=Verdict.OK, found=version))
            continue
        newest = sorted(offered, key=_version_order, reverse=True)[:OFFERED_VERSIONS_SHOWN]
        results.append(
            CheckResult(
                name=f"add-on {addon}",
                verdict=Verdict.REFUSED,
                found=f"version {version} is not offered for Kubernetes {kubernetes}",
                needed=f"one of {', '.join(newest)}" if newest else "an add-on that EKS knows",
                remedy=f"set {keys.get(addon, f'mlcc:eks.addons.{addon}.version')} to an offered version",
            )
        )
    return results


def _version_order(version: str) -> tuple[int, ...]:
    try:
        return versions.addon_version_key(version)
    except ValueError:
        return (0,)


def check_kubernetes_version(reader: Reader, cluster: str, wanted: str) -> list[CheckResult]:
    """EKS moves a control plane forward one minor at a time, never back (EKS user guide, updating)."""
    live = describe_cluster(reader, cluster)
    if live is None or not live.get("version"):
        return []
    steps = versions.kubernetes_minor(wanted) - versions.kubernetes_minor(live["version"])
    if steps in (0, 1):
        return [CheckResult(name="Kubernetes version", verdict=Verdict.OK, found=wanted)]
    if steps < 0:
        remedy = f"set mlcc:eks.version to {live['version']} or later; EKS never goes back"
    else:
        following = f"1.{versions.kubernetes_minor(live['version']) + 1}"
        remedy = f"go via {following}: set mlcc:eks.version to {following}, run `pulumi up`, then continue"
    return [
        CheckResult(
            name="Kubernetes version",
            verdict=Verdict.REFUSED,
            found=f"{cluster} runs {live['version']}, mlcc:eks.version is {wanted}",
            needed="the same minor version or the next one",
            remedy=remedy,
        )
    ]


def check_cluster_state(reader: Reader, cluster: str) -> list[CheckResult]:
    """The cluster, when it exists, is no failed one; what EKS is still at work on is waited for."""
    live = describe_cluster(reader, cluster)
    if live is None or live.get("status") != "FAILED":
        return []
    return [
        CheckResult(
            name="cluster state",
            verdict=Verdict.REFUSED,
            found=f"EKS cluster {cluster} is FAILED",
            needed="ACTIVE, or no cluster of that name: a failed one can only be deleted (EKS user guide)",
            remedy=f"aws eks delete-cluster --name {cluster}, then run again",
        )
    ]


def check_authentication_mode(reader: Reader, cluster: str, wanted: str = "API") -> list[CheckResult]:
    """A cluster's authentication mode moves forward only, step by step (EKS user guide, access entries).

    The last step is the engine's; whoever is in the aws-auth config map alone loses access with it.
    """
    live = describe_cluster(reader, cluster)
    mode = ((live or {}).get("accessConfig") or {}).get("authenticationMode")
    if mode not in AUTHENTICATION_MODES:
        return []
    name = "authentication mode"
    try:
        following = next_mode(mode, wanted)
    except UserError as error:
        return [CheckResult(name=name, verdict=Verdict.REFUSED, found=error.message, remedy=error.remedy)]
    if following is None:
        return [CheckResult(name=name, verdict=Verdict.OK, found=f"{cluster}: {mode}")]
    if following == wanted:
        return [
            CheckResult(
                name=name,
                verdict=Verdict.WARNING,
                found=f"EKS cluster {cluster} goes from {mode} to {wanted}, for good: its aws-auth config "
                "map lets nobody in any more",
                remedy="put the administrators in it under mlcc:admins "
                "(`kubectl -n kube-system get configmap aws-auth -o yaml`)",
            )
        ]
    return [
        CheckResult(
            name=name,
            verdict=Verdict.REFUSED,
            found=f"EKS cluster {cluster} knows people through its aws-auth config map only",
            needed=f"{following} or {wanted}",
            remedy=f"{move_mode_command(cluster, following)}, then run again",
        )
    ]


def check_vpc_unchanged(reader: Reader, cluster: str, cidr: str) -> list[CheckResult]:
    """A cluster stays in the VPC it was made in, and a VPC keeps its block (EKS and EC2 API references)."""
    live = describe_cluster(reader, cluster)
    vpc_id = ((live or {}).get("resourcesVpcConfig") or {}).get("vpcId")
    if not vpc_id:
        return []
    client = reader.session.client("ec2")
    vpcs = reader.once(("vpc", vpc_id), lambda: client.describe_vpcs(VpcIds=[vpc_id])["Vpcs"])
    found = [vpc["CidrBlock"] for vpc in vpcs]
    if found == [cidr]:
        return [CheckResult(name="VPC", verdict=Verdict.OK, found=f"{vpc_id}, {cidr}")]
    return [
        CheckResult(
            name="VPC",
            verdict=Verdict.REFUSED,
            found=f"{cluster} is in {vpc_id} with {', '.join(found)}, mlcc:network.cidr asks for {cidr}",
            needed="the block that the cluster was made with",
            remedy=f"set mlcc:network.cidr to {', '.join(found)}, or destroy the stack first",
        )
    ]


def check_aws_command() -> list[CheckResult]:
    """Kubeconfigs of EKS run `aws eks get-token`, and the published component asks for the command too."""
    found = shutil.which("aws")
    if found:
        return [CheckResult(name="aws command", verdict=Verdict.OK, found=found)]
    return [
        CheckResult(
            name="aws command",
            verdict=Verdict.REFUSED,
            found="there is no `aws` command on PATH",
            needed="the AWS CLI, which kubeconfigs run for credentials",
            remedy="install it (`pip install awscli` or AWS's installer) and run again",
        )
    ]
