"""A summary of what exists in the account, for the control address."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moto.ec2.models import ec2_backends
from moto.eks.models import eks_backends
from moto.elb.models import elb_backends
from moto.elbv2.models import elbv2_backends
from moto.iam.models import iam_backends
from moto.logs.models import logs_backends
from moto.s3.models import s3_backends
from moto.sagemaker.models import sagemaker_backends
from moto.ssm.models import ssm_backends

from mlcc_rehearsal.cloud import extensions
from mlcc_rehearsal.cloud.account import RehearsedAccount
from mlcc_rehearsal.cloud.operator.watcher import summary as watchers


def summarize(account: RehearsedAccount) -> dict[str, Any]:
    """Names and states by service and region, without AWS's own (default VPC, managed policies)."""
    iam = iam_backends[account.account_id][account.partition]
    regions: dict[str, Any] = {}
    for region, ec2 in list(ec2_backends[account.account_id].items()):
        regions[region] = _ec2(ec2)
    for region, eks in list(eks_backends[account.account_id].items()):
        regions.setdefault(region, {})["clusters"] = {
            name: _cluster(cluster) for name, cluster in eks.clusters.items()
        }
    for region, ssm in list(ssm_backends[account.account_id].items()):
        regions.setdefault(region, {})["parameters"] = sorted(
            name for name in ssm._parameters if not name.startswith("/aws/")
        )
    for region, stacks in _stacks(account):
        regions.setdefault(region, {})["stacks"] = stacks
    for region, sagemaker in list(sagemaker_backends[account.account_id].items()):
        regions.setdefault(region, {})["hyperpod_clusters"] = {
            name: _hyperpod(cluster)
            for name, cluster in sagemaker.hyperpod.items()  # type: ignore[attr-defined]
        }
    for region, logs in list(logs_backends[account.account_id].items()):
        regions.setdefault(region, {})["log_groups"] = sorted(logs.groups)
    for region, found in watchers(account).items():
        regions.setdefault(region, {})["inference_watchers"] = found
    for backends, key in ((elbv2_backends, "load_balancers"), (elb_backends, "classic_load_balancers")):
        for region, balancing in list(backends[account.account_id].items()):
            names = sorted(each.name for each in balancing.load_balancers.values())
            regions.setdefault(region, {})[key] = names
    return {
        "account": account.account_id,
        "region": account.region,
        "now": account.clock.now(),
        "iam": {
            "roles": sorted(role.name for role in iam.get_roles()),
            "policies": sorted(p.name for arn, p in iam.managed_policies.items() if ":iam::aws:" not in arn),
            "instance_profiles": sorted(p.name for p in iam.get_instance_profiles()),
            "oidc_providers": sorted(iam.open_id_providers),
            "users": sorted(iam.users),
        },
        "buckets": sorted(s3_backends[account.account_id][account.partition].buckets),
        "regions": {name: found for name, found in regions.items() if any(found.values())},
    }


def _ec2(ec2: Any) -> dict[str, Any]:
    default = {vpc.id for vpc in ec2.vpcs.values() if str(vpc.is_default).lower() == "true"}
    return {
        "vpcs": sorted(vpc for vpc in ec2.vpcs if vpc not in default),
        "subnets": sorted(
            s.id for subnets in ec2.subnets.values() for s in subnets.values() if s.vpc_id not in default
        ),
        "internet_gateways": sorted(ec2.internet_gateways),
        "nat_gateways": {gateway.id: gateway.state for gateway in ec2.nat_gateways.values()},
        "addresses": sorted(str(address.allocation_id) for address in ec2.addresses),
        "route_tables": sorted(t.id for t in ec2.route_tables.values() if t.vpc_id not in default),
        "endpoints": {e.id: e.state for e in ec2.vpc_end_points.values()},
        "security_groups": sorted(
            g.id for vpc, groups in ec2.groups.items() if vpc not in default for g in groups.values()
        ),
        "interfaces": {i.id: {"status": i.status, "description": i.description} for i in ec2.enis.values()},
        "launch_templates": sorted(ec2.launch_templates),
    }


def _cluster(cluster: Any) -> dict[str, Any]:
    return {
        "status": cluster.status,
        "version": cluster.version,
        "node_groups": {name: group.description["status"] for name, group in cluster.node_groups.items()},
        "node_groups_waiting": {n: g.why_not for n, g in cluster.node_groups.items() if g.why_not},
        "fargate_profiles": {name: profile["status"] for name, profile in cluster.fargate_profiles.items()},
        "addons": {name: addon["status"] for name, addon in cluster.addons.items()},
        "access_entries": sorted(cluster.access_entries),
        "pod_identity_associations": sorted(cluster.pod_identities),
    }


def _stacks(account: RehearsedAccount) -> Iterator[tuple[str, dict[str, str]]]:
    """Statuses of live root stacks by region and name; nested ones come and go with them."""
    if not extensions.has("cloudformation"):
        return
    from moto.cloudformation.models import cloudformation_backends

    for region, found in list(cloudformation_backends[account.account_id].items()):
        backend: Any = found
        live = [stack for stack in backend.native.values() if stack.status != "DELETE_COMPLETE"]
        statuses = {stack.name: str(stack.status) for stack in [*backend.stacks.values(), *live]}
        yield region, statuses


def _hyperpod(cluster: Any) -> dict[str, Any]:
    return {
        "arn": cluster.arn,
        "status": cluster.status,
        "failure": cluster.failure,
        "groups": {
            name: {
                "status": group.status,
                "target": group.target,
                "nodes": {node.instance_id: node.status for node in group.nodes.values()},
                "why_not": group.why_not,
            }
            for name, group in cluster.groups.items()
        },
    }
