"""What the account says of things that are about to be taken over, in the words of `differences.COMPARED`.

Most of it the inventory has read already; the rest is one call a resource, in parallel, and only for what is
taken over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

from botocore.exceptions import BotoCoreError, ClientError

from mlcc_infra.account.decisions import Fact, ResourceKey, Wanted
from mlcc_infra.account.lookups.cloudformation import describe_stack
from mlcc_infra.account.lookups.ec2_network import tagged_subnet, tagged_vpc
from mlcc_infra.account.lookups.eks import describe_cluster, describe_part
from mlcc_infra.account.lookups.iam import attached_policies, get_role, inline_policies
from mlcc_infra.account.lookups.logs import describe_log_group
from mlcc_infra.account.lookups.s3 import BUCKET_SETTINGS, bucket_setting
from mlcc_infra.account.reader import Reader, error_words

WORKERS = 16
Facts: TypeAlias = dict[str, Any]
Read: TypeAlias = Callable[[Reader, Wanted], Facts]


@dataclass(frozen=True, kw_only=True)
class FactsRead:
    """The properties of a thing; `unread` is why all but its tags are missing, empty when none are."""

    properties: Facts
    unread: str = ""


def read_facts(
    reader: Reader, wanted: Sequence[Wanted], facts: Mapping[ResourceKey, Fact]
) -> dict[ResourceKey, FactsRead]:
    """What was read of each thing, its tags included."""
    with ThreadPoolExecutor(WORKERS, thread_name_prefix="adoption") as pool:
        found = pool.map(lambda item: _read(reader, item, facts[item.key]), wanted)
        return {item.key: read for item, read in zip(wanted, found, strict=True)}


def _read(reader: Reader, item: Wanted, fact: Fact) -> FactsRead:
    read = _READS.get(item.key[0])
    known: Facts = {"tags": dict(fact.tags)}
    if read is None:
        return FactsRead(properties=known)
    try:
        return FactsRead(properties={**read(reader, item), **known})
    except (ClientError, BotoCoreError) as error:
        return FactsRead(properties=known, unread=error_words(error))


def _role(reader: Reader, item: Wanted) -> Facts:
    name = item.lookup["role"]
    role = get_role(reader, name) or {}
    return {
        "trust": role.get("AssumeRolePolicyDocument") or {},
        "path": role.get("Path"),
        "description": role.get("Description", ""),
        "permissions boundary": (role.get("PermissionsBoundary") or {}).get("PermissionsBoundaryArn"),
        "policies": attached_policies(reader, name),
        "inline policies": inline_policies(reader, name),
    }


def _inline(reader: Reader, item: Wanted) -> Facts:
    role, policy = item.lookup["role"], item.lookup["policy"]
    answer = reader.session.client("iam").get_role_policy(RoleName=role, PolicyName=policy)
    return {"document": answer["PolicyDocument"]}


def _policy(reader: Reader, item: Wanted) -> Facts:
    iam, arn = reader.session.client("iam"), item.lookup["arn"]
    version = iam.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"]
    answer = iam.get_policy_version(PolicyArn=arn, VersionId=version)
    return {"document": answer["PolicyVersion"]["Document"]}


def _oidc_provider(reader: Reader, item: Wanted) -> Facts:
    cluster = describe_cluster(reader, item.lookup["cluster"]) or {}
    arn = item.lookup["provider_arn_prefix"] + cluster["identity"]["oidc"]["issuer"].removeprefix("https://")
    answer = reader.session.client("iam").get_open_id_connect_provider(OpenIDConnectProviderArn=arn)
    return {"audiences": answer.get("ClientIDList", [])}


def _setting(shown: str) -> Callable[[Reader, Wanted], dict[str, Any]]:
    def read(reader: Reader, item: Wanted) -> dict[str, Any]:
        return bucket_setting(reader, item.lookup["bucket"], BUCKET_SETTINGS[shown]) or {}

    return read


def _access_block(reader: Reader, item: Wanted) -> Facts:
    found = _setting("public access block")(reader, item)
    return {"public access block": found.get("PublicAccessBlockConfiguration", {})}


def _encryption(reader: Reader, item: Wanted) -> Facts:
    found = _setting("encryption")(reader, item)
    rules = found.get("ServerSideEncryptionConfiguration", {}).get("Rules", [])
    default = (rules[0] if rules else {}).get("ApplyServerSideEncryptionByDefault", {})
    return {"encryption": default.get("SSEAlgorithm")}


def _ownership(reader: Reader, item: Wanted) -> Facts:
    rules = _setting("ownership")(reader, item).get("OwnershipControls", {}).get("Rules", [])
    return {"ownership": rules[0]["ObjectOwnership"] if rules else None}


def _bucket_policy(reader: Reader, item: Wanted) -> Facts:
    return {"bucket policy": _setting("policy")(reader, item).get("Policy", {})}


def _cluster(reader: Reader, item: Wanted) -> Facts:
    cluster = describe_cluster(reader, item.lookup["cluster"]) or {}
    network = cluster.get("resourcesVpcConfig") or {}
    logging = (cluster.get("logging") or {}).get("clusterLogging", [])
    return {
        "Kubernetes version": cluster.get("version"),
        "authentication mode": (cluster.get("accessConfig") or {}).get("authenticationMode"),
        "public endpoint": network.get("endpointPublicAccess"),
        "private endpoint": network.get("endpointPrivateAccess"),
        "public access": network.get("publicAccessCidrs") or [],
        "control plane logs": [
            kind for setup in logging if setup.get("enabled") for kind in setup.get("types", [])
        ],
        "support type": (cluster.get("upgradePolicy") or {}).get("supportType"),
        "service role": cluster.get("roleArn"),
        "service block": (cluster.get("kubernetesNetworkConfig") or {}).get("serviceIpv4Cidr"),
        "VPC": network.get("vpcId"),
    }


def _part(reader: Reader, item: Wanted) -> dict[str, Any]:
    return describe_part(reader, item.key[0], item.lookup["cluster"], item.lookup["name"]) or {}


def _addon(reader: Reader, item: Wanted) -> Facts:
    addon = _part(reader, item)
    return {
        "add-on version": addon.get("addonVersion"),
        "configuration": addon.get("configurationValues") or "",
        "role": addon.get("serviceAccountRoleArn"),
    }


def _node_group(reader: Reader, item: Wanted) -> Facts:
    group = _part(reader, item)
    scaling = group.get("scalingConfig") or {}
    found = {
        "Kubernetes version": group.get("version"),
        "fewest nodes": scaling.get("minSize"),
        "nodes": scaling.get("desiredSize"),
        "most nodes": scaling.get("maxSize"),
        "labels": group.get("labels") or {},
        "taints": sorted(
            f"{taint['key']}={taint.get('value', '')}:{taint['effect']}"
            for taint in group.get("taints") or []
        ),
        "instance types": group.get("instanceTypes"),
        "AMI type": group.get("amiType"),
        "capacity type": group.get("capacityType"),
        "disk": group.get("diskSize"),
        "node role": group.get("nodeRole"),
    }
    # With a launch template of somebody's, EKS leaves out what that says (EKS API, Nodegroup).
    return {name: value for name, value in found.items() if value is not None}


def _fargate_profile(reader: Reader, item: Wanted) -> Facts:
    profile = _part(reader, item)
    return {
        "namespaces": sorted(selector["namespace"] for selector in profile.get("selectors", [])),
        "pod execution role": profile.get("podExecutionRoleArn"),
    }


def _vpc(reader: Reader, item: Wanted) -> Facts:
    return {"block": (tagged_vpc(reader, item.lookup["resource"]) or {}).get("CidrBlock")}


def _subnet(reader: Reader, item: Wanted) -> Facts:
    subnet = tagged_subnet(reader, item.lookup["resource"]) or {}
    return {"block": subnet.get("CidrBlock"), "zone": subnet.get("AvailabilityZoneId")}


def _log_group(reader: Reader, item: Wanted) -> Facts:
    return {"days kept": (describe_log_group(reader, item.lookup["name"]) or {}).get("retentionInDays")}


def _parameter(reader: Reader, item: Wanted) -> Facts:
    answer = reader.session.client("ssm").get_parameter(Name=item.lookup["name"])
    return {"type": answer["Parameter"]["Type"]}


def _stack(reader: Reader, item: Wanted) -> Facts:
    stack = describe_stack(reader, item.lookup["stack"]) or {}
    return {
        "parameter": {
            entry["ParameterKey"]: entry.get("ParameterValue", "") for entry in stack.get("Parameters", [])
        }
    }


_READS: Mapping[str, Read] = {
    "aws:iam/role:Role": _role,
    "aws:iam/rolePolicy:RolePolicy": _inline,
    "aws:iam/policy:Policy": _policy,
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": _oidc_provider,
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": _access_block,
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": _encryption,
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": _ownership,
    "aws:s3/bucketPolicy:BucketPolicy": _bucket_policy,
    "aws:eks/cluster:Cluster": _cluster,
    "aws:eks/addon:Addon": _addon,
    "aws:eks/nodeGroup:NodeGroup": _node_group,
    "aws:eks/fargateProfile:FargateProfile": _fargate_profile,
    "aws:ec2/vpc:Vpc": _vpc,
    "aws:ec2/subnet:Subnet": _subnet,
    "aws:cloudwatch/logGroup:LogGroup": _log_group,
    "aws:ssm/parameter:Parameter": _parameter,
    "aws:cloudformation/stack:Stack": _stack,
}
